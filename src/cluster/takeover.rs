//! Computes how the fields that kubectl's client-side apply owns become ours. Pure.
//!
//! Moved are the entries of kubectl's client-side apply, whole. Of `before-first-apply`, which the API server invents for
//! everything that was there before it kept managers, only those fields are moved that kubectl's own record
//! (`last-applied-configuration`) says it had set: kubectl never removed others, and replicas that an autoscaler set or values
//! that the API server filled in must not fall to us.

use serde_json::{Map, Value, json};

use super::meta::{BEFORE_FIRST_APPLY, CLIENT_SIDE_APPLY, LAST_APPLIED};

/// The JSON patch that moves the fields to `manager`, or `None` when nothing has to move. `metadata` is the live object's; the
/// patch holds only for its resourceVersion, any other ends in a conflict.
pub(super) fn take_over_patch(metadata: &Value, manager: &str, api_version: &str) -> Option<Value> {
    let entries = metadata.get("managedFields")?.as_array()?;
    let record = metadata.get("annotations").and_then(|a| a.get(LAST_APPLIED)).and_then(Value::as_str);
    let recorded: Option<Value> = record.and_then(|text| serde_json::from_str(text).ok());
    let mut moved = Map::new();
    let mut kept = Vec::new();
    let mut ours = None;
    let mut any = false;
    for entry in entries {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let fields = entry.get("fieldsV1").and_then(Value::as_object);
        let is_update = text("operation") == "Update" && text("subresource").is_empty();
        let is_ours = text("manager") == manager && text("operation") == "Apply" && text("subresource").is_empty();
        match (fields, &recorded) {
            (Some(fields), _) if is_ours => {
                merge(&mut moved, fields);
                ours = Some(entry.clone());
            }
            (Some(fields), _) if is_update && CLIENT_SIDE_APPLY.contains(&text("manager")) => {
                merge(&mut moved, fields);
                any = true;
            }
            (Some(fields), Some(recorded)) if is_update && text("manager") == BEFORE_FIRST_APPLY => {
                let (set, rest) = split(fields, recorded);
                merge(&mut moved, &set);
                any = true;
                if !rest.is_empty() {
                    kept.push(with_fields(entry, rest));
                }
            }
            _ => kept.push(entry.clone()),
        }
    }
    if !any {
        return None;
    }
    forget_record(&mut moved);
    let entry = ours.unwrap_or_else(
        || json!({"manager": manager, "operation": "Apply", "apiVersion": api_version, "fieldsType": "FieldsV1"}),
    );
    kept.push(with_fields(&entry, moved));
    let mut patch = vec![
        json!({"op": "replace", "path": "/metadata/managedFields", "value": kept}),
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")}),
    ];
    if record.is_some() {
        let path = format!("/metadata/annotations/{}", LAST_APPLIED.replace('/', "~1"));
        patch.push(json!({"op": "remove", "path": path}));
    }
    Some(Value::Array(patch))
}

fn with_fields(entry: &Value, fields: Map<String, Value>) -> Value {
    let mut entry = entry.clone();
    entry["fieldsV1"] = Value::Object(fields);
    entry
}

/// Union of two sets of fields.
fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            (Some(_), _) => {}
            (None, _) => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The record of kubectl's client-side apply goes away, so nobody owns it.
fn forget_record(fields: &mut Map<String, Value>) {
    let metadata = fields.get_mut("f:metadata").and_then(Value::as_object_mut);
    let annotations = metadata.and_then(|m| m.get_mut("f:annotations")).and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        annotations.remove(&format!("f:{LAST_APPLIED}"));
    }
}

/// Splits a set of fields into those that `object` sets, and the rest.
fn split(fields: &Map<String, Value>, object: &Value) -> (Map<String, Value>, Map<String, Value>) {
    let (mut set, mut rest) = (Map::new(), Map::new());
    for (key, inner) in fields {
        let Some(child) = child(key, object) else {
            rest.insert(key.clone(), inner.clone());
            continue;
        };
        let inner = inner.as_object().filter(|m| !m.is_empty());
        let Some(inner) = inner else {
            set.insert(key.clone(), json!({}));
            continue;
        };
        let (inner_set, inner_rest) = split(inner, child);
        set.insert(key.clone(), Value::Object(inner_set));
        if !inner_rest.is_empty() {
            rest.insert(key.clone(), Value::Object(inner_rest));
        }
    }
    (set, rest)
}

