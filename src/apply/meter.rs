//! How far a pass is, readable while it runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::{Progress, Stage};

/// A shared progress counter.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<Progress>>);

impl Meter {
    /// Begins a stage with so many objects to do.
    pub fn begin(&self, stage: Stage, total: usize) {
        let failed = if stage == Stage::Desired { 0 } else { self.lock().failed };
        *self.lock() = Progress { stage, done: 0, total, failed, since: Some(Timestamp::now()) };
    }

    /// Counts one object.
    pub fn count(&self, failed: bool) {
        let mut progress = self.lock();
        progress.done += 1;
        progress.failed += usize::from(failed);
    }

    /// Where the pass is.
    pub fn get(&self) -> Progress {
        *self.lock()
    }

    /// A panic elsewhere cannot leave a half-written value: it is replaced as a whole.
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
