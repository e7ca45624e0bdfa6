//! Applies a strategic merge patch, with all directives that Kubernetes knows: `$patch`, `$setElementOrder/…`,
//! `$retainKeys` and `$deleteFromPrimitiveList/…`.

use serde_json::{Map, Value};

use super::order::{identity, positions, reorder};
use super::table::{Rule, Shape};
use super::{At, PatchError, field};

pub(super) const DIRECTIVE: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
pub(super) const SET_ORDER: &str = "$setElementOrder/";
pub(super) const DELETE_FROM: &str = "$deleteFromPrimitiveList/";

type Object = Map<String, Value>;

/// Merges a patch into a mapping. `at` is the path to it, for errors.
pub(super) fn merge_map(
    mut original: Object,
    mut patch: Object,
    shape: Shape<'_>,
    at: &At<'_>,
) -> Result<Object, PatchError> {
    match patch.remove(DIRECTIVE) {
        None => {}
        Some(Value::String(s)) if s == "replace" => return Ok(patch),
        Some(Value::String(s)) if s == "delete" => return Ok(Object::new()),
        Some(other) => return Err(bad_directive(&other, at)),
    }
    retain_keys(&mut original, &mut patch, at)?;
    let (orders, fields): (Vec<_>, Vec<_>) = patch.into_iter().partition(|(name, _)| name.starts_with(SET_ORDER));
    let mut fields: Object = fields.into_iter().collect();
    for (directive, order) in orders {
        let name = directive.strip_prefix(SET_ORDER).unwrap_or_default().to_owned();
        let change = fields.remove(&name);
        ordered_list(&mut original, &name, (order, change), shape, at)?;
    }
    for (name, change) in fields {
        merge_field(&mut original, &name, change, shape, at)?;
    }
    Ok(original)
}

fn merge_field(
    original: &mut Object,
    name: &str,
    change: Value,
    shape: Shape<'_>,
    at: &At<'_>,
) -> Result<(), PatchError> {
    if let Some(list) = name.strip_prefix(DELETE_FROM) {
        delete_from(original, list, &change);
        return Ok(());
    }
    let (rule, below) = shape.field(name);
    let at = step(at, name);
    let merged = match (original.remove(name), change) {
        (_, Value::Null) => None,
        (Some(Value::Object(_)), Value::Object(change)) if rule.replace => Some(Value::Object(change)),
        (Some(Value::Object(old)), Value::Object(change)) => Some(Value::Object(merge_map(old, change, below, &at)?)),
        (Some(Value::Array(old)), Value::Array(change)) if rule.merge => {
            Some(Value::Array(merge_list(old, change, rule, below, &at)?))
        }
        (Some(Value::Array(_)), Value::Array(change)) => Some(Value::Array(change)),
        (_, change) => without_directives(change),
    };
    if let Some(merged) = merged {
        original.insert(name.to_owned(), merged);
    }
    Ok(())
}

/// The path one field further. Paths are short; a copy keeps borrowing simple.
fn step<'a>(at: &At<'a>, name: &'a str) -> At<'a> {
    at.iter().copied().chain([name]).collect()
}

/// `$retainKeys`: of the original only these fields stay, and the patch may name no others.
fn retain_keys(original: &mut Object, patch: &mut Object, at: &At<'_>) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let wrong = || PatchError::Type { field: field(&step(at, RETAIN_KEYS)), expected: "a list" };
    let keys = keys.as_array().ok_or_else(wrong)?;
    let kept = |name: &str| keys.iter().any(|key| key.as_str() == Some(name));
    let is_list_directive = |name: &str| name.starts_with(SET_ORDER) || name.starts_with(DELETE_FROM);
    let stray = patch.iter().find(|(name, v)| !v.is_null() && !is_list_directive(name) && !kept(name));
    if let Some((name, _)) = stray {
        return Err(PatchError::RetainKeys { field: field(at), key: name.clone() });
    }
    original.retain(|name, _| kept(name));
    Ok(())
}

/// `$deleteFromPrimitiveList/name`: takes plain values out of a list. Where either is no list nothing happens, as in
/// Kubernetes.
fn delete_from(original: &mut Object, name: &str, change: &Value) {
    if let (Some(Value::Array(list)), Value::Array(gone)) = (original.get_mut(name), change) {
        list.retain(|element| !gone.contains(element));
    }
}

