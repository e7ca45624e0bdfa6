//! Computes how the fields that kubectl's client-side apply owns become ours. Pure.
//!
//! Moved are the entries of the managers that [`Adoption`] names, whole; for the daemon those of kubectl's client-side apply. Of `before-first-apply`, which the API server invents for
//! everything that was there before it kept managers, only those fields are moved that kubectl's own record
//! (`last-applied-configuration`) says it had set: kubectl never removed others, and replicas that an autoscaler set or values
//! that the API server filled in must not fall to us.

use serde_json::{Map, Value, json};

use super::Adoption;
use super::meta::{BEFORE_FIRST_APPLY, LAST_APPLIED};

/// The JSON patch that moves the fields to `manager` and takes the annotations and labels away that go with them, or `None`
/// when nothing has to be done. `metadata` is the live object's; the patch holds only for its resourceVersion, any other ends
/// in a conflict. Annotations and labels that `wanted` (the metadata about to be applied) sets itself stay.
pub(super) fn take_over_patch(
    metadata: &Value,
    wanted: &Value,
    (manager, adoption): (&str, &Adoption),
    api_version: &str,
) -> Option<Value> {
    let entries = metadata.get("managedFields").and_then(Value::as_array);
    let stripped = Stripped::of(metadata, wanted, adoption);
    let sorted = Sorted::of(entries?, metadata, manager, adoption);
    let is_tagged = adoption.alone && !stripped.is_empty();
    if !sorted.any && !is_tagged {
        return None;
    }
    let mut patch = Vec::new();
    if sorted.any {
        let Sorted { mut moved, mut kept, ours, .. } = sorted;
        stripped.forget(&mut moved);
        let entry = ours.unwrap_or_else(
            || json!({"manager": manager, "operation": "Apply", "apiVersion": api_version, "fieldsType": "FieldsV1"}),
        );
        kept.push(with_fields(&entry, moved));
        patch.push(json!({"op": "replace", "path": "/metadata/managedFields", "value": kept}));
    }
    let version = metadata.get("resourceVersion");
    patch.push(json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}));
    patch.extend(stripped.operations());
    Some(Value::Array(patch))
}

/// Whether [`take_over_patch`] has something to do.
pub(super) fn needs_take_over(metadata: &Value, wanted: &Value, adoption: &Adoption) -> bool {
    take_over_patch(metadata, wanted, ("", adoption), "").is_some()
}

/// Managed fields by what becomes of them.
#[derive(Default)]
struct Sorted {
    moved: Map<String, Value>,
    kept: Vec<Value>,
    ours: Option<Value>,
    /// Whether some fields are another's.
    any: bool,
}

impl Sorted {
    fn of(entries: &[Value], metadata: &Value, manager: &str, adoption: &Adoption) -> Self {
        let record = metadata.get("annotations").and_then(|a| a.get(LAST_APPLIED)).and_then(Value::as_str);
        let recorded = record.filter(|_| adoption.recorded).and_then(|text| serde_json::from_str(text).ok());
        let mut sorted = Self::default();
        for entry in entries {
            sorted.take(entry, manager, (adoption, recorded.as_ref()));
        }
        sorted
    }

    fn take(&mut self, entry: &Value, manager: &str, (adoption, recorded): (&Adoption, Option<&Value>)) {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let fields = entry.get("fieldsV1").and_then(Value::as_object).filter(|_| text("subresource").is_empty());
        let Some(fields) = fields else {
            self.kept.push(entry.clone());
            return;
        };
        let (who, operation) = (text("manager"), text("operation"));
        if who == manager && operation == "Apply" {
            merge(&mut self.moved, fields);
            self.ours = Some(entry.clone());
            return;
        }
        if adoption.taken.iter().any(|taken| taken.is(who, operation)) {
            merge(&mut self.moved, fields);
            self.any = true;
            return;
        }
        match recorded.filter(|_| operation == "Update" && who == BEFORE_FIRST_APPLY) {
            Some(recorded) => {
                let (set, rest) = split(fields, recorded);
                merge(&mut self.moved, &set);
                self.any = true;
                if !rest.is_empty() {
                    self.kept.push(with_fields(entry, rest));
                }
            }
            None => self.kept.push(entry.clone()),
        }
    }
}

