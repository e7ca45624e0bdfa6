//! Writes to an object of the controller's own kind: the finalizer, and the status as one merge patch of what differs.
//! Guarded by the version that the patch was made from, and made again when others were faster.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::run::Shared;
use super::store::{Id, id};
use super::{Managed, WriteError};

/// Tries before a write is given up because others keep changing the object.
const TRIES: u32 = 5;
/// Longest time for one request.
const DEADLINE: Duration = Duration::from_secs(30);

impl<K: Managed> Shared<K> {
    pub(super) async fn patch_status<S: Serialize + Sync>(&self, object: &K, status: &S) -> Result<K, WriteError> {
        let id = id(object);
        let wrong = |e: serde_json::Error| self.failed(&id, e.to_string());
        let wanted = serde_json::to_value(status).map_err(wrong)?;
        let seen = status_of(object).map_err(wrong)?;
        let uid = object.meta().uid.clone();
        let mut live = self.store().by_id(&id).map(|o| (*o).clone()).unwrap_or_else(|| object.clone());
        for _ in 0..TRIES {
            if live.meta().uid != uid {
                return Err(self.gone(&id));
            }
            let current = status_of(&live).map_err(wrong)?;
            let Some(patch) = difference(&current, &keeping_foreign(&wanted, &seen, &current)) else { return Ok(live) };
            let body = json!({ "metadata": guard(&live), "status": patch });
            match self.send(&id, &body, true).await? {
                Some(written) => return Ok(written),
                None => live = self.read(&id).await?,
            }
        }
        Err(WriteError::Conflict { object: self.title(&id), tries: TRIES })
    }

