//! Rendered text into objects (resourceset §4.5), with exclusion (§4.7).

use std::sync::Arc;

use serde_json::Value;

use super::chunks::Chunks;
use super::cost::{object_size, too_large};
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

    /// The objects of a rendered text, without those that ask to be left out; and the bytes of all that was read, which may
    /// be `left` at most.
    pub(super) fn read(self, text: &str, left: usize) -> Result<(Vec<Arc<Object>>, usize), String> {
        let (values, what) = match self {
            Self::Item { .. } => (item(text).map(|value| vec![(value, 1)]), "object"),
            Self::Stream => (stream(text, left), "objects from multi-doc YAML"),
        };
        let failed = |e| format!("failed to read {what}: {e}");
        let values = values.map_err(failed)?;
        let bytes = values.iter().map(|(value, _)| object_size(value)).sum::<usize>().saturating_add(text.len());
        let keeps_excluded = matches!(self, Self::Item { keep_excluded: true });
        let wanted = values.into_iter().filter(|(value, _)| keeps_excluded || !is_excluded(value));
        let objects = wanted.map(|(value, line)| object(value, line)).collect::<Result<_, _>>().map_err(failed)?;
        Ok((objects, bytes))
    }
}

/// Only the exact word leaves an object out of the build; applying is more generous (errata 3).
fn is_excluded(value: &Value) -> bool {
    value["metadata"]["annotations"][annotation::RECONCILE] == annotation::DISABLED
}

/// One object: the first document.
fn item(text: &str) -> Result<Value, String> {
    let (_, chunk) = Chunks::new(text).next().ok_or("EOF")??;
    match document(chunk)? {
        // Comments alone make an object without anything, which the API server refuses.
        Value::Null => Ok(Value::Object(serde_json::Map::new())),
        value if is_plain_list(&value) => {
            Err("kind List is no resource of its own: list its items in resources, or use resourcesTemplate".to_owned())
        }
        value => with_kind(value),
    }
}

/// All objects of a stream: empty documents and those without name or API version are passed over, lists are opened.
fn stream(text: &str, left: usize) -> Result<Vec<(Value, u32)>, String> {
    if let Some(values) = json_stream(text) {
        return values.into_iter().try_fold(Vec::new(), |mut all, value| take(value, 1, &mut all).map(|()| all));
    }
    let (mut all, mut read) = (Vec::new(), text.len());
    for chunk in Chunks::new(text) {
        let (line, chunk) = chunk?;
        let value = document(chunk)?;
        read = read.saturating_add(object_size(&value));
        if read > left {
            return Err(too_large(left));
        }
        take(value, line, &mut all)?;
    }
    Ok(all)
}

/// JSON objects, one behind the other without separators: what YAML is not, and the API machinery reads.
fn json_stream(text: &str) -> Option<Vec<Value>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let values: Vec<Value> = serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().ok()?;
    (values.len() > 1).then_some(values)
}

/// The first document of a text without separators. All of it is read, so that nothing wrong behind it goes unseen.
fn document(chunk: &str) -> Result<Value, String> {
    let documents = yaml::read(chunk.as_bytes(), Dialect::Kubernetes, &Limits::default()).map_err(syntax)?;
    Ok(documents.into_iter().next().map(|document| document.value).unwrap_or_default())
}

/// Adds the objects of a document.
fn take(value: Value, line: u32, all: &mut Vec<(Value, u32)>) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    let mut value = with_kind(value)?;
    if let Some(Value::Array(items)) = value.get_mut("items") {
        all.extend(std::mem::take(items).into_iter().filter(|item| !is_empty(item)).map(|item| (item, line)));
        return Ok(());
    }
    // A number is no name, so that its object has none.
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, name) = (text(&value["apiVersion"]), text(&value["metadata"]["name"]));
    let is_config = value["kind"] == "Kustomization" && api_version.starts_with("kustomize.config.k8s.io/");
    if !api_version.is_empty() && !name.is_empty() && !is_config {
        all.push((value, line));
    }
    Ok(())
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
