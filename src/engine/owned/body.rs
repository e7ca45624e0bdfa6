//! The object of a set as it is sent: fit for server-side apply, without fields that its kind does not have.

use serde_json::{Map, Value};

use crate::cluster::{Keyed, normalise};
use crate::object::Object;
use crate::plan::{Target, Wanted};

use super::typed::drop_unknown_fields;

/// Makes the body of an apply. `kept` are the labels that stay when others have values that are no text.
pub(super) fn make(target: &Target, want: &Wanted, kept: [&str; 2]) -> (Value, Vec<String>) {
    let mut value = want.object.value();
    let warnings = normalise(&mut value);
    if let Some(meta) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        match &target.key.namespace {
            Some(namespace) => drop(meta.insert("namespace".into(), Value::String(namespace.clone()))),
            None => drop(meta.remove("namespace")),
        }
        if let Some(labels) = meta.get_mut("labels").and_then(Value::as_object_mut) {
            drop_odd_labels(labels, kept);
        }
    }
    // Last: an object of which something has another type than its kind's cannot be read as its kind.
    drop_unknown_fields(&mut value);
    (value, warnings)
}

/// A label whose value is no text takes all other labels of the object with it (errata 16).
fn drop_odd_labels(labels: &mut Map<String, Value>, kept: [&str; 2]) {
    if labels.values().any(|value| !value.is_string()) {
        labels.retain(|key, value| value.is_string() && kept.contains(&key.as_str()));
    }
}

/// Whether a label or annotation of an object has a value that counts.
pub fn says(object: &Value, word: &Keyed) -> bool {
    let of = |map: &str| object["metadata"][map].get(&word.key).and_then(Value::as_str);
    [of("labels"), of("annotations")].into_iter().flatten().any(|value| word.is(value))
}

/// The annotation of a manifest. Most have none such, and are not taken apart to know it.
pub(super) fn annotation(object: &Object, key: &str) -> Option<String> {
    let text = std::str::from_utf8(object.json()).unwrap_or_default();
    if !text.contains(key) {
        return None;
    }
    object.value()["metadata"]["annotations"].get(key)?.as_str().map(str::to_owned)
}
