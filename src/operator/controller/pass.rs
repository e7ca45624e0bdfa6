//! What a pass is given: who woke it, its stop, its worker slot, and the doors to the object's status, events and store.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use kube::runtime::reflector::ObjectRef;
use serde::Serialize;
use tokio::sync::{Mutex, OwnedSemaphorePermit, watch};
use tokio::time::Instant;

use crate::object::Gvk;
use crate::operator::reads::Reads;
use crate::runtime::Stop;

use super::run::Shared;
use super::store::{Id, id_of};
use super::{Event, Managed, Store, Trigger};

/// A write to an object of the controller's own kind failed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The object is gone.
    #[error("{kind} {namespace}/{name} is gone")]
    Gone {
        /// Its kind.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Others changed the object at the same time, again and again.
    #[error("{object} was changed by others at every one of {tries} tries to write it")]
    Conflict {
        /// `Kind namespace/name`.
        object: String,
        /// How often it was tried.
        tries: u32,
    },
    /// The API server refused or did not answer.
    #[error("writing {object}: {message}")]
    Cluster {
        /// `Kind namespace/name`.
        object: String,
        /// What it said.
        message: String,
    },
}

/// An object of any kind that another depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dependency {
    /// Its kind.
    pub gvk: Gvk,
    /// Its namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Dependency {
    /// The object of this kind, namespace (empty for cluster-scoped kinds) and name.
    pub fn new(gvk: &Gvk, namespace: &str, name: &str) -> Self {
        Self { gvk: gvk.clone(), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl std::fmt::Display for Dependency {
    /// Writes `version/Kind/namespace/name` with the group in front, without the namespace for cluster scope.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/", self.gvk.api_version(), self.gvk.kind)?;
        match self.namespace.as_str() {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}

/// For how long a pass has waited without a worker. That time does not count towards the longest time of a pass: what is
/// waited for has a bound of its own, which may be longer.
#[derive(Debug, Default)]
pub(super) struct Waits(std::sync::Mutex<(Duration, Option<Instant>)>);

impl Waits {
    fn lock(&self) -> std::sync::MutexGuard<'_, (Duration, Option<Instant>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a wait, which ends when the answer is dropped.
    pub(super) fn begin(&self) -> Wait<'_> {
        self.lock().1 = Some(Instant::now());
        Wait(self)
    }

    /// All waits together, the one under way included.
    pub(super) fn total(&self, now: Instant) -> Duration {
        let (ended, since) = *self.lock();
        ended + since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

/// A wait under way.
pub(super) struct Wait<'a>(&'a Waits);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let total = self.0.total(Instant::now());
        *self.0.lock() = (total, None);
    }
}

/// One pass over one object.
pub struct Pass<K> {
    pub(super) shared: Arc<Shared<K>>,
    pub(super) id: Id,
    pub(super) trigger: Option<Trigger>,
    pub(super) is_new: bool,
    pub(super) stop: Stop,
    pub(super) woken: watch::Receiver<Option<Trigger>>,
    pub(super) slot: Mutex<Option<OwnedSemaphorePermit>>,
    pub(super) waits: Arc<Waits>,
}

impl<K: Managed> Pass<K> {
    /// Who woke this pass; `None` for timers, retries and the start of the process.
    pub fn trigger(&self) -> Option<&Trigger> {
        self.trigger.as_ref()
    }

    /// Whether the finalizer was added just before this pass: the object has not been worked on before.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Pulled when the process stops or stops leading. Long work ends then.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Waits until something triggers the object again; armed since the start of this pass. The next pass follows in any
    /// case; this is for those who would rather not finish a long wait first.
    pub async fn interrupted(&self) -> Trigger {
        let mut woken = self.woken.clone();
        let found = match woken.wait_for(Option::is_some).await {
            Ok(found) => found.clone(),
            Err(_) => None,
        };
        match found {
            Some(trigger) => trigger,
            None => std::future::pending().await,
        }
    }

    /// How often [`super::Next::Retry`] or [`super::Next::Poll`] was answered in a row with this cause.
    pub fn attempts(&self, cause: &str) -> u32 {
        self.shared.attempts(&self.id, cause)
    }

    /// Waits for something without holding a worker: objects that never become healthy do not keep others from their
    /// turn. When `future` is done, it waits for a free worker. The time does not count towards the longest that a pass may
    /// take, so the future has to end by itself.
    pub async fn waiting<T>(&self, future: impl Future<Output = T>) -> T {
        let mut slot = self.slot.lock().await;
        let _wait = self.waits.begin();
        drop(slot.take());
        self.shared.slot_freed();
        let done = future.await;
        *slot = self.shared.take_slot().await;
        done
    }

    /// Typed reads of the cluster, with the operator's own identity.
    pub fn reads(&self) -> &Reads {
        self.shared.reads()
    }

    /// The client of the operator's own identity: for its own kinds, not for what tenants ask for.
    pub fn client(&self) -> &kube::Client {
        self.shared.client()
    }

    /// All objects of the kind.
    pub fn store(&self) -> &Store<K> {
        self.shared.store()
    }

    /// Makes the object's status equal to `status` and answers with the object as it is then. One merge patch of what
    /// differs, and none when nothing does. If others have changed the object meanwhile, it is read again; conditions of
    /// types that this pass has not seen are left alone.
    ///
    /// The next pass sees at least this version.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn patch_status<S: Serialize + Sync>(&self, object: &K, status: &S) -> Result<K, WriteError> {
        self.shared.patch_status(object, status).await
    }

    /// Records a Kubernetes event about the object, and forwards it if it says so. It does not wait: events go out in
    /// order from a bounded queue, and are dropped with a warning when the API server is too slow for them.
    pub fn event(&self, object: &K, event: Event) {
        self.shared.event(object, event);
    }

    /// Says which objects this one depends on, instead of what was said before: a change of any of them triggers it. They
    /// are watched by metadata, also kinds that do not exist yet. Say it before looking at them, so that no change is
    /// missed between; the watch of a kind that nobody depended on so far wakes once when it begins. They do not interrupt a
    /// running pass ([`Pass::interrupted`]): another follows it.
    pub fn depends_on(&self, dependencies: impl IntoIterator<Item = Dependency>) {
        self.shared.depends_on(&self.id, dependencies.into_iter().collect());
    }

    /// Triggers another object of the kind.
    pub fn request(&self, object: &ObjectRef<K>) {
        self.shared.request(id_of(object), None);
    }
}
