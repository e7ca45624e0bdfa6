//! Which ResourceSets a change elsewhere concerns (resourceset §7.1): of their input providers, and of the ConfigMaps and
//! Secrets that they take data from. Functions of values; the watches themselves are the library's.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt as _;
use kube::core::{Selector, SelectorExt as _};
use kube::runtime::reflector::ObjectRef;
use serde_json::Value;

use crate::api::annotation::{CHECKSUM_FROM, CONVERT_KUBECONFIG_FROM, COPY_FROM};
use crate::api::inputprovider::ResourceSetInputProvider;
use crate::api::resourceset::{InputSource, ResourceSet};

/// Whether a change of an input provider concerns ResourceSets at all: it is new or gone, or what it exports has changed.
pub fn provider_counts(before: Option<&ResourceSetInputProvider>, after: Option<&ResourceSetInputProvider>) -> bool {
    let revision = |p: &ResourceSetInputProvider| p.status.as_ref().and_then(|s| s.last_exported_revision.clone());
    match (before, after) {
        (Some(before), Some(after)) => revision(before) != revision(after),
        (before, after) => before.is_some() || after.is_some(),
    }
}

/// Whether a source of inputs names a provider or selects its labels. A selector that cannot be understood selects nothing.
pub fn takes_from(source: &InputSource, name: &str, labels: &BTreeMap<String, String>) -> bool {
    source.name.as_deref().is_some_and(|n| n == name) || source.selector.as_ref().is_some_and(|s| selects(s, labels))
}

/// Whether a selector selects these labels; an empty one selects all, one that cannot be understood nothing.
pub fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    Selector::try_from(selector.clone()).is_ok_and(|s| s.matches(labels))
}

/// The ResourceSets that take inputs from a provider: those of its namespace that name it, or select its labels.
pub fn of_provider<'a>(
    provider: &ResourceSetInputProvider,
    sets: impl IntoIterator<Item = &'a ResourceSet>,
) -> Vec<ObjectRef<ResourceSet>> {
    let (namespace, name, labels) = (provider.namespace(), provider.name_any(), provider.labels());
    let takes = |set: &&ResourceSet| {
        let sources = set.spec.inputs_from.as_deref().unwrap_or_default();
        set.namespace() == namespace && sources.iter().any(|source| takes_from(source, &name, labels))
    };
    sets.into_iter().filter(takes).map(ObjectRef::from_obj).collect()
}

/// Kinds that data is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    /// `v1` ConfigMap.
    ConfigMap,
    /// `v1` Secret.
    Secret,
}

impl SourceKind {
    /// The kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }

    /// A kind by its name, which is case-sensitive (errata 24).
    pub fn parse(kind: &str) -> Option<Self> {
        match kind {
            "ConfigMap" => Some(Self::ConfigMap),
            "Secret" => Some(Self::Secret),
            _ => None,
        }
    }

    /// The kind of a `v1` object, if it is one of these.
    pub fn of(object: &Value) -> Option<Self> {
        if object.get("apiVersion")? == "v1" { Self::parse(object.get("kind")?.as_str()?) } else { None }
    }
}

/// A ConfigMap or Secret as `Kind/namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(String);

impl Source {
    /// One by its parts.
    pub fn new(kind: SourceKind, namespace: &str, name: &str) -> Self {
        Self(format!("{}/{namespace}/{name}", kind.as_str()))
    }
}

/// The ConfigMaps and Secrets that an object takes data from by annotations of its own, and those that any `metadata` in it
/// wants a checksum of. Annotations that say nothing understandable are passed over: applying tells of them.
pub fn sources_of(object: &Value) -> BTreeSet<Source> {
    let mut found = copies_of(object);
    found.append(&mut checksums_of(object));
    found
}

/// Those that an object is wanted a checksum of, at any depth.
pub fn checksums_of(object: &Value) -> BTreeSet<Source> {
    let mut found = BTreeSet::new();
    add_checksums(object, &mut found);
    found
}

/// Those that an object takes data from.
pub fn copies_of(object: &Value) -> BTreeSet<Source> {
    let mut found = BTreeSet::new();
    let own = |key: &str| object.get("metadata")?.get("annotations")?.get(key)?.as_str();
    if let Some(kind) = SourceKind::of(object) {
        found.extend(own(COPY_FROM).map(|from| Source(format!("{}/{from}", kind.as_str()))));
        if kind == SourceKind::ConfigMap {
            let from = own(CONVERT_KUBECONFIG_FROM).map(without_key);
            found.extend(from.map(|from| Source(format!("Secret/{from}"))));
        }
    }
    found
}

/// `namespace/name` of `namespace/name:key`.
fn without_key(reference: &str) -> &str {
    let name = reference.find('/').map_or(0, |slash| slash + 1);
    reference[name..].rfind(':').map_or(reference, |colon| &reference[..name + colon])
}

fn add_checksums(value: &Value, found: &mut BTreeSet<Source>) {
    match value {
        Value::Object(map) => {
            let text = map.get("metadata").and_then(|m| m.get("annotations")?.get(CHECKSUM_FROM)?.as_str());
            let references = text.into_iter().flat_map(|t| t.split(',')).map(str::trim).filter(|r| !r.is_empty());
            found.extend(references.map(|reference| Source(reference.to_owned())));
            map.values().for_each(|value| add_checksums(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| add_checksums(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Who takes data from which ConfigMaps and Secrets, as each ResourceSet's last pass had it.
#[derive(Debug, Default)]
pub struct SourceIndex {
    /// By (namespace, name) of ResourceSets.
    sources: Mutex<HashMap<(String, String), BTreeSet<Source>>>,
}

impl SourceIndex {
    /// Remembers what a ResourceSet takes data from; nothing, when it is gone.
    pub fn set(&self, namespace: &str, name: &str, sources: BTreeSet<Source>) {
        let owner = (namespace.to_owned(), name.to_owned());
        let mut all = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if sources.is_empty() {
            all.remove(&owner);
        } else {
            all.insert(owner, sources);
        }
    }

    /// The ResourceSets that take data from a ConfigMap or Secret, in the order of their names.
    pub fn of_source(&self, kind: SourceKind, namespace: &str, name: &str) -> Vec<ObjectRef<ResourceSet>> {
        let changed = Source::new(kind, namespace, name);
        let all = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let mut owners: Vec<_> = all.iter().filter(|(_, s)| s.contains(&changed)).map(|(owner, _)| owner).collect();
        owners.sort();
        owners.into_iter().map(|(namespace, name)| ObjectRef::new(name).within(namespace)).collect()
    }
}

#[cfg(test)]
mod tests;
