//! Scalars: which of the styles a text may have, and its characters in that style.

use serde_json::Value;

use super::super::Dialect;
use super::super::scalar::{Resolved, resolve_plain};
use super::timestamp::is_timestamp;
use super::{INDENT, Writer};

/// A scalar and the style that it would have if nothing in it forbade that.
pub(super) struct Scalar {
    pub(super) text: String,
    style: Style,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// What a text's characters allow.
struct Allowed {
    plain: bool,
    single: bool,
    block: bool,
}

impl Scalar {
    /// The scalar of a value that is no collection.
    pub(super) fn of(value: &Value) -> Self {
        let text = match value {
            Value::String(text) => return Self::of_text(text),
            Value::Number(number) => super::number(number),
            other => other.to_string(),
        };
        Self { text, style: Style::Plain }
    }

    pub(super) fn of_text(text: &str) -> Self {
        let style = if text.contains('\n') {
            Style::Literal
        } else if resolve_plain(text, Dialect::Kubernetes) != Resolved::Text || is_timestamp(text) || is_base60(text) {
            Style::Double
        } else {
            Style::Plain
        };
        Self { text: text.to_owned(), style }
    }

    pub(super) fn is_multiline(&self) -> bool {
        self.text.contains(is_break)
    }

    /// The style that it really gets; `key` when it stands before a colon on one line.
    fn chosen(&self, key: bool) -> Style {
        let allowed = Allowed::of(&self.text);
        let mut style = self.style;
        if style == Style::Plain && (!allowed.plain || key && self.text.is_empty()) {
            style = Style::Single;
        }
        if style == Style::Single && !allowed.single || style == Style::Literal && (!allowed.block || key) {
            style = Style::Double;
        }
        style
    }
}

/// Numbers in base 60 are texts to go-yaml, but other readers of YAML 1.1 know them: `12:30:45`.
fn is_base60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let is_sixty = |part: &str| match part.as_bytes() {
        [one] => one.is_ascii_digit(),
        [ten, one] => matches!(ten, b'0'..=b'5') && one.is_ascii_digit(),
        _ => false,
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    whole.contains(':')
        && first.starts_with(|c: char| c.is_ascii_digit())
        && digits(first)
        && parts.all(is_sixty)
        && digits(fraction)
}

/// The line ends of YAML 1.1; two of them, U+2028 and U+2029, count as characters to escape below, since readers do not
/// agree on them. The original writes those as they are.
fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}')
}

impl Allowed {
    fn of(text: &str) -> Self {
        let mut allowed = Self { plain: !has_indicators(text), single: true, block: !text.is_empty() };
        let at_end = |c: char| c == ' ' || is_break(c);
        if text.starts_with(at_end) || text.ends_with(at_end) || text.contains(is_break) {
            allowed.plain = false;
        }
        if text.ends_with(' ') {
            allowed.block = false;
        }
        let pairs = || text.chars().zip(text.chars().skip(1));
        let break_space = pairs().any(|(a, b)| is_break(a) && b == ' ');
        let space_break = pairs().any(|(a, b)| a == ' ' && is_break(b));
        let special = text.chars().any(|c| !is_printable(c));
        if break_space || space_break || special {
            allowed.plain = false;
            allowed.single = false;
        }
        if space_break || special {
            allowed.block = false;
        }
        allowed
    }
}

/// Whether a character has a meaning to YAML where it stands.
fn has_indicators(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let mut after_blank = true;
    let mut chars = text.chars().peekable();
    let mut first = true;
    while let Some(c) = chars.next() {
        let before_blank = chars.peek().is_none_or(|c| matches!(c, ' ' | '\t'));
        let found = match c {
            '#' => after_blank,
            ':' => before_blank,
            '?' | '-' => first && before_blank,
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => first,
            _ => false,
        };
        if found {
            return true;
        }
        after_blank = matches!(c, ' ' | '\t' | '\0') || is_break(c);
        first = false;
    }
    false
}

impl Writer {
    pub(super) fn scalar(&mut self, scalar: &Scalar, key: bool) {
        let indent = self.indent;
        self.indent += INDENT;
        match scalar.chosen(key) {
            Style::Plain => self.flow_scalar(&scalar.text, None, !key),
            Style::Single => self.flow_scalar(&scalar.text, Some('\''), !key),
            Style::Double => self.double(&scalar.text, !key),
            Style::Literal => self.literal(&scalar.text),
        }
        self.indent = indent;
    }

    /// Writes a plain or a single-quoted scalar: they have no line ends.
    fn flow_scalar(&mut self, text: &str, quote: Option<char>, may_fold: bool) {
        match quote {
            Some(_) => self.indicator("'", true, false),
            None if !self.whitespace => self.put(' '),
            None => {}
        }
        let mut spaces = false;
        for (at, c) in text.char_indices() {
            let next_is_space = text[at + c.len_utf8()..].starts_with(' ');
            let inside = quote.is_none() || (at > 0 && at + 1 < text.len());
            if c == ' ' && may_fold && !spaces && self.column > self.width && inside && !next_is_space {
                self.line();
            } else {
                if Some(c) == quote {
                    self.put(c);
                }
                self.put(c);
                self.indention = false;
            }
            spaces = c == ' ';
        }
        if quote.is_some() {
            self.indicator("'", false, false);
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn double(&mut self, text: &str, may_fold: bool) {
        self.indicator("\"", true, false);
        let all = text.starts_with('\u{feff}');
        let mut spaces = false;
        for (at, c) in text.char_indices() {
            if all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                escape(c).chars().for_each(|c| self.put(c));
                spaces = false;
            } else if c == ' ' {
                if may_fold && !spaces && self.column > self.width && at > 0 && at + 1 < text.len() {
                    self.line();
                    if text[at + 1..].starts_with(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
        }
        self.indicator("\"", false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false);
        if text.starts_with(|c: char| c == ' ' || is_break(c)) {
            self.indicator("2", false, false);
        }
        let mut ends = text.chars().rev();
        match (ends.next().is_some_and(is_break), ends.next().is_none_or(is_break)) {
            (false, _) => self.indicator("-", false, false),
            (true, true) => self.indicator("+", false, false),
            (true, false) => {}
        }
        self.break_line();
        self.indention = true;
        self.whitespace = true;
        let mut at_start = true;
        for c in text.chars() {
            if c == '\n' {
                self.break_line();
                self.indention = true;
            } else {
                if at_start {
                    self.line();
                }
                self.put(c);
                self.indention = false;
            }
            at_start = c == '\n';
        }
    }
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' | '\\' => c,
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(c) {
                code @ ..=0xff => format!("\\x{code:02X}"),
                code @ ..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}
