//! Waits until objects are ready: a look at each, and another whenever the live index says that it changed, or after a
//! while. It holds nothing but its own memory, and decides nothing about what follows.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use crate::cluster::{Cluster, ErrorKind, Version};
use crate::health::{Rules, Verdict, assess};
use crate::object::{Gvk, Key};

/// Time between two looks at the live index, which costs no request.
const TICK: Duration = Duration::from_millis(100);
/// First wait between two requests for an object of which the index tells nothing.
const FIRST: Duration = Duration::from_millis(250);

/// An object that is waited for.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// The API server's key.
    pub key: Key,
    /// Group, version and kind.
    pub gvk: Gvk,
    /// The object as it was seen just now; spares a look.
    pub seen: Option<Value>,
}

/// An object that is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unready {
    /// The API server's key.
    pub key: Key,
    /// The word of kstatus for its state.
    pub status: &'static str,
    /// What its condition `Ready` says, where that is not true.
    pub message: Option<String>,
}

/// How a wait ended, if not well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// Some objects will not become ready without help.
    Failed(Vec<Unready>),
    /// The time is over.
    TimedOut(Vec<Unready>),
}

/// What a wait goes by.
#[derive(Clone, Copy)]
pub struct Wait<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Requests in flight.
    pub concurrency: usize,
    /// When it has to be over.
    pub until: Instant,
    /// Longest time between two looks at an object.
    pub poll: Duration,
}

struct Waiting {
    item: Awaited,
    status: &'static str,
    message: Option<String>,
    version: Option<Version>,
    next: Instant,
    pause: Duration,
}

impl Wait<'_> {
    /// Waits. `ready` hears of each object that is ready, with the version in which it was seen so.
    ///
    /// # Errors
    /// When one has failed, or the time is over.
    pub async fn run(&self, items: Vec<Awaited>, mut ready: impl FnMut(&Key, Version)) -> Result<(), WaitError> {
        let now = Instant::now();
        let fresh = |item| Waiting { item, status: "Unknown", message: None, version: None, next: now, pause: FIRST };
        let mut waiting: Vec<Waiting> = items.into_iter().map(fresh).collect();
        loop {
            self.look(&mut waiting).await;
            let failed: Vec<Unready> = waiting.iter().filter(|w| w.status == "Failed").map(Waiting::tell).collect();
            if !failed.is_empty() {
                return Err(WaitError::Failed(failed));
            }
            for done in waiting.iter().filter(|w| w.status == "Current") {
                ready(&done.item.key, done.version.unwrap_or(Version(0)));
            }
            waiting.retain(|w| w.status != "Current");
            if waiting.is_empty() {
                return Ok(());
            }
            if Instant::now() >= self.until {
                return Err(WaitError::TimedOut(waiting.iter().map(Waiting::tell).collect()));
            }
            tokio::time::sleep_until(self.until.min(Instant::now() + TICK)).await;
        }
    }

    /// Looks at those whose time has come, side by side.
    async fn look(&self, waiting: &mut [Waiting]) {
        let now = Instant::now();
        let due = waiting.iter_mut().filter(|w| w.is_due(self.cluster, now));
        let looks: Vec<_> = due.map(|w| self.look_at(w)).collect();
        futures::stream::iter(looks).buffer_unordered(self.concurrency.max(1)).collect::<Vec<()>>().await;
    }

    async fn look_at(&self, waiting: &mut Waiting) {
        let found = match waiting.item.seen.take() {
            Some(seen) => Ok(Some(seen)),
            None => self.read(&waiting.item).await,
        };
        waiting.next = Instant::now() + if waiting.is_indexed(self.cluster) { self.poll } else { waiting.pause };
        waiting.pause = (waiting.pause * 2).min(self.poll);
        match found {
            Ok(Some(object)) => waiting.judge(&object),
            Ok(None) => (waiting.status, waiting.version) = ("NotFound", None),
            Err(()) => waiting.status = "Unknown",
        }
    }

    async fn read(&self, item: &Awaited) -> Result<Option<Value>, ()> {
        let kinds = self.cluster.kinds();
        let kind = match kinds.resolve(&item.gvk) {
            Ok(kind) => Arc::clone(kind),
            Err(unresolved) => return if unresolved.is_certain() { Ok(None) } else { Err(()) },
        };
        let until = self.until.max(Instant::now() + FIRST);
        match self.cluster.get(&kind, &item.key, until).await {
            Err(e) if e.kind() == ErrorKind::KindMissing => Ok(None),
            found => found.map_err(|e| tracing::debug!(resource = %item.key, err = %e, "could not be looked at")),
        }
    }
}

impl Waiting {
    fn is_indexed(&self, cluster: &Cluster) -> bool {
        cluster.is_followed(&self.item.gvk) && cluster.live().get(&self.item.key).is_some()
    }

    /// Whether it has changed since the last look, or was not looked at for long.
    fn is_due(&self, cluster: &Cluster, now: Instant) -> bool {
        let moved = || match (self.version, cluster.live().get(&self.item.key)) {
            (Some(seen), Some(live)) => seen.is_before(live.version),
            (None, Some(_)) => self.status == "NotFound",
            (_, None) => false,
        };
        now >= self.next || moved()
    }

    fn judge(&mut self, object: &Value) {
        let rules = Rules { awaited: true, ..Rules::at(Timestamp::now()) };
        self.status = match assess(object, &rules).verdict {
            Verdict::Current => "Current",
            Verdict::Progressing => "InProgress",
            Verdict::Failed => "Failed",
            Verdict::Terminating => "Terminating",
            Verdict::Unknown => "Unknown",
        };
        self.version = object["metadata"]["resourceVersion"].as_str().map(Version::new);
        let conditions = object["status"]["conditions"].as_array();
        let ready = conditions.into_iter().flatten().find(|c| c["type"] == "Ready" && c["status"] != "True");
        self.message = ready.and_then(|c| c["message"].as_str()).map(str::to_owned);
    }

    fn tell(&self) -> Unready {
        Unready { key: self.item.key.clone(), status: self.status, message: self.message.clone() }
    }
}
