//! Values to JSON and back, with the layout and the errors of Go's `encoding/json`.

use serde_json::{Map as JsonMap, Number, Value as Json};

use super::super::exec::{Fail, Meter};
use super::super::format::{Notation, format_float};
use super::super::value::Value;
use super::Type::{Any, Text};
use super::{Context, Definition, Given, function, json_text, text};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("toJson", &[Any], |cx, args| forgiven(encoded(cx, args, &Style::COMPACT))),
    function("mustToJson", &[Any], |cx, args| encoded(cx, args, &Style::COMPACT)),
    function("toPrettyJson", &[Any], |cx, args| forgiven(encoded(cx, args, &Style::PRETTY))),
    function("mustToPrettyJson", &[Any], |cx, args| encoded(cx, args, &Style::PRETTY)),
    function("toRawJson", &[Any], |cx, args| encoded(cx, args, &Style::RAW)),
    function("mustToRawJson", &[Any], |cx, args| encoded(cx, args, &Style::RAW)),
    function("fromJson", &[Text], |cx, args| match decoded(cx, args) {
        Err(Fail::Message(_)) => Ok(Value::Nil),
        given => given,
    })
    .interface(),
    function("mustFromJson", &[Text], decoded).interface(),
];

/// How JSON is laid out.
struct Style {
    /// Two spaces for each level, a line for each element.
    pretty: bool,
    /// `<`, `>` and `&` are escaped.
    html: bool,
}

impl Style {
    const COMPACT: Self = Self { pretty: false, html: true };
    const PRETTY: Self = Self { pretty: true, html: true };
    const RAW: Self = Self { pretty: false, html: false };
}

fn forgiven(given: Given) -> Given {
    match given {
        Err(Fail::Message(_)) => Ok("".into()),
        given => given,
    }
}

fn encoded(cx: &mut Context<'_, '_>, args: &[Value], style: &Style) -> Given {
    let mut writer = Writer { out: Vec::new(), style, meter: &mut cx.run.meter };
    writer.value(&args[0], 0)?;
    Ok(writer.out.into())
}

fn decoded(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    json_text::read(text(args, 0), &mut cx.run.meter)
}

struct Writer<'w> {
    out: Vec<u8>,
    style: &'w Style,
    meter: &'w mut Meter,
}

impl Writer<'_> {
    fn push(&mut self, text: &[u8]) -> Result<(), Fail> {
        self.meter.grow(self.out.len(), text.len())?;
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn line(&mut self, depth: usize) -> Result<(), Fail> {
        if self.style.pretty {
            self.push(b"\n")?;
            self.push("  ".repeat(depth).as_bytes())?;
        }
        Ok(())
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Fail> {
        match value {
            Value::Nil => self.push(b"null"),
            Value::Bool(b) => self.push(b.to_string().as_bytes()),
            Value::Int(i) | Value::Int64(i) => self.push(i.to_string().as_bytes()),
            Value::Byte(b) => self.push(b.to_string().as_bytes()),
            Value::Float(f) => {
                let text = float(*f)?;
                self.push(text.as_bytes())
            }
            Value::Text(text) => self.text(text),
            Value::Time(time) => self.text(time.rfc3339().as_bytes()),
            Value::List(list) if list.is_nil() => self.push(b"null"),
            Value::Map(map) if map.is_nil() => self.push(b"null"),
            Value::List(list) => {
                self.meter.nest(depth)?;
                let items = list.items().iter().map(|item| (None, item.clone())).collect();
                self.collection(items, (b"[", b"]"), depth)
            }
            Value::Map(map) => {
                self.meter.nest(depth)?;
                let entries = map.entries().into_iter().map(|(key, item)| (Some(key), item)).collect();
                self.collection(entries, (b"{", b"}"), depth)
            }
        }
    }

    fn collection(
        &mut self,
        items: Vec<(Option<super::super::value::Text>, Value)>,
        (open, close): (&[u8], &[u8]),
        depth: usize,
    ) -> Result<(), Fail> {
        self.push(open)?;
        let is_empty = items.is_empty();
        for (index, (key, item)) in items.into_iter().enumerate() {
            if index > 0 {
                self.push(b",")?;
            }
            self.line(depth + 1)?;
            if let Some(key) = key {
                self.text(&key)?;
                self.push(if self.style.pretty { b": " } else { b":" })?;
            }
            self.value(&item, depth + 1)?;
        }
        if !is_empty {
            self.line(depth)?;
        }
        self.push(close)
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Fail> {
        self.push(b"\"")?;
        let valid = String::from_utf8_lossy(text);
        let is_lossy = matches!(valid, std::borrow::Cow::Owned(_));
        let mut plain = 0;
        for (at, c) in valid.char_indices() {
            let escaped = match c {
                '"' | '\\' => format!("\\{c}"),
                '\u{8}' => "\\b".into(),
                '\u{c}' => "\\f".into(),
                '\n' => "\\n".into(),
                '\r' => "\\r".into(),
                '\t' => "\\t".into(),
                '\0'..'\u{20}' | '\u{2028}' | '\u{2029}' => format!("\\u{:04x}", u32::from(c)),
                '<' | '>' | '&' if self.style.html => format!("\\u{:04x}", u32::from(c)),
                // Go writes what is no character as an escape.
                '\u{fffd}' if is_lossy => "\\ufffd".into(),
                _ => continue,
            };
            self.push(&valid.as_bytes()[plain..at])?;
            self.push(escaped.as_bytes())?;
            plain = at + c.len_utf8();
        }
        self.push(&valid.as_bytes()[plain..])?;
        self.push(b"\"")
    }
}

/// A float as Go's JSON has it: with an exponent below 1e-6 and from 1e21 on.
fn float(f: f64) -> Result<String, Fail> {
    if !f.is_finite() {
        let text = format_float(f, Notation::General, None);
        return Err(format!("json: unsupported value: {text}").into());
    }
    if f != 0.0 && !(1e-6..1e21).contains(&f.abs()) {
        let text = format_float(f, Notation::Exponent, None);
        // e-09 is written e-9
        return Ok(text.replace("e-0", "e-"));
    }
    Ok(format_float(f, Notation::Fixed, None))
}

/// A value as JSON data; nil lists and maps are null.
pub(super) fn to_json(value: &Value, meter: &mut Meter, depth: usize) -> Result<Json, Fail> {
    meter.nest(depth)?;
    Ok(match value {
        Value::Nil => Json::Null,
        Value::Bool(b) => Json::Bool(*b),
        Value::Int(i) | Value::Int64(i) => Json::from(*i),
        Value::Byte(b) => Json::from(*b),
        Value::Float(f) => match Number::from_f64(*f) {
            Some(number) => Json::Number(number),
            None => return float(*f).map(Json::String),
        },
        Value::Text(text) => {
            meter.grow(0, text.len())?;
            Json::String(String::from_utf8_lossy(text).into_owned())
        }
        Value::Time(time) => Json::String(time.rfc3339()),
        Value::List(list) if list.is_nil() => Json::Null,
        Value::Map(map) if map.is_nil() => Json::Null,
        Value::List(list) => {
            let items = list.items().iter().map(|item| to_json(item, meter, depth + 1));
            Json::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Map(map) => {
            let mut entries = JsonMap::new();
            for (key, item) in map.entries() {
                entries.insert(String::from_utf8_lossy(&key).into_owned(), to_json(&item, meter, depth + 1)?);
            }
            Json::Object(entries)
        }
    })
}
