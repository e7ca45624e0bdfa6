//! copyFrom: a ConfigMap or Secret takes over the data of another one (resourceset §5.3).

use serde_json::Value;

use crate::api::annotation::COPY_FROM;

use super::{Read, SourceKind, contents, encoded, map_at, own_annotation, read};

pub(super) async fn copy_all<R: Read>(objects: &mut [&mut Value], reads: &R) -> Result<(), String> {
    for object in objects {
        let Some(kind) = SourceKind::of(object) else { continue };
        let Some(value) = own_annotation(object, COPY_FROM) else { continue };
        let parts: Vec<&str> = value.split('/').collect();
        let [namespace, name] = parts[..] else {
            return Err(format!(
                "invalid {COPY_FROM} annotation value '{value}' must be in the format 'namespace/name'"
            ));
        };
        let source = read(reads, kind, namespace, name)
            .await
            .map_err(|e| format!("failed to copy data from {}/{value}: {e}", kind.as_str()))?;
        match kind {
            SourceKind::ConfigMap => copy_config_map(object, &source),
            SourceKind::Secret => copy_secret(object, &source),
        }
    }
    Ok(())
}

fn copy_config_map(object: &mut Value, source: &Value) {
    let Some(object) = object.as_object_mut() else { return };
    let field = |key: &str| source.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
    object.insert("data".to_owned(), Value::Object(field("data")));
    let binary = field("binaryData");
    if !binary.is_empty() {
        object.insert("binaryData".to_owned(), Value::Object(binary));
    }
}

/// The source's data stands in for `stringData`, which wins over `data`. It is written as `data` at once, so that bytes that
/// are no text survive, and keys that leave the source leave the copy.
fn copy_secret(object: &mut Value, source: &Value) {
    if let Some(object) = object.as_object_mut() {
        object.remove("stringData");
        let has_type = object.get("type").and_then(Value::as_str).is_some_and(|t| !t.is_empty());
        if !has_type {
            let kind = source["type"].as_str().filter(|t| !t.is_empty()).unwrap_or("Opaque");
            object.insert("type".to_owned(), kind.into());
        }
    }
    let data = contents(SourceKind::Secret, source);
    if let Some(map) = map_at(object, "data") {
        map.extend(data.into_iter().map(|(key, bytes)| (key, encoded(&bytes))));
    }
}
