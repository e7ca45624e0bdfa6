//! The functions that Go's `text/template` has by itself.

use super::super::exec::{Fail, Held};
use super::super::format;
use super::super::value::{Element, Value};
use super::Type::{Any, Raw, Text};
use super::{Action, Context, Definition, Given, function, text};

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition { name: "and", parameters: &[Raw, Raw], is_variadic: true, gives_interface: false, action: Action::And },
    Definition { name: "or", parameters: &[Raw, Raw], is_variadic: true, gives_interface: false, action: Action::Or },
    Definition {
        name: "call",
        parameters: &[Raw, Raw],
        is_variadic: true,
        gives_interface: false,
        action: Action::Call,
    },
    Definition::raw("not", &[Raw], |_, args| Ok(Held::concrete((!args[0].value.is_true()).into()))),
    Definition::raw("len", &[Raw], length),
    Definition::raw("index", &[Raw, Raw], index).variadic(),
    function("print", &[Any], |cx, args| Ok(format::sprint(args, &mut cx.run.meter)?.into())).variadic(),
    function("println", &[Any], |cx, args| Ok(format::sprintln(args, &mut cx.run.meter)?.into())).variadic(),
    function("printf", &[Text, Any], |cx, args| {
        Ok(format::sprintf(text(args, 0), &args[1..], &mut cx.run.meter)?.into())
    })
    .variadic(),
    function("html", &[Any], |cx, args| escaped(cx, args, html)).variadic(),
    function("js", &[Any], |cx, args| escaped(cx, args, js)).variadic(),
    function("urlquery", &[Any], |cx, args| escaped(cx, args, url_query)).variadic(),
    Definition::raw("eq", &[Raw, Raw], |cx, args| answer(equal(cx, args))).variadic(),
    Definition::raw("ne", &[Raw, Raw], |cx, args| answer(equal(cx, args).map(|equal| !equal))),
    Definition::raw("lt", &[Raw, Raw], |_, args| answer(less(args))),
    Definition::raw("le", &[Raw, Raw], |cx, args| answer(less_or_equal(cx, args))),
    Definition::raw("gt", &[Raw, Raw], |cx, args| answer(less_or_equal(cx, args).map(|le| !le))),
    Definition::raw("ge", &[Raw, Raw], |_, args| answer(less(args).map(|lt| !lt))),
];

fn answer(result: Result<bool, Fail>) -> Result<Held, Fail> {
    result.map(|b| Held::concrete(b.into()))
}

#[expect(clippy::cast_possible_wrap, reason = "nothing in memory is that long")]
fn length(_: &mut Context<'_, '_>, args: &[Held]) -> Result<Held, Fail> {
    let length = match &args[0].value {
        Value::Text(text) => text.len(),
        Value::List(list) => list.items().len(),
        Value::Map(map) => map.len(),
        Value::Nil if args[0].is_interface => return Err("len of nil pointer".into()),
        Value::Nil => return Err("reflect: call of reflect.Value.Type on zero Value".into()),
        other => return Err(format!("len of type {}", other.type_name()).into()),
    };
    Ok(Held::concrete(Value::Int(length as i64)))
}

fn index(_: &mut Context<'_, '_>, args: &[Held]) -> Result<Held, Fail> {
    let Some((first, indexes)) = args.split_first() else { return Ok(Held::default()) };
    if first.value.is_nil() {
        return Err("index of untyped nil".into());
    }
    let mut item = first.clone();
    for index in indexes {
        item = match &item.value {
            Value::Nil => return Err("index of nil pointer".into()),
            Value::List(list) => {
                let at = position(&index.value, list.items().len())?;
                let value = list.items().get(at).cloned();
                let value = value.ok_or_else(|| Fail::from("reflect: slice index out of range"))?;
                Held { value, is_interface: list.element() == Element::Any }
            }
            Value::Text(text) => {
                let at = position(&index.value, text.len())?;
                let byte = text.get(at).ok_or_else(|| Fail::from("reflect: string index out of range"))?;
                Held::concrete(Value::Byte(*byte))
            }
            Value::Map(map) => {
                let key = match &index.value {
                    Value::Text(key) => key,
                    Value::Nil => return Err("value is nil; should be of type string".into()),
                    other => {
                        return Err(format!("value has type {}; should be string", other.type_name()).into());
                    }
                };
                match (map.get(key), map.element()) {
                    (value, Element::Any) => Held::interface(value.unwrap_or_default()),
                    (value, _) => Held::concrete(value.unwrap_or_else(|| "".into())),
                }
            }
            other => return Err(format!("can't index item of type {}", other.type_name()).into()),
        };
    }
    Ok(item)
}

fn position(index: &Value, length: usize) -> Result<usize, Fail> {
    let position = match index {
        Value::Int(i) | Value::Int64(i) => *i,
        Value::Byte(b) => i64::from(*b),
        Value::Nil => return Err("cannot index slice/array with nil".into()),
        other => return Err(format!("cannot index slice/array with type {}", other.type_name()).into()),
    };
    match usize::try_from(position) {
        Ok(at) if at <= length => Ok(at),
        _ => Err(format!("index out of range: {position}").into()),
    }
}

/// What comparisons tell apart.
#[derive(PartialEq, Eq)]
enum Basic {
    Other,
    Bool,
    Int,
    Uint,
    Float,
    Text,
}

