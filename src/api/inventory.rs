//! Inventories in statuses: what an object owns, as `<namespace>_<name>_<group>_<kind>` with a version (resourceset §7.6).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::{Gvk, Key};

const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_KINDS: [&str; 4] = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];

/// A list of references to objects that were applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inventory {
    /// References to the objects.
    #[serde(default)]
    pub entries: Vec<Entry>,
}

/// A reference to one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The object's identity in the format `<namespace>_<name>_<group>_<kind>`.
    pub id: String,
    /// The version of the object's API.
    pub v: String,
}

/// A text that is no identity of an inventory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("inventory entry '{0}' is not of the form '<namespace>_<name>_<group>_<kind>'")]
pub struct EntryError(pub String);

/// The identity of an object in inventories. Colons in the names of RBAC objects become `__`.
pub fn entry_id(key: &Key) -> String {
    let name = if has_colons(&key.group, &key.kind) { key.name.replace(':', "__") } else { key.name.clone() };
    format!("{}_{name}_{}_{}", key.namespace.as_deref().unwrap_or_default(), key.group, key.kind)
}

fn has_colons(group: &str, kind: &str) -> bool {
    group == RBAC && RBAC_KINDS.contains(&kind)
}

impl Entry {
    /// The reference to an object.
    pub fn new(key: &Key, version: &str) -> Self {
        Self { id: entry_id(key), v: version.to_owned() }
    }

    /// The object and its version.
    ///
    /// # Errors
    /// When the identity has another form.
    pub fn parse(&self) -> Result<(Key, Gvk), EntryError> {
        let key = parse(&self.id)?;
        let gvk = Gvk { group: key.group.clone(), version: self.v.clone(), kind: key.kind.clone() };
        Ok((key, gvk))
    }
}

/// Reads an identity: the namespace ends at the first `_`, kind and group are behind the last two, and `__` in what is
/// between stands for a colon.
///
/// # Errors
/// When there are fewer than three separators, or no kind or name.
pub fn parse(id: &str) -> Result<Key, EntryError> {
    let bad = || EntryError(id.to_owned());
    let (namespace, rest) = id.split_once('_').ok_or_else(bad)?;
    let (rest, kind) = rest.rsplit_once('_').ok_or_else(bad)?;
    let (name, group) = rest.rsplit_once('_').ok_or_else(bad)?;
    if kind.is_empty() || name.is_empty() {
        return Err(bad());
    }
    let namespace = Some(namespace.to_owned()).filter(|n| !n.is_empty());
    Ok(Key { group: group.to_owned(), kind: kind.to_owned(), namespace, name: name.replace("__", ":") })
}

impl Inventory {
    /// Both lists, each identity once, sorted; `newer`'s versions win.
    #[must_use]
    pub fn union(&self, newer: &Self) -> Self {
        let all: BTreeMap<&str, &Entry> =
            self.entries.iter().chain(&newer.entries).map(|entry| (entry.id.as_str(), entry)).collect();
        Self { entries: all.into_values().cloned().collect() }
    }

    /// The entries whose identity `other` lacks, whatever the version.
    pub fn without(&self, other: &Self) -> Vec<Entry> {
        let kept: std::collections::BTreeSet<&str> = other.entries.iter().map(|entry| entry.id.as_str()).collect();
        self.entries.iter().filter(|entry| !kept.contains(entry.id.as_str())).cloned().collect()
    }

    /// The same, in the order of identities.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.entries.sort();
        self
    }
}
