//! The handle of a running operator: triggers go in, what is known comes out. It never waits for a running pass, except
//! for a fresh plan.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::{Notify, watch};

use crate::apply::{Outcome, Progress};
use crate::object::ObjectId;
use crate::plan::{Held, Plan};

use super::Error;

#[derive(Default)]
pub(super) struct State {
    pub(super) plan: Option<Arc<Plan>>,
    pub(super) outcome: Option<Arc<Outcome>>,
    pub(super) desired_error: Option<String>,
    pub(super) errors: HashMap<ObjectId, String>,
    pub(super) held: Option<Held>,
    pub(super) approved: Option<String>,
    pub(super) paused: Option<Timestamp>,
    pub(super) wanted_full: bool,
    pub(super) wanted: bool,
}

pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    pub(super) wake: Notify,
    pub(super) progress: Mutex<Progress>,
    pub(super) passes: watch::Sender<u64>,
}

/// A cheap handle of an operator.
#[derive(Clone)]
pub struct Handle {
    pub(super) shared: Arc<Shared>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handle {
    pub(super) fn new() -> Self {
        let shared = Shared {
            state: Mutex::default(),
            wake: Notify::new(),
            progress: Mutex::default(),
            passes: watch::Sender::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Asks for a sync soon. Requests made while one is waiting count once.
    pub fn request(&self) {
        lock(&self.shared.state).wanted = true;
        self.shared.wake.notify_one();
    }

    /// Asks for a sync that reads every kind anew.
    pub fn request_full(&self) {
        lock(&self.shared.state).wanted_full = true;
        self.shared.wake.notify_one();
    }

    /// The plan of the last whole pass.
    pub fn last_plan(&self) -> Option<Arc<Plan>> {
        lock(&self.shared.state).plan.clone()
    }

    /// The outcome of the last whole pass.
    pub fn last_outcome(&self) -> Option<Arc<Outcome>> {
        lock(&self.shared.state).outcome.clone()
    }

    /// Why the component could not say what is wanted, if it could not at the last whole pass.
    pub fn last_error(&self) -> Option<String> {
        lock(&self.shared.state).desired_error.clone()
    }

    /// Counts finished passes, drift included.
    pub fn passes(&self) -> watch::Receiver<u64> {
        self.shared.passes.subscribe()
    }

    /// How far a running pass is.
    pub fn progress(&self) -> Progress {
        *lock(&self.shared.progress)
    }

    /// Deletes that wait for an approval.
    pub fn held(&self) -> Vec<Held> {
        lock(&self.shared.state).held.iter().cloned().collect()
    }

    /// Lets held deletes through at the next sync, which is asked for at once.
    ///
    /// # Errors
    /// [`Error::NothingHeld`] when nothing is held under this digest.
    pub fn approve(&self, digest: &str) -> Result<(), Error> {
        let mut state = lock(&self.shared.state);
        if state.held.as_ref().is_none_or(|held| held.digest != digest) {
            return Err(Error::NothingHeld { digest: digest.to_owned() });
        }
        state.approved = Some(digest.to_owned());
        state.wanted = true;
        self.shared.wake.notify_one();
        Ok(())
    }

    /// Starts no pass any more until resumed; a running one is finished.
    pub fn pause(&self) {
        let mut state = lock(&self.shared.state);
        state.paused = state.paused.or_else(|| Some(Timestamp::now()));
    }

    /// Ends a pause and asks for a sync.
    pub fn resume(&self) {
        lock(&self.shared.state).paused = None;
        self.request();
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.paused_since().is_some()
    }

    /// Since when it is paused.
    pub fn paused_since(&self) -> Option<Timestamp> {
        lock(&self.shared.state).paused
    }

    /// The error of an object at its last apply or delete; empty once it succeeds.
    pub fn sync_error(&self, id: &ObjectId) -> Option<String> {
        lock(&self.shared.state).errors.get(id).cloned()
    }
}
