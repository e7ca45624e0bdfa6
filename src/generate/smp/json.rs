//! JSON merge patches (RFC 7396): null deletes, mappings merge, everything else is replaced.

use serde_json::{Map, Value};

/// Applies a patch.
pub fn json_merge(original: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut merged = original.as_object().cloned().unwrap_or_default();
    for (key, change) in patch {
        if change.is_null() {
            merged.remove(key);
        } else {
            let value = json_merge(merged.get(key).unwrap_or(&Value::Null), change);
            merged.insert(key.clone(), value);
        }
    }
    Value::Object(merged)
}

/// Makes the patch that leads from `original` to `modified`; an empty mapping when they are equal. Nulls of `modified`
/// cannot be expressed and are left out.
pub fn create_json_merge(original: &Value, modified: &Value) -> Value {
    let (Value::Object(original), Value::Object(modified)) = (original, modified) else { return modified.clone() };
    let mut patch = Map::new();
    for key in original.keys().filter(|key| !modified.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, new) in modified {
        let change = match original.get(key) {
            Some(old) if old == new => continue,
            Some(old @ Value::Object(_)) if new.is_object() => create_json_merge(old, new),
            _ => new.clone(),
        };
        patch.insert(key.clone(), change);
    }
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_examples_of_rfc_7396_hold() {
        for (original, patch, want) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), Value::Null, Value::Null),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            assert_eq!(json_merge(&original, &patch), want, "{original} with {patch}");
        }
    }

    #[test]
    fn a_patch_made_from_two_objects_leads_from_one_to_the_other() {
        let old = json!({"a": {"b": 1, "c": [1]}, "d": 1, "same": {"x": []}});
        let new = json!({"a": {"b": 2, "c": [2]}, "e": {"f": 1}, "same": {"x": []}});
        let patch = create_json_merge(&old, &new);
        assert_eq!(patch, json!({"a": {"b": 2, "c": [2]}, "d": null, "e": {"f": 1}}));
        assert_eq!(json_merge(&old, &patch), new);
        assert_eq!(create_json_merge(&new, &new), json!({}));
    }
}
