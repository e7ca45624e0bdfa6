//! Entries of a mapping as they lie in the text: lines of a block, or between commas and brackets.

use super::Refusal;
use super::node::{Content, Doc, Entry, Id};
use super::scalar;
use super::splice::{Splice, ends_line, eol_at, eol_like, line_end, line_start};

/// A mapping and how it is written.
pub(super) struct Map<'d, 't> {
    pub(super) doc: &'d Doc<'t>,
    pub(super) id: Id,
    pub(super) entries: &'d [Entry],
    pub(super) is_flow: bool,
}

impl<'d, 't> Map<'d, 't> {
    /// The mapping at a node.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn at(doc: &'d Doc<'t>, id: Id) -> Result<Self, Refusal> {
        let (entries, is_flow) =
            doc.entries(id).ok_or_else(|| Refusal::new(doc.node(id).range.start, "expected a mapping here"))?;
        Ok(Self { doc, id, entries, is_flow })
    }

    fn start_of(&self, index: usize) -> usize {
        self.doc.node(self.entries[index].key).range.start
    }

    fn end_of(&self, index: usize) -> usize {
        self.doc.node(self.entries[index].value).range.end
    }

    /// The column of its keys, in characters.
    pub(super) fn column(&self) -> usize {
        column(self.doc, self.id)
    }

    /// How much deeper it lies than the object that it is the metadata of.
    pub(super) fn step(&self, object: Id) -> usize {
        match self.column().checked_sub(column(self.doc, object)) {
            None | Some(0) => 2,
            Some(step) => step,
        }
    }

    /// Whether its keys are in double quotes: then it may have to stay JSON.
    fn is_json(&self) -> bool {
        let key = self.entries.first().map(|entry| self.doc.node(entry.key));
        self.is_flow && key.is_some_and(|key| self.doc.text[key.range.clone()].starts_with('"'))
    }

    fn entry(&self, key: &str, value: &str, is_json: bool) -> String {
        format!("{}: {}", scalar::fresh(key, is_json), scalar::fresh(value, is_json))
    }

    /// Entries as lines that follow a line.
    pub(super) fn lines(&self, set: &[(&str, &str)], column: usize, eol: &str) -> String {
        let indent = " ".repeat(column);
        set.iter().map(|(key, value)| format!("{eol}{indent}{}", self.entry(key, value, false))).collect()
    }

    /// Entries in brackets, in the style of this mapping.
    pub(super) fn flow_map(&self, set: &[(&str, &str)]) -> String {
        let is_json = self.is_json();
        let entries: Vec<String> = set.iter().map(|(key, value)| self.entry(key, value, is_json)).collect();
        format!("{{{}}}", entries.join(", "))
    }

    /// Adds a mapping under a new key at the end.
    pub(super) fn append_map(&self, object: Id, key: &str, set: &[(&str, &str)]) -> Result<Vec<Splice>, Refusal> {
        if self.is_flow {
            let entry = format!("{}: {}", scalar::fresh(key, self.is_json()), self.flow_map(set));
            return Ok(self.append_flow(&[entry], self.entries.len().checked_sub(1)));
        }
        let at = self.line_after_last()?;
        let (eol, column) = (eol_like(self.doc.text, at), self.column());
        let head = format!("{eol}{}{key}:", " ".repeat(column));
        Ok(vec![Splice::insert(at, head + &self.lines(set, column + self.step(object), eol))])
    }

    /// The end of the line that the last entry ends on.
    fn line_after_last(&self) -> Result<usize, Refusal> {
        let end = self.end_of(self.entries.len() - 1);
        if !ends_line(self.doc.text, end) {
            return Err(Refusal::new(
                end,
                "something stands behind the mapping on its last line; break the line there",
            ));
        }
        Ok(line_end(self.doc.text, end))
    }

    /// Takes out the entries that are not kept and adds new ones at the end. Where the last one goes, the new ones take its
    /// place.
    pub(super) fn change_entries(&self, mut keep: Vec<bool>, added: &[(&str, &str)]) -> Result<Vec<Splice>, Refusal> {
        let last = self.entries.len().checked_sub(1);
        let replaces_last = !added.is_empty() && last.is_some_and(|last| !keep[last]);
        let is_json = self.is_json();
        let entries: Vec<String> = added.iter().map(|(key, value)| self.entry(key, value, is_json)).collect();
        let mut splices = Vec::new();
        match last {
            Some(last) if replaces_last => {
                keep[last] = true;
                let range = self.start_of(last)..self.end_of(last);
                let eol = eol_like(self.doc.text, line_end(self.doc.text, range.end));
                let lines = format!("{eol}{}", " ".repeat(self.column()));
                splices.push(Splice::new(range, entries.join(if self.is_flow { ", " } else { lines.as_str() })));
            }
            _ if added.is_empty() => {}
            _ if self.is_flow => splices.extend(self.append_flow(&entries, last)),
            _ => {
                let at = self.line_after_last()?;
                splices.push(Splice::insert(at, self.lines(added, self.column(), eol_like(self.doc.text, at))));
            }
        }
        splices.extend(remove_all_but(self, &keep)?);
        Ok(splices)
    }

    /// Adds entries behind one, on lines of their own if that has one.
    fn append_flow(&self, entries: &[String], last: Option<usize>) -> Vec<Splice> {
        let text = self.doc.text;
        let Some(last) = last else {
            let at = self.doc.node(self.id).range.start + 1;
            return vec![Splice::insert(at, entries.join(", "))];
        };
        let (start, end) = (self.start_of(last), self.end_of(last));
        let indent = &text[line_start(text, start)..start];
        let comma = text[end..].trim_start_matches([' ', '\t']).starts_with(',');
        let behind = if comma { end + text[end..].find(',').map_or(0, |at| at + 1) } else { end };
        if !indent.trim().is_empty() || !ends_line(text, behind) {
            return vec![Splice::insert(end, entries.iter().map(|entry| format!(", {entry}")).collect())];
        }
        let at = line_end(text, behind);
        let eol = eol_like(text, at);
        let lines: Vec<String> = entries.iter().map(|entry| format!("{eol}{indent}{entry}")).collect();
        let tail = if comma { "," } else { "" };
        let mut splices = vec![Splice::insert(at, lines.join(",") + tail)];
        if comma {
            return splices;
        }
        // Where no comment stands between, both are one.
        if at == end {
            return vec![Splice::insert(at, format!(",{}", lines.join(",")))];
        }
        splices.push(Splice::insert(end, ",".to_owned()));
        splices
    }
}

