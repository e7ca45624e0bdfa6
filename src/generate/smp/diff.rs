//! Makes strategic merge patches from two versions of an object, in the form that kubectl and Flux v1 give them: changed
//! fields only, null for what is gone, `$setElementOrder/…` beside a merged list that changed, `$patch: delete` for its lost
//! elements, `$retainKeys` where the type asks for it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::apply::{DELETE_FROM, DIRECTIVE, RETAIN_KEYS, SET_ORDER};
use super::order::positions;
use super::table::{Rule, Shape};
use super::{At, PatchError, field};

type Object = Map<String, Value>;

/// The difference between two mappings; empty when they are equal. With `retain`, a patch that is not empty says which
/// fields stay.
pub(super) fn diff_maps(
    old: &Object,
    new: &Object,
    shape: Shape<'_>,
    retain: bool,
    at: &At<'_>,
) -> Result<Object, PatchError> {
    let mut patch = Object::new();
    for (name, new_value) in new {
        match (old.get(name), new_value) {
            (Some(old_value), _) if old_value == new_value => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                diff_mapping(&mut patch, name, (old, new), shape, at)?;
            }
            (Some(Value::Array(old)), Value::Array(new)) if shape.field(name).0.merge => {
                diff_list(&mut patch, name, (old, new), shape, at)?;
            }
            _ => {
                patch.insert(name.clone(), new_value.clone());
            }
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    if retain && !patch.is_empty() {
        let kept: BTreeSet<&String> = new.iter().filter(|(_, v)| !v.is_null()).map(|(name, _)| name).collect();
        if !kept.is_empty() {
            patch.insert(RETAIN_KEYS.into(), json!(kept));
        }
    }
    Ok(patch)
}

fn diff_mapping(
    patch: &mut Object,
    name: &str,
    (old, new): (&Object, &Object),
    shape: Shape<'_>,
    at: &At<'_>,
) -> Result<(), PatchError> {
    let (rule, below) = shape.field(name);
    let change = match rule.replace {
        true => new.clone(),
        false => diff_maps(old, new, below, rule.retain_keys, &deeper(at, name))?,
    };
    // A mapping that differs in nothing a patch can say is left out.
    if !change.is_empty() || rule.replace {
        patch.insert(name.to_owned(), Value::Object(change));
    }
    Ok(())
}

fn diff_list(
    patch: &mut Object,
    name: &str,
    (old, new): (&[Value], &[Value]),
    shape: Shape<'_>,
    at: &At<'_>,
) -> Result<(), PatchError> {
    if old.is_empty() {
        patch.insert(name.to_owned(), new.into());
        return Ok(());
    }
    let (rule, below) = shape.field(name);
    let at = deeper(at, name);
    let mappings = old.iter().chain(new).filter(|v| v.is_object()).count();
    let (changes, order) = match (mappings, rule.key.as_deref()) {
        (0, _) => {
            diff_plain(patch, name, old, new);
            return Ok(());
        }
        (n, Some(key)) if n == old.len() + new.len() => (diff_mappings(old, new, (rule, below, key), &at)?, key),
        _ => return Err(PatchError::Elements { field: field(&at) }),
    };
    let key = order;
    let order: Vec<Value> = new.iter().map(|e| json!({ key: e.get(key) })).collect();
    if !order.is_empty() {
        patch.insert(format!("{SET_ORDER}{name}"), order.into());
    }
    if !changes.is_empty() {
        patch.insert(name.to_owned(), changes.into());
    }
    Ok(())
}

/// Changed and new elements in the new order, then the deletions by key.
fn diff_mappings(
    old: &[Value],
    new: &[Value],
    (rule, below, key): (&Rule, Shape<'_>, &str),
    at: &At<'_>,
) -> Result<Vec<Value>, PatchError> {
    let keyed = |list: &[Value]| -> Result<BTreeMap<String, Value>, PatchError> {
        let mut found = BTreeMap::new();
        for element in list {
            let no_key = || PatchError::NoMergeKey { field: field(at), key: key.to_owned() };
            found.insert(text(element.get(key).ok_or_else(no_key)?), element.clone());
        }
        Ok(found)
    };
    let (old_by_key, new_by_key) = (keyed(old)?, keyed(new)?);
    let mut changes = Vec::new();
    for (id, element) in &new_by_key {
        match (old_by_key.get(id), element) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let mut change = diff_maps(old, new, below, rule.retain_keys, at)?;
                if !change.is_empty() {
                    change.insert(key.to_owned(), element[key].clone());
                    changes.push(Value::Object(change));
                }
            }
            _ => changes.push(element.clone()),
        }
    }
    let places = positions(new, Some(key));
    changes.sort_by_key(|change| places.get(&change[key].to_string()).copied());
    let gone = old_by_key.iter().filter(|(id, _)| !new_by_key.contains_key(*id));
    changes.extend(gone.map(|(_, element)| json!({ key: element[key], DIRECTIVE: "delete" })));
    Ok(changes)
}

/// A list of plain values: additions, deletions in a list of their own, and the order.
fn diff_plain(patch: &mut Object, name: &str, old: &[Value], new: &[Value]) {
    let added: Vec<Value> = new.iter().filter(|v| !old.contains(v)).cloned().collect();
    let gone: BTreeMap<String, &Value> = old.iter().filter(|v| !new.contains(v)).map(|v| (text(v), v)).collect();
    if !added.is_empty() {
        patch.insert(name.to_owned(), added.into());
    }
    if !gone.is_empty() {
        patch.insert(format!("{DELETE_FROM}{name}"), gone.into_values().cloned().collect());
    }
    if !new.is_empty() {
        patch.insert(format!("{SET_ORDER}{name}"), new.into());
    }
}

/// Values as Kubernetes compares them for sorting: without quotes.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn deeper<'a>(at: &At<'a>, name: &'a str) -> At<'a> {
    at.iter().copied().chain([name]).collect()
}