    /// Adds (or removes) the finalizer. Answers with the object as it is then; `None` when it is gone.
    pub(super) async fn set_finalizer(&self, object: &K, name: &str, wanted: bool) -> Result<Option<K>, WriteError> {
        let id = id(object);
        let uid = object.meta().uid.clone();
        let mut live = object.clone();
        for _ in 0..TRIES {
            let has = live.finalizers().iter().any(|f| f == name);
            if live.meta().uid != uid {
                return Ok(None);
            }
            if has == wanted {
                return Ok(Some(live));
            }
            let mut finalizers: Vec<String> = live.finalizers().iter().filter(|f| *f != name).cloned().collect();
            if wanted {
                finalizers.push(name.to_owned());
            }
            let mut metadata = guard(&live);
            metadata["finalizers"] = json!(finalizers);
            match self.send(&id, &json!({ "metadata": metadata }), false).await {
                Ok(Some(written)) => return Ok(Some(written)),
                Ok(None) => match self.read(&id).await {
                    Ok(read) => live = read,
                    Err(WriteError::Gone { .. }) => return Ok(None),
                    Err(error) => return Err(error),
                },
                Err(WriteError::Gone { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Err(WriteError::Conflict { object: self.title(&id), tries: TRIES })
    }

    fn api(&self, id: &Id) -> Api<DynamicObject> {
        match id.0.as_str() {
            "" => Api::all_with(self.client().clone(), self.resource()),
            namespace => Api::namespaced_with(self.client().clone(), namespace, self.resource()),
        }
    }

    /// Sends a merge patch; `None` on a conflict. What was written is what the next pass sees.
    async fn send(&self, id: &Id, body: &Value, status: bool) -> Result<Option<K>, WriteError> {
        let params =
            PatchParams { field_manager: Some(self.settings().field_manager.clone()), ..PatchParams::default() };
        let (api, patch) = (self.api(id), Patch::Merge(body));
        let sent = async {
            if status {
                api.patch_status(&id.1, &params, &patch).await
            } else {
                api.patch(&id.1, &params, &patch).await
            }
        };
        match tokio::time::timeout(DEADLINE, sent).await {
            Ok(Ok(answer)) => self.take_in(id, answer).map(Some),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(self.gone(id)),
            // A precondition on the uid that fails is a conflict, too: the object was replaced.
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Ok(None),
            Ok(Err(error)) => Err(self.failed(id, error.to_string())),
            Err(_) => Err(self.failed(id, format!("no answer within {} s", DEADLINE.as_secs()))),
        }
    }

    async fn read(&self, id: &Id) -> Result<K, WriteError> {
        match tokio::time::timeout(DEADLINE, self.api(id).get_opt(&id.1)).await {
            Ok(Ok(Some(found))) => self.take_in(id, found),
            Ok(Ok(None)) => Err(self.gone(id)),
            Ok(Err(error)) => Err(self.failed(id, error.to_string())),
            Err(_) => Err(self.failed(id, format!("no answer within {} s", DEADLINE.as_secs()))),
        }
    }

    fn take_in(&self, id: &Id, mut answer: DynamicObject) -> Result<K, WriteError> {
        answer.managed_fields_mut().clear();
        let object: K = answer.try_parse().map_err(|e| self.failed(id, e.to_string()))?;
        self.note(object.clone());
        Ok(object)
    }

    fn title(&self, id: &Id) -> String {
        format!("{} {}/{}", self.resource().kind, id.0, id.1)
    }

    fn gone(&self, id: &Id) -> WriteError {
        WriteError::Gone { kind: self.resource().kind.clone(), namespace: id.0.clone(), name: id.1.clone() }
    }

    fn failed(&self, id: &Id, message: String) -> WriteError {
        WriteError::Cluster { object: self.title(id), message }
    }
}

/// What keeps a patch from reaching another version of the object, or another object of its name.
fn guard<K: Managed>(object: &K) -> Value {
    json!({ "uid": object.meta().uid, "resourceVersion": object.meta().resource_version })
}

fn status_of<K: Managed>(object: &K) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(object)?;
    Ok(value.get_mut("status").map(Value::take).unwrap_or_default())
}

/// The wanted status with the conditions of types that its author has neither set nor seen.
fn keeping_foreign(wanted: &Value, seen: &Value, current: &Value) -> Value {
    let types = |status: &Value| -> BTreeSet<String> {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        conditions.filter_map(|c| c["type"].as_str().map(str::to_owned)).collect()
    };
    let known: BTreeSet<String> = types(wanted).union(&types(seen)).cloned().collect();
    let mut wanted = wanted.clone();
    let foreign = current["conditions"].as_array().into_iter().flatten();
    let foreign = foreign.filter(|c| c["type"].as_str().is_some_and(|t| !known.contains(t)));
    let foreign: Vec<Value> = foreign.cloned().collect();
    if !foreign.is_empty()
        && let Some(status) = wanted.as_object_mut()
        && let Value::Array(conditions) = status.entry("conditions").or_insert_with(|| json!([]))
    {
        conditions.extend(foreign);
    }
    wanted
}

/// The merge patch from one value to another; `None` when they are equal.
pub(super) fn difference(from: &Value, to: &Value) -> Option<Value> {
    if from == to {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (from, to) else { return Some(to.clone()) };
    let mut patch = Map::new();
    for (key, value) in after.iter().filter(|(_, value)| !value.is_null()) {
        let change = match before.get(key) {
            Some(old) => difference(old, value),
            None => Some(value.clone()),
        };
        patch.extend(change.map(|change| (key.clone(), change)));
    }
    let gone = before.iter().filter(|(key, old)| !old.is_null() && after.get(*key).is_none_or(Value::is_null));
    patch.extend(gone.map(|(key, _)| (key.clone(), Value::Null)));
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_says_what_differs_and_nothing_else() {
        let rows = [
            (json!({"a": 1}), json!({"a": 1}), None),
            (json!(null), json!({"a": 1}), Some(json!({"a": 1}))),
            (json!({"a": 1, "b": 2}), json!({"b": 3}), Some(json!({"a": null, "b": 3}))),
            (json!({"a": {"x": 1, "y": 1}}), json!({"a": {"x": 2, "y": 1}}), Some(json!({"a": {"x": 2}}))),
            (json!({"l": [1, 2]}), json!({"l": [1]}), Some(json!({"l": [1]}))),
            (json!({"a": 1}), json!({"a": 1, "b": null}), None),
        ];
        for (from, to, patch) in rows {
            assert_eq!(difference(&from, &to), patch, "{from} to {to}");
        }
    }

    #[test]
    fn conditions_that_nobody_here_has_seen_stay() {
        let of =
            |types: &[&str]| json!({ "conditions": types.iter().map(|t| json!({ "type": t })).collect::<Vec<_>>() });
        let kept = keeping_foreign(&of(&["Ready"]), &of(&["Ready", "Stalled"]), &of(&["Ready", "Stalled", "Audited"]));
        assert_eq!(kept, of(&["Ready", "Audited"]), "Stalled was removed on purpose");
    }
}