fn column(doc: &Doc<'_>, map: Id) -> usize {
    let at = match &doc.node(map).content {
        Content::Map { entries, .. } => entries.first().map(|entry| doc.node(entry.key).range.start),
        _ => None,
    };
    at.map_or(0, |at| doc.text[line_start(doc.text, at)..at].chars().count())
}

/// Takes out entries; at least one stays.
///
/// # Errors
/// When none would stay, or an entry shares its lines with something else.
pub(super) fn remove_all_but(map: &Map<'_, '_>, keep: &[bool]) -> Result<Vec<Splice>, Refusal> {
    if keep.iter().all(|kept| *kept) {
        return Ok(Vec::new());
    }
    if keep.iter().all(|kept| !kept) {
        return Err(Refusal::new(map.doc.node(map.id).range.start, "nothing of the mapping would stay"));
    }
    if map.is_flow {
        return Ok(remove_between_commas(map, keep));
    }
    (0..keep.len()).filter(|index| !keep[*index]).map(|index| remove_lines(map, index)).collect()
}

fn remove_lines(map: &Map<'_, '_>, index: usize) -> Result<Splice, Refusal> {
    let (text, start, end) = (map.doc.text, map.start_of(index), map.end_of(index));
    let mut from = line_start(text, start);
    let is_alone = matches!(text[from..start].trim(), "" | "?") && ends_line(text, end);
    if !is_alone {
        return Err(Refusal::new(start, "the entry shares a line with something else; give it one of its own"));
    }
    let mut to = line_end(text, end);
    match eol_at(text, to) {
        // The last line of a text that does not end in a line end: the one before it becomes that.
        "" => from = text[..from].strip_suffix('\n').map_or(from, |t| t.strip_suffix('\r').unwrap_or(t).len()),
        eol => to += eol.len(),
    }
    Ok(Splice::new(from..to, String::new()))
}

/// Every run of entries goes with the comma behind it, the last one with the comma before it.
fn remove_between_commas(map: &Map<'_, '_>, keep: &[bool]) -> Vec<Splice> {
    let mut splices = Vec::new();
    let mut index = 0;
    while index < keep.len() {
        let run = keep[index..].iter().take_while(|kept| !**kept).count();
        if run > 0 {
            let next = index + run;
            let range = match next < keep.len() {
                true => map.start_of(index)..map.start_of(next),
                false => map.end_of(index - 1)..map.end_of(next - 1),
            };
            splices.push(Splice::new(range, String::new()));
        }
        index += run.max(1);
    }
    splices
}
