//! Which live objects of ours are no longer wanted, and which of them may go: the complete-read rule, policies on the live
//! object, the holds, and the budget.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::object::{Gvk, Ignore, Key, ObjectId};

use super::decide::key_of;
use super::{Action, Candidate, GcSummary, Held, HeldDelete, HoldReason, Live, Plan, SkipReason, Step, Target, Uid};

/// Whether deletes are made or only told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GcMode {
    /// They are only told.
    DryRun,
    /// They are made.
    On,
}

/// How many deletes go without an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many; the other holds count too.
    Objects(usize),
    /// Any number, and nothing else is held either.
    Off,
}

/// A live object that carries our mark.
#[derive(Clone, Debug)]
pub struct Managed {
    /// The API server's key.
    pub key: Key,
    /// Group, version and kind it was read as.
    pub gvk: Gvk,
    /// What is known of it.
    pub live: Live,
}

/// What was not read completely, and so must not be concluded from.
#[derive(Clone, Debug, Default)]
pub struct Doubts {
    /// Why nothing at all may be deleted.
    pub all: Option<String>,
    /// Kinds that could not be read, as group and kind (an empty kind is the whole group), with the reason.
    pub kinds: BTreeMap<(String, String), String>,
}

impl Doubts {
    fn about(&self, key: &Key) -> Option<&String> {
        let of = |kind: &str| self.kinds.get(&(key.group.clone(), kind.to_owned()));
        self.all.as_ref().or_else(|| of(&key.kind)).or_else(|| of(""))
    }
}

/// What garbage collection goes by.
pub struct Collect<'a> {
    /// Whether deletes are made or only told.
    pub mode: GcMode,
    /// How many go without an approval.
    pub limit: Limit,
    /// All live objects that carry our mark.
    pub managed: &'a [Managed],
    /// What was not read completely.
    pub doubts: &'a Doubts,
    /// What this process runs on.
    pub own: &'a HashSet<ObjectId>,
    /// Namespaces and definitions that hold objects which would be lost with them.
    pub in_use: &'a HashSet<Key>,
    /// Lives of objects whose delete was approved.
    pub approved: &'a HashSet<Uid>,
}

/// Deletes by what may become of them.
#[derive(Clone, Debug, Default)]
pub struct Deletes<'a> {
    /// They may go, unless there are too many.
    pub free: Vec<&'a Managed>,
    /// They wait, whatever their number.
    pub held: Vec<(&'a Managed, HoldReason)>,
    /// They stay.
    pub kept: Vec<(&'a Managed, SkipReason)>,
}

impl Deletes<'_> {
    /// Everything that would go if it were approved.
    pub fn all(&self) -> HashSet<Key> {
        let held = self.held.iter().map(|(m, _)| *m);
        self.free.iter().copied().chain(held).map(|m| m.key.clone()).collect()
    }
}

/// Sorts the live objects that are no longer wanted by what may become of them.
pub fn deletes<'a>(wanted: &[Candidate], collect: &Collect<'a>) -> Deletes<'a> {
    let ids: HashSet<&ObjectId> = wanted.iter().map(|c| &c.target().id).collect();
    let unknown = unresolved(wanted);
    let mut out = Deletes::default();
    for managed in collect.managed.iter().filter(|m| !m.live.deleting) {
        let id = managed.key.id();
        if ids.contains(&id) || unknown.contains(&(id.kind().to_owned(), id.name().to_owned())) {
            continue;
        }
        match (keep(managed, &id, collect), hold(managed, wanted, collect)) {
            (Some(reason), _) => out.kept.push((managed, reason)),
            (None, Some(reason)) => out.held.push((managed, reason)),
            (None, None) => out.free.push(managed),
        }
    }
    out
}

/// Kind and name of wanted objects whose kind nobody knows: their namespace is not known either.
fn unresolved(wanted: &[Candidate]) -> HashSet<(String, String)> {
    let unknown = wanted.iter().filter(|c| !matches!(c, Candidate::Known(_)));
    unknown.map(|c| (key_of(c).kind.to_lowercase(), key_of(c).name.clone())).collect()
}

fn keep(managed: &Managed, id: &ObjectId, collect: &Collect<'_>) -> Option<SkipReason> {
    let live = &managed.live;
    if live.has_owner {
        return Some(SkipReason::HasOwner);
    }
    match live.ignore {
        Some(Ignore::Always) => return Some(SkipReason::IgnoredLive),
        Some(Ignore::SyncOnly) => return Some(SkipReason::SyncOnly),
        None => {}
    }
    if collect.own.contains(id) {
        return Some(SkipReason::Own);
    }
    collect.doubts.about(&managed.key).map(|reason| SkipReason::IncompleteRead(reason.clone()))
}

