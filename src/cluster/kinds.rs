//! Which kinds the API server has: a snapshot of discovery, looked up by group, version and kind. A group whose server does
//! not answer makes only its own kinds unknown.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::object::{Glob, Gvk};

/// What one kind is to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindInfo {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// Name in URLs.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What can be done with it: `list`, `watch`, `patch`, `delete` and so on.
    pub verbs: Vec<String>,
}

impl KindInfo {
    /// Whether the kind knows a verb.
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| v == verb)
    }

    /// Path of one object, or of the collection when `name` is empty.
    pub(super) fn path(&self, namespace: Option<&str>, name: &str) -> String {
        let Gvk { group, version, .. } = &self.gvk;
        let mut path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        if let Some(namespace) = namespace.filter(|_| self.namespaced) {
            path.push_str("/namespaces/");
            path.push_str(&segment(namespace));
        }
        path.push('/');
        path.push_str(&self.plural);
        if !name.is_empty() {
            path.push('/');
            path.push_str(&segment(name));
        }
        path
    }
}

/// One path segment, with everything escaped that is not plainly safe (names such as `system:node` keep their colon).
fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Why a kind could not be found. The texts are Flux v1's (fluxd-v1 §3.5); all but the failed group contain `not found`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// The API server does not serve the group and version.
    #[error("server resources for {0} not found in cache; cache refreshes every 5 minutes")]
    NoGroupVersion(String),
    /// It serves the group and version, without this kind.
    #[error("resource not found for API {group_version}, kind {kind}")]
    NoKind {
        /// Group and version.
        group_version: String,
        /// The kind that is missing.
        kind: String,
    },
    /// The server behind the group did not answer; whether the kind exists is unknown.
    #[error("discovery of API {group_version} failed: {reason}")]
    GroupFailed {
        /// Group and version, or the group alone.
        group_version: String,
        /// What went wrong.
        reason: String,
    },
}

impl Unresolved {
    /// Whether the API server said for certain that there is no such kind.
    pub fn is_certain(&self) -> bool {
        !matches!(self, Self::GroupFailed { .. })
    }
}

/// One group and version.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GroupVersion {
    pub(super) version: String,
    /// Why its list of kinds cannot be trusted to be whole.
    pub(super) failed: Option<String>,
    pub(super) kinds: HashMap<String, Arc<KindInfo>>,
}

/// A snapshot of discovery.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kinds {
    /// Versions of each group, the API server's preferred one first.
    pub(super) groups: HashMap<String, Vec<GroupVersion>>,
    /// Groups of which not even the versions are known, with the reason.
    pub(super) failed_groups: HashMap<String, String>,
}

impl Kinds {
    /// Finds a kind by its exact group, version and name.
    ///
    /// # Errors
    /// When the API server has no such kind, or could not say.
    pub fn resolve(&self, gvk: &Gvk) -> Result<&Arc<KindInfo>, Unresolved> {
        let group_version = gvk.api_version();
        if let Some(reason) = self.failed_groups.get(&gvk.group) {
            return Err(Unresolved::GroupFailed { group_version, reason: reason.clone() });
        }
        let versions = self.groups.get(&gvk.group).map(Vec::as_slice).unwrap_or_default();
        let Some(found) = versions.iter().find(|v| v.version == gvk.version) else {
            return Err(Unresolved::NoGroupVersion(group_version));
        };
        match (found.kinds.get(&gvk.kind), &found.failed) {
            (Some(kind), _) => Ok(kind),
            (None, Some(reason)) => Err(Unresolved::GroupFailed { group_version, reason: reason.clone() }),
            (None, None) => Err(Unresolved::NoKind { group_version, kind: gvk.kind.clone() }),
        }
    }

    /// Whether every version that a CustomResourceDefinition serves is known.
    pub fn serves(&self, definition: &Value) -> bool {
        let text = |path: &str| definition.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (group, kind) = (text("/spec/group"), text("/spec/names/kind"));
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        let mut served = versions.filter(|v| v["served"] == true).filter_map(|v| v["name"].as_str());
        served.all(|version| {
            let gvk = Gvk { group: group.clone(), version: version.to_owned(), kind: kind.clone() };
            self.resolve(&gvk).is_ok()
        })
    }

    /// Finds a kind by group and name at the first version that can do `verb`.
    pub fn find(&self, group: &str, kind: &str, verb: &str) -> Option<&Arc<KindInfo>> {
        let versions = self.groups.get(group)?;
        versions.iter().filter_map(|v| v.kinds.get(kind)).find(|k| k.can(verb))
    }

    /// Every kind that can be listed, once each (at its preferred version), sorted, without those that `exclude` names and
    /// those that never hold anything of ours (fluxd-v1 §5.7).
    pub fn listable(&self, exclude: &[Glob]) -> Vec<Arc<KindInfo>> {
        let mut found: HashMap<(&str, &str), &Arc<KindInfo>> = HashMap::new();
        for (group, versions) in &self.groups {
            for kind in versions.iter().flat_map(|v| v.kinds.values()) {
                if !kind.can("list") || is_excluded(&kind.gvk, exclude) {
                    continue;
                }
                found.entry((group.as_str(), kind.gvk.kind.as_str())).or_insert(kind);
            }
        }
        let mut kinds: Vec<_> = found.into_values().cloned().collect();
        kinds.sort_by(|a, b| a.gvk.cmp(&b.gvk));
        kinds
    }

    /// Groups and versions whose discovery failed, with the reason, without those that `exclude` names.
    pub fn failed(&self, exclude: &[Glob]) -> Vec<(String, String)> {
        let versions = self.groups.iter().flat_map(|(group, versions)| {
            versions.iter().filter_map(move |v| {
                let group_version = Gvk { group: group.clone(), version: v.version.clone(), kind: String::new() };
                Some((group_version.api_version(), v.failed.clone()?))
            })
        });
        let groups = self.failed_groups.iter().map(|(group, reason)| (group.clone(), reason.clone()));
        let mut all: Vec<_> =
            versions.chain(groups).filter(|(gv, _)| !matches_any(exclude, &format!("{gv}/"))).collect();
        all.sort();
        all
    }

    /// Whether a group may have kinds that are not known, because its server did not answer.
    pub fn is_group_doubtful(&self, group: &str) -> bool {
        let versions = self.groups.get(group).map(Vec::as_slice).unwrap_or_default();
        self.failed_groups.contains_key(group) || versions.iter().any(|version| version.failed.is_some())
    }

    /// Whether nothing has been discovered yet.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.failed_groups.is_empty()
    }
}

fn matches_any(globs: &[Glob], text: &str) -> bool {
    globs.iter().any(|g| g.is_match(text))
}

fn is_excluded(gvk: &Gvk, exclude: &[Glob]) -> bool {
    let never = gvk.group.is_empty() && matches!(gvk.kind.as_str(), "ComponentStatus" | "Endpoints");
    let group_version = gvk.api_version();
    never
        || matches_any(exclude, &format!("{group_version}/"))
        || matches_any(exclude, &format!("{group_version}/{}", gvk.kind))
}
