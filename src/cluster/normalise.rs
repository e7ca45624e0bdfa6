//! Makes manifests that kubectl's client-side apply accepted fit for server-side apply. Pure.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Fields of `metadata` that only the API server sets.
const SERVER_METADATA: [&str; 8] = [
    "managedFields",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "generation",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// Lists of a pod's specification whose elements have keys, with the keys and their default values.
const POD_LISTS: [KeyedList; 6] = [
    KeyedList { field: "volumes", keys: &[("name", "")] },
    KeyedList { field: "imagePullSecrets", keys: &[("name", "")] },
    KeyedList { field: "hostAliases", keys: &[("ip", "")] },
    KeyedList { field: "containers", keys: &[("name", "")] },
    KeyedList { field: "initContainers", keys: &[("name", "")] },
    KeyedList { field: "topologySpreadConstraints", keys: &[("topologyKey", ""), ("whenUnsatisfiable", "")] },
];

/// The same for a container.
const CONTAINER_LISTS: [KeyedList; 4] = [
    KeyedList { field: "env", keys: &[("name", "")] },
    KeyedList { field: "ports", keys: &[("containerPort", ""), ("protocol", "TCP")] },
    KeyedList { field: "volumeMounts", keys: &[("mountPath", "")] },
    KeyedList { field: "volumeDevices", keys: &[("devicePath", "")] },
];

/// The same for a Service.
const SERVICE_PORTS: KeyedList = KeyedList { field: "ports", keys: &[("port", ""), ("protocol", "TCP")] };

struct KeyedList {
    field: &'static str,
    keys: &'static [(&'static str, &'static str)],
}

/// Drops what belongs to the API server (`status`, `metadata.managedFields` and the like), folds `stringData` into `data`,
/// and resolves duplicate keys of keyed lists as kubectl did: the later element wins. Returns what a user should hear of.
pub fn normalise(object: &mut Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let Some(top) = object.as_object_mut() else { return warnings };
    let text = |key: &str| top.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    top.remove("status");
    if let Some(metadata) = top.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in SERVER_METADATA {
            metadata.remove(field);
        }
    }
    match (api_version.as_str(), kind.as_str()) {
        ("v1", "Secret") => fold_string_data(top),
        ("v1", "Service") => {
            if let Some(spec) = top.get_mut("spec").and_then(Value::as_object_mut) {
                keep_last(spec, &SERVICE_PORTS, "spec", &mut warnings);
            }
        }
        _ => {}
    }
    if let Some(path) = template_path(&api_version, &kind) {
        normalise_template(object, path, &mut warnings);
    }
    warnings
}

/// Where a built-in kind keeps its pods' template.
fn template_path(api_version: &str, kind: &str) -> Option<&'static [&'static str]> {
    match (api_version, kind) {
        ("v1", "Pod") => Some(&[]),
        ("v1", "ReplicationController") | ("batch/v1", "Job") => Some(&["spec", "template"]),
        ("apps/v1", "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet") => Some(&["spec", "template"]),
        ("batch/v1", "CronJob") => Some(&["spec", "jobTemplate", "spec", "template"]),
        _ => None,
    }
}

fn normalise_template(object: &mut Value, path: &[&str], warnings: &mut Vec<String>) {
    let found = path.iter().try_fold(object, |value, field| value.get_mut(*field));
    let Some(template) = found.and_then(Value::as_object_mut) else { return };
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
        // Generators write `creationTimestamp: null` there, which nobody means.
        metadata.remove("creationTimestamp");
    }
    let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let at = path.iter().copied().chain(["spec"]).collect::<Vec<_>>().join(".");
    for list in &POD_LISTS {
        keep_last(spec, list, &at, warnings);
    }
    for field in ["containers", "initContainers"] {
        for container in spec.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            let at = format!("{at}.{field}[{name}]");
            for list in &CONTAINER_LISTS {
                keep_last(container, list, &at, warnings);
            }
        }
    }
}

