//! The parts of a plan. No decisions are taken here.

use std::fmt;
use std::sync::Arc;

use crate::object::{Digest, Gvk, Key, Object, ObjectId, Origin, rank};

/// Identity of one life of an object: the API server's uid as 16 bytes.
pub type Uid = [u8; 16];

/// An object that a step is about. Shared between passes, so that a plan of many thousand steps costs little.
#[derive(Debug)]
pub struct Target {
    /// The identity users see, with the namespace that the object really has.
    pub id: ObjectId,
    /// The API server's key.
    pub key: Key,
    /// Group, version and kind to talk to the API server with.
    pub gvk: Gvk,
    /// Its place in the order of applying: ranks go up, and definitions go before the rest of their rank, because a custom
    /// kind may have the name of a built-in one.
    pub class: (u8, bool),
    /// Where it is written; `None` when it is no longer wanted.
    pub origin: Option<Origin>,
    /// What is wanted; `None` when it is no longer wanted, or its kind is not known.
    pub want: Option<Wanted>,
}

impl Target {
    /// The class of a kind, see [`Target::class`].
    pub fn class_of(group: &str, kind: &str) -> (u8, bool) {
        (rank(kind), !(group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition"))
    }

    /// Whether it is a CustomResourceDefinition.
    pub fn is_definition(&self) -> bool {
        !self.class.1
    }
}

/// What is wanted of an object.
#[derive(Debug)]
pub struct Wanted {
    /// The manifest.
    pub object: Arc<Object>,
    /// Digest of the object as it is sent: manifest, namespace and mark.
    pub digest: Digest,
    /// Value of the ownership label.
    pub mark: String,
    /// Fingerprint of the checksum annotation that our apply writes.
    pub checksum: [u8; 16],
    /// Whether the manifest has a checksum annotation of its own, which is kept and proves nothing.
    pub own_checksum: bool,
}

/// Why an object is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It is not known to be live.
    New,
    /// The manifest is another than the one applied last.
    Changed,
    /// What is live is no longer what was applied.
    Drifted,
    /// Nothing is known of the last apply.
    Unrecorded,
    /// All objects are to be applied.
    Forced,
}

/// Why an object is left alone.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "reason", content = "detail")]
pub enum SkipReason {
    /// The manifest says `ignore`.
    IgnoredInFile,
    /// The live object says `ignore`.
    IgnoredLive,
    /// `sync_only` on the live object: applied while in git, never deleted.
    SyncOnly,
    /// Its namespace is not among the allowed ones.
    NamespaceNotAllowed,
    /// Nobody knows the scope of its kind; the text is the API server's.
    KindUnknown(String),
    /// It would be deleted, and garbage collection only tells what it would do.
    DryRun,
    /// It would be deleted, and another object owns it.
    HasOwner,
    /// It would be deleted, and something that the decision rests on was not read completely.
    IncompleteRead(String),
    /// It would be deleted, and it is what this process runs on.
    Own,
    /// It would be deleted, and a fresh look showed another mark, another life, or an owner.
    NotOurs,
}

/// Why a delete waits for an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldReason {
    /// More deletes than the budget allows.
    Budget,
    /// Nothing at all is wanted any more.
    EmptySet,
    /// A namespace in which objects stay that are not deleted with it.
    NamespaceInUse,
    /// A definition of which objects stay that are not deleted with it.
    CrdInUse,
    /// A volume claim: the data would be gone.
    VolumeClaim,
}

/// What is done with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is applied.
    Apply(Why),
    /// It is what is wanted already.
    Keep,
    /// It is left alone.
    Skip(SkipReason),
    /// It cannot be applied as it is written; the text says why.
    Reject(String),
    /// It is deleted, if it still has this uid.
    Delete {
        /// The uid.
        uid: Uid,
    },
    /// It would be deleted, and waits for an approval.
    Hold {
        /// The uid.
        uid: Uid,
        /// Why it waits.
        reason: HoldReason,
    },
}

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    /// The object.
    pub target: Arc<Target>,
    /// What is done.
    pub action: Action,
    /// Another sync set's mark is on the live object: two daemons want it.
    pub clash: bool,
    /// Fields of kubectl's client-side apply have to move to us first.
    pub take_over: bool,
}

/// How much a plan covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Everything wanted, and garbage collection.
    #[default]
    Whole,
    /// Only objects that have drifted; nothing is deleted.
    Drift,
}

