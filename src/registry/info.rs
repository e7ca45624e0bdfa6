//! What is known of images, as others read it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::object::pattern::Pattern;

/// The labels of an image that carry times (fluxd-v1 §7.6). A label that is no RFC 3339 time is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// `org.opencontainers.image.created`.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// `org.label-schema.build-date`.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub build_date: Option<Timestamp>,
}

/// An image behind a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The tag.
    pub tag: String,
    /// Digest of its manifest (`sha256:…`); of an index, that of the manifest for linux/amd64.
    pub digest: String,
    /// Digest of what the tag itself points to: an index, or the same as `digest`. This is the one to pin.
    pub pinned: String,
    /// Digest of its configuration; schema 1's own identifier; empty when it has none.
    pub image_id: String,
    /// The labels that carry times.
    pub labels: Labels,
    /// When it was made: by its labels where `--registry-use-labels` says so, else by its configuration.
    pub created: Option<Timestamp>,
    /// When the registry was asked last.
    pub last_fetched: Timestamp,
}

/// A repository as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryView {
    /// All its tags, as listed last, in the registry's order.
    pub tags: Vec<String>,
    /// The tags whose image is known.
    pub images: BTreeMap<String, Info>,
    /// The tags that cannot be used, and why (`no suitable manifest (linux amd64) in manifestlist`).
    pub excluded: BTreeMap<String, String>,
    /// When the tags were listed last.
    pub last_update: Option<Timestamp>,
}

impl RepositoryView {
    /// Whether a choice by `pattern` rests on complete knowledge: of all tags it admits when times decide, of the newest
    /// usable one when versions do.
    pub fn is_complete_for(&self, pattern: &Pattern) -> bool {
        let known = |tag: &str| self.images.contains_key(tag) || self.excluded.contains_key(tag);
        let admitted = pattern.select(&self.tags);
        if pattern.requires_timestamp() {
            return admitted.into_iter().all(known);
        }
        let usable = admitted.into_iter().filter(|tag| !self.excluded.contains_key(*tag));
        super::scan::newest(pattern, usable).is_none_or(|tag| self.images.contains_key(tag))
    }
}

/// Why nothing is known of a repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It was never asked for.
    #[error("item not in cache")]
    NotCached,
    /// It was asked for, and this came of it.
    #[error("item not in cache, last error: {0}")]
    NotCachedLast(String),
    /// Nothing is ever asked (`--registry-disable-scanning`). The spelling is v1's.
    #[error("cannot perfom operation, image scanning is disabled")]
    Disabled,
}
