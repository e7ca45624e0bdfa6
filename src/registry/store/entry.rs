//! One tag's record, and the rules about when it is looked at again (fluxd-v1 §7.2).

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::scan::Known;
use super::super::{Info, Labels};

/// The wait after a tag was seen first, the bounds of later ones, and that of one which cannot be used.
const FIRST: u64 = 3600;
const SHORTEST: u64 = 5 * 60;
const LONGEST: u64 = 7 * 24 * 3600;
const EXCLUDED: u64 = 24 * 3600;

/// What is known of a repository itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    #[serde(rename = "t")]
    pub(super) tags: Vec<String>,
    #[serde(rename = "v", default, skip_serializing_if = "Option::is_none")]
    pub(super) validator: Option<String>,
    /// Kept in a row of its own, because it changes at each scan.
    #[serde(skip)]
    pub(super) listed: Option<Timestamp>,
}

/// What was found behind a tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) enum Found {
    /// An image.
    #[serde(rename = "i")]
    Image {
        /// What the tag points to.
        #[serde(rename = "p")]
        pinned: String,
        /// The manifest for our platform, when that is something else.
        #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
        /// Its configuration.
        #[serde(rename = "c")]
        image_id: String,
        /// Its labels.
        #[serde(rename = "l")]
        labels: Labels,
        /// When its configuration says that it was made.
        #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
        created: Option<Timestamp>,
    },
    /// Nothing that can be used.
    #[serde(rename = "x")]
    Excluded {
        /// What the tag points to, if anything.
        #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
        pinned: Option<String>,
        /// Why not.
        #[serde(rename = "r")]
        reason: String,
        /// How long that is believed, in seconds.
        #[serde(rename = "s")]
        seconds: u64,
    },
}

impl Found {
    /// An image that is not for us.
    pub(in super::super) fn excluded(pinned: String, reason: String) -> Self {
        Self::Excluded { pinned: Some(pinned).filter(|p| !p.is_empty()), reason, seconds: EXCLUDED }
    }

    /// A tag without a manifest, which a broken or a busy registry lists; that changes sooner.
    pub(in super::super) fn absent() -> Self {
        Self::Excluded { pinned: None, reason: "manifest unknown".to_owned(), seconds: 2 * SHORTEST }
    }
}

/// When a tag was looked at, and when it will be, for those who trace.
pub(in super::super) struct Kept {
    pub(in super::super) excluded: bool,
    pub(in super::super) fetched: Timestamp,
    pub(in super::super) due: Timestamp,
}

/// A tag's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    #[serde(rename = "f")]
    found: Found,
    /// Second of the last look.
    #[serde(rename = "a")]
    at: i64,
    /// Seconds until the next.
    #[serde(rename = "w")]
    wait: u64,
}

impl Entry {
    /// Notes what was found. A tag that moved is looked at sooner the next time, one that did not, later.
    pub(super) fn new(found: Found, old: Option<&Self>, now: Timestamp) -> Self {
        let entry = |found, wait| Self { found, at: now.as_second(), wait };
        match (&found, old) {
            (Found::Excluded { seconds, .. }, _) => {
                let seconds = *seconds;
                entry(found, seconds)
            }
            (Found::Image { .. }, Some(old)) if matches!(old.found, Found::Image { .. }) => {
                let wait = if old.found == found { old.wait.saturating_mul(2) } else { old.wait / 2 };
                entry(found, wait.clamp(SHORTEST, LONGEST))
            }
            (Found::Image { .. }, _) => entry(found, FIRST),
        }
    }

    /// Notes that a look found the same.
    pub(super) fn confirm(&mut self, now: Timestamp) {
        *self = Self::new(self.found.clone(), Some(self), now);
    }

    /// Has the tag looked at now.
    pub(super) fn expire(&mut self, now: Timestamp) {
        self.at = self.at.min(now.as_second().saturating_sub(i64::try_from(self.wait).unwrap_or(i64::MAX)));
    }

    pub(super) fn kept(&self) -> Kept {
        let fetched = Timestamp::from_second(self.at).unwrap_or_default();
        Kept { excluded: matches!(self.found, Found::Excluded { .. }), fetched, due: self.due() }
    }

    /// Whether there was nothing behind the tag.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self.found, Found::Excluded { pinned: None, .. })
    }

    pub(super) fn is_image(&self) -> bool {
        matches!(self.found, Found::Image { .. })
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.found == other.found
    }

    pub(super) fn pinned(&self) -> Option<&str> {
        match &self.found {
            Found::Image { pinned, .. } => Some(pinned),
            Found::Excluded { pinned, .. } => pinned.as_deref(),
        }
    }

    /// When the tag is to be looked at again.
    pub(super) fn due(&self) -> Timestamp {
        let at = Timestamp::from_second(self.at).unwrap_or_default();
        at.checked_add(Duration::from_secs(self.wait)).unwrap_or(Timestamp::MAX)
    }

    pub(super) fn known(&self, now: Timestamp) -> Known {
        let due = self.due() <= now;
        match self.found {
            Found::Image { .. } => Known::Usable { due },
            Found::Excluded { .. } => Known::Excluded { due },
        }
    }

    /// The image as others read it, or why there is none.
    pub(super) fn info(&self, tag: &str, by_labels: bool) -> Result<Info, String> {
        match &self.found {
            Found::Excluded { reason, .. } => Err(reason.clone()),
            Found::Image { pinned, digest, image_id, labels, created } => {
                let labelled = labels.created.or(labels.build_date).filter(|_| by_labels);
                Ok(Info {
                    tag: tag.to_owned(),
                    digest: digest.clone().unwrap_or_else(|| pinned.clone()),
                    pinned: pinned.clone(),
                    image_id: image_id.clone(),
                    labels: *labels,
                    created: labelled.or(*created),
                    last_fetched: Timestamp::from_second(self.at).unwrap_or_default(),
                })
            }
        }
    }
}
