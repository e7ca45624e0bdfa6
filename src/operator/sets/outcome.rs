//! What became of a set: changes, what is live and ours, and errors in words that users know.

use std::fmt;

use crate::engine::owned::subject;
use crate::object::{Gvk, Key};

/// An object of an inventory: its identity, and the API version it was applied at.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// The API server's key.
    pub key: Key,
    /// API version within the group, such as `v1`.
    pub version: String,
}

impl Entry {
    /// Group, version and kind.
    pub fn gvk(&self) -> Gvk {
        Gvk { group: self.key.group.clone(), version: self.version.clone(), kind: self.key.kind.clone() }
    }
}

impl fmt::Display for Entry {
    /// `Kind/namespace/name`, without the namespace for cluster scope.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&subject(&self.key))
    }
}

/// What was done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeAction {
    /// It was made.
    Created,
    /// It was changed.
    Configured,
    /// It was as it is wanted.
    Unchanged,
    /// It asks to be left alone.
    Skipped,
    /// It was deleted, or was gone already.
    Deleted,
}

impl ChangeAction {
    /// The word for it in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Skipped => "skipped",
            Self::Deleted => "deleted",
        }
    }
}

/// One object and what was done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The object.
    pub entry: Entry,
    /// What was done.
    pub action: ChangeAction,
}

impl fmt::Display for Change {
    /// `Kind/namespace/name action`, a line of an event.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.entry, self.action.as_str())
    }
}

/// What became of applying a set.
#[derive(Clone, Debug, Default)]
pub struct SetOutcome {
    /// One per object that was dealt with, in the order of applying.
    pub changes: Vec<Change>,
    /// What is live and ours, or may be because no answer came; in the order of the given objects, duplicates included
    /// (errata 15).
    pub inventory: Vec<Entry>,
    /// Why it ended early, in the words of resourceset §7.4.7.
    pub error: Option<String>,
}

/// What became of deleting.
#[derive(Clone, Debug, Default)]
pub struct Pruned {
    /// What was deleted or skipped, in the order of deletion.
    pub changes: Vec<Change>,
    /// What could not be deleted, all in one text (resourceset §7.6).
    pub error: Option<String>,
    /// What is still ours: whatever could not be deleted, or may be there although it could not be read.
    pub left: Vec<Entry>,
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waited<T> {
    /// All are ready.
    Ready,
    /// Some will not become ready; the text says which.
    Failed(String),
    /// Some are not ready in time; the text says which.
    TimedOut(String),
    /// The interrupting future ended first.
    Interrupted(T),
}

/// A read that gave no object.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReadError {
    /// Whether it is certain that there is no such object.
    pub not_found: bool,
    /// The API server's own word, such as `Forbidden`; empty when it said none.
    pub reason: String,
    /// The API server's words.
    pub message: String,
}
