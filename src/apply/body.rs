//! The object as it is sent: the manifest made fit for server-side apply, with namespace, ownership mark and checksum.

use serde_json::{Map, Value};

use crate::cluster::normalise;
use crate::object::{CHECKSUM_ANNOTATION, GC_MARK_LABEL};
use crate::plan::{Target, Wanted};

/// Annotation by which an object asks to be deleted and created again when a field cannot be changed.
pub const RECREATE_ANNOTATION: &str = "fluxd.io/recreate";

/// Makes the body of an apply; the texts are warnings for the user. Mark and checksum that the manifest carries itself are
/// kept, as Flux v1 did (fluxd-v1 §5.4).
pub fn effective(target: &Target, want: &Wanted) -> (Value, Vec<String>) {
    let mut value = want.object.value();
    let warnings = normalise(&mut value);
    let Some(meta) = child(&mut value, "metadata") else { return (value, warnings) };
    match &target.key.namespace {
        Some(namespace) => {
            meta.insert("namespace".into(), Value::String(namespace.clone()));
        }
        None => {
            meta.remove("namespace");
        }
    }
    default_text(meta, "labels", GC_MARK_LABEL, &want.mark);
    default_text(meta, "annotations", CHECKSUM_ANNOTATION, &want.digest.to_string());
    (value, warnings)
}

/// Whether the object asks to be recreated where it cannot be changed.
pub(super) fn may_recreate(body: &Value, _live: Option<&Value>) -> bool {
    body.pointer("/metadata/annotations").and_then(|a| a.get(RECREATE_ANNOTATION)) == Some(&Value::from("true"))
}

fn child<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    let map = value.as_object_mut()?;
    let child = map.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if child.is_null() {
        *child = Value::Object(Map::new());
    }
    child.as_object_mut()
}

fn default_text(meta: &mut Map<String, Value>, map: &str, key: &str, text: &str) {
    let entry = meta.entry(map).or_insert_with(|| Value::Object(Map::new()));
    if entry.is_null() {
        *entry = Value::Object(Map::new());
    }
    if let Some(map) = entry.as_object_mut() {
        map.entry(key).or_insert_with(|| Value::String(text.to_owned()));
    }
}
