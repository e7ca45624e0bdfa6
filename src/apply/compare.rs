//! Whether an apply would change an object: its live form against that of a dry run (resourceset §7.4.4).

use serde_json::Value;

/// Whether labels, annotations, or anything outside of metadata and status differ.
pub(super) fn differs(live: &Value, tried: &Value) -> bool {
    let meta = |object: &Value, field: &str| {
        let map = &object["metadata"][field];
        // An empty map and none are the same to the API server.
        map.as_object().filter(|m| !m.is_empty()).cloned()
    };
    if ["labels", "annotations"].iter().any(|field| meta(live, field) != meta(tried, field)) {
        return true;
    }
    let (Some(live), Some(tried)) = (live.as_object(), tried.as_object()) else { return true };
    let counts = |key: &str| !matches!(key, "metadata" | "status" | "apiVersion" | "kind");
    let keys = live.keys().chain(tried.keys()).filter(|key| counts(key));
    keys.into_iter().any(|key| live.get(key) != tried.get(key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn status_versions_and_managers_are_no_difference_and_everything_else_is() {
        let live = json!({"metadata": {"name": "a", "labels": {"a": "b"}, "resourceVersion": "1"}, "data": {"a": "1"},
            "status": {"x": 1}});
        let same = json!({"metadata": {"name": "a", "labels": {"a": "b"}, "annotations": {}, "managedFields": []},
            "data": {"a": "1"}});
        assert!(!differs(&live, &same));
        for (path, value) in [
            ("/metadata/labels", json!({"a": "c"})),
            ("/metadata/annotations", json!({"a": "c"})),
            ("/data", json!({"a": "2"})),
        ] {
            let mut other = same.clone();
            *other.pointer_mut(path).unwrap() = value;
            assert!(differs(&live, &other), "{path}");
        }
        assert!(differs(&live, &json!({"metadata": same["metadata"], "data": same["data"], "immutable": true})));
    }
}
