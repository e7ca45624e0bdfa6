//! Whether the process still gets on, and whether it is of use yet. Work is done in named stages with deadlines; a stage
//! past its deadline means that something hangs which should have given up by itself, so the process wants a restart.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The stages being worked on. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    stages: Arc<Mutex<Stages>>,
}

#[derive(Debug, Default)]
struct Stages {
    next: u64,
    active: BTreeMap<u64, Active>,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    name: &'static str,
    since: Instant,
    deadline: Duration,
}

/// A stage that should have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// The stage's name.
    pub stage: &'static str,
    /// How long it has been going on.
    pub running: Duration,
    /// How long it may take.
    pub deadline: Duration,
}

impl fmt::Display for Overdue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (running, deadline) = (self.running.as_secs(), self.deadline.as_secs());
        write!(f, "stage {} has been running for {running}s, its deadline is {deadline}s", self.stage)
    }
}

/// A stage under way. Dropping it ends the stage.
#[must_use = "the stage ends when this is dropped"]
#[derive(Debug)]
pub struct Stage {
    key: u64,
    of: Liveness,
}

impl Liveness {
    /// Makes a record without stages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a stage that should end within `deadline`.
    pub fn stage(&self, name: &'static str, deadline: Duration) -> Stage {
        let mut stages = self.lock();
        let key = stages.next;
        stages.next += 1;
        stages.active.insert(key, Active { name, since: Instant::now(), deadline });
        Stage { key, of: self.clone() }
    }

    /// Returns the stages past their deadline at `now`, the longest overdue first.
    pub fn overdue(&self, now: Instant) -> Vec<Overdue> {
        let to_overdue = |active: &Active| {
            let running = now.saturating_duration_since(active.since);
            Overdue { stage: active.name, running, deadline: active.deadline }
        };
        let mut found: Vec<Overdue> =
            self.lock().active.values().map(to_overdue).filter(|s| s.running > s.deadline).collect();
        found.sort_by_key(|s| std::cmp::Reverse(s.running.saturating_sub(s.deadline)));
        found
    }

    fn lock(&self) -> MutexGuard<'_, Stages> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stage {
    /// Starts the stage's time anew: it got on.
    pub fn progress(&self) {
        if let Some(active) = self.of.lock().active.get_mut(&self.key) {
            active.since = Instant::now();
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.of.lock().active.remove(&self.key);
    }
}

/// What must be true before the process is of use. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    waiting: Arc<Mutex<BTreeMap<&'static str, String>>>,
}

impl Readiness {
    /// Makes a record in which nothing is awaited.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that the process is not ready, and why; `what` names the condition.
    pub fn wait_for(&self, what: &'static str, why: impl Into<String>) {
        self.lock().insert(what, why.into());
    }

    /// Says that a condition holds now.
    pub fn done(&self, what: &'static str) {
        self.lock().remove(what);
    }

    /// Returns what is still awaited, by name, with the reasons.
    pub fn awaited(&self) -> Vec<(&'static str, String)> {
        self.lock().iter().map(|(what, why)| (*what, why.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_past_its_deadline_is_told_until_it_gets_on() {
        let liveness = Liveness::new();
        let fetch = liveness.stage("fetch", Duration::from_secs(20));
        let _apply = liveness.stage("apply", Duration::from_secs(3600));
        let now = Instant::now();
        assert_eq!(liveness.overdue(now), []);
        let later = liveness.overdue(now + Duration::from_secs(60));
        let texts: Vec<String> = later.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["stage fetch has been running for 60s, its deadline is 20s"]);
        fetch.progress();
        assert_eq!(liveness.overdue(Instant::now()), []);
        drop(fetch);
        assert_eq!(liveness.overdue(now + Duration::from_secs(60)), []);
    }

    #[test]
    fn readiness_names_what_is_awaited() {
        let readiness = Readiness::new();
        readiness.wait_for("git", "the repository was not cloned yet");
        assert_eq!(readiness.awaited(), [("git", "the repository was not cloned yet".to_owned())]);
        readiness.done("git");
        assert!(readiness.awaited().is_empty());
    }
}