fn basic(value: &Value) -> Basic {
    match value {
        Value::Bool(_) => Basic::Bool,
        Value::Int(_) | Value::Int64(_) => Basic::Int,
        Value::Byte(_) => Basic::Uint,
        Value::Float(_) => Basic::Float,
        Value::Text(_) => Basic::Text,
        Value::Nil | Value::List(_) | Value::Map(_) | Value::Time(_) => Basic::Other,
    }
}

fn incompatible(a: &Value, b: &Value) -> Fail {
    format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name()).into()
}

/// Whether the first argument equals any of the others.
#[expect(clippy::float_cmp, reason = "eq compares exactly")]
fn equal(cx: &mut Context<'_, '_>, args: &[Held]) -> Result<bool, Fail> {
    let Some((first, others)) = args.split_first() else { return Ok(false) };
    if others.is_empty() {
        return Err("missing argument for comparison".into());
    }
    let a = &first.value;
    for other in others {
        let same = match (a, &other.value) {
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a) | Value::Int64(a), Value::Int(b) | Value::Int64(b)) => a == b,
            (Value::Int(i) | Value::Int64(i), Value::Byte(b)) | (Value::Byte(b), Value::Int(i) | Value::Int64(i)) => {
                *i == i64::from(*b)
            }
            (Value::Byte(a), Value::Byte(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::Text(a), Value::Text(b)) => a == b,
            (a, b) if basic(a) == Basic::Other && basic(b) == Basic::Other => same_other(cx, a, b)?,
            (Value::Nil, _) | (_, Value::Nil) => false,
            (a, b) => return Err(incompatible(a, b)),
        };
        if same {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Compares what is neither number, text nor bool: only nil and times can be.
fn same_other(cx: &mut Context<'_, '_>, a: &Value, b: &Value) -> Result<bool, Fail> {
    let is_nil = |value: &Value| match value {
        Value::Nil => true,
        Value::List(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        _ => false,
    };
    let shown = |cx: &mut Context<'_, '_>, verb: &[u8], value: &Value| {
        let text = format::sprintf(verb, std::slice::from_ref(value), &mut cx.run.meter)?;
        Ok::<_, Fail>(String::from_utf8_lossy(&text).into_owned())
    };
    if !a.is_nil() && !b.is_nil() && a.kind_name() != b.kind_name() {
        let (a_text, b_text) = (shown(cx, b"%s", a)?, shown(cx, b"%v", b)?);
        let message = format!("non-comparable types {a_text}: {}, {}: {b_text}", a.type_name(), b.type_name());
        return Err(message.into());
    }
    if is_nil(a) || is_nil(b) {
        return Ok(is_nil(a) == is_nil(b));
    }
    match (a, b) {
        (Value::Time(a), Value::Time(b)) => Ok(a == b),
        _ => Err(format!("non-comparable type {}: {}", shown(cx, b"%s", b)?, b.type_name()).into()),
    }
}

fn less(args: &[Held]) -> Result<bool, Fail> {
    let (a, b) = (&args[0].value, &args[1].value);
    const BAD: &str = "invalid type for comparison";
    if basic(a) == Basic::Other || basic(b) == Basic::Other {
        return Err(BAD.into());
    }
    match (a, b) {
        (Value::Bool(_), Value::Bool(_)) => Err(BAD.into()),
        (Value::Int(a) | Value::Int64(a), Value::Int(b) | Value::Int64(b)) => Ok(a < b),
        (Value::Int(a) | Value::Int64(a), Value::Byte(b)) => Ok(*a < i64::from(*b)),
        (Value::Byte(a), Value::Int(b) | Value::Int64(b)) => Ok(i64::from(*a) < *b),
        (Value::Byte(a), Value::Byte(b)) => Ok(a < b),
        (Value::Float(a), Value::Float(b)) => Ok(a < b),
        (Value::Text(a), Value::Text(b)) => Ok(a < b),
        (a, b) => Err(incompatible(a, b)),
    }
}

fn less_or_equal(cx: &mut Context<'_, '_>, args: &[Held]) -> Result<bool, Fail> {
    Ok(less(args)? || equal(cx, args)?)
}

fn escaped(cx: &mut Context<'_, '_>, args: &[Value], escape: fn(&[u8]) -> Vec<u8>) -> Given {
    let shown: Vec<Value> =
        args.iter().map(|arg| if arg.is_nil() { "<no value>".into() } else { arg.clone() }).collect();
    let text = format::sprint(&shown, &mut cx.run.meter)?;
    cx.text_of_length(text.len().saturating_mul(6))?;
    Ok(escape(&text).into())
}

fn html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for b in text {
        match b {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b => out.push(*b),
        }
    }
    out
}

fn js(mut text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    while let [first, ..] = text {
        let (c, size) = format::next_char(text);
        let escaped = match c {
            None => "\u{fffd}".to_owned(),
            Some(c @ ('\\' | '\'' | '"')) => format!("\\{c}"),
            Some('<' | '>' | '&' | '=' | '\0'..='\u{1f}') => format!("\\u{first:04X}"),
            Some(c) if c.is_ascii() || format::is_printable(c) => c.to_string(),
            Some(c) => format!("\\u{:04X}", u32::from(c)),
        };
        out.extend_from_slice(escaped.as_bytes());
        text = &text[size..];
    }
    out
}

/// Go's `url.QueryEscape`.
fn url_query(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for b in text {
        match b {
            b' ' => out.push(b'+'),
            b'-' | b'_' | b'.' | b'~' => out.push(*b),
            b if b.is_ascii_alphanumeric() => out.push(*b),
            b => out.extend_from_slice(format!("%{b:02X}").as_bytes()),
        }
    }
    out
}
