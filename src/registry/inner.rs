//! What all handles of one registry share.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, watch};

use super::logins::Logins;
use super::store::Store;
use super::wire::Wire;
use super::{Error, Observation, Settings, Wants};
use crate::object::Glob;
use crate::object::image::CanonicalName;

/// Names told by webhooks that were not looked at yet; v1's channel had as many places, and then blocked.
const NOTIFIED: usize = 100;

pub(super) struct Inner {
    pub(super) settings: Arc<Settings>,
    pub(super) wire: Wire,
    pub(super) store: Store,
    pub(super) logins: Logins,
    pub(super) wants: watch::Sender<Wants>,
    pub(super) changes: watch::Sender<u64>,
    pub(super) woken: Notify,
    notified: Mutex<BTreeSet<CanonicalName>>,
    include: Vec<Glob>,
    exclude: Vec<Glob>,
}

impl Inner {
    pub(super) fn new(settings: Settings) -> Result<Self, Error> {
        let settings = Arc::new(settings);
        let globs = |texts: &[String]| texts.iter().map(|text| Glob::new(text)).collect();
        Ok(Self {
            wire: Wire::new(&settings)?,
            store: Store::open(settings.cache.as_deref().filter(|_| !settings.disabled), &settings.use_labels),
            logins: Logins::new(&settings),
            wants: watch::Sender::new(Wants::default()),
            changes: watch::Sender::new(0),
            woken: Notify::new(),
            notified: Mutex::default(),
            include: globs(&settings.include),
            exclude: globs(&settings.exclude),
            settings,
        })
    }

    /// Why a repository is not scanned, by the globs.
    pub(super) fn exclusion(&self, name: &CanonicalName) -> Option<&'static str> {
        let name = name.to_string();
        let matches = |globs: &[Glob]| globs.iter().any(|glob| glob.is_match(&name));
        if self.settings.disabled {
            return Some("image scanning is disabled");
        }
        if matches(&self.exclude) {
            return Some("--registry-exclude-image matches it");
        }
        let included = self.include.is_empty() || matches(&self.include);
        (!included).then_some("--registry-include-image does not match it")
    }

    /// Notes a name that a webhook told. Beyond what fits it is dropped: the ordinary scan finds out too.
    pub(super) fn note_name(&self, name: &CanonicalName) {
        let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        if notified.len() < NOTIFIED {
            notified.insert(name.clone());
            self.woken.notify_one();
        } else if !notified.contains(name) {
            tracing::warn!(component = "warmer", priority = %name, err = "too many notifications at once: left to the next scan");
        }
    }

    pub(super) fn take_names(&self) -> BTreeSet<CanonicalName> {
        std::mem::take(&mut *self.notified.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn observe(&self, what: Observation, begun: Instant, success: bool) {
        if let Some(observe) = &self.settings.observe {
            (observe.0)(what, begun.elapsed(), success);
        }
    }
}
