//! One JSON value as YAML text, byte for byte as `sigs.k8s.io/yaml` writes it (resourceset §4.2): what templates see of
//! an object, what `toYaml` prints, and what digests are taken of. Not for files that people keep: that is `write`.

use serde_json::Value;

/// Writes one document: block style, lists at the column of their key, keys in natural order, a line end after it.
pub fn emit(value: &Value) -> String {
    super::write(value)
}
