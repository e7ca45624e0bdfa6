//! Deleting objects of an inventory (resourceset §7.6), by the complete-read rule: what cannot be read is kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt as _;
use tokio::time::Instant;

use crate::cluster::{Cascade, Cluster, Deleted, Deletion, ErrorKind, KindInfo, Kinds, Seen};
use crate::engine::owned::{kind_order, subject, wave};
use crate::object::Key;

use super::jobs::wait_gone;
use super::{ApplyHow, Change, ChangeAction, Entry, Pruned, Set};

/// Groups whose objects clean up after themselves in the cluster, and need what stands in the same inventory for it.
const FIRST: [&str; 2] = ["kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"];

impl Set {
    /// Deletes objects of an inventory that are still the owner's (resourceset §7.6). A kind that is not served any more, for
    /// certain, has no objects; where that is not certain, they are kept.
    pub async fn prune(&self, entries: &[Entry], how: &ApplyHow) -> Pruned {
        let distinct: BTreeSet<&Entry> = entries.iter().collect();
        let mut entries: Vec<&Entry> = distinct.into_iter().collect();
        if entries.is_empty() {
            return Pruned::default();
        }
        let cluster = match self.cluster() {
            Ok(cluster) => cluster,
            Err(error) => return kept(&entries, &error),
        };
        let kinds = match self.kinds_for(&entries, how.until).await {
            Ok(kinds) => kinds,
            Err(error) => return kept(&entries, &error),
        };
        entries.sort_by(|a, b| kind_order(&b.key).cmp(&kind_order(&a.key)));
        let is_first = |e: &&Entry| FIRST.iter().any(|group| e.key.group.starts_with(group));
        let (first, rest): (Vec<&Entry>, Vec<&Entry>) = entries.into_iter().partition(is_first);
        let mut work = Prune { set: self, cluster, kinds, how, pruned: Pruned::default(), errors: Vec::new() };
        let went = work.delete(&first).await;
        if !went.is_empty() {
            work.wait(&went).await;
        }
        for group in rest.chunk_by(|a, b| wave(&a.key) == wave(&b.key)) {
            work.delete(group).await;
        }
        work.finish()
    }

    /// The kinds, asked for anew when some of the entries' is not among them.
    async fn kinds_for(&self, entries: &[&Entry], until: Instant) -> Result<Arc<Kinds>, String> {
        let kinds = self.owned().cluster().kinds();
        if entries.iter().all(|entry| find(&kinds, entry).is_some()) {
            return Ok(kinds);
        }
        // Only what was asked for just now may say that a kind is gone.
        self.owned().cluster().refresh_kinds(until).await.map_err(|e| e.to_string())
    }
}

fn kept(entries: &[&Entry], error: &str) -> Pruned {
    let left = entries.iter().map(|entry| (*entry).clone()).collect();
    Pruned { changes: Vec::new(), error: Some(format!("delete failed, errors: {error};")), left }
}

/// The kind at the entry's version, or at another that can be deleted.
fn find<'a>(kinds: &'a Kinds, entry: &Entry) -> Option<&'a Arc<KindInfo>> {
    let exact = kinds.resolve(&entry.gvk()).ok().filter(|kind| kind.can("delete"));
    exact.or_else(|| kinds.find(&entry.key.group, &entry.key.kind, "delete"))
}

struct Prune<'a> {
    set: &'a Set,
    cluster: &'a Cluster,
    kinds: Arc<Kinds>,
    how: &'a ApplyHow,
    pruned: Pruned,
    errors: Vec<String>,
}

/// What became of one entry; an error keeps it.
type Gone = Result<ChangeAction, String>;

