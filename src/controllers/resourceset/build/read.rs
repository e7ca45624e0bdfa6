//! Rendered text into objects (resourceset §4.5), with exclusion (§4.7).

use std::sync::Arc;

use serde_json::Value;

use crate::api::annotation;
use crate::object::yaml::{self, Dialect, Limits};
use crate::object::{Object, Origin};

/// Bytes of a document that an error quotes.
const QUOTED: usize = 512;

/// What a rendered text stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// An item of `resources`: one object. Without inputs, exclusion does not reach it.
    Item {
        /// Whether an object stays that asks to be left out.
        keep_excluded: bool,
    },
    /// `resourcesTemplate`: any number of objects.
    Stream,
}

impl Form {
    /// How messages call the template.
    pub(super) fn template(self) -> &'static str {
        match self {
            Self::Item { .. } => "template",
            Self::Stream => "multi-doc YAML template",
        }
    }

    /// Tells forms apart in keys.
    pub(super) fn mark(self) -> u8 {
        match self {
            Self::Item { keep_excluded: false } => 0,
            Self::Item { keep_excluded: true } => 1,
            Self::Stream => 2,
        }
    }

    /// The objects of a rendered text, without those that ask to be left out.
    pub(super) fn read(self, text: &str) -> Result<Vec<Arc<Object>>, String> {
        match self {
            Self::Item { keep_excluded } => {
                let value = item(text).map_err(|e| format!("failed to read object: {e}"))?;
                if !keep_excluded && is_excluded(&value) {
                    return Ok(Vec::new());
                }
                Ok(vec![object(value, 1).map_err(|e| format!("failed to read object: {e}"))?])
            }
            Self::Stream => {
                let values = stream(text).map_err(|e| format!("failed to read objects from multi-doc YAML: {e}"))?;
                let wanted = values.into_iter().filter(|(value, _)| !is_excluded(value));
                wanted
                    .map(|(value, line)| object(value, line))
                    .collect::<Result<_, _>>()
                    .map_err(|e| format!("failed to read objects from multi-doc YAML: {e}"))
            }
        }
    }
}

/// Only the exact word leaves an object out of the build; applying is more generous (errata 3).
fn is_excluded(value: &Value) -> bool {
    value["metadata"]["annotations"][annotation::RECONCILE] == annotation::DISABLED
}

/// One object: the first document.
fn item(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Err("EOF".to_owned());
    }
    let limits = Limits::default();
    let decoded = yaml::decode(text.as_bytes(), &limits).map_err(syntax)?;
    let first = yaml::Documents::new(&decoded, Dialect::Kubernetes, &limits).next().transpose().map_err(syntax)?;
    match first.map(|document| document.value) {
        // Comments alone make an object without anything, which the API server refuses.
        None | Some(Value::Null) => Ok(Value::Object(serde_json::Map::new())),
        Some(value) if is_plain_list(&value) => {
            Err("kind List is no resource of its own: list its items in resources, or use resourcesTemplate".to_owned())
        }
        Some(value) => with_kind(value),
    }
}

/// All objects of a stream: empty documents and those without name or API version are passed over, lists are opened.
fn stream(text: &str) -> Result<Vec<(Value, u32)>, String> {
    let mut all = Vec::new();
    for document in yaml::read(text.as_bytes(), Dialect::Kubernetes, &Limits::default()).map_err(syntax)? {
        if is_empty(&document.value) {
            continue;
        }
        let value = with_kind(document.value)?;
        if let Some(Value::Array(items)) = value.get("items") {
            all.extend(items.iter().filter(|item| !is_empty(item)).map(|item| (item.clone(), document.line)));
            continue;
        }
        let text_at = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let api_version = text_at(&value, "apiVersion");
        let is_config =
            text_at(&value, "kind") == "Kustomization" && api_version.starts_with("kustomize.config.k8s.io/");
        if !api_version.is_empty() && !is_config && !is_empty(&value["metadata"]["name"]) {
            all.push((value, document.line));
        }
    }
    Ok(all)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    }
}

fn is_plain_list(value: &Value) -> bool {
    value["apiVersion"] == "v1" && value["kind"] == "List" && value["items"].is_array()
}

fn with_kind(value: Value) -> Result<Value, String> {
    if value.get("kind").and_then(Value::as_str).is_some_and(|kind| !kind.is_empty()) {
        return Ok(value);
    }
    let mut text = value.to_string();
    if text.len() > QUOTED {
        let end = (0..=QUOTED).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    Err(format!("Object 'Kind' is missing in '{text}'"))
}

fn syntax(error: yaml::YamlError) -> String {
    format!("error converting YAML to JSON: {error}")
}

fn object(mut value: Value, line: u32) -> Result<Arc<Object>, String> {
    // A number is no name: the API server says so of an object without one (errata 17).
    if let Some(name) = value.get_mut("metadata").and_then(|m| m.get_mut("name"))
        && matches!(name, Value::Bool(_) | Value::Number(_))
    {
        *name = Value::String(String::new());
    }
    let origin = Origin { file: "ResourceSet".into(), line, generated: true };
    Object::new(&value, origin).map(Arc::new).map_err(|e| e.to_string())
}
