//! Changes to generated workloads kept in a patch file, which is written anew from the difference between what the
//! generators write and what is wanted (fluxd-v1 §4.5).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::object::{Object, ObjectId, yaml};
use crate::tree::Entry;

use super::super::discover::Instance;
use super::super::outputs::Objects;
use super::super::{patch, smp};
use super::run::{Run, by_object};
use super::{UpdateError, WorkloadChange, raw};

/// Objects as they are to be, by identity as written.
type Wanted = BTreeMap<ObjectId, Value>;

/// Rewrites the patch file of a configuration for all changes to what it generates. If they change nothing, the file stays
/// as it is.
pub(super) fn update(
    run: &mut Run<'_>,
    (instance, file): (&Instance, &str),
    generated: &Objects,
    changes: &[&WorkloadChange],
) -> Result<(), UpdateError> {
    let Some(first) = changes.first() else { return Ok(()) };
    let limits = run.generator.settings.limits;
    let tree = run.overlay()?;
    let found = patch::find(&tree, instance, file)?;
    let patched = patch::apply(&tree, instance, file, &found, (generated, &limits))?;
    let mut wanted: Wanted = patched.iter().map(|object| (object.id(), object.value())).collect();
    let mut any = false;
    for (id, changes) in by_object(changes) {
        let value = wanted.get_mut(&id).ok_or_else(|| changes[0].failed("it is not among the generated resources"))?;
        let before = value.clone();
        raw::apply(value, &changes)?;
        let changed = *value != before;
        changes.iter().for_each(|change| run.note(change, changed));
        any |= changed;
    }
    if !any {
        return Ok(());
    }
    let text = write(generated, &wanted, first)?;
    let path = match tree.follow(&found.path) {
        Ok((real, Entry::Leaf { .. })) => real,
        _ => found.path,
    };
    run.write(path.clone(), text.into_bytes());
    let after = run.overlay()?;
    let found = patch::find(&after, instance, file)?;
    let after = patch::apply(&after, instance, file, &found, (generated, &limits))?;
    prove(&after, &wanted).map_err(|reason| first.failed(reason))
}

/// The patches for all objects that differ, sorted by identity, keys sorted; what is equal has none.
fn write(generated: &Objects, wanted: &Wanted, of: &WorkloadChange) -> Result<String, UpdateError> {
    let mut patches = Vec::new();
    for object in generated.iter() {
        let id = object.id();
        let original = object.value();
        let patch = match wanted.get(&id) {
            Some(modified) => smp::create(object.gvk(), &original, modified),
            // A patch took the object away, and must go on doing so.
            None => Ok(json!({ "$patch": "delete" })),
        };
        let patch = patch.map_err(|e| of.failed(format!("cannot make a patch for {id}: {e}")))?;
        if patch.as_object().is_some_and(|patch| !patch.is_empty()) {
            patches.push((id.to_string(), yaml::write(&with_identity(patch, &original))));
        }
    }
    patches.sort();
    Ok(patches.into_iter().map(|(_, text)| format!("---\n{text}")).collect())
}

/// A patch with the fields that tell which object it is for.
fn with_identity(patch: Value, original: &Value) -> Value {
    let mut head = json!({ "apiVersion": original["apiVersion"], "kind": original["kind"], "metadata": {} });
    for key in ["name", "namespace"] {
        if let Some(value) = original["metadata"].get(key) {
            head["metadata"][key] = value.clone();
        }
    }
    let mut merged = patch;
    merge(&mut merged, head);
    merged
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Whether the patch file does what it is for. Absent fields and those that are null mean the same.
fn prove(found: &[Arc<Object>], wanted: &Wanted) -> Result<(), String> {
    let is_wanted = |object: &Object| {
        wanted.get(&object.id()).is_some_and(|value| without_nulls(value) == without_nulls(&object.value()))
    };
    if found.len() == wanted.len() && found.iter().all(|object| is_wanted(object)) {
        Ok(())
    } else {
        Err("refused, because a patch cannot express the change".to_owned())
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
