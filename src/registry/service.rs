//! The room's door: what is wanted goes in, what is known comes out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::timeout;

use super::inner::Inner;
use super::limiter::Urgency;
use super::{Credentials, Error, Observation, ReadError, RepositoryView, Settings};
use crate::object::image::{CanonicalName, ImageName};
use crate::object::pattern::Pattern;
use crate::runtime::{Stop, TaskError};

/// What is wanted of one repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// The names by which workloads call it.
    pub names: Vec<ImageName>,
    /// Logins from the workloads' pull secrets.
    pub credentials: Credentials,
    /// The patterns by which automation chooses tags: nothing is chosen before all that they rest on is known.
    pub patterns: Vec<Pattern>,
    /// The patterns of workloads that are not automated; what they admit is asked after that.
    pub others: Vec<Pattern>,
    /// Whether any of the workloads is automated; those come first.
    pub automated: bool,
    /// The tags that run now.
    pub current: Vec<String>,
}

/// What is wanted, by canonical name.
pub type Wants = Arc<BTreeMap<CanonicalName, Want>>;

/// Knows images and finds out about new ones. Clones share everything.
#[derive(Clone)]
pub struct Registry {
    inner: Arc<Inner>,
}

impl Registry {
    /// Makes one, with what the cache file knows. A damaged file is begun anew, and one that cannot be made is done without.
    ///
    /// # Errors
    /// When a proxy's URL is none.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Ok(Self { inner: Arc::new(Inner::new(settings)?) })
    }

    /// Scans what is wanted until `stop`. With scanning disabled it only waits.
    ///
    /// # Errors
    /// Never; the type is that of a task.
    pub async fn run(&self, stop: Stop) -> Result<(), TaskError> {
        if self.inner.settings.disabled {
            stop.stopped().await;
        } else {
            self.inner.scan(&stop).await;
        }
        Ok(())
    }

    /// Says what is wanted from now on. What the globs exclude is left out here.
    pub fn want(&self, wants: Wants) {
        let excluded = |name: &CanonicalName| self.inner.exclusion(name).is_some();
        let kept = if wants.keys().any(excluded) {
            Arc::new(wants.iter().filter(|(n, _)| !excluded(n)).map(|(n, w)| (n.clone(), w.clone())).collect())
        } else {
            wants
        };
        self.inner.wants.send_if_modified(|old| {
            let changed = **old != *kept;
            if changed {
                *old = kept;
            }
            changed
        });
    }

    /// Has a repository scanned before all others, now. One that is not wanted is only logged. Never waits.
    pub fn notify(&self, name: &CanonicalName) {
        if !self.inner.settings.disabled {
            self.inner.note_name(name);
        }
    }

    /// What is known of a repository.
    ///
    /// # Errors
    /// When nothing is.
    pub fn repository(&self, name: &CanonicalName) -> Result<Arc<RepositoryView>, ReadError> {
        if self.inner.settings.disabled {
            return Err(ReadError::Disabled);
        }
        let begun = Instant::now();
        let view = self.inner.store.view(name);
        self.inner.observe(Observation::CacheGet, begun, view.is_ok());
        view
    }

    /// Ticks when there are new tags, or a tag moved, and what a decision needs to know of them is known.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// Finds out about these tags now unless they are known; for releases of an explicit tag.
    ///
    /// # Errors
    /// The first failure; [`Error::NotScanned`] when the image is never scanned.
    pub async fn ensure(&self, name: &CanonicalName, tags: &[String]) -> Result<(), Error> {
        let inner = &self.inner;
        let not_scanned = |reason: String| Error::NotScanned { name: name.to_string(), reason };
        if let Some(reason) = inner.exclusion(name) {
            return Err(not_scanned(reason.to_owned()));
        }
        // a credential helper has a time limit of its own
        let stop = &Stop::new();
        let within = inner.settings.timeout * 2;
        let deadline = tokio::time::Instant::now() + within;
        let asked = timeout(within, async {
            if let Some(reason) = inner.logins.exclusion(&inner.wire, name).await {
                return Err(not_scanned(reason));
            }
            let want = inner.wants.borrow().get(name).cloned().unwrap_or_default();
            if inner.store.listed(name).0.is_none() {
                inner.list_tags(name, &want, Urgency::Now, stop).await?;
            }
            let credentials = inner.logins.find(&inner.wire, name, &want.credentials, stop).await;
            let session = inner.wire.session(name, &credentials, Urgency::Now).until(deadline);
            for tag in tags {
                // what could not be used a while ago is asked for again: it may have been pushed since
                if !inner.store.is_known(name, tag, Timestamp::now()) {
                    inner.fetch_tag(&session, name, tag).await?;
                }
            }
            Ok(())
        });
        asked.await.unwrap_or_else(|_| Err(Error::TimedOut { url: name.to_string(), after: within }))
    }

    /// Checks once that ECR can be used (`--registry-require=ecr`).
    ///
    /// # Errors
    /// When no region or no AWS credentials can be found.
    pub async fn check_ecr(&self) -> Result<(), Error> {
        self.inner.logins.check_ecr(&self.inner.wire).await
    }
}
