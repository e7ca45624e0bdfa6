//! What would change in an object, field by field, and who owns which field: for those who look before they apply. Values
//! of Secrets never come out. Pure.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{FieldDiff, FieldOwner};

/// What stands for a value that is not shown.
const MASK: &str = "***";
/// What stands for one that differs from the value before.
const MASK_CHANGED: &str = "*** (changed)";
/// Differences that are listed one by one; with more, the rest is left out.
const FIELDS: usize = 500;
/// Fields of the metadata that the API server sets itself.
const SERVER_SET: [&str; 7] =
    ["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink", "deletionTimestamp"];
/// kubectl's record of what it applied: it may quote a Secret.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The differences between a live object and what it would become; `None` when it is not there. An object that comes or
/// goes as a whole is one difference with an empty path.
pub fn diff(before: Option<&Value>, after: Option<&Value>) -> Vec<FieldDiff> {
    let is_secret = [before, after].into_iter().flatten().any(is_secret);
    let mut found = differences(before, after);
    if is_secret {
        found.iter_mut().for_each(mask);
    }
    found
}

/// The same for an object whose file is encrypted in git: which fields differ is told, and no value but of its metadata.
pub fn diff_sealed(before: Option<&Value>, after: Option<&Value>) -> Vec<FieldDiff> {
    let mut found = differences(before, after);
    found.iter_mut().for_each(mask_all);
    found
}

fn differences(before: Option<&Value>, after: Option<&Value>) -> Vec<FieldDiff> {
    let (before, after) = (before.map(cleaned), after.map(cleaned));
    let mut found = Vec::new();
    match (before, after) {
        (Some(before), Some(after)) => compare("", Some(&before), Some(&after), &mut found),
        (before, after) => found.push(FieldDiff { path: String::new(), before, after }),
    }
    found
}

