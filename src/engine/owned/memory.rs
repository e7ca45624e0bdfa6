//! What is remembered of live objects while the process runs: what was applied to each life, and the version in which it was
//! seen ready. Without it the next pass learns the same from the objects themselves.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cluster::{LiveObject, Version};
use crate::plan::{Record, Uid};

/// So many objects more than twice those that are live may be remembered before the gone ones are forgotten.
const SLACK: usize = 1_000;

/// The memory of all sets of a controller.
#[derive(Default)]
pub struct Memory {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    applied: HashMap<Uid, Record>,
    ready: HashMap<Uid, Version>,
    /// How many there may be before the next look at what is gone.
    limit: usize,
}

impl Memory {
    pub(super) fn record(&self, uid: &Uid) -> Option<Record> {
        self.lock().applied.get(uid).copied()
    }

    pub(super) fn put(&self, uid: Uid, record: Record) {
        self.lock().applied.insert(uid, record);
    }

    /// Notes that an object was ready in a version.
    pub fn note_ready(&self, uid: Uid, version: Version) {
        self.lock().ready.insert(uid, version);
    }

    /// Whether an object was ready as it is now.
    pub fn was_ready(&self, live: &LiveObject) -> bool {
        !live.deleting && self.lock().ready.get(&live.uid.0) == Some(&live.version)
    }

    /// Forgets objects that are gone, once there may be many.
    pub(super) fn bound(&self, live: impl FnOnce() -> HashSet<Uid>) {
        let mut known = self.lock();
        if known.applied.len().max(known.ready.len()) <= known.limit.max(SLACK) {
            return;
        }
        let live = live();
        known.applied.retain(|uid, _| live.contains(uid));
        known.ready.retain(|uid, _| live.contains(uid));
        known.limit = 2 * live.len() + SLACK;
    }

    /// A panic while the lock was held cannot leave the maps half-written: each change is one insert.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
