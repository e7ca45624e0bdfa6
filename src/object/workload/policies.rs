//! Which annotations to write and to remove for a change of policies (fluxd-v1 §3.6).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{WorkloadError, containers};
use crate::object::pattern::{Pattern, PatternError};
use crate::object::policy::{PIN_ANNOTATION, POLICY_PREFIXES};

/// The policy that stands for the tag filters of all containers.
const TAG_ALL: &str = "tag_all";
/// What policies that filter tags begin with.
const TAG: &str = "tag.";
/// The prefix under which an annotation's suffix is a container.
const FILTER: &str = "filter.fluxcd.io/";

/// A change of one annotation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnnotationChange {
    /// Its whole key.
    pub key: String,
    /// What it becomes; `None` removes it.
    pub value: Option<String>,
}

/// All keys that can carry a policy, the one that is written to a bare object first.
fn keys(policy: &str) -> Vec<String> {
    let mut keys: Vec<String> = POLICY_PREFIXES[..2].iter().map(|prefix| format!("{prefix}{policy}")).collect();
    if let Some(container) = policy.strip_prefix(TAG) {
        keys.push(format!("{FILTER}{container}"));
    }
    if policy == "pin" {
        keys.push(PIN_ANNOTATION.to_owned());
    }
    keys
}

/// The annotation to write a policy to: the one that carries it already, else `fluxcd.io/⟨policy⟩`.
pub fn policy_key(annotations: &Map<String, Value>, policy: &str) -> String {
    let mut keys = keys(policy);
    let at = keys.iter().position(|key| annotations.contains_key(key)).unwrap_or(0);
    keys.swap_remove(at)
}

/// The changes of annotations that set one policy, or remove it with `None`. A removal takes all keys that carry the
/// policy: otherwise the weaker of two would take effect.
pub fn annotation_changes(
    annotations: &Map<String, Value>,
    policy: &str,
    value: Option<&str>,
) -> Vec<AnnotationChange> {
    match value {
        Some(value) => vec![AnnotationChange { key: policy_key(annotations, policy), value: Some(value.to_owned()) }],
        None => {
            let carried = keys(policy).into_iter().filter(|key| annotations.contains_key(key));
            carried.map(|key| AnnotationChange { key, value: None }).collect()
        }
    }
}

/// What an update of policies means for an object with the given containers: `tag_all` becomes the filter of each
/// container, whatever else is said of it, and its value `glob:*` removes them. What is added with an empty value, or both
/// added and removed, is removed. `None` removes.
///
/// # Errors
/// When the value of a tag filter is no pattern.
pub fn policy_edits(
    containers: &[String],
    add: &BTreeMap<String, String>,
    remove: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Option<String>>, PatternError> {
    let mut edits = BTreeMap::new();
    for (policy, value) in add.iter().filter(|(policy, _)| *policy != TAG_ALL) {
        if policy.starts_with(TAG) && !value.is_empty() {
            Pattern::check(value)?;
        }
        edits.insert(policy.clone(), Some(value.clone()).filter(|value| !value.is_empty()));
    }
    if let Some(value) = add.get(TAG_ALL) {
        let pattern = Pattern::check(value)?;
        let value = (pattern != Pattern::default()).then(|| value.clone());
        edits.extend(containers.iter().map(|name| (format!("{TAG}{name}"), value.clone())));
    }
    edits.extend(remove.keys().map(|policy| (policy.clone(), None)));
    Ok(edits)
}

/// The changes of an object's annotations that an update of policies means; see [`policy_edits`].
///
/// # Errors
/// When the value of a tag filter is no pattern.
pub fn policy_changes(
    object: &Value,
    add: &BTreeMap<String, String>,
    remove: &BTreeMap<String, String>,
) -> Result<Vec<AnnotationChange>, WorkloadError> {
    let none = Map::new();
    let annotations = object["metadata"]["annotations"].as_object().unwrap_or(&none);
    let names: Vec<String> = containers(object).into_iter().map(|container| container.name).collect();
    let edits = policy_edits(&names, add, remove)?;
    Ok(edits.iter().flat_map(|(policy, value)| annotation_changes(annotations, policy, value.as_deref())).collect())
}