fn hold(managed: &Managed, wanted: &[Candidate], collect: &Collect<'_>) -> Option<HoldReason> {
    if collect.limit == Limit::Off || collect.approved.contains(&managed.live.uid) {
        return None;
    }
    let key = &managed.key;
    match (key.group.as_str(), key.kind.as_str()) {
        _ if wanted.is_empty() => Some(HoldReason::EmptySet),
        ("", "PersistentVolumeClaim") => Some(HoldReason::VolumeClaim),
        ("", "Namespace") if collect.in_use.contains(key) || is_wanted_in(wanted, &key.name) => {
            Some(HoldReason::NamespaceInUse)
        }
        ("apiextensions.k8s.io", _) if collect.in_use.contains(key) => Some(HoldReason::CrdInUse),
        _ => None,
    }
}

/// Whether some wanted object lives in a namespace; it may not be live yet.
pub(super) fn is_wanted_in(wanted: &[Candidate], namespace: &str) -> bool {
    wanted.iter().any(|c| c.target().key.namespace.as_deref() == Some(namespace))
}

/// Adds the steps of garbage collection to a plan.
pub fn collect(plan: &mut Plan, wanted: &[Candidate], collect: &Collect<'_>) {
    let mut deletes = deletes(wanted, collect);
    plan.gc = GcSummary { managed: collect.managed.len(), off: collect.doubts.all.clone() };
    let is_approved = |m: &&Managed| collect.approved.contains(&m.live.uid);
    let (approved, open): (Vec<_>, Vec<_>) = deletes.free.drain(..).partition(is_approved);
    let too_many = matches!(collect.limit, Limit::Objects(limit) if open.len() + deletes.held.len() > limit);
    if too_many {
        deletes.held.extend(open.into_iter().map(|m| (m, HoldReason::Budget)));
        deletes.free = approved;
    } else {
        deletes.free = approved.into_iter().chain(open).collect();
    }
    let dry = collect.mode == GcMode::DryRun;
    let free = deletes.free.iter().map(|m| (*m, Action::Delete { uid: m.live.uid }));
    let waiting = deletes.held.iter().map(|(m, reason)| (*m, Action::Hold { uid: m.live.uid, reason: *reason }));
    let going = free.chain(waiting).map(|(m, a)| (m, if dry { Action::Skip(SkipReason::DryRun) } else { a }));
    let kept = deletes.kept.iter().map(|(m, reason)| (*m, Action::Skip(reason.clone())));
    let mut steps: Vec<Step> = going.chain(kept).map(|(m, action)| unwanted(m, action)).collect();
    steps.sort_by(|a, b| order(b).cmp(&order(a)));
    plan.steps.extend(steps);
    plan.held = (!dry).then(|| held(&deletes, collect.limit)).flatten();
}

fn order(step: &Step) -> ((u8, bool), &str, &Key) {
    (step.target.class, &step.target.key.name, &step.target.key)
}

fn unwanted(managed: &Managed, action: Action) -> Step {
    let key = managed.key.clone();
    let class = Target::class_of(&key.group, &key.kind);
    let target = Target { id: key.id(), key, gvk: managed.gvk.clone(), class, origin: None, want: None };
    Step { target: Arc::new(target), action, clash: false, take_over: false }
}

fn held(deletes: &Deletes<'_>, limit: Limit) -> Option<Held> {
    let one = |(m, reason): &(&Managed, HoldReason)| HeldDelete { id: m.key.id(), uid: m.live.uid, reason: *reason };
    let mut all: Vec<HeldDelete> = deletes.held.iter().map(one).collect();
    if all.is_empty() {
        return None;
    }
    all.sort_by(|a, b| (&a.id, a.uid).cmp(&(&b.id, b.uid)));
    let mut hash = Sha256::new();
    for held in &all {
        hash.update(held.id.to_string());
        hash.update([0]);
        hash.update(held.uid);
    }
    let mut reasons: Vec<HoldReason> = all.iter().map(|held| held.reason).collect();
    reasons.sort();
    reasons.dedup();
    let words = |reason: &HoldReason| match (reason, limit) {
        (HoldReason::Budget, Limit::Objects(limit)) => format!("{reason} ({limit}, see --sync-gc-budget)"),
        _ => reason.to_string(),
    };
    Some(Held {
        digest: hex::encode(&hash.finalize()[..16]),
        deletes: all,
        reason: reasons.iter().map(words).collect::<Vec<_>>().join("; "),
    })
}
