//! What the objects of a document are, what they are to be, and whether an edited text says just that.

use serde_json::{Map, Value};

use crate::object::workload::{AnnotationChange, FieldChange, Step};
use crate::object::{Object, ObjectId, Origin};

use super::Op;

/// Where an object is in its document: keys and indices from the document's root.
pub(super) type Place = Vec<Step>;

/// The objects of a document: itself, or the elements of a list, those of lists in it too.
pub(super) fn objects(document: &Value) -> Vec<(Place, &Value)> {
    let mut found = Vec::new();
    collect(document, Vec::new(), &mut found);
    found
}

fn collect<'v>(value: &'v Value, place: Place, found: &mut Vec<(Place, &'v Value)>) {
    let is_list = value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    let Some(items) = value["items"].as_array().filter(|_| is_list) else {
        found.push((place, value));
        return;
    };
    for (index, item) in items.iter().enumerate() {
        let step = [Step::key("items"), Step::Index(index)];
        collect(item, place.iter().cloned().chain(step).collect(), found);
    }
}

/// The identity of an object as written; none for what is no object.
pub(super) fn identity(value: &Value) -> Option<ObjectId> {
    let origin = Origin { file: "".into(), line: 1, generated: false };
    // The content is left out: the identity rests on the head alone, and the rest may be large.
    let head = |key: &str| value.get(key).cloned().unwrap_or(Value::Null);
    let head = serde_json::json!({ "kind": head("kind"), "metadata": head("metadata") });
    Object::new(&head, origin).ok().map(|object| object.id())
}

/// Makes a change to an object as JSON.
///
/// # Errors
/// When a path leads to nothing, or to a collection; in words.
pub fn change(object: &mut Value, op: &Op) -> Result<(), String> {
    match op {
        Op::Set(change) => set(object, change),
        Op::Annotate(change) => annotate(object, change),
    }
}

fn set(object: &mut Value, change: &FieldChange) -> Result<(), String> {
    let mut at = object;
    for step in &change.path {
        let next = match step {
            Step::Key(key) => at.get_mut(key),
            Step::Index(index) => at.get_mut(index),
        };
        at = next.ok_or_else(|| format!("there is no {step}"))?;
    }
    if at.is_object() || at.is_array() {
        return Err("it is no scalar".to_owned());
    }
    *at = Value::from(change.value.as_str());
    Ok(())
}

fn annotate(object: &mut Value, change: &AnnotationChange) -> Result<(), String> {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let metadata = metadata.ok_or_else(|| "the object has no metadata".to_owned())?;
    let annotations = metadata.get_mut("annotations").filter(|found| !found.is_null());
    match (&change.value, annotations) {
        (None, None) => Ok(()),
        (Some(value), None) => {
            let first = Map::from_iter([(change.key.clone(), Value::from(value.as_str()))]);
            metadata.insert("annotations".to_owned(), Value::Object(first));
            Ok(())
        }
        (value, Some(Value::Object(annotations))) => {
            match value {
                Some(value) => drop(annotations.insert(change.key.clone(), Value::from(value.as_str()))),
                None => {
                    let was_there = annotations.remove(&change.key).is_some();
                    if was_there && annotations.is_empty() {
                        metadata.remove("annotations");
                    }
                }
            }
            Ok(())
        }
        (_, Some(_)) => Err("metadata.annotations is no mapping".to_owned()),
    }
}

/// Where two values differ first; none when they do not.
pub(super) fn difference(wanted: &Value, found: &Value) -> Option<String> {
    let below = |name: String, inner: String| if inner.is_empty() { name } else { format!("{name}.{inner}") };
    match (wanted, found) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            let mut differing = keys.filter_map(|key| match (a.get(key), b.get(key)) {
                (Some(a), Some(b)) => difference(a, b).map(|inner| below(key.clone(), inner)),
                _ => Some(key.clone()),
            });
            differing.next()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(at, (a, b))| difference(a, b).map(|inner| below(at.to_string(), inner)))
        }
        _ => (wanted != found).then(String::new),
    }
}
