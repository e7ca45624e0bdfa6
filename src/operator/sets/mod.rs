//! Sets of objects with an owner: applied in stages, watched for drift, waited for, and deleted again, as the owner's own
//! identity or as that of a service account. For controllers whose custom resources own other objects.
//!
//! What a set promises:
//! - applying a set of which nothing changed sends no request as the process itself; as a service account two for each kind
//!   and namespace, and for at most 32 of them, so that an account which has lost its rights hears of it;
//! - a new object takes two requests: a dry run and the apply;
//! - within a stage nothing is written before every dry run of the stage has succeeded;
//! - whatever may have been written stands in [`SetOutcome::inventory`], or in what [`Set::entries`] gave before;
//! - every request of a [`Set`] carries its identity. Only the watches that all sets share, and the discovery of kinds, are
//!   the process's own: they see objects that carry the owner labels, of which they keep metadata only. An object counts as
//!   unchanged only for the identity that applied it.

mod jobs;
mod outcome;
mod plan;
mod prune;
mod set;
mod wait;

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::health::{Rules, RunningJob, Verdict, assess};
use crate::runtime::Stop;

pub use crate::cluster::{Keyed, OnRequest, Taken, Validation};
pub use crate::engine::owned::SetSettings;
pub use outcome::{Change, ChangeAction, Entry, Pruned, ReadError, SetOutcome, Waited};
pub use set::{Set, Sets, SetsError};

/// Who owns a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Its kind, for logs.
    pub kind: String,
    /// Its namespace, as its owner labels have it.
    pub namespace: String,
    /// Its name, as its owner labels have it.
    pub name: String,
}

/// As whom the API server is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// As the process itself.
    Own,
    /// As a service account, by impersonation.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// How one apply goes.
#[derive(Clone, Debug)]
pub struct ApplyHow {
    /// Whether objects with a field that cannot be changed are made anew.
    pub force: bool,
    /// When everything has to be over.
    pub until: Instant,
    /// When it is pulled, requests under way are finished and nothing new is begun.
    pub stop: Stop,
}

impl ApplyHow {
    /// Without force, with so much time.
    pub fn within(time: Duration, stop: &Stop) -> Self {
        Self { force: false, until: Instant::now() + time, stop: stop.clone() }
    }
}

/// Whether an object that others depend on is ready, and the word of kstatus for its state. A Job that runs counts as
/// ready (resourceset §6).
pub fn dependency_status(object: &Value) -> (bool, &'static str) {
    let rules = Rules { now: jiff::Timestamp::now(), running_job: RunningJob::Current, awaited: false };
    let verdict = assess(object, &rules).verdict;
    (verdict == Verdict::Current, status_word(verdict))
}

/// The words of kstatus.
fn status_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Current => "Current",
        Verdict::Progressing => "InProgress",
        Verdict::Failed => "Failed",
        Verdict::Terminating => "Terminating",
        Verdict::Unknown => "Unknown",
    }
}
