//! Go's regular expressions for the engine of ours. Both are of the RE2 family; what Go writes differently is rewritten:
//! quoted stretches (`\Q…\E`), the characters that have a meaning in classes only here, and classes such as `\w`, which
//! in Go are those of ASCII.

use regex::{Regex, RegexBuilder};

/// Longest expression that is read, in bytes.
const LIMIT: usize = 4_000;
/// Largest compiled form, in bytes.
const COMPILED: usize = 1 << 20;

/// Compiles an expression as Go would; `None` when it is none.
pub fn compile(text: &str) -> Option<Regex> {
    if text.len() > LIMIT {
        return None;
    }
    RegexBuilder::new(&rewritten(text)).size_limit(COMPILED).build().ok()
}

fn rewritten(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix("\\Q") {
            let (quoted, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            out += &regex::escape(quoted);
            rest = after;
        } else if c == '\\' {
            rest = escape(rest, false, &mut out);
        } else if c == '[' {
            rest = class(rest, &mut out);
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Copies `\x`, with the classes and borders narrowed to ASCII. Returns what follows.
fn escape<'a>(text: &'a str, in_class: bool, out: &mut String) -> &'a str {
    let mut chars = text.char_indices().skip(1);
    let Some((at, c)) = chars.next() else {
        out.push_str(text);
        return "";
    };
    match c {
        'd' => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
        's' => out.push_str(if in_class { "\\t\\n\\f\\r " } else { "[\\t\\n\\f\\r ]" }),
        'w' => out.push_str(if in_class { "0-9A-Za-z_" } else { "[0-9A-Za-z_]" }),
        'D' => out.push_str("[^0-9]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'b' | 'B' if !in_class => {
            out.push_str("(?-u:\\");
            out.push(c);
            out.push(')');
        }
        other => {
            out.push('\\');
            out.push(other);
        }
    }
    &text[at + c.len_utf8()..]
}

/// Copies a class with what means nothing to Go in it made literal. Returns what follows.
fn class<'a>(text: &'a str, out: &mut String) -> &'a str {
    let mut rest = &text[1..];
    out.push('[');
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    if let Some(after) = rest.strip_prefix(']') {
        out.push_str("\\]");
        rest = after;
    }
    while let Some(c) = rest.chars().next() {
        rest = match c {
            ']' => {
                out.push(']');
                return &rest[1..];
            }
            '\\' => escape(rest, true, out),
            '[' => match rest.strip_prefix("[:").and_then(|inner| inner.split_once(":]")) {
                Some((name, after)) if name.trim_start_matches('^').bytes().all(|b| b.is_ascii_lowercase()) => {
                    out.push_str(&rest[..rest.len() - after.len()]);
                    after
                }
                _ => {
                    out.push_str("\\[");
                    &rest[1..]
                }
            },
            '&' | '~' => {
                out.push('\\');
                out.push(c);
                &rest[1..]
            }
            _ => {
                out.push(c);
                &rest[c.len_utf8()..]
            }
        };
    }
    rest
}
