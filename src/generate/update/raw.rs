//! Changes to workloads of one raw file, all of them in one edit of its bytes (fluxd-v1 §3.9).

use serde_json::{Map, Value};

use crate::object::workload;
use crate::object::yaml::edit::{self, EditError, ObjectEdit, Op};
use crate::tree::Entry;

use super::super::sops;
use super::run::{Run, by_object};
use super::{Change, UpdateError, WorkloadChange};

const ENCRYPTED: &str = "the file is encrypted with sops, and its message authentication code would not fit any more; change \
                         it with the sops program, or keep workloads in files of their own";

/// Edits the file at `path` for all changes to objects in it. A link is followed: the file that it leads to is edited.
pub(super) fn update(run: &mut Run<'_>, path: &str, changes: &[&WorkloadChange]) -> Result<(), UpdateError> {
    let Some(first) = changes.first() else { return Ok(()) };
    let tree = run.overlay()?;
    let (real, entry) = tree.follow(path).map_err(|e| first.failed(e.to_string()))?;
    let Entry::Leaf { id, .. } = entry else { return Err(first.failed("it is a directory")) };
    let bytes = tree.read(&real, &id).map_err(|e| first.failed(e.to_string()))?;
    if sops::is_encrypted(&bytes) {
        return Err(first.failed(ENCRYPTED));
    }
    let objects = by_object(changes);
    let mut edits = Vec::with_capacity(objects.len());
    for (id, changes) in &objects {
        let mut value = changes.first().map_or(Value::Null, |change| change.object.value());
        let ops = apply(&mut value, changes)?;
        edits.push(ObjectEdit { id: id.clone(), ops });
    }
    let edited = edit::edit(&bytes, &edits, &run.generator.settings.limits).map_err(|error| {
        let (of, reason) = match error {
            EditError::Refused { id, line, reason } => (Some(id), format!("line {line}: {reason}")),
            EditError::NotFound(id) => (Some(id), "manifest not found".to_owned()),
            EditError::Yaml(error) => (None, error.to_string()),
        };
        let change = changes.iter().find(|change| Some(change.object.id()) == of).unwrap_or(first);
        change.failed(reason)
    })?;
    for ((_, changes), changed) in objects.iter().zip(&edited.changed) {
        changes.iter().for_each(|change| run.note(change, *changed));
    }
    if edited.changed.contains(&true) {
        run.write(real, edited.bytes);
    }
    Ok(())
}

/// Makes changes to an object as JSON, one after another, and returns the single changes that they consist of.
pub(super) fn apply(value: &mut Value, changes: &[&WorkloadChange]) -> Result<Vec<Op>, UpdateError> {
    let mut all = Vec::new();
    for change in changes {
        for what in &change.changes {
            let ops = ops(value, what).map_err(|reason| change.failed(reason))?;
            for op in ops {
                edit::change(value, &op).map_err(|reason| change.failed(reason))?;
                all.push(op);
            }
        }
    }
    Ok(all)
}

fn ops(value: &Value, change: &Change) -> Result<Vec<Op>, String> {
    match change {
        Change::Image { container, image } => {
            let changes = workload::image_changes(value, container, image).map_err(|e| e.to_string())?;
            Ok(changes.into_iter().map(Op::Set).collect())
        }
        Change::Policy { policy, value: new } => {
            let none = Map::new();
            let annotations = value["metadata"]["annotations"].as_object().unwrap_or(&none);
            let changes = workload::annotation_changes(annotations, policy, new.as_deref());
            Ok(changes.into_iter().map(Op::Annotate).collect())
        }
    }
}
