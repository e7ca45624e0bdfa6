//! Texts between quotes, as Go's `strconv.Quote` writes them, and single characters.

use std::fmt::Write as _;

/// The first character of a text and its length; none for a byte that is no character.
pub(crate) fn next_char(text: &[u8]) -> (Option<char>, usize) {
    let head = &text[..text.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(valid) => valid,
        Err(e) => std::str::from_utf8(&head[..e.valid_up_to()]).unwrap_or_default(),
    };
    valid.chars().next().map_or((None, 1), |c| (Some(c), c.len_utf8()))
}

/// Whether Go prints a character as it is: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub(crate) fn is_printable(c: char) -> bool {
    // In a text, not at its start, Rust escapes the same characters.
    c.is_ascii_graphic() || c == ' ' || !c.is_ascii() && format!("a{c}").escape_debug().nth(1).is_none_or(|e| e != '\\')
}

/// Writes a text in quotes; what is not printable, and the quote, with a backslash.
pub(crate) fn quote(text: &[u8], mark: u8) -> String {
    quote_with(text, mark, is_printable)
}

/// As [`quote`], but everything beyond ASCII is escaped.
pub(crate) fn quote_ascii(text: &[u8], mark: u8) -> String {
    quote_with(text, mark, |c| c.is_ascii() && is_printable(c))
}

fn quote_with(mut text: &[u8], mark: u8, printable: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(char::from(mark));
    while let [first, ..] = text {
        let (c, size) = next_char(text);
        let written = match c {
            None => write!(out, "\\x{first:02x}"),
            Some(c) if c == char::from(mark) || c == '\\' => write!(out, "\\{c}"),
            Some(c) if printable(c) => write!(out, "{c}"),
            Some(c) => write!(out, "{}", escape(c)),
        };
        debug_assert!(written.is_ok(), "a string takes any text");
        text = &text[size..];
    }
    out.push(char::from(mark));
    out
}

fn escape(c: char) -> String {
    match c {
        '\u{7}' => "\\a".into(),
        '\u{8}' => "\\b".into(),
        '\u{c}' => "\\f".into(),
        '\n' => "\\n".into(),
        '\r' => "\\r".into(),
        '\t' => "\\t".into(),
        '\u{b}' => "\\v".into(),
        '\0'..' ' | '\u{7f}' => format!("\\x{:02x}", u32::from(c)),
        '\u{80}'..='\u{ffff}' => format!("\\u{:04x}", u32::from(c)),
        _ => format!("\\U{:08x}", u32::from(c)),
    }
}

/// Go's `%#U`.
pub(crate) fn unicode_point(c: char) -> String {
    let shown = if is_printable(c) { format!(" '{c}'") } else { String::new() };
    format!("U+{:04X}{shown}", u32::from(c))
}