/// One delete that waits for an approval.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct HeldDelete {
    /// The identity users see.
    pub id: ObjectId,
    /// Which life of the object it is.
    #[serde(serialize_with = "uid_text")]
    pub uid: Uid,
    /// Why it waits.
    pub reason: HoldReason,
}

fn uid_text<S: serde::Serializer>(uid: &Uid, serializer: S) -> Result<S::Ok, S::Error> {
    let h = hex::encode(uid);
    serializer.serialize_str(&format!("{}-{}-{}-{}-{}", &h[..8], &h[8..12], &h[12..16], &h[16..20], &h[20..]))
}

/// Deletes that wait for an approval.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Held {
    /// What an approval names: a digest over the sorted ids and uids of the held deletes.
    pub digest: String,
    /// What would be deleted, each with its reason.
    pub deletes: Vec<HeldDelete>,
    /// The reasons as a sentence.
    pub reason: String,
}

/// What became of garbage collection in a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct GcSummary {
    /// Objects that carry our mark.
    pub managed: usize,
    /// Why nothing is deleted in this pass; `None` when garbage collection ran.
    pub off: Option<String>,
}

/// What a pass will do, in order.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The revision that the wanted objects come from.
    pub revision: String,
    /// How much it covers.
    pub reach: Reach,
    /// What is applied, kept or skipped, by rank and name; then what is deleted or held, the other way round.
    pub steps: Vec<Step>,
    /// What became of garbage collection.
    pub gc: GcSummary,
    /// Deletes that wait for an approval.
    pub held: Option<Held>,
    /// How many of the wanted objects are live with our mark.
    pub matched: usize,
}

impl Plan {
    /// Whether carrying it out would change anything.
    pub fn is_empty(&self) -> bool {
        self.changes().next().is_none()
    }

    /// The steps that change something.
    pub fn changes(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|s| matches!(s.action, Action::Apply(_) | Action::Delete { .. }))
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Drifted => "drifted",
            Self::Unrecorded => "last apply not recorded",
            Self::Forced => "forced",
        })
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IgnoredInFile => f.write_str("ignored in its file"),
            Self::IgnoredLive => f.write_str("ignored on the live object"),
            Self::SyncOnly => f.write_str("not in git, but sync_only on the live object"),
            Self::NamespaceNotAllowed => f.write_str("excluded by namespace constraints"),
            Self::KindUnknown(text) => write!(f, "cannot find scope of its kind: {text}"),
            Self::DryRun => f.write_str("would be deleted; dry run"),
            Self::HasOwner => f.write_str("not in git, but owned by another object"),
            Self::IncompleteRead(text) => write!(f, "not in git, but kept because {text}"),
            Self::Own => f.write_str("not in git, but this process runs on it"),
            Self::NotOurs => f.write_str("not in git, but not ours any more"),
        }
    }
}

impl fmt::Display for HoldReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Budget => "more deletes than the budget allows",
            Self::EmptySet => "nothing is left in git",
            Self::NamespaceInUse => "the namespace holds objects that would be lost with it",
            Self::CrdInUse => "objects of this definition would be lost with it",
            Self::VolumeClaim => "the data of the volume would be lost",
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.target.id;
        match &self.action {
            Action::Apply(why) => write!(f, "apply  {id} ({why})")?,
            Action::Keep => write!(f, "keep   {id}")?,
            Action::Skip(reason) => write!(f, "skip   {id} ({reason})")?,
            Action::Reject(reason) => write!(f, "reject {id} ({reason})")?,
            Action::Delete { .. } => write!(f, "delete {id}")?,
            Action::Hold { reason, .. } => write!(f, "hold   {id} ({reason})")?,
        }
        self.target.origin.as_ref().map_or(Ok(()), |origin| write!(f, " [{origin}]"))
    }
}

impl fmt::Display for Plan {
    /// One line per step; what is kept is only counted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.steps.iter().filter(|s| s.action == Action::Keep).count();
        for step in self.steps.iter().filter(|s| s.action != Action::Keep) {
            writeln!(f, "{step}")?;
        }
        writeln!(f, "{kept} unchanged")?;
        if let Some(off) = &self.gc.off {
            writeln!(f, "nothing is deleted: {off}")?;
        }
        if let Some(held) = &self.held {
            writeln!(f, "{} deletes held: {}; approve {}", held.deletes.len(), held.reason, held.digest)?;
        }
        Ok(())
    }
}