/// Follows one path element of a `fieldsV1`: `f:⟨field⟩`, `k:⟨keys of a list element⟩`, `v:⟨element of a set⟩`,
/// `i:⟨index⟩`, or `.`, the thing itself.
fn child<'a>(element: &str, object: &'a Value) -> Option<&'a Value> {
    if element == "." {
        return Some(object);
    }
    let (form, text) = element.split_once(':')?;
    match form {
        "f" => object.get(text),
        "i" => object.get(text.parse::<usize>().ok()?),
        "v" => {
            let wanted: Value = serde_json::from_str(text).ok()?;
            object.as_array()?.iter().find(|v| **v == wanted)
        }
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(text).ok()?;
            // A key that the record leaves out has its default value there, such as protocol TCP.
            let matches = |v: &&Value| keys.iter().all(|(k, wanted)| v.get(k).is_none_or(|found| found == wanted));
            object.as_array()?.iter().find(matches)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    fn moved(metadata: &Value) -> Vec<Value> {
        let patch = take_over_patch(metadata, "fluxd", "v1").unwrap();
        patch[0]["value"].as_array().unwrap().clone()
    }

    #[test]
    fn entries_of_client_side_apply_become_ours_and_sub_resource_entries_stay() {
        let mut status = entry("kubectl", "Update", json!({"f:status": {}}));
        status["subresource"] = json!("status");
        let metadata = json!({"resourceVersion": "7", "annotations": {LAST_APPLIED: "{}"}, "managedFields": [
            entry("kubectl-client-side-apply", "Update",
                json!({"f:data": {".": {}, "f:a": {}}, "f:metadata": {"f:annotations": {".": {}, format!("f:{LAST_APPLIED}"): {}}}})),
            status,
            entry("fluxd", "Apply", json!({"f:data": {"f:b": {}}})),
            entry("hpa", "Update", json!({"f:spec": {"f:replicas": {}}})),
        ]});
        let entries = moved(&metadata);
        let managers: Vec<_> = entries.iter().map(|e| e["manager"].as_str().unwrap()).collect();
        assert_eq!(managers, ["kubectl", "hpa", "fluxd"]);
        assert_eq!(entries[2]["fieldsV1"]["f:data"], json!({".": {}, "f:a": {}, "f:b": {}}));
        assert_eq!(entries[2]["fieldsV1"]["f:metadata"]["f:annotations"], json!({".": {}}));
        let patch = take_over_patch(&metadata, "fluxd", "v1").unwrap();
        assert_eq!(patch[1]["value"], "7");
        assert_eq!(patch[2]["path"], "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration");
    }

    #[test]
    fn of_before_first_apply_only_what_kubectl_recorded_becomes_ours() {
        let record = json!({"spec": {"ports": [{"port": 80}], "type": "ClusterIP"}}).to_string();
        let fields = json!({"f:spec": {
            "f:type": {}, "f:clusterIP": {},
            "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:targetPort": {}}}}});
        let entries = moved(&json!({"resourceVersion": "7", "annotations": {LAST_APPLIED: record},
            "managedFields": [entry(BEFORE_FIRST_APPLY, "Update", fields)]}));
        let key = "k:{\"port\":80,\"protocol\":\"TCP\"}";
        assert_eq!(
            entries[1]["fieldsV1"]["f:spec"],
            json!({"f:type": {}, "f:ports": {".": {}, key: {".": {}, "f:port": {}}}})
        );
        assert_eq!(
            entries[0]["fieldsV1"]["f:spec"],
            json!({"f:clusterIP": {}, "f:ports": {key: {"f:targetPort": {}}}})
        );
    }

    #[test]
    fn nothing_moves_where_kubectl_owns_nothing() {
        let with = |entries: Value| json!({"resourceVersion": "7", "managedFields": entries});
        for entries in [
            json!([]),
            json!([entry("fluxd", "Apply", json!({"f:data": {}}))]),
            json!([entry("kubectl", "Apply", json!({"f:data": {}}))]),
            json!([entry(BEFORE_FIRST_APPLY, "Update", json!({"f:data": {}}))]),
        ] {
            assert_eq!(take_over_patch(&with(entries.clone()), "fluxd", "v1"), None, "{entries}");
        }
    }
}
