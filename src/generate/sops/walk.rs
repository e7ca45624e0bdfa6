//! All values of a file in their order: decrypted where the rules say so, and hashed for the authentication code.

use serde_json::Value;
use sha2::{Digest as _, Sha256, Sha512};

use crate::object::yaml;

use super::document::{Entry, Node, Scalar};
use super::metadata::Metadata;
use super::splice::Edit;
use super::{SopsError, cipher};

/// What the code begins with when it covers encrypted values alone, so that codes of the two kinds never agree: the digest
/// of this word is part of the file format.
const ONLY_ENCRYPTED: &[u8] = b"sops";

/// A file's values.
pub(super) struct Opened {
    /// Plain values for the places of encrypted ones.
    pub(super) edits: Vec<Edit>,
    /// The code that the content has, in hexadecimal digits.
    pub(super) mac: String,
}

struct Walk<'t> {
    metadata: &'t Metadata,
    key: &'t [u8; 32],
    path: Vec<&'t str>,
    /// Comments that stand above the values on the way, a list for each collection.
    comments: Vec<Vec<&'t str>>,
    hash: Sha512,
    edits: Vec<Edit>,
}

/// Walks all documents.
///
/// # Errors
/// [`SopsError::Value`].
pub(super) fn walk(documents: &[Option<Node>], metadata: &Metadata, key: &[u8; 32]) -> Result<Opened, SopsError> {
    let mut hash = Sha512::new();
    if metadata.mac_only_encrypted {
        hash.update(Sha256::digest(ONLY_ENCRYPTED));
    }
    let mut walk = Walk { metadata, key, path: Vec::new(), comments: Vec::new(), hash, edits: Vec::new() };
    for root in documents.iter().flatten() {
        let Node::Map { entries, .. } = root else {
            return Err(SopsError::Shape("a document of an encrypted file is no mapping".into()));
        };
        walk.entries(entries.iter().filter(|entry| entry.key.text != "sops"))?;
    }
    Ok(Opened { edits: walk.edits, mac: hex::encode_upper(walk.hash.finalize()) })
}

impl<'t> Walk<'t> {
    fn entries(&mut self, entries: impl Iterator<Item = &'t Entry>) -> Result<(), SopsError> {
        self.comments.push(Vec::new());
        for entry in entries {
            self.path.push(&entry.key.text);
            self.commented(&entry.comments, &entry.value)?;
            self.path.pop();
        }
        self.comments.pop();
        Ok(())
    }

    fn commented(&mut self, comments: &'t [String], node: &'t Node) -> Result<(), SopsError> {
        if let Some(level) = self.comments.last_mut() {
            level.extend(comments.iter().map(String::as_str));
        }
        self.node(node)?;
        if let Some(level) = self.comments.last_mut() {
            level.clear();
        }
        Ok(())
    }

    fn node(&mut self, node: &'t Node) -> Result<(), SopsError> {
        match node {
            Node::Map { entries, .. } => self.entries(entries.iter()),
            Node::Seq { elements } => {
                self.comments.push(Vec::new());
                for (comments, element) in elements {
                    self.commented(comments, element)?;
                }
                self.comments.pop();
                Ok(())
            }
            Node::Scalar(scalar) => self.scalar(scalar),
        }
    }

    fn scalar(&mut self, scalar: &Scalar) -> Result<(), SopsError> {
        let value = scalar.value();
        if value.is_null() {
            return Ok(());
        }
        if self.metadata.rules.is_encrypted(&self.path, &self.comments) {
            return self.encrypted(scalar, &value);
        }
        if !self.metadata.mac_only_encrypted {
            match &value {
                Value::Bool(b) => self.hash.update(cipher::truth(*b)),
                Value::Number(n) => self.hash.update(decimal(n)),
                _ => self.hash.update(&scalar.text),
            }
        }
        Ok(())
    }

    fn encrypted(&mut self, scalar: &Scalar, value: &Value) -> Result<(), SopsError> {
        if value.as_str() == Some("") {
            return Ok(());
        }
        let bound_to: String = self.path.iter().flat_map(|key| [*key, ":"]).collect();
        let plain = cipher::open(&scalar.text, self.key, &bound_to).map_err(|reason| SopsError::Value {
            path: self.path.join("."),
            line: scalar.line,
            reason,
        })?;
        self.hash.update(plain.mac_bytes());
        self.edits.push(Edit { range: scalar.range.clone(), text: yaml::write_scalar(&plain.to_value()) });
        Ok(())
    }
}

/// A number without an exponent.
fn decimal(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(f) if number.is_f64() => f.to_string(),
        _ => number.to_string(),
    }
}
