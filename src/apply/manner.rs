//! What users of the same steps need differently: the form in which objects are sent, staging, when an object may be made
//! anew, and the words for failures.

use std::time::Duration;

use serde_json::Value;

use crate::cluster::RequestError;
use crate::plan::{Target, Wanted};

use super::{Failure, FailureKind, body, failure};

/// The moment of an object's apply in which a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before anything of its stage was written.
    DryRun,
    /// While it was written.
    Apply,
}

/// Objects of one stage are all tried out before the first of them is written, those that would not change are not written,
/// and a failure ends the run.
#[derive(Clone, Copy)]
pub struct Staging {
    /// Whether an object is written after the others of its stage.
    pub late: fn(&Target) -> bool,
    /// Whether the next stage waits until an object is ready.
    pub waits: fn(&Target) -> bool,
    /// How long it waits.
    pub timeout: Duration,
    /// Longest time between two looks at an object that is waited for.
    pub poll: Duration,
    /// Nothing is written: what would be is left as it stands in the plan.
    pub dry: bool,
}

/// Makes what is sent of an object, with warnings for the user.
pub type Body<'a> = dyn Fn(&Target, &Wanted) -> (Value, Vec<String>) + Sync + 'a;
/// Decides by what is sent and what is live, where that is known.
pub type MayRecreate<'a> = dyn Fn(&Value, Option<&Value>) -> bool + Sync + 'a;

/// How steps are carried out.
#[derive(Clone, Copy)]
pub struct Manner<'a> {
    /// Makes the body of an apply, with warnings for the user.
    pub body: &'a Body<'a>,
    /// Whether an object may be deleted and created again where a field of it cannot be changed, given what is sent and
    /// what is live (where that is known).
    pub may_recreate: &'a MayRecreate<'a>,
    /// Words the API server's refusal.
    pub refused: fn(&Target, Phase, &RequestError) -> Failure,
    /// Words a failure of our own.
    pub failed: fn(&Target, FailureKind, &str) -> Failure,
    /// Objects one by one, or in stages.
    pub staging: Option<Staging>,
}

impl Manner<'static> {
    /// Flux v1's marks and texts; each object for itself.
    pub const MARKED: Self = Self {
        body: &body::effective,
        may_recreate: &body::may_recreate,
        refused: failure::refused,
        failed: failure::plain,
        staging: None,
    };
}
