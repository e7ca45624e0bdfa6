//! One YAML stream into objects: documents without a kind are dropped and lists taken apart (fluxd-v1 §3.2). Where the
//! stream comes from is not its business, nor whether two objects are the same.

mod workload;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::object::yaml::{self, Dialect, Documents, Limits, YamlError};
use crate::object::{Object, ObjectError, Origin};

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

/// Reads the objects of one stream. `source` is the file's path, or the display name of a generator's configuration.
///
/// # Errors
/// [`ReadError::Yaml`], [`ReadError::Object`] and [`ReadError::Item`].
pub(crate) fn read_objects(
    stream: &[u8],
    source: &Arc<str>,
    generated: bool,
    limits: &Limits,
) -> Result<Vec<Arc<Object>>, ReadError> {
    let wrong = |source_error| ReadError::Yaml { file: Arc::clone(source), source: source_error };
    let mut found = Vec::new();
    let text = yaml::decode(stream, limits).map_err(wrong)?;
    for document in Documents::new(&text, Dialect::Kubernetes, limits) {
        let document = document.map_err(wrong)?;
        let origin = Origin { file: Arc::clone(source), line: document.line, generated };
        take_document(&document.value, &document.item_lines, origin, &mut found)?;
    }
    Ok(found)
}

fn take_document(
    value: &Value,
    item_lines: &[u32],
    origin: Origin,
    found: &mut Vec<Arc<Object>>,
) -> Result<(), ReadError> {
    if value.is_null() || value.as_object().is_some_and(is_without_kind) {
        return Ok(());
    }
    let Some((kind, items)) = value.as_object().and_then(as_list) else {
        let file = Arc::clone(&origin.file);
        let object = workload::check(value, &origin).and_then(|()| Object::new(value, origin));
        let object = object.map_err(|source| ReadError::Object { file, source: Box::new(source) })?;
        found.push(Arc::new(object));
        return Ok(());
    };
    for (index, item) in items.iter().enumerate() {
        let origin = Origin { line: item_lines.get(index).copied().unwrap_or(origin.line), ..origin.clone() };
        if item.as_object().is_none_or(is_without_kind) {
            return Err(ReadError::Item { origin, index, list: kind.to_owned() });
        }
        // Lists within lists are taken apart too: v1 handed them to kubectl, which did that.
        take_document(item, &[], origin, found)?;
    }
    Ok(())
}

fn is_without_kind(object: &Map<String, Value>) -> bool {
    match object.get("kind") {
        None | Some(Value::Null) => true,
        Some(kind) => kind.as_str() == Some(""),
    }
}

/// The kind and elements of a list. A named object without `items` is no list, whatever its kind ends in: custom kinds
/// such as `AllowList` exist.
fn as_list(object: &Map<String, Value>) -> Option<(&str, &[Value])> {
    let kind = object.get("kind")?.as_str().filter(|k| k.ends_with("List"))?;
    match object.get("items") {
        Some(Value::Array(items)) => Some((kind, items)),
        None | Some(Value::Null) if object.get("metadata").and_then(|m| m.get("name")).is_none() => Some((kind, &[])),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
