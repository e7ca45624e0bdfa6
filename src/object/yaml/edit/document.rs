//! One document: finds its objects, plans all edits of them, makes them together, and proves the result.

use std::collections::HashMap;

use serde_json::Value;

use crate::object::ObjectId;
use crate::object::workload::{FieldChange, Step};
use crate::object::yaml::{Dialect, Documents, Limits, YamlError};

use super::node::{Content, Doc, Id};
use super::prove::{self, Place};
use super::splice::{self, Splice};
use super::{ObjectEdit, Op, Refusal, annotate, scalar};

/// A document that was read as the loader reads it.
pub(super) struct Document<'t> {
    text: &'t str,
    value: Value,
    places: HashMap<ObjectId, Place>,
}

/// The number of an edit, and why it was refused.
type Refused = (usize, Refusal);

impl<'t> Document<'t> {
    /// Reads the text of one document; one without content has no objects.
    pub(super) fn read(text: &'t str, limits: &Limits) -> Result<Self, YamlError> {
        let value =
            Documents::new(text, Dialect::Kubernetes, limits).next().transpose()?.map_or(Value::Null, |d| d.value);
        let mut places = HashMap::new();
        for (place, object) in prove::objects(&value) {
            if let Some(id) = prove::identity(object) {
                places.entry(id).or_insert(place);
            }
        }
        Ok(Self { text, value, places })
    }

    /// The objects in it, by identity as written.
    pub(super) fn ids(&self) -> impl Iterator<Item = &ObjectId> {
        self.places.keys()
    }

    /// Makes the edits, all of objects of this document. Returns the new text, if it differs, and for each edit whether it
    /// changed anything.
    ///
    /// # Errors
    /// The number of the edit that cannot be made, and why.
    pub(super) fn edit(&self, edits: &[&ObjectEdit], limits: &Limits) -> Result<(Option<String>, Vec<bool>), Refused> {
        let doc = Doc::read(self.text, limits).map_err(|refusal| (0, refusal))?;
        let mut splices = Vec::new();
        let mut changed = Vec::with_capacity(edits.len());
        let mut wanted = self.value.clone();
        for (number, edit) in edits.iter().enumerate() {
            let own = self.plan(&doc, edit).map_err(|refusal| (number, refusal))?;
            changed.push(!own.is_empty());
            if !own.is_empty() {
                self.intend(&mut wanted, edit).map_err(|reason| (number, Refusal::new(0, reason)))?;
            }
            splices.extend(own);
        }
        if splices.is_empty() {
            return Ok((None, changed));
        }
        let text = splice::apply(self.text, splices).map_err(|refusal| (0, refusal))?;
        self.prove(&text, &wanted, limits).map_err(|reason| (0, Refusal::new(0, reason)))?;
        Ok((Some(text), changed))
    }

    fn place(&self, edit: &ObjectEdit) -> &[Step] {
        self.places.get(&edit.id).map_or(&[], Vec::as_slice)
    }

    fn plan(&self, doc: &Doc<'_>, edit: &ObjectEdit) -> Result<Vec<Splice>, Refusal> {
        let object = follow(doc, doc.root, self.place(edit))?;
        let mut splices = Vec::new();
        let mut annotations = Vec::new();
        for op in &edit.ops {
            match op {
                Op::Set(FieldChange { path, value }) => {
                    let field = follow(doc, object, path).map_err(|refusal| unresolved(path, refusal))?;
                    splices.extend(scalar::replace(doc, field, value).map_err(|refusal| unresolved(path, refusal))?);
                }
                Op::Annotate(change) => annotations.push(change),
            }
        }
        if !annotations.is_empty() {
            splices.extend(annotate::plan(doc, object, &annotations)?);
        }
        Ok(splices)
    }

    fn intend(&self, wanted: &mut Value, edit: &ObjectEdit) -> Result<(), String> {
        let mut object = wanted;
        for step in self.place(edit) {
            let next = match step {
                Step::Key(key) => object.get_mut(key),
                Step::Index(index) => object.get_mut(index),
            };
            object = next.ok_or_else(|| format!("there is no {step}"))?;
        }
        edit.ops.iter().try_for_each(|op| prove::change(object, op))
    }

    /// Whether the edited text holds the wanted objects and nothing else. What a list has beside its elements is nobody's
    /// object: anchors are kept there.
    fn prove(&self, text: &str, wanted: &Value, limits: &Limits) -> Result<(), String> {
        let not_readable = |e: YamlError| format!("refused, because the result could not be read: {}", e.message);
        let mut documents = Documents::new(text, Dialect::Kubernetes, limits);
        let found = documents.next().transpose().map_err(not_readable)?.map_or(Value::Null, |d| d.value);
        if documents.next().is_some() {
            return Err("refused, because the result would be more than one document".to_owned());
        }
        let (wanted, found) = (prove::objects(wanted), prove::objects(&found));
        let pairs = wanted.iter().zip(&found);
        let first = pairs.filter_map(|((_, a), (_, b))| Some((a, prove::difference(a, b)?))).next();
        match first {
            None if wanted.len() == found.len() => Ok(()),
            None => Err("refused, because the result would have other objects".to_owned()),
            Some((object, path)) => {
                let id = prove::identity(object).map_or_else(String::new, |id| id.to_string());
                let cause = match text.contains('&') {
                    true => "an anchor, an alias or a merge key shares the text; give each place a value of its own",
                    false => "the layout of the text there does not allow it",
                };
                Err(format!("refused, because {path} of {id} would not be as intended: {cause}"))
            }
        }
    }
}

/// Follows a path; aliases and merge keys on the way lead to where the value is defined.
fn follow(doc: &Doc<'_>, from: Id, path: &[Step]) -> Result<Id, Refusal> {
    let mut at = doc.target(from);
    for step in path {
        let next = match (step, &doc.node(at).content) {
            (Step::Key(key), _) => doc.lookup(at, key),
            (Step::Index(index), Content::Seq { items }) => items.get(*index).copied(),
            _ => None,
        };
        let next = next.ok_or_else(|| Refusal::new(doc.node(at).range.start, format!("there is no {step}")))?;
        at = doc.target(next);
    }
    Ok(at)
}

fn unresolved(path: &[Step], refusal: Refusal) -> Refusal {
    let steps: Vec<String> = path.iter().map(ToString::to_string).collect();
    let reason = format!("unable to resolve path {}: {}", steps.join("."), refusal.reason);
    Refusal { reason, ..refusal }
}
