//! Reading fields and conditions of an object that may have any shape.

use serde_json::Value;

/// The value at a path, `null` when there is none.
pub(super) fn at<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(object, |value, key| &value[*key])
}

/// A whole number.
pub(super) fn number(object: &Value, path: &[&str]) -> Option<i64> {
    at(object, path).as_i64()
}

/// A whole number, zero when absent.
pub(super) fn count(object: &Value, path: &[&str]) -> i64 {
    number(object, path).unwrap_or(0)
}

/// A text, empty when absent.
pub(super) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).as_str().unwrap_or("")
}

/// The elements of a list, none when absent.
pub(super) fn list<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path).as_array().map_or(&[], Vec::as_slice)
}

/// A condition by its type.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    list(object, &["status", "conditions"]).iter().find(|c| text(c, &["type"]) == kind)
}

/// Whether a condition has a status.
pub(super) fn is_condition(condition: &Value, status: &str) -> bool {
    text(condition, &["status"]) == status
}

/// A condition by its type and status.
pub(super) fn condition_with<'a>(object: &'a Value, kind: &str, status: &str) -> Option<&'a Value> {
    condition(object, kind).filter(|c| is_condition(c, status))
}
