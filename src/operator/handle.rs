//! The handle of a running operator: triggers go in, what is known comes out. It never waits for a running pass, except
//! for a fresh plan.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::{Notify, oneshot, watch};

use crate::apply::{Meter, Outcome, Progress};
use crate::object::ObjectId;
use crate::plan::{Held, Plan, Reach, Uid};

use super::Error;

/// Someone who waits for a fresh plan.
pub(super) type Planner = oneshot::Sender<Result<Arc<Plan>, Error>>;

#[derive(Default)]
pub(super) struct State {
    pub(super) plan: Option<Arc<Plan>>,
    pub(super) outcome: Option<Arc<Outcome>>,
    pub(super) desired_error: Option<String>,
    pub(super) errors: HashMap<ObjectId, String>,
    pub(super) held: Option<Held>,
    pub(super) approved: HashSet<Uid>,
    pub(super) wanted_full: bool,
    pub(super) wanted: bool,
    pub(super) planners: Vec<Planner>,
}

/// Fresh plans that may wait at a time.
const PLANNERS: usize = 16;

pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    pub(super) wake: Notify,
    pub(super) meter: Meter,
    pub(super) passes: watch::Sender<u64>,
    pub(super) paused: watch::Sender<Option<Timestamp>>,
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
            meter: Meter::default(),
            passes: watch::Sender::new(0),
            paused: watch::Sender::new(None),
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
        self.shared.meter.get()
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
        let held = state.held.as_ref().filter(|held| held.digest == digest);
        let Some(held) = held else { return Err(Error::NothingHeld { digest: digest.to_owned() }) };
        let lives: Vec<Uid> = held.deletes.iter().map(|held| held.uid).collect();
        state.approved.extend(lives);
        state.wanted = true;
        self.shared.wake.notify_one();
        Ok(())
    }

    /// Starts no pass any more until resumed; a running one is finished.
    pub fn pause(&self) {
        self.shared.paused.send_modify(|since| *since = since.or_else(|| Some(Timestamp::now())));
        self.shared.wake.notify_one();
    }

    /// Ends a pause and asks for a sync.
    pub fn resume(&self) {
        self.shared.paused.send_replace(None);
        self.request();
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.paused_since().is_some()
    }

    /// Since when it is paused.
    pub fn paused_since(&self) -> Option<Timestamp> {
        *self.shared.paused.borrow()
    }

    /// Tells when a pause begins and ends: since when it is paused.
    pub fn pauses(&self) -> watch::Receiver<Option<Timestamp>> {
        self.shared.paused.subscribe()
    }

    /// The error of an object at its last apply or delete; empty once it succeeds.
    pub fn sync_error(&self, id: &ObjectId) -> Option<String> {
        lock(&self.shared.state).errors.get(id).cloned()
    }

    /// Plans from fresh reads and changes nothing; waits for a running pass.
    ///
    /// # Errors
    /// When the component does not know what is wanted, the cluster cannot be read, or the operator does not run.
    pub async fn plan(&self) -> Result<Arc<Plan>, Error> {
        let (send, receive) = oneshot::channel();
        {
            let mut state = lock(&self.shared.state);
            state.planners.retain(|planner| !planner.is_closed());
            if state.planners.len() >= PLANNERS {
                return Err(Error::NotReady("too many plans are asked for at once; try again".into()));
            }
            state.planners.push(send);
        }
        self.shared.wake.notify_one();
        receive.await.map_err(|_| Error::NotRunning)?
    }

    /// Takes in a finished pass.
    pub(super) fn note(&self, plan: &Arc<Plan>, outcome: &Arc<Outcome>) {
        let mut state = lock(&self.shared.state);
        if outcome.reach == Reach::Whole && outcome.stopped.is_none() {
            state.errors.clear();
        }
        for result in &outcome.results {
            match result.failure() {
                Some(failure) => {
                    state.errors.insert(result.id().clone(), failure.message.clone());
                }
                None => {
                    state.errors.remove(result.id());
                }
            }
        }
        if outcome.reach == Reach::Whole {
            if !plan.steps.is_empty() || outcome.stopped.is_none() {
                state.held.clone_from(&outcome.held);
            }
            state.plan = Some(Arc::clone(plan));
            state.outcome = Some(Arc::clone(outcome));
        }
    }

    pub(super) fn note_error(&self, error: Option<String>) {
        lock(&self.shared.state).desired_error = error;
    }

    pub(super) fn finished(&self) {
        self.shared.passes.send_modify(|n| *n += 1);
    }
}
