//! Objects in the form in which server-side apply keeps them (resourceset §5.6).

use serde_json::{Map, Value};

use super::{SourceKind, decoded, encoded};

pub(super) fn normalise(object: &mut Value) {
    if SourceKind::of(object) == Some(SourceKind::Secret) {
        fold_string_data(object);
    }
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let group = object["apiVersion"].as_str().unwrap_or_default().split_once('/').map_or("", |(group, _)| group);
    let is_definition = kind == "CustomResourceDefinition" && group == "apiextensions.k8s.io";
    let pod = match (group, kind.as_str()) {
        ("", "Pod") => Some("/spec"),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job") => {
            Some("/spec/template/spec")
        }
        ("batch", "CronJob") => Some("/spec/jobTemplate/spec/template/spec"),
        _ => None,
    };
    if group.is_empty() && kind == "Service" {
        default_protocol(object.pointer_mut("/spec/ports"));
    }
    if let Some(spec) = pod {
        for list in ["containers", "initContainers"] {
            let containers = object.pointer_mut(&format!("{spec}/{list}")).and_then(Value::as_array_mut);
            containers.into_iter().flatten().for_each(|c| default_protocol(c.get_mut("ports")));
        }
    }
    if is_definition {
        drop_wrong_bundle(object);
    }
    if let Some(map) = object.as_object_mut() {
        if !is_definition {
            map.remove("status");
        }
        if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
            metadata.remove("creationTimestamp");
        }
    }
}

/// `stringData` wins over `data`, and goes. Nothing at a key is an empty text there; anything else that is no text stays
/// for the API server to refuse, so that no value is lost without a word.
fn fold_string_data(object: &mut Value) {
    let Some(plain) = object.get("stringData") else { return };
    let entries = plain.as_object().map(Map::iter).into_iter().flatten();
    let is_text = |value: &Value| value.is_string() || value.is_null();
    if !(plain.is_object() || plain.is_null()) || !entries.clone().all(|(_, value)| is_text(value)) {
        return;
    }
    let folded: Vec<(String, Value)> =
        entries.map(|(key, value)| (key.clone(), encoded(value.as_str().unwrap_or_default().as_bytes()))).collect();
    if let Some(map) = object.as_object_mut() {
        map.remove("stringData");
    }
    if let Some(data) = super::map_at(object, "data") {
        data.extend(folded);
    }
}

/// Ports without a protocol are TCP: the API server takes the protocol as part of their identity.
fn default_protocol(ports: Option<&mut Value>) {
    let ports = ports.and_then(Value::as_array_mut).into_iter().flatten();
    for port in ports.filter_map(Value::as_object_mut) {
        let missing = port.get("protocol").and_then(Value::as_str).is_none_or(str::is_empty);
        if missing {
            port.insert("protocol".to_owned(), "TCP".into());
        }
    }
}

/// A placeholder that some tool fills in later is no CA, and the API server refuses it.
fn drop_wrong_bundle(definition: &mut Value) {
    let config = definition.pointer_mut("/spec/conversion/webhook/clientConfig").and_then(Value::as_object_mut);
    let Some(config) = config else { return };
    let is_bundle = |text: &str| {
        let bytes = decoded(text);
        String::from_utf8_lossy(&bytes).contains("-----BEGIN CERTIFICATE-----")
    };
    if config.get("caBundle").is_some_and(|bundle| !bundle.as_str().is_some_and(is_bundle)) {
        config.remove("caBundle");
    }
}