fn is_secret(object: &Value) -> bool {
    object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

/// The object without what the API server sets and what nobody applies.
fn cleaned(object: &Value) -> Value {
    let mut object = object.clone();
    let Some(map) = object.as_object_mut() else { return object };
    map.remove("status");
    if let Some(meta) = map.get_mut("metadata").and_then(Value::as_object_mut) {
        SERVER_SET.iter().for_each(|field| drop(meta.remove(*field)));
        if let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    object
}

fn compare(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<FieldDiff>) {
    if before == after || found.len() >= FIELDS {
        return;
    }
    match (before, after) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let added = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(added) {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                compare(&path, a.get(key), b.get(key), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => compare_lists(path, a, b, found),
        (before, after) => {
            found.push(FieldDiff { path: path.to_owned(), before: before.cloned(), after: after.cloned() });
        }
    }
}

/// Elements with names are compared by name, at their new place; others by their place.
fn compare_lists(path: &str, before: &[Value], after: &[Value], found: &mut Vec<FieldDiff>) {
    let name = |value: &Value| value["name"].as_str().map(str::to_owned);
    let named = |list: &[Value]| list.iter().all(|value| value["name"].is_string());
    if !(named(before) && named(after)) {
        for at in 0..before.len().max(after.len()) {
            compare(&format!("{path}/{at}"), before.get(at), after.get(at), found);
        }
        return;
    }
    for (at, value) in after.iter().enumerate() {
        let old = before.iter().find(|old| name(old) == name(value));
        compare(&format!("{path}/{at}"), old, Some(value), found);
    }
    let gone = before.iter().enumerate().filter(|(_, old)| !after.iter().any(|value| name(value) == name(old)));
    for (at, old) in gone {
        compare(&format!("{path}/{at}"), Some(old), None, found);
    }
}

fn mask(diff: &mut FieldDiff) {
    let holds_values = |path: &str| path == "/data" || path == "/stringData";
    let below = diff.path.starts_with("/data/") || diff.path.starts_with("/stringData/");
    let changed = diff.before.is_some();
    for (side, word) in
        [(&mut diff.before, MASK), (&mut diff.after, if changed && below { MASK_CHANGED } else { MASK })]
    {
        let Some(value) = side else { continue };
        if below {
            *value = word.into();
        } else if holds_values(&diff.path) {
            mask_values(value, word);
        } else if diff.path.is_empty() {
            for field in ["data", "stringData"] {
                value.get_mut(field).into_iter().for_each(|data| mask_values(data, word));
            }
        }
    }
}

fn mask_all(diff: &mut FieldDiff) {
    if diff.path.starts_with("/metadata/") {
        return;
    }
    let word = if diff.before.is_some() { MASK_CHANGED } else { MASK };
    for (side, word) in [(&mut diff.before, MASK), (&mut diff.after, word)] {
        match side {
            Some(Value::Object(whole)) if diff.path.is_empty() => {
                let told = ["apiVersion", "kind", "metadata"];
                let hidden = whole.iter_mut().filter(|(key, _)| !told.contains(&key.as_str()));
                hidden.for_each(|(_, value)| mask_scalars(value, word));
            }
            Some(value) => mask_scalars(value, word),
            None => {}
        }
    }
}

fn mask_scalars(value: &mut Value, word: &str) {
    match value {
        Value::Object(map) => map.values_mut().for_each(|value| mask_scalars(value, word)),
        Value::Array(list) => list.iter_mut().for_each(|value| mask_scalars(value, word)),
        Value::Null => {}
        scalar => *scalar = word.into(),
    }
}

fn mask_values(data: &mut Value, word: &str) {
    match data {
        Value::Object(map) => map.values_mut().for_each(|value| *value = word.into()),
        Value::Null => {}
        other => *other = word.into(),
    }
}

/// Who owns which field, from an object's `metadata.managedFields`, sorted by path.
pub fn field_owners(object: &Value) -> Vec<FieldOwner> {
    let mut owners = Vec::new();
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let mut paths = Vec::new();
        if let Some(fields) = entry["fieldsV1"].as_object() {
            walk("", fields, &mut paths);
        }
        let time: Option<Timestamp> = entry["time"].as_str().and_then(|time| time.parse().ok());
        owners.extend(paths.into_iter().map(|path| FieldOwner {
            path,
            manager: text("manager"),
            operation: text("operation"),
            subresource: text("subresource"),
            time,
        }));
    }
    owners.sort_by(|a, b| (&a.path, &a.manager).cmp(&(&b.path, &b.manager)));
    owners
}

/// The leaves of a `fieldsV1`; `.` marks the thing itself, which is a leaf only where nothing else is below.
fn walk(path: &str, fields: &Map<String, Value>, paths: &mut Vec<String>) {
    let below: Vec<_> = fields.iter().filter(|(key, _)| *key != ".").collect();
    if below.is_empty() {
        paths.push(path.to_owned());
    }
    for (key, inner) in below {
        let path = format!("{path}{}", element(key));
        match inner.as_object() {
            Some(inner) => walk(&path, inner, paths),
            None => paths.push(path),
        }
    }
}

/// One element of a path, as `kubectl` would write it.
fn element(key: &str) -> String {
    let (form, text) = key.split_once(':').unwrap_or(("f", key));
    match form {
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
            let keys: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
        // An element of a set is its value, and values of Secrets are in no set.
        "v" => format!("[={text}]"),
        "i" => format!("[{text}]"),
        _ if text.contains(['.', '/', '[']) => format!("[{text:?}]"),
        _ => format!(".{text}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(before: &Value, after: &Value) -> Vec<(String, Option<Value>, Option<Value>)> {
        diff(Some(before), Some(after)).into_iter().map(|d| (d.path, d.before, d.after)).collect()
    }

    #[test]
    fn only_what_differs_is_told_and_the_servers_own_fields_are_not() {
        let live = json!({"metadata": {"uid": "1", "labels": {"a/b": "1"}}, "status": {"x": 1},
            "spec": {"replicas": 1, "old": true, "containers": [{"name": "a", "image": "a:1"}, {"name": "b"}]}});
        let wanted = json!({"metadata": {"labels": {"a/b": "2"}},
            "spec": {"replicas": 1, "new": [1], "containers": [{"name": "b"}, {"name": "a", "image": "a:2"}]}});
        assert_eq!(
            shown(&live, &wanted),
            [
                ("/metadata/labels/a~1b".into(), Some(json!("1")), Some(json!("2"))),
                ("/spec/containers/1/image".into(), Some(json!("a:1")), Some(json!("a:2"))),
                ("/spec/old".into(), Some(json!(true)), None),
                ("/spec/new".into(), None, Some(json!([1]))),
            ]
        );
    }

    #[test]
    fn no_value_of_a_secret_comes_out() {
        let secret = |data: Value| {
            json!({"apiVersion": "v1", "kind": "Secret", "data": data, "metadata": {"name": "s",
            "annotations": {LAST_APPLIED: "{\"data\":{\"a\":\"c2VjcmV0\"}}"}}})
        };
        let (old, new) = (secret(json!({"a": "c2VjcmV0", "b": "c2VjcmV0"})), secret(json!({"a": "bmV3c2VjcmV0"})));
        for (before, after) in
            [(Some(&old), Some(&new)), (None, Some(&new)), (Some(&old), None), (Some(&secret(Value::Null)), Some(&new))]
        {
            let text = serde_json::to_string(&diff(before, after)).unwrap();
            assert!(!text.contains("c2Vjc") && !text.contains("bmV3"), "{text}");
        }
        assert_eq!(shown(&old, &new)[0], ("/data/a".into(), Some(json!("***")), Some(json!("*** (changed)"))));
    }

    #[test]
    fn of_an_encrypted_file_no_value_comes_out_whatever_its_kind() {
        let config = |host: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "labels": {"a": host}},
            "data": {"host": host, "list": [host, {"deep": host}]}})
        };
        let fields: Vec<_> = diff_sealed(Some(&config("one")), Some(&config("two"))).into_iter().collect();
        let told: Vec<_> = fields.iter().map(|d| (d.path.as_str(), d.after.clone())).collect();
        assert!(told.contains(&("/data/host", Some(json!("*** (changed)")))), "{told:?}");
        assert!(told.contains(&("/metadata/labels/a", Some(json!("two")))), "{told:?}");
        let whole = diff_sealed(None, Some(&config("two")));
        assert_eq!(whole[0].after.as_ref().unwrap()["data"], json!({"host": "***", "list": ["***", {"deep": "***"}]}));
        assert_eq!(whole[0].after.as_ref().unwrap()["metadata"]["name"], "c");
    }

    #[test]
    fn owners_are_told_leaf_by_leaf() {
        let object = json!({"metadata": {"managedFields": [
            {"manager": "fluxd", "operation": "Apply", "time": "2024-01-02T03:04:05Z", "fieldsV1": {
                "f:metadata": {"f:annotations": {".": {}, "f:a.b/c": {}}},
                "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:image": {}}}}}},
            {"manager": "kubelet", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}}]}});
        let owners = field_owners(&object);
        let lines: Vec<_> = owners.iter().map(|o| format!("{} {} {}", o.path, o.manager, o.subresource)).collect();
        assert_eq!(
            lines,
            [
                ".metadata.annotations[\"a.b/c\"] fluxd ",
                ".spec.containers[name=\"web\"].image fluxd ",
                ".status kubelet status"
            ]
        );
    }
}
