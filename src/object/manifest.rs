//! One object as it was written down: its identity, its canonical JSON, its digest, and the place it came from.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Gvk, Key, ObjectId, Policies};

/// SHA-256 over the canonical JSON (keys sorted, no white space) of an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", hex::encode(&self.0[..6]))
    }
}

/// Where an object was read: a file (or a generator's display name) and the line its document starts at.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// Path relative to the repository root with `/`, or the display name of a `.flux.yaml` for generated objects.
    pub file: Arc<str>,
    /// First line of the object's document, counted from 1; for a list item, the line of the item.
    pub line: u32,
    /// Whether a generator wrote it (the line then counts in the generator's output).
    pub generated: bool,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Why a document is no usable object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The document is not a mapping.
    #[error("{0}: expected a mapping with apiVersion, kind and metadata, found {1}")]
    NotAMapping(Origin, &'static str),
    /// A field has another type than every Kubernetes object has there.
    #[error("{origin}: expected {expected} in field {field}, found {found}")]
    Field {
        /// Where the document is.
        origin: Origin,
        /// Path of the field.
        field: &'static str,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
}

/// A desired object, exactly as generation produced it. Held as canonical JSON text because ten thousand of them are kept
/// in memory; [`Object::value`] parses it again when it is needed.
#[derive(Clone, PartialEq, Eq)]
pub struct Object {
    gvk: Gvk,
    namespace: Option<String>,
    name: String,
    policies: Policies,
    json: Box<[u8]>,
    digest: Digest,
    origin: Origin,
    sealed: bool,
}

impl ObjectError {
    /// A field of the wrong type.
    pub fn field(origin: &Origin, field: &'static str, expected: &'static str, found: &Value) -> Self {
        Self::Field { origin: origin.clone(), field, expected, found: type_name(found) }
    }
}

impl Object {
    /// Takes a document apart.
    ///
    /// # Errors
    /// When it is no mapping, or `apiVersion`, `kind`, `metadata`, `metadata.name`, `metadata.namespace` or
    /// `metadata.annotations` have a type that no Kubernetes object has there.
    pub fn new(value: &Value, origin: Origin) -> Result<Self, ObjectError> {
        let top = value.as_object().ok_or_else(|| ObjectError::NotAMapping(origin.clone(), type_name(value)))?;
        let empty = serde_json::Map::new();
        let wrong = |field, expected, found: &Value| ObjectError::field(&origin, field, expected, found);
        let text = |map: &serde_json::Map<String, Value>, key: &str, field: &'static str| match map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(s)) => Ok(Some(s.clone()).filter(|s| !s.is_empty())),
            // `name: n` is a boolean in YAML 1.1. v1 reads the name as `false` and lets the API server refuse the object.
            Some(scalar @ (Value::Bool(_) | Value::Number(_))) => Ok(Some(scalar.to_string())),
            Some(other) => Err(wrong(field, "a string", other)),
        };
        let meta = match top.get("metadata") {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(m)) => m,
            Some(other) => return Err(wrong("metadata", "a mapping", other)),
        };
        let annotations = match meta.get("annotations") {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(m)) => m,
            Some(other) => return Err(wrong("metadata.annotations", "a mapping", other)),
        };
        let api_version = text(top, "apiVersion", "apiVersion")?.unwrap_or_default();
        let kind = text(top, "kind", "kind")?.unwrap_or_default();
        let json = serde_json::to_vec(value).unwrap_or_default().into_boxed_slice();
        Ok(Self {
            gvk: Gvk::new(&api_version, &kind),
            namespace: text(meta, "namespace", "metadata.namespace")?,
            name: text(meta, "name", "metadata.name")?.unwrap_or_default(),
            policies: Policies::from_annotations(annotations),
            digest: Digest::of(&json),
            json,
            origin,
            sealed: false,
        })
    }

    /// The same object, known to come from an encrypted file.
    #[must_use]
    pub fn into_sealed(self) -> Self {
        Self { sealed: true, ..self }
    }

    /// Whether it comes from an encrypted file: its values are not for everybody who may see what would change.
    pub fn is_sealed(&self) -> bool {
        self.sealed
    }

    /// Group, version, kind.
    pub fn gvk(&self) -> &Gvk {
        &self.gvk
    }

    /// The namespace as written, `None` when the manifest has none.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The name as written; empty when the manifest has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The identity as written: without a namespace it reads `<cluster>:kind/name`, whatever the kind's scope.
    pub fn id(&self) -> ObjectId {
        ObjectId::new(self.namespace(), &self.gvk.kind, &self.name)
    }

    /// Whether both have the same identity as written; the case of a kind makes no difference, as in Flux v1.
    pub fn is_written_as(&self, other: &Self) -> bool {
        self.name == other.name
            && self.namespace == other.namespace
            && self.gvk.kind.eq_ignore_ascii_case(&other.gvk.kind)
    }

    /// The API server's key, given the namespace that the object really has.
    pub fn key(&self, namespace: Option<&str>) -> Key {
        Key {
            group: self.gvk.group.clone(),
            kind: self.gvk.kind.clone(),
            namespace: namespace.map(Into::into),
            name: self.name.clone(),
        }
    }

    /// Policies from its annotations.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// Canonical JSON: keys sorted, no white space.
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// The document, parsed anew.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or(Value::Null)
    }

    /// Digest of [`Object::json`].
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Where it was read.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl fmt::Debug for Object {
    /// Names the object without its content, which may be a Secret's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({} {} at {})", self.gvk, self.id(), self.origin)
    }
}

fn type_name(v: &Value) -> &'static str {
    match v {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
