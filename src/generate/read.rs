//! One YAML stream into objects: documents without a kind are dropped and lists taken apart (fluxd-v1 §3.2). Where the
//! stream comes from is not its business, nor whether two objects are the same.

use std::sync::Arc;

use crate::object::yaml::YamlError;
use crate::object::{ObjectError, Origin};

/// Why raw files could not be read as objects; the texts begin as Flux v1's did.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A configured path cannot be walked.
    #[error("unable to read root path \"{path}\": {reason}")]
    Root {
        /// The path as configured.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file cannot be had, or not be decrypted.
    #[error("unable to read file at \"{path}\": {reason}")]
    File {
        /// Path relative to the repository root.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The stream is no YAML.
    #[error("scanning multidoc from \"{file}\": {source}")]
    Yaml {
        /// File, or display name of a generator.
        file: Arc<str>,
        /// What is wrong, with the line.
        source: YamlError,
    },
    /// A document is no Kubernetes object.
    #[error("parsing YAML doc from \"{file}\": {source}")]
    Object {
        /// File, or display name of a generator.
        file: Arc<str>,
        /// What is wrong, with the line.
        source: Box<ObjectError>,
    },
    /// An element of a list is no object.
    #[error("parsing YAML doc from \"{}\": {origin}: element {index} of items in a {list} has no kind", origin.file)]
    Item {
        /// Where the element is.
        origin: Origin,
        /// Its number, counted from 0.
        index: usize,
        /// Kind of the list.
        list: String,
    },
}