/// Annotations and labels that go.
struct Stripped<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Stripped<'a> {
    fn of(metadata: &Value, wanted: &Value, adoption: &'a Adoption) -> Self {
        let annotations = adoption.annotations.iter().map(|key| ("annotations", key.as_str()));
        let labels = adoption.labels.iter().map(|key| ("labels", key.as_str()));
        let is_there = |of: &Value, (map, key): (&str, &str)| of.get(map).and_then(|m| m.get(key)).is_some();
        Self(annotations.chain(labels).filter(|at| is_there(metadata, *at) && !is_there(wanted, *at)).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What goes away, nobody owns.
    fn forget(&self, fields: &mut Map<String, Value>) {
        let Some(metadata) = fields.get_mut("f:metadata").and_then(Value::as_object_mut) else { return };
        for (map, key) in &self.0 {
            if let Some(owned) = metadata.get_mut(&format!("f:{map}")).and_then(Value::as_object_mut) {
                owned.remove(&format!("f:{key}"));
            }
        }
    }

    fn operations(&self) -> impl Iterator<Item = Value> {
        let path = |map: &str, key: &str| format!("/metadata/{map}/{}", key.replace('~', "~0").replace('/', "~1"));
        self.0.iter().map(move |(map, key)| json!({"op": "remove", "path": path(map, key)}))
    }
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

    fn patch_of(metadata: &Value) -> Option<Value> {
        take_over_patch(metadata, &Value::Null, ("fluxd", &Adoption::kubectl()), "v1")
    }

    fn moved(metadata: &Value) -> Vec<Value> {
        let patch = patch_of(metadata).unwrap();
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
        let patch = patch_of(&metadata).unwrap();
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
            assert_eq!(patch_of(&with(entries.clone())), None, "{entries}");
        }
    }

    #[test]
    fn managers_are_taken_by_name_or_beginning_and_tags_go_unless_they_are_wanted() {
        let adoption = Adoption {
            taken: vec![
                super::super::Taken { prefix: true, apply: true, ..super::super::Taken::updated("kubectl") },
                super::super::Taken::applied("kustomize-controller"),
            ],
            recorded: false,
            annotations: vec!["meta.helm.sh/release-name".into()],
            labels: vec!["k/name".into()],
            alone: true,
        };
        let patch = |metadata: &Value, wanted: &Value| take_over_patch(metadata, wanted, ("us", &adoption), "v1");
        let tags = json!({"resourceVersion": "7", "labels": {"k/name": "x"}, "annotations": {"meta.helm.sh/release-name": "x"},
        "managedFields": [
            entry("kubectl-edit", "Update", json!({"f:metadata": {"f:labels": {"f:k/name": {}, "f:a": {}}}})),
            entry("kubectl", "Apply", json!({"f:data": {"f:a": {}}})),
            entry("kustomize-controller", "Update", json!({"f:data": {"f:b": {}}})),
            entry("helm", "Update", json!({"f:data": {"f:c": {}}})),
        ]});
        let got = patch(&tags, &Value::Null).unwrap();
        let managers: Vec<_> = got[0]["value"].as_array().unwrap().iter().map(|e| e["manager"].clone()).collect();
        assert_eq!(managers, ["kustomize-controller", "helm", "us"]);
        let ours = json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:data": {"f:a": {}}});
        assert_eq!(got[0]["value"][2]["fieldsV1"], ours);
        let removed: Vec<_> = got.as_array().unwrap()[2..].iter().map(|o| o["path"].as_str().unwrap()).collect();
        assert_eq!(removed, ["/metadata/annotations/meta.helm.sh~1release-name", "/metadata/labels/k~1name"]);

        let quiet = json!({"resourceVersion": "7", "labels": {"k/name": "x"}, "managedFields": []});
        assert_eq!(patch(&quiet, &json!({"labels": {"k/name": "x"}})), None, "what is wanted stays");
        let alone = patch(&quiet, &Value::Null).unwrap();
        assert_eq!(alone.as_array().unwrap().len(), 2, "{alone}");
    }
}
