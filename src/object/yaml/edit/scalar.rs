//! The text of one scalar, in the style of what it replaces.

use granit_parser::ScalarStyle;

use crate::object::yaml::write;

use super::Refusal;
use super::node::{Content, Doc, Id, Scalar, is_block};
use super::splice::{Splice, line_end};

/// Puts a text in the place of a scalar; nothing when it holds that text already.
///
/// # Errors
/// When the node is no scalar, or one of which the header cannot be found.
pub(super) fn replace(doc: &Doc<'_>, id: Id, new: &str) -> Result<Vec<Splice>, Refusal> {
    let node = doc.node(id);
    let Content::Scalar(scalar) = &node.content else {
        return Err(Refusal::new(node.range.start, "it is no scalar"));
    };
    if scalar.is_text && scalar.text == new {
        return Ok(Vec::new());
    }
    if is_block(scalar.style) {
        return replace_block(doc, id, new);
    }
    let spelled = spell(new, scalar);
    // An absent value stands right behind its colon, tag or anchor.
    let spelled = if node.range.is_empty() { format!(" {spelled}") } else { spelled };
    Ok(vec![Splice::new(node.range.clone(), spelled)])
}

/// A text as a new scalar: plain where nobody could take it for anything else, else in quotes; `is_json` always takes
/// double ones.
pub(super) fn fresh(text: &str, is_json: bool) -> String {
    match is_json {
        true => write::double_quoted(text),
        false if fits_plain(text, false) => text.to_owned(),
        false => single_quoted(text),
    }
}

fn spell(new: &str, old: &Scalar) -> String {
    match old.style {
        ScalarStyle::DoubleQuoted => write::double_quoted(new),
        ScalarStyle::Plain if fits_plain(new, old.is_tagged) => new.to_owned(),
        _ => single_quoted(new),
    }
}

/// In single quotes, or in double ones where those could not hold it.
fn single_quoted(text: &str) -> String {
    if text.chars().all(write::is_plain_char) {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        write::double_quoted(text)
    }
}

/// A tag says what a scalar is, whatever it looks like.
fn fits_plain(text: &str, is_tagged: bool) -> bool {
    write::is_plain(text)
        || (is_tagged && write::is_plain(&format!("x{text}")) && !text.starts_with(['-', '?', ':', ' ']))
}

/// A block scalar that strips its end keeps its form; others cannot hold a text without a line end, and become an ordinary
/// scalar beside their key.
fn replace_block(doc: &Doc<'_>, id: Id, new: &str) -> Result<Vec<Splice>, Refusal> {
    let (text, node) = (doc.text, doc.node(id));
    let header =
        header(doc, id).ok_or_else(|| Refusal::new(node.range.start, "the header of the text is not found"))?;
    let fits = fits_plain(new, true) || new.chars().all(write::is_plain_char);
    if text[header.clone()].contains('-') && fits && !new.is_empty() && !new.starts_with(' ') {
        return Ok(vec![Splice::new(node.range.clone(), new.to_owned())]);
    }
    let body = line_end(text, header.end)..node.range.end;
    Ok(vec![Splice::new(header, fresh(new, false)), Splice::new(body, String::new())])
}

/// The `|` or `>` of a block scalar with its indicators.
fn header(doc: &Doc<'_>, id: Id) -> Option<std::ops::Range<usize>> {
    let node = doc.node(id);
    let from = node.after_key?;
    let between = doc.text.get(from..node.range.start)?;
    let colon = between.find(':')? + 1;
    let mut at = colon;
    for word in between[colon..].split_whitespace() {
        let start = at + between[at..].find(word)?;
        match word.as_bytes() {
            [b'|' | b'>', ..] => return Some(from + start..from + start + word.len()),
            [b'&' | b'!', ..] => at = start + word.len(),
            _ => return None,
        }
    }
    None
}
