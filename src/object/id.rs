//! Names of things: the group, version and kind; the identity users see (`ns:kind/name`); the API server's own key.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The namespace part of an [`ObjectId`] of a cluster-scoped object (and of one whose namespace is not known yet).
pub const CLUSTER_SCOPE: &str = "<cluster>";

/// Group, version and kind of an object. The core group is the empty string.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gvk {
    /// API group, empty for the core group.
    pub group: String,
    /// API version within the group, such as `v1`.
    pub version: String,
    /// Kind, in the API's own capitalisation.
    pub kind: String,
}

impl Gvk {
    /// Makes one from an `apiVersion` (`apps/v1` or `v1`) and a kind.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// The `apiVersion` field: `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.api_version(), self.kind)
    }
}

/// The identity that users, marks and the HTTP API know: `namespace:kind/name`, kind in lower case, `<cluster>` as the
/// namespace of cluster-scoped objects. Neither group nor version is part of it (fluxd-v1 §3.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    namespace: String,
    kind: String,
    name: String,
}

/// A text that is no object identity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parsing {0}: invalid service ID")]
pub struct IdError(pub String);

impl ObjectId {
    /// Makes one; `None` or an empty namespace means cluster scope. The kind is lower-cased.
    pub fn new(namespace: Option<&str>, kind: &str, name: &str) -> Self {
        let namespace = namespace.filter(|n| !n.is_empty()).unwrap_or(CLUSTER_SCOPE);
        Self { namespace: namespace.into(), kind: kind.to_lowercase(), name: name.into() }
    }

    /// The namespace, `None` for cluster scope.
    pub fn namespace(&self) -> Option<&str> {
        (self.namespace != CLUSTER_SCOPE).then_some(self.namespace.as_str())
    }

    /// The kind in lower case.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.namespace, self.kind, self.name)
    }
}

fn is_word(s: &str, extra: &str) -> bool {
    !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-' || extra.contains(c))
}

impl FromStr for ObjectId {
    type Err = IdError;

    /// Parses the full form, or the legacy `namespace/service` form, whose kind is `service` (fluxd-v1 §3.3).
    fn from_str(s: &str) -> Result<Self, IdError> {
        let bad = || IdError(s.to_owned());
        let (head, name) = s.split_once('/').ok_or_else(bad)?;
        let Some((namespace, kind)) = head.split_once(':') else {
            return if is_word(head, "") && is_word(name, "") {
                Ok(Self::new(Some(head), "service", name))
            } else {
                Err(bad())
            };
        };
        let ok = (namespace == CLUSTER_SCOPE || is_word(namespace, "")) && is_word(kind, "") && is_word(name, ".:");
        if ok { Ok(Self::new(Some(namespace), kind, name)) } else { Err(bad()) }
    }
}

impl Serialize for ObjectId {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ObjectId {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What the API server calls the same object: group, kind, namespace and name. The version is left out because one object
/// can be read at several.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// API group, empty for the core group.
    pub group: String,
    /// Kind, in the API's capitalisation.
    pub kind: String,
    /// Namespace, `None` for cluster scope.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl Key {
    /// The identity that users see.
    pub fn id(&self) -> ObjectId {
        ObjectId::new(self.namespace.as_deref(), &self.kind, &self.name)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id())?;
        if self.group.is_empty() { Ok(()) } else { write!(f, " ({})", self.group) }
    }
}
