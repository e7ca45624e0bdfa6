//! Bounds on the text of expressions, checked before the parser sees it: the parser, and whatever walks its tree, call
//! themselves once for every level of nesting, and a stack that is used up ends the process.
//!
//! Texts in quotes hide brackets, so they are told apart exactly as the parser does. What its lexer would stumble over is
//! refused here already: after a stumble the two could disagree.

/// Bytes of an expression.
const BYTES: usize = 16 << 10;
/// Brackets within brackets.
const NESTING: usize = 32;
/// Levels of the tree, estimated from above.
const DEPTH: usize = 200;
/// Characters of a line that an error shows.
const SHOWN: usize = 1_000;
/// Stack of the thread that parses. The parser takes up to 200 KiB for one bracket when it is not optimised.
pub(super) const STACK: usize = 32 << 20;

/// Tells why a text is too large, or has characters that mean nothing.
pub(super) fn check(text: &str) -> Result<(), String> {
    if text.len() > BYTES {
        return Err(format!("the expression has {} bytes, more than {BYTES}", text.len()));
    }
    let mut levels = vec![Level::default()];
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            b'"' | b'\'' => quoted(bytes, at).ok_or_else(|| unknown(text, at))?,
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                bytes[at..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - at)
            }
            b'&' | b'|' | b'=' if bytes.get(at + 1) == Some(&byte) => operator(&mut levels, byte)?,
            b'!' | b'<' | b'>' if bytes.get(at + 1) == Some(&b'=') => operator(&mut levels, byte)?,
            b'&' | b'|' | b'=' => return Err(unknown(text, at)),
            b' ' | b'\t' | b'\r' | b'\n' | 0x0c | b'_' | b':' => 1,
            _ if byte.is_ascii_alphanumeric() => {
                // `in` is an operator; other names with these letters count too.
                let is_in = byte == b'i' && bytes.get(at + 1) == Some(&b'n');
                levels.last_mut().map_or(Ok(()), |level| level.operator(is_in))?;
                1
            }
            b'(' | b'[' | b'{' | b')' | b']' | b'}' => bracket(&mut levels, byte)?,
            b',' | b'.' | b'?' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'!' => {
                operator(&mut levels, byte)?;
                1
            }
            _ => return Err(unknown(text, at)),
        };
    }
    while levels.len() > 1 {
        close(&mut levels)?;
    }
    levels.pop().map_or(Ok(()), |level| bounded(level.depth()))
}

/// What stands between one pair of brackets.
#[derive(Default)]
struct Level {
    /// Operators since the last separator, each of which may be one level of the tree.
    operators: usize,
    /// Depth of the deepest bracket since then.
    inner: usize,
    /// Depth of the deepest part before.
    before: usize,
}

impl Level {
    fn depth(&self) -> usize {
        self.before.max(self.operators + self.inner)
    }

    fn operator(&mut self, is_one: bool) -> Result<(), String> {
        self.operators += usize::from(is_one);
        bounded(self.operators)
    }
}

/// An operator or separator; gives the length of one of two characters. Parts between separators are beside each other, not
/// below: arguments, and terms of `&&` and `||`, which become a balanced tree.
fn operator(levels: &mut [Level], byte: u8) -> Result<usize, String> {
    let Some(level) = levels.last_mut() else { return Ok(2) };
    match byte {
        b',' | b'&' | b'|' => *level = Level { before: level.depth(), ..Level::default() },
        _ => level.operator(true)?,
    }
    Ok(2)
}

fn bracket(levels: &mut Vec<Level>, byte: u8) -> Result<usize, String> {
    if matches!(byte, b'(' | b'[' | b'{') {
        levels.push(Level::default());
        if levels.len() > NESTING + 1 {
            return Err(format!("the expression has more than {NESTING} brackets within brackets"));
        }
    } else if levels.len() > 1 {
        close(levels)?;
    }
    Ok(1)
}

fn close(levels: &mut Vec<Level>) -> Result<(), String> {
    let depth = levels.pop().map_or(0, |level| level.depth());
    if let Some(outer) = levels.last_mut() {
        outer.inner = outer.inner.max(depth + 1);
        outer.operator(true)?;
    }
    bounded(depth)
}

fn bounded(depth: usize) -> Result<(), String> {
    if depth > DEPTH { Err(format!("the expression nests more than {DEPTH} operators")) } else { Ok(()) }
}

/// The length of a quoted text, as the grammar has it: three quotes or one, raw after `r`, without line ends in the single
/// form. `None` for what is no whole text, or has an escape that the grammar has not.
fn quoted(bytes: &[u8], at: usize) -> Option<usize> {
    let raw = is_raw(&bytes[..at])?;
    let quote = bytes[at];
    let triple = bytes[at..].starts_with(&[quote; 3]).then(|| body(bytes, at, 3, raw)).flatten();
    triple.or_else(|| body(bytes, at, 1, raw))
}

fn body(bytes: &[u8], at: usize, width: usize, raw: bool) -> Option<usize> {
    let quotes = &[bytes[at]; 3][..width];
    let mut end = at + width;
    loop {
        match *bytes.get(end)? {
            _ if bytes[end..].starts_with(quotes) => return Some(end + width - at),
            b'\n' | b'\r' if width == 1 => return None,
            b'\\' if !raw => end += escape(&bytes[end + 1..])?,
            _ => end += 1,
        }
    }
}

/// The length of an escape with its backslash.
fn escape(rest: &[u8]) -> Option<usize> {
    let digits = |count: usize, is_digit: fn(&u8) -> bool| {
        rest.get(1..=count).is_some_and(|d| d.iter().all(is_digit)).then_some(count + 2)
    };
    match rest.first()? {
        b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => Some(2),
        b'x' | b'X' => digits(2, u8::is_ascii_hexdigit),
        b'u' => digits(4, u8::is_ascii_hexdigit),
        b'U' => digits(8, u8::is_ascii_hexdigit),
        b'0'..=b'3' => digits(2, |d| matches!(d, b'0'..=b'7')),
        _ => None,
    }
}

/// Whether the text that begins here is raw: an `r` stands before it, with at most a `b` before that. `None` where a name or
/// number ends just before it, which no expression has.
fn is_raw(before: &[u8]) -> Option<bool> {
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let start = before.iter().rposition(|b| !is_word(b)).map_or(0, |at| at + 1);
    match &before[start..] {
        [] | [b'b' | b'B'] => Some(false),
        [b'r' | b'R'] | [b'b' | b'B', b'r' | b'R'] => Some(true),
        _ => None,
    }
}

/// The parser's words for what it does not know, from here to the end of the line.
fn unknown(text: &str, at: usize) -> String {
    let rest: String = text.get(at..).unwrap_or_default().chars().take_while(|c| *c != '\n').take(SHOWN).collect();
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    shown(text, line, column, &format!("Syntax error: token recognition error at: '{rest}'"))
}

/// An error with its place, lines and columns counted from 1 and 0, and what stands there.
pub(super) fn shown(text: &str, line: usize, column: usize, message: &str) -> String {
    let found = text.split('\n').nth(line.saturating_sub(1)).unwrap_or_default().replace(['\t', '\r'], " ");
    if found.chars().count() > SHOWN {
        return format!("ERROR: <input>:{line}:{}: {message}", column + 1);
    }
    let dots: String = found.chars().chain(std::iter::repeat(' ')).take(column).map(|_| '.').collect();
    format!("ERROR: <input>:{line}:{}: {message}\n | {found}\n | {dots}^", column + 1)
}
