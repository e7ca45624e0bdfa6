//! Reading what is live, and what may be concluded from it.

use std::collections::{BTreeMap, HashSet};

use futures::StreamExt as _;
use tokio::time::Instant;

use crate::apply::Stopped;
use crate::cluster::{Cluster, Kinds, LiveObject, Mark, MarkedRead};
use crate::object::{Gvk, Key};
use crate::plan::{Deletes, Doubts, Live};

/// So many reads running in which the same kind could not be read make it a broken kind: from then on only its own objects
/// are kept. Before that, the failure may be the first sign of wider trouble, and nothing at all is deleted.
const BROKEN_AFTER: u32 = 3;

/// What is known of the completeness of our reads.
#[derive(Default)]
pub(super) struct Reading {
    last: Option<MarkedRead>,
    failing: BTreeMap<(Gvk, Option<String>), u32>,
}

impl Reading {
    /// Whether every kind has to be read (again) before anything may be concluded.
    pub(super) fn is_due(&self) -> bool {
        self.last.is_none() || self.failing.values().any(|times| *times < BROKEN_AFTER)
    }

    /// Whether some kind could not be read.
    pub(super) fn is_broken(&self) -> bool {
        !self.failing.is_empty()
    }

    /// Whether a group that did not answer at the last read answers now.
    pub(super) fn has_healed(&self, kinds: &Kinds) -> bool {
        let failed = kinds.failed(&[]);
        let is_down = |gvk: &Gvk| failed.iter().any(|(group_version, _)| *group_version == gvk.api_version());
        self.failing.keys().any(|(gvk, _)| gvk.kind.is_empty() && !is_down(gvk))
    }

    /// Reads the kinds and all marked objects.
    pub(super) async fn refresh(&mut self, cluster: &Cluster, until: Instant) -> Result<(), Stopped> {
        let read = cluster.read_marked(until).await;
        if let Some(silent) = read.failures.iter().find(|f| f.gvk == Gvk::new("", "")) {
            let reason = format!("the API server could not be asked for its kinds: {}", silent.reason);
            self.last = None;
            return Err(Stopped::Read(reason));
        }
        let mut failing = BTreeMap::new();
        for failure in read.failures.iter().filter(|f| !f.forbidden) {
            let key = (failure.gvk.clone(), failure.namespace.clone());
            let times = self.failing.get(&key).copied().unwrap_or_default() + 1;
            if times == 1 {
                tracing::warn!(kind = %failure.gvk, err = %failure.reason, "a kind could not be read; nothing is deleted");
            }
            failing.insert(key, times);
        }
        self.failing = failing;
        self.last = Some(read);
        Ok(())
    }

    /// The kinds in which objects of ours were found.
    pub(super) fn kinds_in_use(&self) -> impl Iterator<Item = &Gvk> {
        self.last.iter().flat_map(|read| &read.kinds_in_use)
    }

    /// What must not be concluded from.
    pub(super) fn doubts(&self, generated: bool) -> Doubts {
        let mut doubts = Doubts::default();
        if !generated {
            doubts.all = Some("not all of what is wanted could be read".into());
            return doubts;
        }
        let Some(read) = &self.last else {
            doubts.all = Some("what is live has not been read yet".into());
            return doubts;
        };
        for failure in &read.failures {
            let key = (failure.gvk.clone(), failure.namespace.clone());
            let reason = format!("reading {} failed: {}", name(&failure.gvk), failure.reason);
            if self.failing.get(&key).is_some_and(|times| *times < BROKEN_AFTER) {
                doubts.all.get_or_insert_with(|| reason.clone());
            }
            doubts.kinds.insert((failure.gvk.group.clone(), failure.gvk.kind.clone()), reason);
        }
        if !read.complete && read.failures.is_empty() {
            doubts.all = Some("what is live could not be read".into());
        }
        doubts
    }
}

fn name(gvk: &Gvk) -> String {
    if gvk.kind.is_empty() { gvk.api_version() } else { gvk.to_string() }
}

/// What a plan needs of a live object.
pub(super) fn live(object: &LiveObject) -> Live {
    Live {
        uid: object.uid.0,
        ours: object.mark == Mark::Ours,
        theirs: object.mark == Mark::Other,
        entry: object.entry.map(|e| e.0),
        checksum: object.checksum.map(|c| c.0),
        ignore: object.ignore,
        has_owner: object.has_owner,
        deleting: object.deleting,
        take_over: object.take_over,
        others_later: object.others_later,
    }
}

/// Which of the namespaces and definitions about to be deleted hold objects that would be lost with them. What cannot be
/// read counts as held.
pub(super) async fn in_use(cluster: &Cluster, deletes: &Deletes<'_>, until: Instant) -> HashSet<Key> {
    let going: HashSet<Key> = deletes.free.iter().map(|m| m.key.clone()).collect();
    let holders = going.iter().filter(|key| {
        let kind = (key.group.as_str(), key.kind.as_str());
        matches!(kind, ("", "Namespace") | ("apiextensions.k8s.io", "CustomResourceDefinition"))
    });
    let going = &going;
    let checks = holders.map(|key| async move {
        let found = cluster.holds_foreign_objects(key, going, until).await;
        match found {
            Ok(None) => None,
            Ok(Some(foreign)) => {
                tracing::warn!(resource = %key, reason = %foreign, "delete held");
                Some(key.clone())
            }
            Err(error) => {
                tracing::warn!(resource = %key, err = %error, "delete held: what it holds could not be read");
                Some(key.clone())
            }
        }
    });
    // The futures are made first: a closure that lives across an await keeps the compiler from seeing that all is `Send`.
    let checks: Vec<_> = checks.collect();
    let held: Vec<Option<Key>> = futures::stream::iter(checks).buffer_unordered(8).collect().await;
    held.into_iter().flatten().collect()
}
