//! The order of a merged list: what the patch names stands in the patch's order, the rest in the original's, and each
//! element of the rest before the first named one that it stood before (best effort, as in Kubernetes).

use std::collections::HashMap;

use serde_json::Value;

use super::PatchError;

/// What tells elements of a list apart: the value of the merge key, or the element itself.
pub(super) fn identity(element: &Value, key: Option<&str>) -> Option<String> {
    match key {
        Some(key) => element.get(key).map(Value::to_string),
        None => Some(element.to_string()),
    }
}

/// First position of each element. Elements without the key are not in it.
pub(super) fn positions(list: &[Value], key: Option<&str>) -> HashMap<String, usize> {
    let mut found = HashMap::new();
    for (at, element) in list.iter().enumerate() {
        if let Some(identity) = identity(element, key) {
            found.entry(identity).or_insert(at);
        }
    }
    found
}

/// Orders a merged list.
///
/// # Errors
/// [`PatchError::NoMergeKey`] for an element without the key.
pub(super) fn reorder(
    merged: Vec<Value>,
    named: &[Value],
    original: &[Value],
    key: Option<&str>,
    field: impl Fn() -> String,
) -> Result<Vec<Value>, PatchError> {
    let (by_patch, by_original) = (positions(named, key), positions(original, key));
    let mut from_patch: Vec<(usize, Option<usize>, Value)> = Vec::new();
    let mut others: Vec<(Option<usize>, Value)> = Vec::new();
    for element in merged {
        let identity = identity(&element, key)
            .ok_or_else(|| PatchError::NoMergeKey { field: field(), key: key.unwrap_or_default().to_owned() })?;
        let before = by_original.get(&identity).copied();
        match by_patch.get(&identity) {
            Some(at) => from_patch.push((*at, before, element)),
            None => others.push((before, element)),
        }
    }
    from_patch.sort_by_key(|(at, ..)| *at);
    others.sort_by_key(|(before, _)| before.unwrap_or(usize::MAX));
    Ok(interleave(from_patch, others))
}

fn interleave(from_patch: Vec<(usize, Option<usize>, Value)>, others: Vec<(Option<usize>, Value)>) -> Vec<Value> {
    let mut out = Vec::with_capacity(from_patch.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (_, position, element) in from_patch {
        while let Some((_, other)) =
            others.next_if(|(before, _)| matches!((before, position), (Some(a), Some(b)) if *a < b))
        {
            out.push(other);
        }
        out.push(element);
    }
    out.extend(others.map(|(_, other)| other));
    out
}
