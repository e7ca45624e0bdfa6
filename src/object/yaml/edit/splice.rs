//! Replacements of stretches of a text, and what is needed to place them: lines and their ends.

use std::ops::Range;

use super::Refusal;

/// A text for some bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Splice {
    start: usize,
    end: usize,
    text: String,
}

impl Splice {
    /// Puts `text` in the place of the bytes of `range`.
    pub(super) fn new(range: Range<usize>, text: String) -> Self {
        Self { start: range.start, end: range.end, text }
    }

    /// Puts `text` in at a place.
    pub(super) fn insert(at: usize, text: String) -> Self {
        Self::new(at..at, text)
    }
}

/// Makes all replacements. The same one twice counts once: two places may share one value.
///
/// # Errors
/// When two want different things of the same bytes.
pub(super) fn apply(text: &str, mut splices: Vec<Splice>) -> Result<String, Refusal> {
    splices.sort();
    splices.dedup();
    let added: usize = splices.iter().map(|splice| splice.text.len()).sum();
    let mut out = String::with_capacity(text.len() + added);
    let mut at = 0;
    let mut last: Option<&Splice> = None;
    for splice in &splices {
        let clashes =
            last.is_some_and(|last| splice.start < last.end || (splice.start, splice.end) == (last.start, last.end));
        if clashes {
            let reason =
                "two changes meet in one place, which an anchor shares between them; give each a value of its own";
            return Err(Refusal::new(splice.start, reason));
        }
        out.push_str(&text[at..splice.start]);
        out.push_str(&splice.text);
        at = splice.end;
        last = Some(splice);
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// Where the line of a byte begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1)
}

/// Where the line of a byte ends, its line end not counted.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find(['\n', '\r']).map_or(text.len(), |length| at + length)
}

/// The line end at this place; none at the end of the text.
pub(super) fn eol_at(text: &str, at: usize) -> &str {
    match text.as_bytes().get(at..) {
        Some([b'\r', b'\n', ..]) => &text[at..at + 2],
        Some([b'\n' | b'\r', ..]) => &text[at..=at],
        _ => "",
    }
}

/// What ends lines near a place: the line end there, else the first of the text.
pub(super) fn eol_like(text: &str, at: usize) -> &str {
    match eol_at(text, at) {
        "" => match eol_at(text, line_end(text, 0)) {
            "" => "\n",
            first => first,
        },
        here => here,
    }
}

/// Whether only blanks and a comment stand between a place and the end of its line.
pub(super) fn ends_line(text: &str, at: usize) -> bool {
    let rest = text[at..line_end(text, at)].trim_start();
    rest.is_empty() || rest.starts_with('#')
}
