//! What stands between the delimiters: words, numbers, strings, marks.

use super::super::format::{quote, unicode_point};
use super::{Kind, Lexer, State, is_alphanumeric, is_space};

impl Lexer<'_> {
    pub(super) fn action(&mut self) -> State {
        if self.at_right_delim().0 {
            return if self.parens == 0 { self.right_delim() } else { self.error("unclosed left paren".into()) };
        }
        match self.next() {
            None => self.error("unclosed action".into()),
            Some(c) if is_space(c) => self.space(),
            Some('=') => self.mark(Kind::Assign),
            Some(':') => match self.next() {
                Some('=') => self.mark(Kind::Declare),
                _ => self.error("expected :=".into()),
            },
            Some('|') => self.mark(Kind::Pipe),
            Some('"') => self.quoted('"', Kind::String, "unterminated quoted string"),
            Some('\'') => self.quoted('\'', Kind::CharConstant, "unterminated character constant"),
            Some('`') => self.raw(),
            Some('$') => self.field(Kind::Variable),
            Some('.') if self.peek().is_some_and(|c| !c.is_ascii_digit()) => self.field(Kind::Field),
            Some(c) if matches!(c, '.' | '+' | '-') || c.is_ascii_digit() => {
                self.pos -= 1;
                self.number()
            }
            Some(c) if is_alphanumeric(c) => self.word(),
            Some('(') => {
                self.parens += 1;
                self.mark(Kind::LeftParen)
            }
            Some(')') if self.parens == 0 => self.error("unexpected right paren".into()),
            Some(')') => {
                self.parens -= 1;
                self.mark(Kind::RightParen)
            }
            Some(c) if c.is_ascii_graphic() => self.mark(Kind::Char),
            Some(c) => self.error(format!("unrecognized character in action: {}", unicode_point(c))),
        }
    }

    fn mark(&mut self, kind: Kind) -> State {
        self.emit(kind);
        State::Action
    }

    /// A run of spaces, the first of which is read; the last may belong to a trim marker.
    fn space(&mut self) -> State {
        while self.peek().is_some_and(is_space) {
            self.next();
        }
        let last = self.pos - 1;
        let is_marker = self.text[last..]
            .get(1..)
            .is_some_and(|rest| rest.strip_prefix('-').is_some_and(|rest| rest.starts_with(self.right)));
        if is_marker {
            self.line -= usize::from(self.text.as_bytes()[last] == b'\n');
            self.pos = last;
            if self.pos == self.start {
                return self.right_delim();
            }
        }
        self.mark(Kind::Space)
    }

    /// An identifier, a keyword or a boolean, whose first character is read.
    fn word(&mut self) -> State {
        while self.peek().is_some_and(is_alphanumeric) {
            self.next();
        }
        if let Some(c) = self.not_terminated() {
            return self.error(format!("bad character {}", unicode_point(c)));
        }
        let word = &self.text[self.start..self.pos];
        let kind = match word {
            "true" | "false" => Kind::Bool,
            _ => Kind::keyword(word).unwrap_or(Kind::Identifier),
        };
        self.mark(kind)
    }

    /// A field or a variable, whose `.` or `$` is read.
    fn field(&mut self, kind: Kind) -> State {
        if self.not_terminated().is_none() {
            return self.mark(if kind == Kind::Variable { kind } else { Kind::Dot });
        }
        while self.peek().is_some_and(is_alphanumeric) {
            self.next();
        }
        match self.not_terminated() {
            Some(c) => self.error(format!("bad character {}", unicode_point(c))),
            None => self.mark(kind),
        }
    }

    /// The next character when it cannot follow a word.
    fn not_terminated(&self) -> Option<char> {
        let c = self.peek()?;
        let ends = is_space(c) || matches!(c, '.' | ',' | '|' | ':' | ')' | '(') || self.rest().starts_with(self.right);
        (!ends).then_some(c)
    }

    fn quoted(&mut self, end: char, kind: Kind, unterminated: &str) -> State {
        loop {
            match self.next() {
                Some('\\') if !matches!(self.peek(), None | Some('\n')) => {
                    self.next();
                }
                None | Some('\n' | '\\') => return self.error(unterminated.into()),
                Some(c) if c == end => return self.mark(kind),
                Some(_) => {}
            }
        }
    }

    fn raw(&mut self) -> State {
        loop {
            match self.next() {
                None => return self.error("unterminated raw quoted string".into()),
                Some('`') => return self.mark(Kind::RawString),
                Some(_) => {}
            }
        }
    }

    fn number(&mut self) -> State {
        let mut is_number = self.scan_number();
        let mut kind = Kind::Number;
        if is_number && matches!(self.peek(), Some('+' | '-')) {
            is_number = self.scan_number() && self.text[..self.pos].ends_with('i');
            kind = Kind::Complex;
        }
        if is_number {
            return self.mark(kind);
        }
        let text = quote(&self.text.as_bytes()[self.start..self.pos], b'"');
        self.error(format!("bad number syntax: {text}"))
    }

    fn accept(&mut self, valid: &str) -> bool {
        let found = self.peek().is_some_and(|c| valid.contains(c));
        if found {
            self.next();
        }
        found
    }

    fn accept_run(&mut self, valid: &str) {
        while self.accept(valid) {}
    }

    /// Passes over what looks like a number; what it is, the parser says.
    fn scan_number(&mut self) -> bool {
        const DECIMAL: &str = "0123456789_";
        self.accept("+-");
        let mut digits = DECIMAL;
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        let exponent = match digits.len() {
            11 => "eE",
            23 => "pP",
            _ => "",
        };
        if self.accept(exponent) {
            self.accept("+-");
            self.accept_run(DECIMAL);
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.next();
            return false;
        }
        true
    }
}