/// Of elements with the same keys, keeps the last, in its place.
fn keep_last(owner: &mut Map<String, Value>, list: &KeyedList, at: &str, warnings: &mut Vec<String>) {
    let Some(elements) = owner.get_mut(list.field).and_then(Value::as_array_mut) else { return };
    let mut seen = HashSet::new();
    let mut keep: Vec<bool> = Vec::with_capacity(elements.len());
    for element in elements.iter().rev() {
        let key = list.key_of(element);
        let is_new = key.as_ref().is_none_or(|k| seen.insert(k.clone()));
        if let (false, Some(key)) = (is_new, key) {
            warnings.push(format!("{at}.{}: duplicate entry {key}; the last one wins", list.field));
        }
        keep.push(is_new);
    }
    let mut keep = keep.into_iter().rev();
    elements.retain(|_| keep.next().unwrap_or(true));
}

impl KeyedList {
    /// The key of an element in words, `None` when it has none.
    fn key_of(&self, element: &Value) -> Option<String> {
        let element = element.as_object()?;
        let part = |(key, default): &(&str, &str)| match element.get(*key) {
            Some(Value::String(text)) => Some(format!("{key}={text}")),
            Some(Value::Number(number)) => Some(format!("{key}={number}")),
            None if !default.is_empty() => Some(format!("{key}={default}")),
            _ => None,
        };
        let parts: Option<Vec<_>> = self.keys.iter().map(part).collect();
        parts.map(|p| p.join(","))
    }
}

/// The API server folds `stringData` itself, but under server-side apply the field would have two owners' keys. What is no
/// text stays where it is, for the API server to name.
fn fold_string_data(secret: &mut Map<String, Value>) {
    let Some(Value::Object(mut plain)) = secret.remove("stringData") else { return };
    let data = secret.entry("data").or_insert_with(|| json!({}));
    if data.is_null() {
        *data = json!({});
    }
    if let Some(data) = data.as_object_mut() {
        plain.retain(|key, value| {
            let Some(text) = value.as_str() else { return true };
            data.insert(key.clone(), STANDARD.encode(text).into());
            false
        });
    }
    if !plain.is_empty() {
        secret.insert("stringData".to_owned(), plain.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(mut object: Value) -> (Value, Vec<String>) {
        let warnings = normalise(&mut object);
        (object, warnings)
    }

    #[test]
    fn what_belongs_to_the_api_server_is_dropped() {
        let (object, warnings) = normal(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 1},
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "managedFields": [], "creationTimestamp": null,
                "generation": 2, "labels": {"a": "b"}},
            "spec": {"template": {"metadata": {"creationTimestamp": null}, "spec": {}}}}),
        );
        let want = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "labels": {"a": "b"}},
            "spec": {"template": {"metadata": {}, "spec": {}}}});
        assert_eq!((object, warnings), (want, vec![]));
    }

    #[test]
    fn string_data_is_folded_into_data_and_wins_there() {
        let (object, _) = normal(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
            "data": {"a": "b2xk", "b": "eA=="}, "stringData": {"a": "new"}}));
        let want = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"a": "bmV3", "b": "eA=="}});
        assert_eq!(object, want);
        let (object, _) = normal(json!({"apiVersion": "v1", "kind": "Secret", "data": null, "stringData": {"a": 1}}));
        assert_eq!(object["stringData"], json!({"a": 1}), "what is no text is left for the API server to name");
    }

    #[test]
    fn of_duplicate_keys_the_last_wins_with_a_warning() {
        let container = json!({"name": "c",
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}],
            "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "protocol": "TCP"}]});
        let (object, warnings) =
            normal(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"template": {"spec": {"containers": [container]}}}}));
        let container = &object["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["env"], json!([{"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}]));
        assert_eq!(container["ports"].as_array().unwrap().len(), 2);
        assert_eq!(
            warnings,
            [
                "spec.template.spec.containers[c].env: duplicate entry name=A; the last one wins",
                "spec.template.spec.containers[c].ports: duplicate entry containerPort=80,protocol=TCP; the last one wins",
            ]
        );
    }

    #[test]
    fn lists_of_other_kinds_are_left_alone() {
        let object =
            json!({"apiVersion": "example.org/v1", "kind": "Thing", "spec": {"env": [{"name": "A"}, {"name": "A"}]}});
        assert_eq!(normal(object.clone()), (object, vec![]));
    }
}
