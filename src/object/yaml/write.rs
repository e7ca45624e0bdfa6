//! One JSON value as YAML text, in the layout that Flux v1 gave re-encoded documents (fluxd-v1 §3.2): keys sorted, two
//! spaces, lists at the indentation of their key. Long lines are not folded.

use std::fmt::Write as _;

use serde_json::Value;

use super::Dialect;
use super::scalar::{Resolved, resolve_plain};

/// Keys longer than this are written with a question mark, which has no bound on length.
const SIMPLE_KEY: usize = 120;

/// Writes one document, without `---`, keys sorted, in a form every YAML 1.1 and 1.2 reader takes back unchanged.
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => block(value, 0, &mut out),
        Value::Array(list) if !list.is_empty() => block(value, 0, &mut out),
        leaf => {
            inline(leaf, 0, &mut out);
        }
    }
    out
}

/// Writes a scalar on one line, a text always in quotes; collections as JSON. It can stand in block and in flow context.
pub fn write_scalar(value: &Value) -> String {
    match value {
        Value::String(text) => double_quoted(text),
        Value::Number(number) => number_text(&number.to_string()),
        other => other.to_string(),
    }
}

/// Writes a collection whose first line is already indented.
fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) => {
            for (index, (key, value)) in map.iter().enumerate() {
                if index > 0 {
                    pad(indent, out);
                }
                let key = one_line(key);
                if key.len() > SIMPLE_KEY {
                    out.push_str("? ");
                    out.push_str(&key);
                    out.push('\n');
                    pad(indent, out);
                } else {
                    out.push_str(&key);
                }
                out.push(':');
                entry(value, indent, out);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                if index > 0 {
                    pad(indent, out);
                }
                out.push('-');
                if is_block(value) {
                    out.push(' ');
                    block(value, indent + 2, out);
                } else {
                    out.push(' ');
                    inline(value, indent + 2, out);
                }
            }
        }
        leaf => inline(leaf, indent, out),
    }
}

/// Writes what follows a key's colon.
fn entry(value: &Value, indent: usize, out: &mut String) {
    if !is_block(value) {
        out.push(' ');
        return inline(value, indent + 2, out);
    }
    let below = if value.is_array() { indent } else { indent + 2 };
    out.push('\n');
    pad(below, out);
    block(value, below, out);
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    }
}

/// Writes a scalar or an empty collection, and the line's end. `indent` is that of a text's own lines.
fn inline(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(_) => out.push_str("{}"),
        Value::Array(_) => out.push_str("[]"),
        Value::String(text) if is_literal(text) => return literal(text, indent.max(2), out),
        Value::String(text) => out.push_str(&one_line(text)),
        Value::Number(number) => out.push_str(&number_text(&number.to_string())),
        Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
    }
    out.push('\n');
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// YAML 1.1 wants a dot in a mantissa and a sign in an exponent.
fn number_text(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.to_owned() };
    let dot = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{mantissa}{dot}e{sign}{exponent}")
}

/// Whether a text of several lines can stand as it is in a literal block.
fn is_literal(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with(['\n', ' ', '\t'])
        && text.chars().all(|c| c == '\n' || c == '\t' || is_plain_char(c))
        && text.trim_end_matches('\n').lines().all(|line| !line.ends_with([' ', '\t']))
}

fn literal(text: &str, indent: usize, out: &mut String) {
    let body = text.trim_end_matches('\n');
    let ends = text.len() - body.len();
    out.push_str(match ends {
        0 => "|-\n",
        1 => "|\n",
        _ => "|+\n",
    });
    for line in body.split('\n') {
        if !line.is_empty() {
            pad(indent, out);
            out.push_str(line);
        }
        out.push('\n');
    }
    out.extend(std::iter::repeat_n('\n', ends.saturating_sub(1)));
}

/// A text on one line: plain where that is safe, else quoted.
fn one_line(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let looks_like_a_value = resolve_plain(text, Dialect::Kubernetes) != Resolved::Text;
    if looks_like_a_value || !text.chars().all(is_plain_char) {
        double_quoted(text)
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Characters that no reader changes, folds or refuses.
pub(super) fn is_plain_char(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a1}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

pub(super) fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let safe_start = first.is_ascii_alphabetic() || matches!(first, '/' | '_' | '$') || is_safe_digits(text);
    safe_start
        && !text.ends_with([' ', ':'])
        && text.chars().all(|c| is_plain_char(c) && !matches!(c, '#' | '{' | '}' | '[' | ']' | ',' | '"' | '\'' | '`'))
        && !text.contains(": ")
        && resolve_plain(text, Dialect::Kubernetes) == Resolved::Text
}

/// A text that begins with a digit and that nobody takes for a number, a time of day or a date: for its letters, or, as
/// most versions, for its second point.
fn is_safe_digits(text: &str) -> bool {
    let is_version = !text.contains(':') && text.matches('.').count() > 1;
    let has_letters = text
        .chars()
        .any(|c| c.is_ascii_alphabetic() && !matches!(c.to_ascii_lowercase(), 'a'..='f' | 'o' | 'x' | 't' | 'z'));
    text.starts_with(|c: char| c.is_ascii_digit()) && (is_version || has_letters)
}

pub(super) fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_plain_char(c) => out.push(c),
            c => escape(u32::from(c), &mut out),
        }
    }
    out.push('"');
    out
}

fn escape(code: u32, out: &mut String) {
    let written = match code {
        0..=0xff => write!(out, "\\x{code:02x}"),
        0x100..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
    debug_assert!(written.is_ok(), "a string takes any text");
}