impl Prune<'_> {
    /// Deletes entries side by side; gives those that were deleted now.
    async fn delete<'e>(&mut self, entries: &[&'e Entry]) -> Vec<&'e Entry> {
        let deletes: Vec<_> = entries.iter().map(|entry| self.one(entry)).collect();
        let concurrency = self.set.owned().settings().concurrency.max(1);
        let results: Vec<Gone> = futures::stream::iter(deletes).buffered(concurrency).collect().await;
        let mut went = Vec::new();
        for (entry, result) in entries.iter().zip(results) {
            match result {
                Ok(action) => {
                    if action == ChangeAction::Deleted {
                        went.push(*entry);
                    }
                    self.pruned.changes.push(Change { entry: (*entry).clone(), action });
                }
                Err(error) => {
                    self.errors.push(format!("{} delete failed: {error}", subject(&entry.key)));
                    self.pruned.left.push((*entry).clone());
                }
            }
        }
        went
    }

    async fn one(&self, entry: &Entry) -> Gone {
        if self.how.stop.is_stopped() || Instant::now() >= self.how.until {
            return Err("not begun: the time is over, or the process is to stop".into());
        }
        let Some(kind) = find(&self.kinds, entry) else {
            return self.is_gone(entry, &self.kinds).map(|()| ChangeAction::Deleted);
        };
        let settings = self.set.owned().settings();
        let may = |seen: &Seen<'_>| self.set.is_owner(seen) && !seen.says(&settings.prune_off);
        let until = self.how.until.min(Instant::now() + settings.deadline);
        let deletion = Deletion { may: &may, cascade: Cascade::Background };
        match self.cluster.delete_if(kind, &entry.key, &deletion, until).await {
            Ok(Deleted::Done | Deleted::Terminating | Deleted::AlreadyGone) => Ok(ChangeAction::Deleted),
            Ok(Deleted::NotOurs) => Ok(ChangeAction::Skipped),
            Err(error) if error.kind() == ErrorKind::KindMissing => {
                let kinds =
                    self.set.owned().cluster().refresh_kinds(until).await.map_err(|e| e.message().to_owned())?;
                self.is_gone(entry, &kinds).map(|()| ChangeAction::Deleted)
            }
            Err(error) => Err(error.message().to_owned()),
        }
    }

    /// Whether the kind is certainly not served any more, and its objects gone with it.
    fn is_gone(&self, entry: &Entry, kinds: &Kinds) -> Result<(), String> {
        if find(kinds, entry).is_some() {
            return Err("its kind is served again; it is deleted at the next try".into());
        }
        match kinds.resolve(&entry.gvk()) {
            Err(unresolved) if unresolved.is_certain() && !kinds.is_group_doubtful(&entry.key.group) => Ok(()),
            Err(unresolved) => Err(unresolved.to_string()),
            Ok(_) => Err("its kind cannot be deleted".into()),
        }
    }

    /// Waits until objects are gone that others clean up after; when they do not go in time, that is only told.
    async fn wait(&self, went: &[&Entry]) {
        let until = self.how.until.min(Instant::now() + self.set.owned().settings().stage_timeout);
        let waits = went.iter().filter_map(|entry| Some((find(&self.kinds, entry)?, &entry.key)));
        let waits: Vec<_> = waits.map(|(kind, key)| self.wait_one(kind, key, until)).collect();
        let all = futures::future::join_all(waits);
        self.how.stop.or(all).await;
    }

    async fn wait_one(&self, kind: &Arc<KindInfo>, key: &Key, until: Instant) {
        let left = match self.cluster.read_meta(kind, key, until).await {
            Ok(Some(live)) if live.deleting => wait_gone(self.cluster, kind, key, (live.uid, until)).await,
            Ok(_) => Ok(()),
            Err(error) => Err(error.message().to_owned()),
        };
        if let Err(error) = left {
            tracing::warn!(resource = %key, err = %error, "a deleted object is still there; going on without it");
        }
    }

    fn finish(mut self) -> Pruned {
        if !self.errors.is_empty() {
            let all: String = self.errors.iter().map(|error| format!("{error};")).collect();
            self.pruned.error = Some(format!("delete failed, errors: {all}"));
        }
        self.pruned
    }
}
