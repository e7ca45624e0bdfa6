//! The verdict on one object: a table by kind over rules that hold for all.

use serde_json::Value;

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
    /// Nothing can be told.
    Unknown,
}

/// A verdict and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// The verdict.
    pub verdict: Verdict,
    /// One word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

/// Assesses an object as the API server returned it.
pub fn assess(object: &Value) -> Assessment {
    let verdict = if object.is_object() { Verdict::Current } else { Verdict::Unknown };
    Assessment { verdict, reason: String::new(), message: String::new() }
}
