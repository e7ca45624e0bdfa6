//! Decrypts files that SOPS encrypted (fluxd-v1 §2.11), with keys given as values. It reads no key file and no environment.
//!
//! Age and PGP keys work in process; keys that only the gpg key ring holds go through `gpg`, and cloud key services through
//! the `sops` program. Values are put back where they stood, so that every other byte and all line numbers stay.

mod cipher;
mod document;
mod keys;
mod metadata;
mod rules;
mod shamir;
mod splice;
#[cfg(test)]
mod tests;
mod walk;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use serde_json::Value;

use crate::object::yaml::{self, Dialect, Limits};
use crate::runtime::Stop;

use metadata::Metadata;

/// What decryption may use.
#[derive(Clone, Default)]
pub struct SopsKeys {
    /// Age identities: the text of `SOPS_AGE_KEY`, or of the file that `SOPS_AGE_KEY_FILE` names.
    pub age: String,
    /// Secret PGP keys without a passphrase, armoured or not, one per file that was imported.
    pub pgp: Vec<Vec<u8>>,
    /// Environment for `gpg` and `sops`, which are asked for keys that are not among these.
    pub env: BTreeMap<OsString, OsString>,
}

impl fmt::Debug for SopsKeys {
    /// Shows no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SopsKeys({} PGP keys)", self.pgp.len())
    }
}

/// Why a file could not be decrypted. No text of it holds a key or plain content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SopsError {
    /// The metadata is not as SOPS writes it.
    #[error("the sops metadata cannot be read: {0}")]
    Metadata(String),
    /// None of the file's recipients has a key here; what was tried stands behind it.
    #[error("cannot get the data key: {0}")]
    NoKey(String),
    /// A value is not encrypted as the metadata says, or was changed.
    #[error("could not decrypt value of \"{path}\" at line {line}: {reason}")]
    Value {
        /// Keys that lead to the value, joined by dots.
        path: String,
        /// Line, counted from 1.
        line: usize,
        /// Why.
        reason: &'static str,
    },
    /// The message authentication code does not fit the content.
    #[error("failed to verify data integrity: the content or its mac was changed after encryption")]
    Integrity,
    /// The file is of a shape that SOPS does not write.
    #[error("{0}")]
    Shape(String),
    /// The `sops` program failed.
    #[error("{0}")]
    Program(String),
}

/// Decrypts a file that holds SOPS metadata in its first document; `None` when it holds none, or is no YAML at all.
///
/// # Errors
/// When the metadata is there and the content cannot be had, or is not what was encrypted.
pub async fn decrypt(bytes: &[u8], keys: &SopsKeys, stop: &Stop) -> Result<Option<Vec<u8>>, SopsError> {
    let Some((text, found)) = metadata_of(bytes) else { return Ok(None) };
    let metadata = Metadata::from_value(&found)?;
    match keys::data_key(&metadata, keys, stop).await {
        Ok(key) => open(&text, &metadata, &key).map(Some),
        Err(_) if metadata.needs_program() => keys::run_sops(bytes, &metadata, keys, stop).await.map(Some),
        Err(error) => Err(error),
    }
}

/// Whether a file holds SOPS metadata in its first document.
pub(super) fn is_encrypted(bytes: &[u8]) -> bool {
    metadata_of(bytes).is_some()
}

/// The text of a file and the SOPS metadata in it.
fn metadata_of(bytes: &[u8]) -> Option<(Cow<'_, str>, Value)> {
    if !bytes.windows(5).any(|window| window == b"sops:" || window == b"sops\"") {
        return None;
    }
    let limits = Limits::default();
    let text = yaml::decode(bytes, &limits).ok()?;
    let first = yaml::Documents::new(&text, Dialect::Kustomize, &limits).next()?.ok()?;
    let found = first.value.get("sops").filter(|found| found.is_object())?.clone();
    Some((text, found))
}

/// Decrypts all values and checks that nothing was changed.
fn open(text: &str, metadata: &Metadata, key: &[u8; 32]) -> Result<Vec<u8>, SopsError> {
    let documents = document::read(text)?;
    let opened = walk::walk(&documents, metadata, key)?;
    let mac = cipher::open(&metadata.mac, key, &metadata.lastmodified).map_err(|_| SopsError::Integrity)?;
    if !mac.text().is_some_and(|mac| mac.eq_ignore_ascii_case(&opened.mac)) {
        return Err(SopsError::Integrity);
    }
    let mut edits = opened.edits;
    edits.extend(documents.iter().flatten().filter_map(|root| splice::metadata_edit(text, root)));
    Ok(splice::apply(text, edits))
}
