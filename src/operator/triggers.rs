//! What starts the next pass: requests, intervals, drift, a retry after trouble. Nothing is lost while a pass runs.

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::cluster::Live;
use crate::engine::{Drift, Settings};
use crate::object::Key;
use crate::runtime::{Backoff, Stop};

use super::Trigger;
use super::contention::Contention;
use super::handle::{Planner, Shared, lock};

/// What is to be done next.
pub(super) enum Next {
    /// A whole pass.
    Whole(Trigger),
    /// Objects to put right.
    Drift(HashSet<Key>),
    /// Someone waits for a plan.
    Plan(Vec<Planner>),
    /// The process ends.
    Stop,
}

/// Timers and queues.
pub(super) struct Triggers {
    interval: Duration,
    full_interval: Duration,
    next: Option<Instant>,
    next_full: Option<Instant>,
    retry: Option<Instant>,
    backoff: Backoff,
    watch_drift: bool,
    started: bool,
    pub(super) contention: Contention,
    pub(super) leading: Option<watch::Receiver<bool>>,
}

impl Triggers {
    pub(super) fn new(settings: &Settings, leading: Option<watch::Receiver<bool>>) -> Self {
        let longest = settings.interval.max(Duration::from_secs(5));
        Self {
            interval: settings.interval,
            full_interval: settings.full_interval,
            next: None,
            next_full: after(settings.full_interval),
            retry: None,
            backoff: Backoff::new(Duration::from_secs(5).min(longest), longest),
            watch_drift: settings.drift == Drift::Watch,
            started: false,
            contention: Contention::default(),
            leading,
        }
    }

    /// Whether this replica may write.
    pub(super) fn leads(&self) -> bool {
        self.leading.as_ref().is_none_or(|leading| *leading.borrow())
    }

    /// Notes the end of a whole pass: its timers start again, and trouble is looked at again sooner.
    pub(super) fn passed(&mut self, trigger: Trigger, trouble: bool) {
        self.started = true;
        self.next = after(self.interval);
        if trigger >= Trigger::Full {
            self.next_full = after(self.full_interval);
        }
        if trouble {
            self.retry = Some(Instant::now() + self.backoff.next_wait());
        } else {
            self.retry = None;
            self.backoff.reset();
        }
    }

    /// Waits for what is to be done next.
    pub(super) async fn wait(&mut self, shared: &Shared, live: &Live, stop: &Stop) -> Next {
        loop {
            let woken = shared.wake.notified();
            if stop.is_stopped() {
                return Next::Stop;
            }
            let planners = std::mem::take(&mut lock(&shared.state).planners);
            if !planners.is_empty() {
                return Next::Plan(planners);
            }
            let may = self.leads() && shared.paused.borrow().is_none();
            if may && let Some(trigger) = self.due(shared) {
                return Next::Whole(trigger);
            }
            let drift = may && self.watch_drift && self.started;
            let keys = tokio::select! {
                () = stop.stopped() => return Next::Stop,
                () = woken => continue,
                () = sleep_until(self.earliest(), may) => continue,
                () = leadership(self.leading.as_mut()) => {
                    // A new leader knows nothing of what the other replica did.
                    self.started = false;
                    continue;
                }
                () = sleep_until(self.contention.next(), drift) => Vec::new(),
                changed = live.changed(), if drift => {
                    if changed.all {
                        return Next::Whole(Trigger::Drift);
                    }
                    changed.keys
                }
            };
            if !self.leads() || shared.paused.borrow().is_some() {
                // The pause (or the loss of leadership) came while we waited; its end brings a whole pass.
                continue;
            }
            let admitted = self.contention.admit(keys, Instant::now());
            if !admitted.is_empty() {
                return Next::Drift(admitted);
            }
        }
    }

    fn due(&mut self, shared: &Shared) -> Option<Trigger> {
        let now = Instant::now();
        let over = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let mut state = lock(&shared.state);
        let asked_full = std::mem::take(&mut state.wanted_full);
        let asked = std::mem::take(&mut state.wanted);
        match () {
            () if !self.started => Some(Trigger::Start),
            () if asked_full || over(self.next_full) => Some(Trigger::Full),
            () if over(self.next) => Some(Trigger::Interval),
            () if asked || over(self.retry) => Some(Trigger::Request),
            () => None,
        }
    }

    fn earliest(&self) -> Option<Instant> {
        [self.next, self.next_full, self.retry].into_iter().flatten().min()
    }
}

fn after(interval: Duration) -> Option<Instant> {
    (interval > Duration::ZERO).then(|| Instant::now() + interval)
}

async fn sleep_until(at: Option<Instant>, enabled: bool) {
    match at.filter(|_| enabled) {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Waits until leadership changes.
async fn leadership(leading: Option<&mut watch::Receiver<bool>>) {
    let Some(leading) = leading else { return std::future::pending().await };
    if leading.changed().await.is_err() {
        std::future::pending().await
    }
}
