//! A reader of JSON that complains as Go's `encoding/json` does. All numbers are floats, as Go decodes them into an
//! interface.

use std::collections::BTreeMap;

use super::super::exec::{Fail, Meter};
use super::super::format::quote;
use super::super::strconv;
use super::super::value::Value;
use super::Given;

/// Reads one value.
pub(super) fn read(text: &[u8], meter: &mut Meter) -> Given {
    meter.grow(0, text.len())?;
    let mut reader = Reader { text, at: 0, meter };
    reader.spaces();
    let value = reader.value(0)?;
    reader.spaces();
    match reader.peek() {
        None => Ok(value),
        Some(_) => reader.invalid("after top-level value"),
    }
}

struct Reader<'r> {
    text: &'r [u8],
    at: usize,
    meter: &'r mut Meter,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The error of the character that comes next, or of the end.
    fn invalid<T>(&self, context: &str) -> Result<T, Fail> {
        let byte = match self.peek() {
            Some(byte) => byte,
            // Go tries a space at the end, which is wrong within a word, a number or an escape.
            None if context.contains("literal") && !context.contains("string") || context.contains("escape") => b' ',
            None => return Err("unexpected end of JSON input".into()),
        };
        let shown = match byte {
            b'\'' => "'\\''".to_owned(),
            b'"' => "'\"'".to_owned(),
            byte => {
                let quoted = quote(char::from(byte).to_string().as_bytes(), b'"');
                format!("'{}'", &quoted[1..quoted.len() - 1])
            }
        };
        Err(format!("invalid character {shown} {context}").into())
    }

    fn value(&mut self, depth: usize) -> Given {
        self.meter.nest(depth)?;
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(self.string()?.into()),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Nil),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.invalid("looking for beginning of value"),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Given {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let expected = char::from(expected);
                return self.invalid(&format!("in literal {word} (expecting '{expected}')"));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn object(&mut self, depth: usize) -> Given {
        let mut entries = BTreeMap::new();
        self.at += 1;
        self.spaces();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::map(entries));
        }
        loop {
            self.spaces();
            if self.peek() != Some(b'"') {
                return self.invalid("looking for beginning of object key string");
            }
            let key = self.string()?;
            self.spaces();
            if self.peek() != Some(b':') {
                return self.invalid("after object key");
            }
            self.at += 1;
            self.spaces();
            let value = self.value(depth + 1)?;
            entries.insert(key.into(), value);
            self.spaces();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::map(entries));
                }
                _ => return self.invalid("after object key:value pair"),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Given {
        let mut items = Vec::new();
        self.at += 1;
        self.spaces();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::list(items));
        }
        loop {
            self.spaces();
            items.push(self.value(depth + 1)?);
            self.spaces();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::list(items));
                }
                _ => return self.invalid("after array element"),
            }
        }
    }

    fn string(&mut self) -> Result<Vec<u8>, Fail> {
        let mut out = Vec::new();
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    // What is no character becomes the replacement for one.
                    return Ok(match String::from_utf8_lossy(&out) {
                        std::borrow::Cow::Borrowed(_) => out,
                        std::borrow::Cow::Owned(text) => text.into_bytes(),
                    });
                }
                Some(b'\\') => {
                    self.at += 1;
                    let c = self.escape()?;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                None | Some(0..=0x1f) => return self.invalid("in string literal"),
                Some(byte) => {
                    out.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fail> {
        let c = match self.peek() {
            Some(b @ (b'"' | b'\\' | b'/')) => char::from(b),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return self.invalid("in string escape code"),
        };
        self.at += 1;
        Ok(c)
    }

    /// Four hexadecimal digits, and four more for the second half of a pair.
    fn unicode(&mut self) -> Result<char, Fail> {
        let first = self.hex4()?;
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Result<u32, Fail> {
        let mut code = 0;
        for _ in 0..4 {
            match self.peek().and_then(|b| char::from(b).to_digit(16)) {
                Some(digit) => code = code * 16 + digit,
                None => return self.invalid("in \\u hexadecimal character escape"),
            }
            self.at += 1;
        }
        Ok(code)
    }

    fn digits(&mut self, context: &str) -> Result<(), Fail> {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return self.invalid(context);
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Given {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        let number = String::from_utf8_lossy(&self.text[start..self.at]);
        strconv::parse_float(&number)
            .map(Value::Float)
            .map_err(|_| format!("json: cannot unmarshal number {number} into Go value of type float64").into())
    }
}
