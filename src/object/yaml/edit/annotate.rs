//! Annotations put in and taken out, in the style of what stands around them (fluxd-v1 §3.6, §3.9).

use std::collections::BTreeMap;

use crate::object::workload::AnnotationChange;

use super::Refusal;
use super::layout::{Map, remove_all_but};
use super::node::{Content, Doc, Id};
use super::scalar;
use super::splice::{Splice, eol_like, line_end};

const ANNOTATIONS: &str = "annotations";

/// What is to become of annotations, by key; additions keep their order.
struct Wanted<'a> {
    set: Vec<(&'a str, &'a str)>,
    remove: Vec<&'a str>,
}

impl<'a> Wanted<'a> {
    /// Of several changes to one key the last counts.
    fn of(changes: &[&'a AnnotationChange]) -> Self {
        let last: BTreeMap<&str, usize> = changes.iter().enumerate().map(|(at, c)| (c.key.as_str(), at)).collect();
        let mut wanted = Self { set: Vec::new(), remove: Vec::new() };
        for (_, change) in changes.iter().enumerate().filter(|(at, c)| last.get(c.key.as_str()) == Some(at)) {
            match &change.value {
                Some(value) => wanted.set.push((&change.key, value)),
                None => wanted.remove.push(&change.key),
            }
        }
        wanted
    }
}

/// Plans the changes to the annotations of the object at `object`.
///
/// # Errors
/// When the object has no metadata, or they are of a form that cannot be changed.
pub(super) fn plan(doc: &Doc<'_>, object: Id, changes: &[&AnnotationChange]) -> Result<Vec<Splice>, Refusal> {
    let wanted = Wanted::of(changes);
    let at = doc.node(object).range.start;
    let metadata = doc.lookup(object, "metadata").ok_or_else(|| Refusal::new(at, "the object has no metadata"))?;
    let metadata = Map::at(doc, doc.target(metadata))?;
    let Some(found) = doc.lookup(metadata.id, ANNOTATIONS) else {
        return if wanted.set.is_empty() {
            Ok(Vec::new())
        } else {
            metadata.append_map(object, ANNOTATIONS, &wanted.set)
        };
    };
    let target = doc.target(found);
    if let Content::Scalar(null) = &doc.node(target).content
        && !null.is_text
    {
        return if wanted.set.is_empty() { Ok(Vec::new()) } else { fill(&metadata, object, target, &wanted.set) };
    }
    change(&metadata, Map::at(doc, target)?, &wanted)
}

/// Gives an empty `annotations:` its first entries.
fn fill(metadata: &Map<'_, '_>, object: Id, null: Id, set: &[(&str, &str)]) -> Result<Vec<Splice>, Refusal> {
    let (doc, range) = (metadata.doc, doc_range(metadata.doc, null));
    if metadata.is_flow || !range.is_empty() {
        let space = if range.is_empty() { " " } else { "" };
        return Ok(vec![Splice::new(range, format!("{space}{}", metadata.flow_map(set)))]);
    }
    let at = line_end(doc.text, range.start);
    let lines = metadata.lines(set, metadata.column() + metadata.step(object), eol_like(doc.text, at));
    Ok(vec![Splice::insert(at, lines)])
}

fn doc_range(doc: &Doc<'_>, id: Id) -> std::ops::Range<usize> {
    doc.node(id).range.clone()
}

/// Changes a mapping that has entries, or brackets.
fn change(metadata: &Map<'_, '_>, map: Map<'_, '_>, wanted: &Wanted<'_>) -> Result<Vec<Splice>, Refusal> {
    let doc = map.doc;
    let mut splices = Vec::new();
    let mut added = Vec::new();
    for (key, value) in &wanted.set {
        // An entry that a merge key brings is overridden rather than changed: others use it too.
        match map.entries.iter().rev().find(|entry| !entry.is_merge && entry.name == *key) {
            Some(entry) => splices.extend(scalar::replace(doc, doc.target(entry.value), value)?),
            None => added.push((*key, *value)),
        }
    }
    let direct = |key: &str| map.entries.iter().any(|entry| !entry.is_merge && entry.name == key);
    if let Some(key) = wanted.remove.iter().find(|key| !direct(key) && doc.lookup(map.id, key).is_some()) {
        let reason = format!("annotation {key} comes through a merge key; take it out where it is defined");
        return Err(Refusal::new(doc_range(doc, map.id).start, reason));
    }
    let gone = |entry: &super::node::Entry| !entry.is_merge && wanted.remove.contains(&entry.name.as_str());
    let keep: Vec<bool> = map.entries.iter().map(|entry| !gone(entry)).collect();
    if keep.iter().all(|kept| !kept) && added.is_empty() && !keep.is_empty() {
        let keep: Vec<bool> = metadata.entries.iter().map(|entry| entry.name != ANNOTATIONS).collect();
        if keep.iter().all(|kept| *kept) {
            return Err(Refusal::new(doc_range(doc, map.id).start, "annotations come through a merge key"));
        }
        splices.extend(remove_all_but(metadata, &keep)?);
        return Ok(splices);
    }
    splices.extend(map.change_entries(keep, &added)?);
    Ok(splices)
}
