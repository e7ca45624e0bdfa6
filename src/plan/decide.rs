//! The decision about each wanted object: apply it and why, or leave it alone and why (the skip rule).

use std::sync::Arc;

use crate::object::{Digest, Ignore, Key};

use super::{Action, Plan, Reach, SkipReason, Step, Target, Uid, Wanted, Why};

/// What is known of a live object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Live {
    /// Which life of the object it is.
    pub uid: Uid,
    /// Whether it carries our mark.
    pub ours: bool,
    /// Whether it carries the mark of another sync set.
    pub theirs: bool,
    /// Fingerprint of the fields that we own; `None` when we own none.
    pub entry: Option<[u8; 16]>,
    /// Fingerprint of its checksum annotation.
    pub checksum: Option<[u8; 16]>,
    /// The `ignore` policy on the live object.
    pub ignore: Option<Ignore>,
    /// Whether another object owns it.
    pub has_owner: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether fields of kubectl's client-side apply have to move to us.
    pub take_over: bool,
    /// Whether someone wrote to it after our last apply, as far as its managed fields tell.
    pub others_later: bool,
}

/// What was applied last to one life of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Digest of what was applied.
    pub digest: Digest,
    /// Fingerprint of the fields we owned after it.
    pub entry: Option<[u8; 16]>,
}

/// A wanted object, as far as it could be resolved.
#[derive(Clone, Debug)]
pub enum Candidate {
    /// Its kind is known, and it may be applied.
    Known(Arc<Target>),
    /// It is left alone.
    Skipped(Arc<Target>, SkipReason),
    /// It cannot be applied as it is written.
    Rejected(Arc<Target>, String),
}

impl Candidate {
    /// The object.
    pub fn target(&self) -> &Arc<Target> {
        match self {
            Self::Known(target) | Self::Skipped(target, _) | Self::Rejected(target, _) => target,
        }
    }
}

/// What the skip rule goes by, besides what is live and what was applied last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Flux v1's policy `ignore` counts, in the manifest and on the live object.
    pub policies: bool,
    /// The checksum annotation tells what was applied last.
    pub checksums: bool,
    /// Fields of managers that are taken over count as drift whenever they show up, not only before the first apply.
    pub take_over: bool,
}

impl Rules {
    /// Of objects that carry Flux v1's marks.
    pub const MARKED: Self = Self { policies: true, checksums: true, take_over: false };
    /// Of objects that carry labels of an owner, and are edited by nobody else.
    pub const OWNED: Self = Self { policies: false, checksums: false, take_over: true };
}

/// All that a plan follows from.
pub struct Input<'a> {
    /// Where the wanted objects come from.
    pub revision: &'a str,
    /// How much the plan covers.
    pub reach: Reach,
    /// The wanted objects, in the order of applying.
    pub wanted: &'a [Candidate],
    /// Looks up what is live.
    pub live: &'a dyn Fn(&Target) -> Option<Live>,
    /// Looks up what was applied last to a life of an object.
    pub record: &'a dyn Fn(&Uid) -> Option<Record>,
    /// Apply every object, whatever is known.
    pub force: bool,
    /// Whether fields that others changed are put right.
    pub correct_drift: bool,
    /// What else counts.
    pub rules: Rules,
}

/// Plans what becomes of the wanted objects. Garbage collection is added by [`super::collect`].
pub fn plan(input: &Input<'_>) -> Plan {
    let mut plan = Plan { revision: input.revision.to_owned(), reach: input.reach, ..Plan::default() };
    plan.steps.reserve(input.wanted.len());
    for candidate in input.wanted {
        let live = (input.live)(candidate.target());
        plan.matched += usize::from(live.is_some_and(|l| l.ours));
        plan.steps.push(step(input, candidate, live));
    }
    plan
}

fn step(input: &Input<'_>, candidate: &Candidate, live: Option<Live>) -> Step {
    let (target, action) = match candidate {
        Candidate::Known(target) => return known(input, target, live),
        Candidate::Skipped(target, reason) => (target, Action::Skip(reason.clone())),
        Candidate::Rejected(target, reason) => (target, Action::Reject(reason.clone())),
    };
    Step { target: Arc::clone(target), action, clash: false, take_over: false }
}

fn known(input: &Input<'_>, target: &Arc<Target>, live: Option<Live>) -> Step {
    let action = match &target.want {
        Some(want) if input.rules.policies && want.object.policies().ignore() == Some(Ignore::Always) => {
            Action::Skip(SkipReason::IgnoredInFile)
        }
        Some(want) => wanted(input, want, live.as_ref()),
        None => Action::Keep,
    };
    let take_over = live.is_some_and(|l| l.take_over);
    Step { target: Arc::clone(target), action, clash: live.is_some_and(|l| l.theirs), take_over }
}

/// The skip rule: untouched when what we want is what we last applied, and the fields we own are still those that our
/// apply left. Without a record (after a restart without a cache), the checksum on the object stands in for it, provided
/// that nobody wrote after us.
fn wanted(input: &Input<'_>, want: &Wanted, live: Option<&Live>) -> Action {
    let Some(live) = live else { return Action::Apply(Why::New) };
    if live.ignore == Some(Ignore::Always) {
        return Action::Skip(SkipReason::IgnoredLive);
    }
    if !live.ours {
        return Action::Apply(Why::New);
    }
    if input.force {
        return Action::Apply(Why::Forced);
    }
    let rules = input.rules;
    match (input.record)(&live.uid) {
        Some(record) if record.digest != want.digest => Action::Apply(Why::Changed),
        // The record may be older than the object: another replica applied since, or we ended before it was kept. The
        // fields we own can be the same then, and only the checksum on the object tells.
        Some(_) if rules.checksums && !want.own_checksum && live.checksum.is_some_and(|c| c != want.checksum) => {
            Action::Apply(Why::Changed)
        }
        Some(record) if input.correct_drift && (live.entry.is_none() || record.entry != live.entry) => {
            Action::Apply(Why::Drifted)
        }
        Some(_) if rules.take_over && live.take_over => Action::Apply(Why::Drifted),
        Some(_) => Action::Keep,
        None if !rules.checksums => Action::Apply(Why::Unrecorded),
        None if live.entry.is_none() => Action::Apply(Why::Drifted),
        None if live.checksum == Some(want.checksum) && !want.own_checksum && !live.others_later => Action::Keep,
        None => Action::Apply(Why::Unrecorded),
    }
}

/// The key of a target, for lookups.
pub(super) fn key_of(candidate: &Candidate) -> &Key {
    &candidate.target().key
}