/// A list whose patch comes with `$setElementOrder/name`.
fn ordered_list(
    original: &mut Object,
    name: &str,
    (order, change): (Value, Option<Value>),
    shape: Shape<'_>,
    at: &At<'_>,
) -> Result<(), PatchError> {
    let (rule, below) = shape.field(name);
    let at = step(at, name);
    let as_list = |value: Value| match value {
        Value::Array(list) => Ok(list),
        _ => Err(PatchError::Type { field: field(&at), expected: "a list, because $setElementOrder names it" }),
    };
    let order = as_list(order)?;
    let old = original.remove(name).map(&as_list).transpose()?;
    let change = change.map(as_list).transpose()?;
    let key = rule.key.as_deref();
    check_order(change.as_deref().unwrap_or_default(), &order, key, &at)?;
    let before = old.clone().unwrap_or_default();
    let merged = match (old, change) {
        (None, None) => return Ok(()),
        (Some(old), None) => old,
        (None, Some(change)) => change.into_iter().filter_map(without_directives).collect(),
        (Some(old), Some(change)) if rule.merge => merge_list(old, change, rule, below, &at)?,
        (Some(_), Some(change)) => change,
    };
    let list = reorder(merged, &order, &before, key, || field(&at))?;
    original.insert(name.to_owned(), Value::Array(list));
    Ok(())
}

/// The elements of the patch must stand in the order that `$setElementOrder` gives; it may name more.
fn check_order(change: &[Value], order: &[Value], key: Option<&str>, at: &At<'_>) -> Result<(), PatchError> {
    let places = positions(order, key);
    let is_deleted = |element: &Value| element.get(DIRECTIVE).and_then(Value::as_str) == Some("delete");
    let mut last = None;
    for element in change.iter().filter(|e| !is_deleted(e)) {
        let place = identity(element, key).and_then(|id| places.get(&id).copied());
        if order.is_empty() {
            return Ok(());
        }
        if place.is_none() || place < last {
            return Err(PatchError::Order { field: field(at) });
        }
        last = place;
    }
    Ok(())
}

fn merge_list(
    old: Vec<Value>,
    change: Vec<Value>,
    rule: &Rule,
    below: Shape<'_>,
    at: &At<'_>,
) -> Result<Vec<Value>, PatchError> {
    let all = || old.iter().chain(&change);
    let mappings = all().filter(|v| v.is_object()).count();
    if (mappings != 0 && mappings != all().count()) || all().any(Value::is_array) {
        return Err(PatchError::Elements { field: field(at) });
    }
    let key = rule.key.as_deref();
    match key {
        Some(key) if mappings > 0 => merge_mappings(old, change, key, below, at),
        None if mappings > 0 => Err(PatchError::Elements { field: field(at) }),
        _ => {
            let mut merged = Vec::new();
            let mut seen = std::collections::HashSet::new();
            merged.extend(all().filter(|v| seen.insert(v.to_string())).cloned());
            reorder(merged, &change, &old, None, || field(at))
        }
    }
}

fn merge_mappings(
    mut old: Vec<Value>,
    change: Vec<Value>,
    key: &str,
    below: Shape<'_>,
    at: &At<'_>,
) -> Result<Vec<Value>, PatchError> {
    let no_key = |at: &At<'_>| PatchError::NoMergeKey { field: field(at), key: key.to_owned() };
    let (mut replace, mut plain) = (false, Vec::with_capacity(change.len()));
    for element in change {
        match element.get(DIRECTIVE) {
            None => plain.push(element),
            Some(Value::String(s)) if s == "delete" => {
                let gone = element.get(key).ok_or_else(|| no_key(at))?;
                old.retain(|e| e.get(key) != Some(gone));
            }
            Some(Value::String(s)) if s == "replace" => replace = true,
            Some(other) => return Err(bad_directive(other, at)),
        }
    }
    if replace {
        return Ok(plain);
    }
    let before = old.clone();
    let mut places = positions(&old, Some(key));
    for element in &plain {
        let identity = identity(element, Some(key)).ok_or_else(|| no_key(at))?;
        match places.get(&identity) {
            Some(place) => old[*place] = merge_element(old[*place].take(), element.clone(), below, at)?,
            None => {
                places.insert(identity, old.len());
                old.extend(without_directives(element.clone()));
            }
        }
    }
    reorder(old, &plain, &before, Some(key), || field(at))
}

fn merge_element(old: Value, change: Value, below: Shape<'_>, at: &At<'_>) -> Result<Value, PatchError> {
    match (old, change) {
        (Value::Object(old), Value::Object(change)) => merge_map(old, change, below, at).map(Value::Object),
        (_, change) => Ok(change),
    }
}

/// What stands where nothing stood before: nulls and directives mean nothing there, and what carries `$patch` is left out.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(name, v)| !v.is_null() && !is_directive(name));
            Some(Value::Object(kept.filter_map(|(name, v)| Some((name, without_directives(v)?))).collect()))
        }
        Value::Array(list) => Some(Value::Array(list.into_iter().filter_map(without_directives).collect())),
        other => Some(other),
    }
}

fn is_directive(name: &str) -> bool {
    name == RETAIN_KEYS || name.starts_with(SET_ORDER) || name.starts_with(DELETE_FROM)
}

fn bad_directive(directive: &Value, at: &At<'_>) -> PatchError {
    PatchError::Directive { field: field(at), directive: directive.to_string() }
}
