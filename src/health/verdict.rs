//! The verdict on one object: rules that hold for all kinds first, then the kind's own, by the rules of kstatus. A field of an
//! unexpected shape counts as absent.

use jiff::Timestamp;
use serde_json::Value;

use super::fields::{condition, is_condition, number, text};
use super::{awaited, kinds};

/// How an object does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is what its spec asks for.
    Current,
    /// It is on the way.
    Progressing,
    /// It will not get there without help.
    Failed,
    /// It is being deleted.
    Terminating,
    /// Nothing can be told, because it is no object.
    Unknown,
}

impl Verdict {
    /// The word for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Progressing => "progressing",
            Self::Failed => "failed",
            Self::Terminating => "terminating",
            Self::Unknown => "unknown",
        }
    }
}

/// A verdict and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// The verdict.
    pub verdict: Verdict,
    /// One word for programs, in camel case.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

impl Assessment {
    pub(super) fn new(verdict: Verdict, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { verdict, reason: reason.into(), message: message.into() }
    }

    pub(super) fn current(reason: &str, message: impl Into<String>) -> Self {
        Self::new(Verdict::Current, reason, message)
    }

    pub(super) fn progressing(reason: &str, message: impl Into<String>) -> Self {
        Self::new(Verdict::Progressing, reason, message)
    }

    pub(super) fn failed(reason: &str, message: impl Into<String>) -> Self {
        Self::new(Verdict::Failed, reason, message)
    }

    /// A verdict in the words of a condition.
    pub(super) fn from_condition(verdict: Verdict, condition: &Value) -> Self {
        Self::new(verdict, text(condition, &["reason"]), text(condition, &["message"]))
    }
}

/// What a Job counts as while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunningJob {
    /// On the way: who waits, waits for its end.
    #[default]
    Progressing,
    /// Done, as kstatus has it: a Job that runs is what its spec asks for.
    Current,
}

/// What an assessment depends on besides the object.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The time.
    pub now: Timestamp,
    /// What a Job counts as while it runs.
    pub running_job: RunningJob,
    /// Whether Jobs and Flux Operator's own kinds are read as its waits read them (resourceset §7.5), which know neither
    /// deletion nor unseen generations.
    pub awaited: bool,
}

impl Rules {
    /// The usual rules at a time.
    pub fn at(now: Timestamp) -> Self {
        Self { now, running_job: RunningJob::default(), awaited: false }
    }
}

/// Assesses an object as the API server returned it.
pub fn assess(object: &Value, rules: &Rules) -> Assessment {
    if !object.is_object() {
        return Assessment::new(Verdict::Unknown, "NotAnObject", "this is no Kubernetes object");
    }
    let awaited = if rules.awaited { awaited::assess(object) } else { None };
    awaited
        .or_else(|| general(object))
        .or_else(|| kinds::assess(object, rules))
        .unwrap_or_else(|| by_ready_condition(object))
}

/// Deletion, an unseen generation and the conditions that any controller may set.
fn general(object: &Value) -> Option<Assessment> {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return Some(Assessment::new(Verdict::Terminating, "Terminating", terminating_message(object)));
    }
    let generation = number(object, &["metadata", "generation"]);
    let observed = number(object, &["status", "observedGeneration"]);
    if let (Some(generation), Some(observed)) = (generation, observed)
        && generation != observed
    {
        let message = format!("generation is {generation}, its controller has seen {observed}");
        return Some(Assessment::progressing("LatestGenerationNotObserved", message));
    }
    let stated = |kind, verdict| {
        let found = condition(object, kind).filter(|c| is_condition(c, "True"));
        found.map(|c| Assessment::from_condition(verdict, c))
    };
    stated("Reconciling", Verdict::Progressing).or_else(|| stated("Stalled", Verdict::Failed))
}

fn terminating_message(object: &Value) -> String {
    let finalizers = object["metadata"]["finalizers"].as_array().map_or(&[][..], Vec::as_slice);
    let names: Vec<_> = finalizers.iter().filter_map(Value::as_str).collect();
    if names.is_empty() {
        "being deleted".to_owned()
    } else {
        format!("being deleted; waits for finalizers {}", names.join(", "))
    }
}

fn by_ready_condition(object: &Value) -> Assessment {
    match condition(object, "Ready") {
        Some(ready) if is_condition(ready, "True") => Assessment::from_condition(Verdict::Current, ready),
        Some(ready) => Assessment::from_condition(Verdict::Progressing, ready),
        None => Assessment::current("Exists", "it exists, and its kind tells nothing more"),
    }
}
