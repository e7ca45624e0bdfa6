//! Whether the parts of a workload that Flux v1 looked at have the types they must have (fluxd-v1 §3.2). A manifest of
//! which the containers cannot be told stops the load, as in v1; all else is for the API server to judge.

use serde_json::{Map, Value};

use crate::object::{ObjectError, Origin};

const LIST: &str = "a list";
const MAPPING: &str = "a mapping";

/// Looks at one document.
///
/// # Errors
/// The first field of the wrong type.
pub(super) fn check(value: &Value, origin: &Origin) -> Result<(), ObjectError> {
    let shape = Shape { origin };
    let empty = Map::new();
    let top = value.as_object().unwrap_or(&empty);
    if let Some(Value::Object(annotations)) = top.get("metadata").and_then(|metadata| metadata.get("annotations")) {
        annotations.values().try_for_each(|value| shape.scalar(value, "metadata.annotations"))?;
    }
    match top.get("kind").and_then(Value::as_str).unwrap_or_default() {
        "Deployment" => {
            let spec = shape.mapping(top, "spec", "spec")?;
            if let Some(text @ (Value::String(_) | Value::Array(_) | Value::Object(_))) =
                spec.and_then(|s| s.get("replicas"))
            {
                return Err(shape.wrong("spec.replicas", "a number", text));
            }
            shape.template(spec)
        }
        "DaemonSet" | "StatefulSet" => shape.template(shape.mapping(top, "spec", "spec")?),
        "CronJob" => {
            let spec = shape.mapping(top, "spec", "spec")?;
            let job = shape.inside(spec, "jobTemplate", "spec.jobTemplate")?;
            shape.template(shape.inside(job, "spec", "spec.jobTemplate.spec")?)
        }
        "HelmRelease" => {
            let spec = shape.mapping(top, "spec", "spec")?;
            shape.inside(spec, "values", "spec.values").map(|_| ())
        }
        _ => Ok(()),
    }
}

/// A mapping that may be absent.
type Part<'a> = Option<&'a Map<String, Value>>;

struct Shape<'a> {
    origin: &'a Origin,
}

impl Shape<'_> {
    fn wrong(&self, field: &'static str, expected: &'static str, found: &Value) -> ObjectError {
        ObjectError::field(self.origin, field, expected, found)
    }

    fn mapping<'v>(
        &self,
        map: &'v Map<String, Value>,
        key: &str,
        field: &'static str,
    ) -> Result<Part<'v>, ObjectError> {
        match map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(inner)) => Ok(Some(inner)),
            Some(other) => Err(self.wrong(field, MAPPING, other)),
        }
    }

    fn inside<'v>(&self, map: Part<'v>, key: &str, field: &'static str) -> Result<Part<'v>, ObjectError> {
        map.map_or(Ok(None), |map| self.mapping(map, key, field))
    }

    fn scalar(&self, value: &Value, field: &'static str) -> Result<(), ObjectError> {
        match value {
            Value::Array(_) | Value::Object(_) => Err(self.wrong(field, "a string", value)),
            _ => Ok(()),
        }
    }

    fn list<'v>(
        &self,
        map: &'v Map<String, Value>,
        key: &str,
        field: &'static str,
    ) -> Result<&'v [Value], ObjectError> {
        match map.get(key) {
            None | Some(Value::Null) => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(self.wrong(field, LIST, other)),
        }
    }

    /// The pod template below a workload's (or a job's) specification.
    fn template(&self, spec: Part<'_>) -> Result<(), ObjectError> {
        let template = self.inside(spec, "template", "spec.template")?;
        let Some(pod) = self.inside(template, "spec", "spec.template.spec")? else { return Ok(()) };
        self.list(pod, "volumes", "spec.template.spec.volumes")?;
        for (key, field) in
            [("containers", "spec.template.spec.containers"), ("initContainers", "spec.template.spec.initContainers")]
        {
            for container in self.list(pod, key, field)? {
                self.container(container, field)?;
            }
        }
        Ok(())
    }

    fn container(&self, container: &Value, field: &'static str) -> Result<(), ObjectError> {
        let container = match container {
            Value::Null => return Ok(()),
            Value::Object(container) => container,
            other => return Err(self.wrong(field, "mappings", other)),
        };
        self.scalar(container.get("name").unwrap_or(&Value::Null), "name of a container")?;
        self.scalar(container.get("image").unwrap_or(&Value::Null), "image of a container")?;
        self.list(container, "env", "env of a container")?;
        self.list(container, "ports", "ports of a container").map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(value: &Value) -> Result<(), String> {
        let origin = Origin { file: "a.yaml".into(), line: 3, generated: false };
        check(value, &origin).map_err(|e| e.to_string())
    }

    fn pod(kind: &str, pod: &Value) -> Value {
        json!({ "kind": kind, "spec": { "template": { "spec": pod } } })
    }

    #[test]
    fn a_workload_of_which_v1_could_not_read_the_containers_is_refused() {
        for (value, want) in [
            (
                pod("Deployment", &json!({"containers": 5})),
                "a list in field spec.template.spec.containers, found a number",
            ),
            (
                pod("DaemonSet", &json!({"initContainers": {}})),
                "a list in field spec.template.spec.initContainers, found a mapping",
            ),
            (
                pod("StatefulSet", &json!({"containers": ["x"]})),
                "mappings in field spec.template.spec.containers, found a string",
            ),
            (
                pod("Deployment", &json!({"containers": [{"image": []}]})),
                "a string in field image of a container, found a list",
            ),
            (
                pod("Deployment", &json!({"containers": [{"env": 5}]})),
                "a list in field env of a container, found a number",
            ),
            (pod("Deployment", &json!({"volumes": "x"})), "a list in field spec.template.spec.volumes, found a string"),
            (
                json!({"kind": "Deployment", "spec": {"replicas": "x"}}),
                "a number in field spec.replicas, found a string",
            ),
            (
                json!({"kind": "CronJob", "spec": {"jobTemplate": 5}}),
                "a mapping in field spec.jobTemplate, found a number",
            ),
            (json!({"kind": "HelmRelease", "spec": {"values": "x"}}), "a mapping in field spec.values, found a string"),
            (
                json!({"kind": "A", "metadata": {"annotations": {"a": {}}}}),
                "a string in field metadata.annotations, found a mapping",
            ),
        ] {
            assert_eq!(checked(&value), Err(format!("a.yaml:3: expected {want}")), "{value}");
        }
    }

    #[test]
    fn what_v1_did_not_look_at_is_left_to_the_api_server() {
        for value in [
            json!({"kind": "Service", "spec": 5}),
            json!({"kind": "Deployment"}),
            json!({"kind": "HelmRelease", "spec": {"chart": 5}}),
            json!({"kind": "A", "metadata": {"labels": 5, "annotations": {"a": 1}}}),
            pod("Deployment", &json!({"containers": [{"name": 1, "image": 5, "resources": "x"}, null]})),
        ] {
            assert_eq!(checked(&value), Ok(()), "{value}");
        }
    }
}
