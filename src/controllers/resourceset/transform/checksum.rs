//! checksumFrom: a checksum of ConfigMaps and Secrets beside the annotation that asks for it (resourceset §5.5).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::api::annotation::{CHECKSUM, CHECKSUM_FROM};
use crate::object::Digest;

use super::{Read, Slot, SourceKind, contents, read};

/// `Kind/namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    kind: SourceKind,
    namespace: String,
    name: String,
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.kind.as_str(), self.namespace, self.name)
    }
}

type Contents = BTreeMap<String, Vec<u8>>;

/// Fills in all checksums; gives the references that lie outside of the set, sorted.
pub(super) async fn fill_all<R: Read>(slots: &mut [Slot], reads: &R) -> Result<Vec<String>, String> {
    let mut asked = BTreeMap::new();
    for value in slots.iter_mut().filter_map(Slot::open) {
        visit(value, &mut |annotations| {
            let text = annotations.get(CHECKSUM_FROM).and_then(Value::as_str).unwrap_or_default().to_owned();
            let references = parse(&text)?;
            asked.insert(text, references);
            Ok(())
        })?;
    }
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let wanted: BTreeSet<&Reference> = asked.values().flatten().collect();
    let mut known = in_memory(slots, &wanted);
    let mut external = BTreeSet::new();
    for reference in asked.values().flatten() {
        if known.contains_key(reference) {
            continue;
        }
        let live = read(reads, reference.kind, &reference.namespace, &reference.name)
            .await
            .map_err(|e| format!("failed to resolve {CHECKSUM_FROM} reference {reference}: {e}"))?;
        known.insert(reference.clone(), contents(reference.kind, &live));
        external.insert(reference.to_string());
    }
    for value in slots.iter_mut().filter_map(Slot::open) {
        visit(value, &mut |annotations| {
            let text = annotations.get(CHECKSUM_FROM).and_then(Value::as_str).unwrap_or_default();
            if let Some(references) = asked.get(text).filter(|references| !references.is_empty()) {
                annotations.insert(CHECKSUM.to_owned(), Value::String(checksum(references, &known)));
            }
            Ok(())
        })?;
    }
    Ok(external.into_iter().collect())
}

type Annotations = serde_json::Map<String, Value>;

/// Calls `act` with the annotations of every `metadata` at any depth that ask for a checksum.
fn visit(value: &mut Value, act: &mut impl FnMut(&mut Annotations) -> Result<(), String>) -> Result<(), String> {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if key == "metadata"
                    && let Some(annotations) = value.get_mut("annotations").and_then(Value::as_object_mut)
                    && annotations.get(CHECKSUM_FROM).is_some_and(Value::is_string)
                {
                    act(annotations)?;
                }
                visit(value, act)?;
            }
        }
        Value::Array(items) => {
            for item in items {
                visit(item, act)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

fn parse(text: &str) -> Result<Vec<Reference>, String> {
    let references = text.split(',').map(str::trim).filter(|r| !r.is_empty());
    references
        .map(|reference| {
            let parts: Vec<&str> = reference.split('/').collect();
            let &[kind, namespace, name] = &parts[..] else { return Err(wrong_format(reference)) };
            if [kind, namespace, name].iter().any(|part| part.is_empty()) {
                return Err(wrong_format(reference));
            }
            let kind = SourceKind::parse(kind).ok_or_else(|| {
                format!(
                    "unsupported kind '{kind}' in {CHECKSUM_FROM} reference '{reference}', only ConfigMap and Secret are \
                     allowed"
                )
            })?;
            Ok(Reference { kind, namespace: namespace.to_owned(), name: name.to_owned() })
        })
        .collect()
}

fn wrong_format(reference: &str) -> String {
    format!("invalid {CHECKSUM_FROM} reference '{reference}' must be in the format 'Kind/namespace/name'")
}

/// What the set itself is about to apply.
fn in_memory(slots: &[Slot], wanted: &BTreeSet<&Reference>) -> BTreeMap<Reference, Contents> {
    let mut found = BTreeMap::new();
    for slot in slots {
        let (kind, namespace, name, value);
        match slot {
            Slot::Finished(finished) => {
                let object = &finished.object;
                if !object.gvk().group.is_empty() || object.gvk().version != "v1" {
                    continue;
                }
                (kind, value) = (SourceKind::parse(&object.gvk().kind), None);
                (namespace, name) = (object.namespace().unwrap_or_default().to_owned(), object.name().to_owned());
            }
            Slot::Open(open) => {
                (kind, value) = (SourceKind::of(open), Some(open));
                let text = |field: &str| open["metadata"][field].as_str().unwrap_or_default().to_owned();
                (namespace, name) = (text("namespace"), text("name"));
            }
        }
        let Some(kind) = kind else { continue };
        let reference = Reference { kind, namespace, name };
        if wanted.contains(&reference) {
            let data = match (slot, value) {
                (Slot::Finished(finished), _) => contents(kind, &finished.object.value()),
                (Slot::Open(_), Some(value)) => contents(kind, value),
                (Slot::Open(_), None) => continue,
            };
            found.insert(reference, data);
        }
    }
    found
}

fn checksum(references: &[Reference], known: &BTreeMap<Reference, Contents>) -> String {
    let mut bytes = Vec::new();
    for reference in references {
        bytes.extend_from_slice(reference.to_string().as_bytes());
        bytes.push(0);
        for (key, value) in known.get(reference).into_iter().flatten() {
            bytes.extend_from_slice(key.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(value);
            bytes.push(0);
        }
    }
    format!("sha256:{}", Digest::of(&bytes))
}
