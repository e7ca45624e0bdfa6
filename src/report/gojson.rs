//! JSON as Go's `encoding/json` writes and reads it, because v1's clients and fixtures were made by it (fluxd-v1 §8.1).
//! No types of the API are here.

use std::io;

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Map, Value};

/// Encodes a value as Go does: `<`, `>`, `&`, U+2028 and U+2029 escaped, no white space, no trailing newline. Map keys
/// come out sorted when the value's maps are, which all of ours are.
///
/// # Errors
/// When the value has a map whose keys are no strings.
pub fn go_json<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::with_capacity(256);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Go))?;
    Ok(out)
}

struct Go;

impl Formatter for Go {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            out.write_all(&rest.as_bytes()[..at])?;
            let mut tail = rest[at..].chars();
            if let Some(special) = tail.next() {
                write!(out, "\\u{:04x}", u32::from(special))?;
            }
            rest = tail.as_str();
        }
        out.write_all(rest.as_bytes())
    }
}

/// Why a request body or a note is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The text is no JSON.
    #[error("invalid JSON at byte {offset}: {message}")]
    Syntax {
        /// Bytes read before the error.
        offset: u64,
        /// What the parser found.
        message: String,
    },
    /// A field holds another type.
    #[error("field {field}: expected {expected}, found {found}")]
    Type {
        /// The field's name.
        field: String,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A value of the right type that means nothing.
    #[error("{0}")]
    Value(String),
}

impl DecodeError {
    /// A field that must be there is not: v1 read nothing as JSON then, and called it an early end.
    pub(super) fn absent(field: &str) -> Self {
        Self::Syntax { offset: 0, message: format!("unexpected end of JSON input: field {field} is missing") }
    }
}

/// Reads the first JSON value of some bytes. What follows it is ignored, as Go's decoder does.
///
/// # Errors
/// On bad syntax, with the offset.
pub fn first_value(body: &[u8]) -> Result<Value, DecodeError> {
    let mut values = serde_json::Deserializer::from_slice(body).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        Some(Err(e)) => Err(DecodeError::Syntax { offset: offset_of(body, &e), message: e.to_string() }),
        None => Err(DecodeError::Value("expected a JSON value, found nothing".into())),
    }
}

/// The byte offset of a parser's line and column.
fn offset_of(body: &[u8], error: &serde_json::Error) -> u64 {
    let lines_before = error.line().saturating_sub(1);
    let start: usize = body.split_inclusive(|b| *b == b'\n').take(lines_before).map(<[u8]>::len).sum();
    (start + error.column()) as u64
}

/// The fields of a JSON object, found by name whatever the case of its letters, the exact spelling first; `null` and an
/// absent field count as the zero value, unknown fields are ignored.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(Option<&'a Map<String, Value>>);

impl<'a> Fields<'a> {
    /// Takes an object, or `null`.
    pub(super) fn of(name: &str, value: &'a Value) -> Result<Self, DecodeError> {
        match value {
            Value::Null => Ok(Self(None)),
            Value::Object(map) => Ok(Self(Some(map))),
            other => Err(wrong_type(name, "an object", other)),
        }
    }

    /// The field's value; `null` when it is absent.
    pub(super) fn get(&self, name: &str) -> &'a Value {
        let Some(map) = self.0 else { return &Value::Null };
        let found = map.get(name).or_else(|| map.iter().find(|(k, _)| k.eq_ignore_ascii_case(name)).map(|(_, v)| v));
        found.unwrap_or(&Value::Null)
    }

    /// Whether the field is there at all.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.is_some_and(|map| map.keys().any(|k| k.eq_ignore_ascii_case(name)))
    }

    /// A text, empty when absent.
    pub(super) fn text(&self, name: &str) -> Result<String, DecodeError> {
        match self.get(name) {
            Value::Null => Ok(String::new()),
            Value::String(s) => Ok(s.clone()),
            other => Err(wrong_type(name, "a string", other)),
        }
    }

    /// A boolean, false when absent.
    pub(super) fn flag(&self, name: &str) -> Result<bool, DecodeError> {
        match self.get(name) {
            Value::Null => Ok(false),
            Value::Bool(b) => Ok(*b),
            other => Err(wrong_type(name, "a boolean", other)),
        }
    }

    /// A list, empty when absent.
    pub(super) fn list(&self, name: &str) -> Result<&'a [Value], DecodeError> {
        match self.get(name) {
            Value::Null => Ok(&[]),
            Value::Array(items) => Ok(items),
            other => Err(wrong_type(name, "a list", other)),
        }
    }

    /// A list of texts, empty when absent.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, DecodeError> {
        let item = |v: &Value| v.as_str().map(str::to_owned).ok_or_else(|| wrong_type(name, "a list of strings", v));
        self.list(name)?.iter().map(item).collect()
    }

    /// A nested object.
    pub(super) fn fields(&self, name: &str) -> Result<Self, DecodeError> {
        Self::of(name, self.get(name))
    }

    /// All fields, sorted by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.0.into_iter().flatten().map(|(k, v)| (k.as_str(), v))
    }
}

pub(super) fn wrong_type(field: &str, expected: &'static str, found: &Value) -> DecodeError {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    DecodeError::Type { field: field.to_owned(), expected, found }
}
