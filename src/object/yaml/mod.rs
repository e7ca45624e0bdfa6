//! Manifests as text: reading YAML streams by the rules that Kubernetes' own tools use, and writing them.
//!
//! Reading yields JSON values, as `sigs.k8s.io/yaml` makes them. Edits that keep a file's layout are [`edit`]'s.

pub mod edit;
mod emit;
mod input;
mod loader;
mod number;
mod scalar;
#[cfg(test)]
mod tests;
mod write;

use serde_json::Value;

pub use emit::{emit, emit_unfolded};
pub use input::decode;
pub use loader::Documents;
pub use number::float_text;
pub use write::{write, write_scalar};

/// Bounds that a stream must stay within; hostile input ends in an error that names the bound.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Size of one stream, in bytes. Aliases may repeat as many bytes again.
    pub bytes: usize,
    /// Documents in one stream.
    pub documents: usize,
    /// Nesting of collections.
    pub depth: usize,
    /// Nodes of one stream, those that aliases repeat counted each time.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 64 << 20, documents: 200_000, depth: 100, nodes: 5_000_000 }
    }
}

/// Which reader's rules decide plain scalars and merge keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Dialect {
    /// YAML 1.1 as kubectl and Flux v1 read it: `yes`, `on`, `y` are booleans, and a merge key overrides what stands
    /// above it.
    #[default]
    Kubernetes,
    /// As kustomize reads it: only `true` and `false` are booleans, and explicit keys win over merged ones.
    Kustomize,
}

/// One document of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The content as JSON; `null` for an empty document.
    pub value: Value,
    /// Line of its first content, counted from 1.
    pub line: u32,
    /// For a document of a kind that ends in `List`: the line of each element of `items`.
    pub item_lines: Vec<u32>,
}

/// Why a stream could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("yaml: line {line}: {message}")]
pub struct YamlError {
    /// Line, counted from 1.
    pub line: u32,
    /// What is wrong there.
    pub message: String,
}

/// Reads a stream of documents.
///
/// # Errors
/// On bad syntax and on every bound of `limits`.
pub fn read(text: &[u8], dialect: Dialect, limits: &Limits) -> Result<Vec<Document>, YamlError> {
    Documents::new(&decode(text, limits)?, dialect, limits).collect()
}

/// What a plain scalar's look says; `None` when it is a text, or a number that JSON does not have.
pub fn plain_scalar(text: &str, dialect: Dialect) -> Option<Value> {
    match scalar::resolve_plain(text, dialect) {
        scalar::Resolved::Text => None,
        found => found.into_value(text.to_owned()).ok(),
    }
}
