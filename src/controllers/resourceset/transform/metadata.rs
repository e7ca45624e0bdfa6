//! Owner labels and common metadata.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::{OWNER_NAME_LABEL, OWNER_NAMESPACE_LABEL};

use super::{Marks, map_at};

/// Sets the owner labels, then the common metadata, which may override them (resourceset §5).
pub(super) fn mark(object: &mut Value, marks: &Marks) {
    let owner = BTreeMap::from([
        (OWNER_NAME_LABEL.to_owned(), marks.name.clone()),
        (OWNER_NAMESPACE_LABEL.to_owned(), marks.namespace.clone()),
    ]);
    add(object, "labels", &owner);
    add(object, "labels", &marks.common.labels);
    add(object, "annotations", &marks.common.annotations);
}

/// Sets keys of a map of texts. Nothing at a key counts as an empty text, as the API machinery reads it; a map with
/// anything else but texts counts as empty (errata 16).
fn add(object: &mut Value, field: &str, entries: &BTreeMap<String, String>) {
    if entries.is_empty() || !object.is_object() {
        return;
    }
    let Some(metadata) = object.as_object_mut() else { return };
    let metadata = metadata.entry("metadata").or_insert_with(|| Value::Object(serde_json::Map::new()));
    let Some(map) = map_at(metadata, field) else { return };
    if map.values().any(|value| !value.is_string() && !value.is_null()) {
        map.clear();
    }
    map.values_mut().filter(|value| value.is_null()).for_each(|value| *value = Value::String(String::new()));
    map.extend(entries.iter().map(|(key, value)| (key.clone(), Value::String(value.clone()))));
}
