//! Patches as kubectl and Flux v1 apply them: strategic merge for the kinds that are built into Kubernetes, JSON merge
//! (RFC 7396) for all others; and the same two the other way round, a patch from two versions of an object.

mod apply;
mod diff;
mod json;
mod openapi;
mod order;
mod table;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::object::Gvk;

pub use json::{create_json_merge, json_merge};
pub use openapi::table_text;
pub use table::Table;

/// How objects of a kind are patched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// Lists are merged by the keys that the kind's type names.
    Strategic,
    /// Lists are replaced.
    JsonMerge,
}

/// Why a patch does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The object or the patch is no mapping, or a directive has another type than it must have.
    #[error("field {field}: expected {expected}")]
    Type {
        /// Path of the field.
        field: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// `$patch` says something unknown, or something that cannot be said there.
    #[error("field {field}: unknown patch type {directive} in $patch; delete and replace are known")]
    Directive {
        /// Path of the field.
        field: String,
        /// What `$patch` says.
        directive: String,
    },
    /// An element of a list lacks the field by which the list is merged.
    #[error("field {field}: an element has no {key}, by which this list is merged")]
    NoMergeKey {
        /// Path of the list.
        field: String,
        /// Name of the missing field.
        key: String,
    },
    /// Elements of one list are not all of one type, or are lists.
    #[error("field {field}: elements of different types, or lists, cannot be merged")]
    Elements {
        /// Path of the list.
        field: String,
    },
    /// `$setElementOrder` and the list disagree.
    #[error("field {field}: the order of the elements differs from $setElementOrder/{field}")]
    Order {
        /// Path of the list.
        field: String,
    },
    /// A field stands in a patch with `$retainKeys` that does not name it.
    #[error("field {field}: {key} is not in $retainKeys")]
    RetainKeys {
        /// Path of the mapping.
        field: String,
        /// The field left out.
        key: String,
    },
}

/// How objects of exactly this group, version and kind are patched.
pub fn patch_kind(gvk: &Gvk) -> PatchKind {
    if Table::builtin().has(gvk) { PatchKind::Strategic } else { PatchKind::JsonMerge }
}

/// Applies a patch in the manner of the kind.
///
/// # Errors
/// When the patch is malformed, or does not fit the object.
pub fn apply(gvk: &Gvk, original: &Value, patch: &Value) -> Result<Value, PatchError> {
    match patch_kind(gvk) {
        PatchKind::Strategic => strategic_merge(gvk, original, patch),
        PatchKind::JsonMerge => Ok(json_merge(original, patch)),
    }
}

/// Makes the patch that leads from one version of an object to another, in the manner of the kind; an empty mapping when
/// they are equal.
///
/// # Errors
/// When an object is malformed.
pub fn create(gvk: &Gvk, original: &Value, modified: &Value) -> Result<Value, PatchError> {
    match patch_kind(gvk) {
        PatchKind::Strategic => create_two_way(gvk, original, modified),
        PatchKind::JsonMerge => Ok(create_json_merge(original, modified)),
    }
}

/// Applies a strategic merge patch. Fields that the kind's type does not know are merged as by a JSON merge patch (kubectl
/// refuses them): manifests may be newer than the table.
///
/// # Errors
/// When the patch is malformed, or does not fit the object.
pub fn strategic_merge(gvk: &Gvk, original: &Value, patch: &Value) -> Result<Value, PatchError> {
    let (original, patch) = (mapping(original)?, mapping(patch)?);
    let shape = Table::builtin().shape(gvk);
    apply::merge_map(original.clone(), patch.clone(), shape, &Vec::new()).map(Value::Object)
}

/// Makes the strategic merge patch that leads from `original` to `modified`.
///
/// # Errors
/// When an object is malformed: no mapping, or elements of merged lists without their key.
pub fn create_two_way(gvk: &Gvk, original: &Value, modified: &Value) -> Result<Value, PatchError> {
    let (original, modified) = (mapping(original)?, mapping(modified)?);
    let shape = Table::builtin().shape(gvk);
    diff::diff_maps(original, modified, shape, false, &Vec::new()).map(Value::Object)
}

fn mapping(value: &Value) -> Result<&Map<String, Value>, PatchError> {
    value.as_object().ok_or_else(|| PatchError::Type { field: "(root)".into(), expected: "a mapping" })
}

/// The path of the field at hand, for errors.
type At<'a> = Vec<&'a str>;

fn field(at: &[impl AsRef<str>]) -> String {
    if at.is_empty() { "(root)".into() } else { at.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(".") }
}
