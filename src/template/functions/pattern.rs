//! Patterns of Go's `regexp` as patterns of ours. Both are linear in time and mostly the same language; where a text
//! means something else in one of them, or only one knows it, it is written differently here, or refused in Go's words.

use std::fmt::Write as _;

/// Repetitions that Go allows at most.
const MAX_REPEAT: u32 = 1000;

/// A pattern for our engine, and how large it is with its repetitions written out.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) weight: usize,
}

/// Translates a pattern.
///
/// # Errors
/// In Go's words, for what Go refuses and our engine would take.
pub(super) fn translate(pattern: &str) -> Result<Pattern, String> {
    let mut translation = Translation {
        whole: pattern,
        rest: pattern,
        out: String::new(),
        weight: 0,
        can_repeat: None,
        groups: Vec::new(),
    };
    while !translation.rest.is_empty() {
        translation.step()?;
    }
    Ok(Pattern { text: translation.out, weight: translation.weight })
}

struct Translation<'p> {
    whole: &'p str,
    rest: &'p str,
    out: String,
    weight: usize,
    /// The weight of what a repetition would repeat; none at the beginning and after a repetition.
    can_repeat: Option<usize>,
    /// The weights at which the open groups began.
    groups: Vec<usize>,
}

fn error(what: &str, part: &str) -> String {
    format!("error parsing regexp: {what}: `{part}`")
}

impl<'p> Translation<'p> {
    fn take(&mut self, length: usize) -> &'p str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn literal(&mut self, text: &str) {
        self.out.push_str(text);
        self.weight += 1;
        self.can_repeat = Some(1);
    }

    fn step(&mut self) -> Result<(), String> {
        let c = self.rest.chars().next().unwrap_or_default();
        match c {
            '\\' => self.escape(),
            '[' => self.class(),
            '(' => self.open(),
            ')' => {
                self.take(1);
                self.out.push(')');
                let began = self.groups.pop().ok_or_else(|| error("unexpected )", self.whole))?;
                self.can_repeat = Some(self.weight - began);
                Ok(())
            }
            '*' | '+' | '?' => {
                let operator = self.operator(1);
                self.repeat(operator, 2)
            }
            '{' => match repetition(self.rest) {
                None => {
                    self.take(1);
                    self.literal("\\{");
                    Ok(())
                }
                Some((min, max, length)) => {
                    let is_wrong = min > MAX_REPEAT || max.is_some_and(|max| max > MAX_REPEAT || max < min);
                    let operator = self.operator(length);
                    if is_wrong {
                        return Err(error("invalid repeat count", operator));
                    }
                    self.repeat(operator, usize::try_from(max.unwrap_or(min).max(1)).unwrap_or(1))
                }
            },
            '|' => {
                self.take(1);
                self.out.push('|');
                self.can_repeat = None;
                Ok(())
            }
            c => {
                let text = self.take(c.len_utf8());
                self.literal(text);
                Ok(())
            }
        }
    }

    /// A repetition operator of so many bytes, with the `?` that makes it lazy.
    fn operator(&mut self, length: usize) -> &'p str {
        let lazy = usize::from(self.rest[length..].starts_with('?'));
        self.take(length + lazy)
    }

    fn repeat(&mut self, operator: &str, times: usize) -> Result<(), String> {
        let Some(repeated) = self.can_repeat else {
            return Err(error("missing argument to repetition operator", operator));
        };
        let next = match self.rest.chars().next() {
            Some('*' | '+' | '?') => Some(1),
            Some('{') => repetition(self.rest).map(|(.., length)| length),
            _ => None,
        };
        if let Some(length) = next {
            let lazy = usize::from(self.rest[length..].starts_with('?'));
            let both = format!("{operator}{}", &self.rest[..length + lazy]);
            return Err(error("invalid nested repetition operator", &both));
        }
        self.out.push_str(operator);
        self.weight = self.weight.saturating_add(repeated.saturating_mul(times.saturating_sub(1)));
        self.can_repeat = None;
        Ok(())
    }

    fn open(&mut self) -> Result<(), String> {
        let length = match self.rest.strip_prefix("(?") {
            None => 1,
            Some(inner) if inner.starts_with("P<") || inner.starts_with('<') => {
                let Some(end) = inner.find('>') else { return Err(error("invalid named capture", self.rest)) };
                let name = &inner[inner.find('<').map_or(0, |at| at + 1)..end];
                if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                    return Err(error("invalid named capture", &self.rest[..end + 3]));
                }
                end + 3
            }
            Some(inner) => {
                let flags = inner.bytes().take_while(|b| b"imsU-".contains(b)).count();
                match inner.as_bytes().get(flags) {
                    Some(b')') => {
                        let text = self.take(flags + 3);
                        self.out.push_str(text);
                        self.can_repeat = None;
                        return Ok(());
                    }
                    Some(b':') => flags + 3,
                    None => return Err(error("missing argument to repetition operator", "?")),
                    Some(_) => {
                        let end = inner[flags..].chars().next().map_or(0, char::len_utf8);
                        return Err(error("invalid or unsupported Perl syntax", &self.rest[..2 + flags + end]));
                    }
                }
            }
        };
        let text = self.take(length);
        self.out.push_str(text);
        self.groups.push(self.weight);
        self.can_repeat = None;
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let c = self.rest[1..]
            .chars()
            .next()
            .ok_or_else(|| "error parsing regexp: trailing backslash at end of expression: ``".to_owned())?;
        if c == 'Q' {
            let quoted = &self.rest[2..];
            let end = quoted.find("\\E");
            for c in quoted[..end.unwrap_or(quoted.len())].chars() {
                self.literal(&regex::escape(&c.to_string()));
            }
            self.rest = end.map_or("", |end| &quoted[end + 2..]);
            return Ok(());
        }
        let length = self.escape_length(c)?;
        let text = self.take(length);
        match c {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => self.literal(&format!("[{}]", perl_class(c))),
            'b' | 'B' => self.literal(&format!("(?-u:\\{c})")),
            _ => {
                let shown = escaped(text);
                self.literal(&shown);
            }
        }
        Ok(())
    }

    /// How long the escape at the beginning of the rest is.
    fn escape_length(&self, c: char) -> Result<usize, String> {
        let bad = |length: usize| Err(error("invalid escape sequence", &self.rest[..length.min(self.rest.len())]));
        let after = &self.rest[2.min(self.rest.len())..];
        match c {
            'A' | 'B' | 'D' | 'S' | 'W' | 'a' | 'b' | 'd' | 'f' | 'n' | 'r' | 's' | 't' | 'v' | 'w' | 'z' => Ok(2),
            'p' | 'P' => match after.strip_prefix('{') {
                Some(name) => match name.find('}') {
                    Some(end) => Ok(4 + end),
                    None => Err(error("invalid character class range", self.rest)),
                },
                None => Ok(2 + after.chars().next().map_or(0, char::len_utf8)),
            },
            'x' if after.starts_with('{') => match after.find('}') {
                Some(end) if end > 1 && after[1..end].bytes().all(|b| b.is_ascii_hexdigit()) => Ok(3 + end),
                _ => bad(3),
            },
            'x' => {
                let digits = after.bytes().take(2).take_while(u8::is_ascii_hexdigit).count();
                if digits == 2 { Ok(4) } else { bad(2 + digits) }
            }
            '1'..='7' if !after.starts_with(|c: char| c.is_digit(8)) => bad(2),
            '0'..='7' => Ok(2 + after.bytes().take(2).take_while(|b| (b'0'..=b'7').contains(b)).count()),
            c if c.is_ascii_punctuation() => Ok(1 + c.len_utf8()),
            c => bad(1 + c.len_utf8()),
        }
    }

    /// A class in brackets: what means something only to our engine is escaped.
    fn class(&mut self) -> Result<(), String> {
        let whole = self.rest;
        let missing = || error("missing closing ]", whole);
        let mut out = String::from("[");
        self.take(1);
        if self.rest.starts_with('^') {
            self.take(1);
            out.push('^');
        }
        let mut first = true;
        loop {
            let c = self.rest.chars().next().ok_or_else(missing)?;
            if c == ']' && !first {
                self.take(1);
                break;
            }
            first = false;
            let named = self.rest.starts_with("[:").then(|| self.rest.find(":]")).flatten();
            if let Some(end) = named {
                out.push_str(self.take(end + 2));
                continue;
            }
            if c == '\\' {
                let next = self.rest[1..].chars().next().ok_or_else(missing)?;
                let length = self.escape_length(next)?;
                let text = self.take(length);
                match next {
                    'd' | 'w' | 's' => out.push_str(perl_class(next)),
                    'D' | 'W' | 'S' => out.push_str(&format!("[{}]", perl_class(next))),
                    'b' | 'B' | 'A' | 'z' => return Err(error("invalid escape sequence", text)),
                    _ => out.push_str(&escaped(text)),
                }
                continue;
            }
            self.take(c.len_utf8());
            let is_range = c == '-' && !out.ends_with(['[', '^']) && !self.rest.starts_with(']');
            match c {
                '-' if is_range => out.push('-'),
                '[' | ']' | '&' | '~' | '-' | '^' => {
                    out.push('\\');
                    out.push(c);
                }
                c => out.push(c),
            }
        }
        out.push(']');
        self.literal(&out);
        Ok(())
    }
}

