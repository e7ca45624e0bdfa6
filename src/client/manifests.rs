//! An export cut into documents with the file names that v1's `save` gave them. Nothing is written.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::object::yaml::{self, Dialect, Limits};

/// One document of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Its kind, as written.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Where it goes below the directory of `--out`; `None` when its names are no file names.
    pub path: Option<PathBuf>,
    /// Its text, with `---` before it.
    pub text: String,
}

/// What v1 saved of an object; the rest belongs to the cluster.
const KEPT: &[&str] = &["apiVersion", "kind", "metadata", "spec"];
const KEPT_METADATA: &[&str] = &["annotations", "labels", "name", "namespace"];
/// Annotations that belong to the cluster too.
const DROPPED: &[&str] = &["deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration"];

/// Cuts an export.
///
/// # Errors
/// When it is no YAML.
pub fn split(export: &[u8]) -> Result<Vec<Saved>, yaml::YamlError> {
    let documents = yaml::read(export, Dialect::Kubernetes, &Limits::default())?;
    Ok(documents.into_iter().map(|document| saved(document.value)).collect())
}

fn saved(value: Value) -> Saved {
    let mut object = pick(value, KEPT);
    if let Some(metadata) = object.remove("metadata") {
        let mut metadata = pick(metadata, KEPT_METADATA);
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.retain(|key, _| !DROPPED.contains(&key.as_str()));
        }
        object.insert("metadata".into(), Value::Object(metadata));
    }
    let object = tidy(Value::Object(object));
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, name, namespace) = (text("/kind"), text("/metadata/name"), text("/metadata/namespace"));
    let path = path(&kind, &name, &namespace);
    let text = format!("---\n{}", yaml::write(&object));
    Saved { kind, name, path, text }
}

fn pick(value: Value, keys: &[&str]) -> Map<String, Value> {
    match value {
        Value::Object(map) => map.into_iter().filter(|(key, _)| keys.contains(&key.as_str())).collect(),
        _ => Map::new(),
    }
}

/// As v1 wrote maps: without members that hold nothing. What only becomes empty by that stays, as in v1.
fn tidy(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, value)| !is_nothing(value));
            Value::Object(kept.map(|(key, value)| (key, tidy(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(tidy).collect()),
        leaf => leaf,
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// `NAMESPACE/NAME-KIND.yaml`, with v1's short forms of two kinds.
fn path(kind: &str, name: &str, namespace: &str) -> Option<PathBuf> {
    let short = match kind {
        "Deployment" => "dep",
        "Namespace" => "ns",
        other => other,
    };
    let plain = |part: &str| part != ".." && part != "." && !part.contains(['/', '\\', '\0']);
    let parts_are_plain = plain(namespace) && plain(name) && plain(kind);
    parts_are_plain.then(|| PathBuf::from(namespace).join(format!("{name}-{short}.yaml")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<Option<String>> {
        split(text.as_bytes()).unwrap().into_iter().map(|s| s.path.map(|p| p.display().to_string())).collect()
    }

    #[test]
    fn files_are_named_as_v1_named_them() {
        let text = "kind: Namespace\nmetadata: {name: shop}\n---\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n---\n\
                    kind: CronJob\nmetadata: {name: c, namespace: shop}\n";
        let expected = ["shop-ns.yaml", "shop/web-dep.yaml", "shop/c-CronJob.yaml"].map(|p| Some(p.to_owned()));
        assert_eq!(paths(text), expected);
    }

    #[test]
    fn a_name_that_leads_out_of_the_directory_is_no_file_name() {
        assert_eq!(paths("kind: Deployment\nmetadata: {name: ../../x, namespace: a}\n"), [None]);
        assert_eq!(paths("kind: Deployment\nmetadata: {name: x, namespace: ..}\n"), [None]);
    }

    #[test]
    fn what_belongs_to_the_cluster_is_left_out() {
        let text = "apiVersion: v1\nkind: Deployment\nmetadata: {name: web, uid: u, labels: {a: b}, annotations: {deployment.kubernetes.io/revision: '1'}}\n\
                    spec: {x: ~, f: 1.5, e: {}, l: [], k: {a: {}}, m: [{}, ~]}\nstatus: {a: 1}\ndata: {a: b}\n";
        let saved = split(text.as_bytes()).unwrap();
        let expected = "---\napiVersion: v1\nkind: Deployment\nmetadata:\n  labels:\n    a: b\n  name: web\nspec:\n  f: 1.5\n  k: {}\n  m:\n  - {}\n  - null\n";
        assert_eq!(saved[0].text, expected);
    }
}
