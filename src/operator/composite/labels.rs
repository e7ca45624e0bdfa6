//! The labels by which an object is known as its owner's.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::object::{Object, ObjectError};
use crate::operator::sets::SetSettings;

/// Longest value of a label.
const LONGEST: usize = 63;

/// A name as a label's value; names may be longer than that, and are then told apart by a hash.
pub(super) fn value(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let hash = hex::encode(Sha256::digest(name.as_bytes()));
    let start = name[..name.floor_char_boundary(LONGEST - 11)].trim_end_matches(['.', '-']);
    format!("{start}-{}", &hash[..10])
}

/// The objects with the owner's labels on them.
///
/// # Errors
/// When an object's metadata is none.
pub(super) fn owned(
    objects: &[Arc<Object>],
    settings: &SetSettings,
    (name, namespace): (&str, &str),
) -> Result<Vec<Arc<Object>>, ObjectError> {
    let marked = |object: &Arc<Object>| {
        let mut body = object.value();
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            let labels = metadata.entry("labels").or_insert_with(|| json!({}));
            if labels.is_null() {
                *labels = json!({});
            }
            if let Some(labels) = labels.as_object_mut() {
                labels.insert(settings.owner_name_label.clone(), json!(value(name)));
                labels.insert(settings.owner_namespace_label.clone(), json!(namespace));
            }
        }
        let marked = Object::new(&body, object.origin().clone())?;
        Ok(Arc::new(if object.is_sealed() { marked.into_sealed() } else { marked }))
    };
    objects.iter().map(marked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_for_a_label_is_cut_and_told_apart() {
        assert_eq!(value("web"), "web");
        let (one, two) = (value(&format!("{}.one", "x".repeat(70))), value(&format!("{}.two", "x".repeat(70))));
        assert!(one.len() <= LONGEST && one != two, "{one} {two}");
        assert_eq!(value(&format!("{}.{}", "x".repeat(51), "y".repeat(40))).as_bytes()[51], b'-');
    }
}