/// Octal escapes and escaped letters as hexadecimal; the rest stays.
fn escaped(text: &str) -> String {
    let inner = &text[1..];
    if inner.bytes().all(|b| (b'0'..=b'7').contains(&b)) {
        let mut out = String::new();
        let written = write!(out, "\\x{{{:x}}}", u32::from_str_radix(inner, 8).unwrap_or(0));
        debug_assert!(written.is_ok(), "a string takes any text");
        return out;
    }
    text.to_owned()
}

/// Go's classes know ASCII only.
fn perl_class(letter: char) -> &'static str {
    match letter {
        'd' => "0-9",
        'D' => "^0-9",
        's' => "\\t\\n\\x0c\\r ",
        'S' => "^\\t\\n\\x0c\\r ",
        'w' => "0-9A-Za-z_",
        _ => "^0-9A-Za-z_",
    }
}

/// Reads `{n}`, `{n,}` or `{n,m}`: the bounds and the length. Anything else in braces is text to Go.
fn repetition(text: &str) -> Option<(u32, Option<u32>, usize)> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find('}')?;
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| digits.parse::<u32>().unwrap_or(u32::MAX))
    };
    let (min, max) = match inner[..end].split_once(',') {
        None => {
            let exactly = number(&inner[..end])?;
            (exactly, Some(exactly))
        }
        Some((min, "")) => (number(min)?, None),
        Some((min, max)) => (number(min)?, Some(number(max)?)),
    };
    Some((min, max, end + 2))
}
