//! Jobs: what clients ask for and come back to (fluxd-v1 §6.7). A bounded queue with one worker, and a bounded memory of
//! what became of each.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rand::RngExt as _;
use tokio::sync::Notify;

use crate::report::{JobResult, JobState, JobStatus, UpdateSpec};
use crate::runtime::Stop;

/// Jobs whose fate is remembered, waiting ones included; the oldest is forgotten first.
const REMEMBERED: usize = 100;

/// A job's name: 32 random hexadecimal digits in groups of 8, 4, 4, 4, 12.
pub(super) fn new_id() -> String {
    let bytes: [u8; 16] = rand::rng().random();
    let text = hex::encode(bytes);
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

/// The queue and the fates of the latest jobs.
#[derive(Debug, Default)]
pub(super) struct JobLog {
    inner: Mutex<Inner>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<(String, Instant)>,
    order: VecDeque<String>,
    fates: HashMap<String, JobStatus>,
}

impl JobLog {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job at the end.
    pub(super) fn queue(&self, id: &str, spec: UpdateSpec) {
        let mut inner = self.lock();
        let result = JobResult { spec: Some(spec), ..JobResult::default() };
        inner.order.push_back(id.to_owned());
        inner.waiting.push_back((id.to_owned(), Instant::now()));
        inner.fates.insert(id.to_owned(), JobStatus { result, err: String::new(), state: JobState::Queued });
        while inner.order.len() > REMEMBERED {
            if let Some(oldest) = inner.order.pop_front() {
                inner.fates.remove(&oldest);
                inner.waiting.retain(|(id, _)| *id != oldest);
            }
        }
        drop(inner);
        self.wake.notify_one();
    }

    /// Waits for the next job, and tells how long it has waited; `None` once stopped.
    pub(super) async fn next(&self, stop: &Stop) -> Option<(String, Duration)> {
        loop {
            if let Some((id, since)) = self.lock().waiting.pop_front() {
                return Some((id, since.elapsed()));
            }
            tokio::select! {
                () = stop.stopped() => return None,
                () = self.wake.notified() => {}
            }
        }
    }

    /// How many jobs wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Notes where a job stands, if it is still remembered.
    pub(super) fn record(&self, id: &str, state: JobState, revision: &str, error: &str) {
        if let Some(fate) = self.lock().fates.get_mut(id) {
            fate.state = state;
            fate.result.revision = revision.to_owned();
            fate.err = error.to_owned();
        }
    }

    /// What is known of a job.
    pub(super) fn get(&self, id: &str) -> Option<JobStatus> {
        self.lock().fates.get(id).cloned()
    }
}
