//! Changes to users' files that touch nothing but what they are about: the bytes of a value, or of one annotation. Every
//! result is parsed again and compared with what was intended; what cannot be proven is refused (fluxd-v1 §3.9).
//!
//! It decides nothing about what to change: see [`FieldChange`] and [`AnnotationChange`].

mod annotate;
mod document;
mod layout;
mod node;
mod prove;
mod scalar;
mod splice;
mod split;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use crate::object::ObjectId;
use crate::object::workload::{AnnotationChange, FieldChange};

use document::Document;

use super::{Limits, YamlError};

pub use prove::change;

/// One change to one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Puts a text in the place of the scalar at a path.
    Set(FieldChange),
    /// Sets or removes an annotation.
    Annotate(AnnotationChange),
}

/// The changes to one object of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEdit {
    /// The object's identity as written: without a namespace in the manifest it is `<cluster>:kind/name`.
    pub id: ObjectId,
    /// What to change, in order; of several changes of one annotation the last counts.
    pub ops: Vec<Op>,
}

/// An edited stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// All of it. Where nothing changed, the very bytes that came in.
    pub bytes: Vec<u8>,
    /// For each edit, in order, whether it changed anything.
    pub changed: Vec<bool>,
}

/// Why a stream cannot be edited. It is untouched then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It cannot be read.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// The object is not in it.
    #[error("manifest not found: {0}")]
    NotFound(ObjectId),
    /// The change cannot be made to this text, or not without changing more than intended.
    #[error("{id}, line {line}: {reason}")]
    Refused {
        /// The object.
        id: ObjectId,
        /// Line, counted from 1.
        line: usize,
        /// Why.
        reason: String,
    },
}

/// Why a document cannot be edited, and the byte of it that this is about.
#[derive(Debug)]
struct Refusal {
    at: usize,
    reason: String,
}

impl Refusal {
    fn new(at: usize, reason: impl Into<String>) -> Self {
        Self { at, reason: reason.into() }
    }
}

/// Edits objects of one stream. Of a stream of many documents only those are parsed that may hold one of the objects.
///
/// # Errors
/// [`EditError`]. Then nothing is to be written.
pub fn edit(stream: &[u8], edits: &[ObjectEdit], limits: &Limits) -> Result<Edited, EditError> {
    let text = match super::decode(stream, limits)? {
        std::borrow::Cow::Borrowed(text) => text,
        std::borrow::Cow::Owned(_) => {
            let message = "files in UTF-16 are not edited; convert it to UTF-8".to_owned();
            return Err(YamlError { line: 1, message }.into());
        }
    };
    let mut finder = Finder::new(text, limits);
    let mut by_document: HashMap<usize, Vec<usize>> = HashMap::new();
    for (index, edit) in edits.iter().enumerate() {
        by_document.entry(finder.find(&edit.id)?).or_default().push(index);
    }
    let mut changed = vec![false; edits.len()];
    let mut out = stream[..stream.len() - text.len()].to_vec();
    out.reserve(text.len() + 4096);
    for (number, range) in finder.ranges.iter().enumerate() {
        let edited = match by_document.get(&number) {
            Some(own) => finder.edit(number, edits, own, &mut changed)?,
            None => None,
        };
        out.extend_from_slice(edited.as_deref().unwrap_or(&text[range.clone()]).as_bytes());
    }
    Ok(Edited { bytes: out, changed })
}

/// Finds the documents that hold objects, and parses no more of them than needed.
struct Finder<'t> {
    text: &'t str,
    limits: Limits,
    ranges: Vec<Range<usize>>,
    read: Vec<Option<Document<'t>>>,
    /// Where the objects of the documents read so far are.
    known: HashMap<ObjectId, usize>,
    /// The document that the last object was found in: the next is likely behind it.
    last: usize,
}

impl<'t> Finder<'t> {
    fn new(text: &'t str, limits: &Limits) -> Self {
        let ranges = split::documents(text);
        let read = ranges.iter().map(|_| None).collect();
        Self { text, limits: *limits, ranges, read, known: HashMap::new(), last: 0 }
    }

    /// The number of the document that holds an object: those that show its name are parsed first. A name may also be
    /// written so that it cannot be seen without parsing; such documents come last.
    fn find(&mut self, id: &ObjectId) -> Result<usize, EditError> {
        let looks: [fn(&str, &str) -> bool; 3] = [names, |text, name| text.contains(name), |_, _| true];
        for may_hold in looks {
            let count = self.ranges.len();
            for number in (self.last..count).chain(0..self.last) {
                if let Some(number) = self.known.get(id) {
                    return Ok(*number);
                }
                if self.read[number].is_none() && may_hold(&self.text[self.ranges[number].clone()], id.name()) {
                    self.parse(number)?;
                    self.last = number;
                }
            }
        }
        self.known.get(id).copied().ok_or_else(|| EditError::NotFound(id.clone()))
    }

    fn parse(&mut self, number: usize) -> Result<(), EditError> {
        let range = self.ranges[number].clone();
        let document = Document::read(&self.text[range.clone()], &self.limits).map_err(|e| {
            let line = u32::try_from(self.line(range.start)).unwrap_or(u32::MAX).saturating_add(e.line - 1);
            YamlError { line, ..e }
        })?;
        for id in document.ids() {
            self.known.entry(id.clone()).or_insert(number);
        }
        self.read[number] = Some(document);
        Ok(())
    }

    fn edit(
        &self,
        number: usize,
        edits: &[ObjectEdit],
        own: &[usize],
        changed: &mut [bool],
    ) -> Result<Option<String>, EditError> {
        let Some(document) = &self.read[number] else { return Ok(None) };
        let edits: Vec<&ObjectEdit> = own.iter().map(|index| &edits[*index]).collect();
        let (edited, flags) = document.edit(&edits, &self.limits).map_err(|(edit, refusal)| EditError::Refused {
            id: edits[edit].id.clone(),
            line: self.line(self.ranges[number].start + refusal.at),
            reason: refusal.reason,
        })?;
        for (index, flag) in own.iter().zip(flags) {
            changed[*index] = flag;
        }
        Ok(edited)
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count()
    }
}

/// Whether a line of the text gives something this name, in the way that most files do.
fn names(text: &str, name: &str) -> bool {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['\n', '\r', ' ', ',', '}']);
    text.match_indices(name).any(|(at, _)| text[..at].ends_with("name: ") && ends(&text[at + name.len()..]))
}
