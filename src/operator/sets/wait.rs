//! Waiting until the objects of a set are ready (resourceset §7.5).

use std::time::Duration;

use tokio::time::Instant;

use crate::apply::{Awaited, Wait, WaitError};
use crate::cluster::Version;
use crate::engine::owned;
use crate::object::Key;

use super::{Entry, Set, Waited};

impl Set {
    /// Waits until all entries are ready, one has failed, the time is over, or `interrupt` ends (resourceset §7.5). What was
    /// seen ready and has not changed since costs no request.
    ///
    /// It holds nothing but its own memory; whoever awaits it decides what else is held meanwhile.
    pub async fn wait<T>(&self, entries: &[Entry], timeout: Duration, interrupt: impl Future<Output = T>) -> Waited<T> {
        let cluster = match self.cluster() {
            Ok(cluster) => cluster,
            Err(error) => return Waited::Failed(error),
        };
        let settings = self.owned().settings();
        let until = Instant::now() + timeout;
        let wait = Wait { cluster, concurrency: settings.concurrency, until, poll: settings.poll };
        let open = entries.iter().filter(|entry| !self.is_known_ready(entry));
        let items: Vec<Awaited> = open.map(|e| Awaited { key: e.key.clone(), gvk: e.gvk(), seen: None }).collect();
        let ready = |key: &Key, version: Version| self.note_ready(key, version);
        tokio::select! {
            biased;
            interrupted = interrupt => Waited::Interrupted(interrupted),
            waited = wait.run(items, ready) => match waited {
                Ok(()) => Waited::Ready,
                Err(error @ WaitError::Failed(_)) => Waited::Failed(owned::unready(&error)),
                Err(error @ WaitError::TimedOut(_)) => Waited::TimedOut(owned::unready(&error)),
            },
        }
    }

    pub(super) fn is_known_ready(&self, entry: &Entry) -> bool {
        let cluster = self.owned().cluster();
        let live = cluster.live().get(&entry.key).filter(|_| cluster.is_followed(&entry.gvk()));
        live.is_some_and(|live| self.owned().memory().was_ready(&live))
    }

    pub(super) fn note_ready(&self, key: &Key, version: Version) {
        let live = self.owned().cluster().live().get(key).filter(|live| live.version == version);
        if let Some(live) = live {
            self.owned().memory().note_ready(live.uid.0, version);
        }
    }
}
