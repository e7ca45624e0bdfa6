//! A template's text into tokens, by the rules of Go's `text/template/parse`. Texts between actions are tokens too;
//! trim markers and comments leave none.

mod action;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

/// A piece of the text; of an error, what is wrong.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Where it begins, in bytes.
    pub(super) pos: usize,
    pub(super) text: String,
    /// The line it begins on, counted from 1.
    pub(super) line: usize,
}

impl Kind {
    /// The kind of a keyword; `.` and `nil` are among them.
    fn keyword(word: &str) -> Option<Self> {
        Some(match word {
            "block" => Self::Block,
            "break" => Self::Break,
            "continue" => Self::Continue,
            "define" => Self::Define,
            "else" => Self::Else,
            "end" => Self::End,
            "if" => Self::If,
            "nil" => Self::Nil,
            "range" => Self::Range,
            "template" => Self::Template,
            "with" => Self::With,
            _ => return None,
        })
    }

    fn is_keyword(self) -> bool {
        use Kind::{Block, Break, Continue, Define, Dot, Else, End, If, Nil, Range, Template, With};
        matches!(self, Block | Break | Continue | Dot | Define | Else | End | If | Nil | Range | Template | With)
    }
}

impl std::fmt::Display for Token {
    /// As errors show it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            Kind::Eof => f.write_str("EOF"),
            Kind::Error => f.write_str(&self.text),
            kind if kind.is_keyword() => write!(f, "<{}>", self.text),
            _ if self.text.len() > 10 => {
                let start: String = self.text.chars().take(10).collect();
                write!(f, "{}...", super::format::quote(start.as_bytes(), b'"'))
            }
            _ => f.write_str(&super::format::quote(self.text.as_bytes(), b'"')),
        }
    }
}

const SPACES: &[char] = &[' ', '\t', '\r', '\n'];

pub(super) fn is_space(c: char) -> bool {
    SPACES.contains(&c)
}

pub(super) fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn has_left_trim_marker(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|rest| rest.starts_with(is_space))
}

fn has_right_trim_marker(text: &str) -> bool {
    text.starts_with(is_space) && text[1..].starts_with('-')
}

/// Bytes of a trim marker with its space.
const MARKER: usize = 2;

/// Reads a whole text. The last token is the end or an error.
pub(super) fn tokens(text: &str, left: &str, right: &str) -> Vec<Token> {
    let mut lexer =
        Lexer { text, left, right, pos: 0, start: 0, line: 1, start_line: 1, parens: 0, tokens: Vec::new() };
    let mut state = State::Text;
    while state != State::Done {
        state = match state {
            State::Text => lexer.text(),
            State::LeftDelim => lexer.left_delim(),
            State::Comment => lexer.comment(),
            State::Action => lexer.action(),
            State::Done => State::Done,
        };
    }
    lexer.tokens
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    LeftDelim,
    Comment,
    Action,
    Done,
}

struct Lexer<'t> {
    text: &'t str,
    left: &'t str,
    right: &'t str,
    pos: usize,
    start: usize,
    line: usize,
    start_line: usize,
    parens: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.pos..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn emit(&mut self, kind: Kind) {
        let text = self.text[self.start..self.pos].to_owned();
        self.tokens.push(Token { kind, pos: self.start, text, line: self.start_line });
        self.start = self.pos;
        self.start_line = self.line;
    }

    fn error(&mut self, message: String) -> State {
        self.tokens.push(Token { kind: Kind::Error, pos: self.start, text: message, line: self.start_line });
        State::Done
    }

    /// Passes over what was skipped without [`Self::next`].
    fn ignore(&mut self) {
        self.line += newlines(&self.text[self.start..self.pos]);
        self.start = self.pos;
        self.start_line = self.line;
    }

    fn text(&mut self) -> State {
        let Some(found) = self.rest().find(self.left) else {
            self.pos = self.text.len();
            if self.pos > self.start {
                self.line += newlines(&self.text[self.start..]);
                self.emit(Kind::Text);
            }
            self.emit(Kind::Eof);
            return State::Done;
        };
        if found > 0 {
            self.pos += found;
            let content = &self.text[self.start..self.pos];
            let trimmed = if has_left_trim_marker(&self.text[self.pos + self.left.len()..]) {
                content.len() - content.trim_end_matches(SPACES).len()
            } else {
                0
            };
            self.pos -= trimmed;
            self.line += newlines(&self.text[self.start..self.pos]);
            if self.pos > self.start {
                self.emit(Kind::Text);
            }
            self.pos += trimmed;
            self.ignore();
        }
        State::LeftDelim
    }

    fn left_delim(&mut self) -> State {
        self.pos += self.left.len();
        let marker = if has_left_trim_marker(self.rest()) { MARKER } else { 0 };
        if self.text[self.pos + marker..].starts_with("/*") {
            self.pos += marker;
            self.ignore();
            return State::Comment;
        }
        self.emit(Kind::LeftDelim);
        self.pos += marker;
        self.ignore();
        self.parens = 0;
        State::Action
    }

    fn comment(&mut self) -> State {
        self.pos += 2;
        let Some(end) = self.rest().find("*/") else { return self.error("unclosed comment".into()) };
        self.pos += end + 2;
        let (delim, trim) = self.at_right_delim();
        if !delim {
            return self.error("comment ends before closing delimiter".into());
        }
        self.pos += self.right.len() + if trim { MARKER } else { 0 };
        self.skip_spaces(trim);
        self.ignore();
        State::Text
    }

    /// Whether a right delimiter comes next, and whether it has a trim marker.
    fn at_right_delim(&self) -> (bool, bool) {
        let rest = self.rest();
        if has_right_trim_marker(rest) && rest[MARKER..].starts_with(self.right) {
            return (true, true);
        }
        (rest.starts_with(self.right), false)
    }

    fn right_delim(&mut self) -> State {
        let (_, trim) = self.at_right_delim();
        if trim {
            self.pos += MARKER;
            self.ignore();
        }
        self.pos += self.right.len();
        self.emit(Kind::RightDelim);
        self.skip_spaces(trim);
        self.ignore();
        State::Text
    }

    fn skip_spaces(&mut self, trim: bool) {
        if trim {
            let rest = self.rest();
            self.pos += rest.len() - rest.trim_start_matches(SPACES).len();
        }
    }
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|b| *b == b'\n').count()
}
