//! Edits of a file's bytes: plain values put in, metadata taken out, all other lines where they were.

use std::ops::Range;

use super::document::Node;

/// A text for some bytes of the file.
#[derive(Debug, PartialEq)]
pub(super) struct Edit {
    /// The bytes to replace.
    pub(super) range: Range<usize>,
    /// What comes in their place; of one line.
    pub(super) text: String,
}

/// Takes the entry `sops` out of a document, line ends apart.
pub(super) fn metadata_edit(text: &str, root: &Node) -> Option<Edit> {
    let Node::Map { entries, flow_end } = root else { return None };
    let entry = entries.iter().find(|entry| entry.key.text == "sops")?;
    let mut range = entry.key.range.start..entry.value.end()?;
    if flow_end.is_some() {
        let after = text[range.end..].len() - text[range.end..].trim_start().len();
        if text[range.end + after..].starts_with(',') {
            range.end += after + 1;
        } else {
            let before = text[..range.start].trim_end();
            range.start = before.strip_suffix(',').unwrap_or(before).len();
        }
    }
    let line_ends = text[range.clone()].matches('\n').map(|_| '\n').collect();
    Some(Edit { range, text: line_ends })
}

/// Makes all edits; they do not overlap.
pub(super) fn apply(text: &str, mut edits: Vec<Edit>) -> Vec<u8> {
    edits.sort_by_key(|edit| edit.range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(&text[at..edit.range.start]);
        out.push_str(&edit.text);
        at = edit.range.end;
    }
    out.push_str(&text[at..]);
    out.into_bytes()
}
