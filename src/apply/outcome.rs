//! What became of a pass: one result per object, and at most one reason for stopping early.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::object::{Key, ObjectId, Origin};
use crate::plan::{Held, HoldReason, Reach, SkipReason, Target};

/// What an object failed with, for retries, metrics and words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The object does not fit its schema, or breaks a rule of its kind.
    Invalid,
    /// A field that cannot be changed would have to change.
    Immutable,
    /// An admission webhook or policy said no.
    Denied,
    /// Our credentials do not suffice.
    Forbidden,
    /// Its namespace does not exist, or is being deleted.
    Namespace,
    /// The API server does not know the kind.
    UnknownKind,
    /// Another writer was faster, again and again.
    Conflict,
    /// The API server could not be reached or had trouble until the pass's deadline.
    Unavailable,
    /// The pass's deadline or a stop came before its turn.
    NotReached,
}

impl FailureKind {
    /// The kind in one word, as metrics carry it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Immutable => "immutable",
            Self::Denied => "denied",
            Self::Forbidden => "forbidden",
            Self::Namespace => "namespace",
            Self::UnknownKind => "unknown-kind",
            Self::Conflict => "conflict",
            Self::Unavailable => "unavailable",
            Self::NotReached => "not-reached",
        }
    }
}

/// Why one object could not be brought to what is wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[error("{message}")]
pub struct Failure {
    /// What kind of trouble.
    pub kind: FailureKind,
    /// The API server's words, with the object's id, file and line.
    pub message: String,
}

/// What became of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was made.
    Created,
    /// It was changed.
    Configured,
    /// It was what is wanted already, whether that took a request or not.
    Unchanged,
    /// It was deleted and recreated, as its annotation asks for.
    Recreated,
    /// It was deleted, or was gone already.
    Deleted,
    /// It was left alone.
    Skipped(SkipReason),
    /// Its delete waits for an approval.
    Held(HoldReason),
    /// It failed.
    Failed(Failure),
}

impl Done {
    /// The word for it, as logs, metrics and the API use it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Recreated => "recreated",
            Self::Deleted => "deleted",
            Self::Skipped(_) => "skipped",
            Self::Held(_) => "held",
            Self::Failed(_) => "failed",
        }
    }
}

/// The result of one object.
#[derive(Clone, Debug)]
pub struct ObjectResult {
    /// The object.
    pub target: Arc<Target>,
    /// What became of it.
    pub done: Done,
    /// Time spent on it, waiting for the API server included.
    pub elapsed: Duration,
    /// Warnings of the API server or of our reading of the manifest.
    pub warnings: Vec<String>,
}

impl ObjectResult {
    /// The identity users see.
    pub fn id(&self) -> &ObjectId {
        &self.target.id
    }

    /// The API server's key.
    pub fn key(&self) -> &Key {
        &self.target.key
    }

    /// Where it is written.
    pub fn origin(&self) -> Option<&Origin> {
        self.target.origin.as_ref()
    }

    /// Its failure, if it failed.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.done {
            Done::Failed(failure) => Some(failure),
            _ => None,
        }
    }
}

/// Why a pass ended before its last step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// The process is to stop.
    #[error("stopped: the process ends")]
    Asked,
    /// The pass's deadline was over.
    #[error("stopped: not finished within the time of one sync (--sync-timeout)")]
    Deadline,
    /// Something that the whole pass rests on could not be read.
    #[error("{0}")]
    Read(String),
    /// Another replica leads now.
    #[error("stopped: this replica does not lead any more")]
    NotLeading,
}

/// The part of a pass that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Between two passes.
    #[default]
    Idle,
    /// Asking the component what is wanted.
    Desired,
    /// Reading what is live.
    Read,
    /// Planning.
    Plan,
    /// Applying.
    Apply,
    /// Deleting.
    Delete,
    /// Telling the component.
    Observe,
}

impl Stage {
    /// The stage in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Desired => "desired",
            Self::Read => "read",
            Self::Plan => "plan",
            Self::Apply => "apply",
            Self::Delete => "delete",
            Self::Observe => "observe",
        }
    }
}

/// How far a running pass is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Objects done in this stage.
    pub done: usize,
    /// Objects to do in this stage; zero where that is not known.
    pub total: usize,
    /// Objects that have failed in this pass so far.
    pub failed: usize,
    /// When the stage began.
    pub since: Option<Timestamp>,
}

/// What became of a pass. There is always one, however badly it went.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The revision that was wanted.
    pub revision: String,
    /// Whether it was a whole sync or put right what drifted.
    pub reach: Reach,
    /// One result per object, in the plan's order; an object on which nothing needed doing has one too.
    pub results: Vec<ObjectResult>,
    /// Why it ended before its last step.
    pub stopped: Option<Stopped>,
    /// Deletes that wait for an approval.
    pub held: Option<Held>,
    /// Why nothing was deleted, where garbage collection is on and did not run.
    pub gc_off: Option<String>,
    /// Objects that carry our mark.
    pub managed: usize,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Time per stage.
    pub stages: Vec<(Stage, Duration)>,
    /// API requests by verb.
    pub requests: BTreeMap<&'static str, u64>,
}

impl Outcome {
    /// The results that are failures.
    pub fn failures(&self) -> impl Iterator<Item = (&ObjectResult, &Failure)> {
        self.results.iter().filter_map(|r| r.failure().map(|f| (r, f)))
    }

    /// How many objects ended in which way, by [`Done::as_str`].
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for result in &self.results {
            *counts.entry(result.done.as_str()).or_default() += 1;
        }
        counts
    }

    /// Whether everything is as wanted: it ran to its end and nothing failed. Held deletes do not count against it.
    pub fn is_success(&self) -> bool {
        self.stopped.is_none() && self.failures().next().is_none()
    }

    /// Whether the cluster was changed.
    pub fn changed(&self) -> bool {
        self.results
            .iter()
            .any(|r| matches!(r.done, Done::Created | Done::Configured | Done::Recreated | Done::Deleted))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts().into_iter().map(|(word, n)| format!("{n} {word}")).collect::<Vec<_>>();
        f.write_str(if counts.is_empty() { "nothing to do" } else { "" })?;
        f.write_str(&counts.join(", "))?;
        self.stopped.as_ref().map_or(Ok(()), |why| write!(f, "; {why}"))
    }
}
