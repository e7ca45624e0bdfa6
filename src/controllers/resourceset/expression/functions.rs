//! Functions of the language: sizes, conversions, patterns, optional values, sets and base64. Those of texts and times have
//! files of their own.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use regex::{Regex, RegexBuilder};

use crate::api::duration;

use super::evaluate::Run;
use super::value::{Answer, Failure, Value, double};
use super::{operators, texts, time};

/// Functions that are written like members of a namespace.
pub(super) const NAMESPACED: &[&str] = &[
    "base64.decode",
    "base64.encode",
    "optional.none",
    "optional.of",
    "optional.ofNonZeroValue",
    "sets.contains",
    "sets.equivalent",
    "sets.intersects",
    "strings.quote",
];

/// Functions that convert to a type. Given a constant they are called before any evaluation.
pub(super) const CONVERSIONS: &[&str] =
    &["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"];

/// Calls a function that has no receiver, or an operator.
pub(super) fn call(run: &mut Run<'_>, name: &str, args: &[Value]) -> Answer {
    if let Some(answer) = operators::call(run, name, args) {
        return answer;
    }
    match (name, args) {
        ("size", [value]) => size(value),
        ("type", [value]) => Ok(Value::Type(value.type_name())),
        ("matches", [Value::Text(text), Value::Text(pattern)]) => matches(run, text, pattern),
        (name, [value]) if CONVERSIONS.contains(&name) => convert(name, value),
        ("optional.none", []) => Ok(Value::Optional(None)),
        ("optional.of", [value]) => Ok(Value::some(value.clone())),
        ("optional.ofNonZeroValue", [value]) if value.is_zero() => Ok(Value::Optional(None)),
        ("optional.ofNonZeroValue", [value]) => Ok(Value::some(value.clone())),
        ("sets.contains", [Value::List(a), Value::List(b)]) => holds(run, a, b).map(Value::Bool),
        ("sets.equivalent", [Value::List(a), Value::List(b)]) => {
            Ok(Value::Bool(holds(run, a, b)? && holds(run, b, a)?))
        }
        ("sets.intersects", [Value::List(a), Value::List(b)]) => intersects(run, a, b),
        ("base64.encode", [Value::Bytes(bytes)]) => {
            run.pay(bytes.len() as u64 / 8)?;
            Ok(Value::text(&STANDARD.encode(bytes)))
        }
        ("base64.decode", [Value::Text(text)]) => decode(run, text),
        ("strings.quote", [Value::Text(text)]) => texts::quote(run, text),
        (name, args) if NAMESPACED.contains(&name) || CONVERSIONS.contains(&name) => Err(signature(name, args)),
        ("matches", [_, _]) => Err(Failure::overload()),
        (name, _) => Err(Failure::function(name)),
    }
}

/// Calls a function on a receiver, which is the first of `args`.
pub(super) fn member(run: &mut Run<'_>, name: &str, args: &[Value]) -> Answer {
    match (name, args) {
        ("size", [value]) => size(value),
        ("matches", [Value::Text(text), Value::Text(pattern)]) => matches(run, text, pattern),
        (_, [Value::Text(text), rest @ ..]) => texts::member(run, name, text, rest),
        ("join", [Value::List(items), rest @ ..]) => texts::join(run, items, rest),
        (_, [value @ (Value::Time(_) | Value::Span(_)), rest @ ..]) => time::member(name, value, rest),
        _ => Err(if texts::NAMES.contains(&name) { signature(name, args) } else { Failure::function(name) }),
    }
}

/// A function that exists, but not for these types.
pub(super) fn signature(name: &str, args: &[Value]) -> Failure {
    let types: Vec<&str> = args.iter().map(Value::type_name).collect();
    Failure::new(format!("no such overload: {name}({})", types.join(", ")))
}

fn size(value: &Value) -> Answer {
    Ok(Value::count(match value {
        Value::Text(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(entries) => entries.len(),
        _ => return Err(Failure::function("size")),
    }))
}

/// Compiles a pattern, of a bounded size.
pub(super) fn compile(pattern: &str) -> Result<Regex, Failure> {
    let compiled = RegexBuilder::new(pattern).size_limit(1 << 20).dfa_size_limit(1 << 20).build();
    compiled.map_err(|e| {
        let text = e.to_string();
        let cause = text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
        Failure::new(format!("error parsing regexp: {cause}: `{pattern}`"))
    })
}

fn matches(run: &mut Run<'_>, text: &str, pattern: &Arc<str>) -> Answer {
    run.pay(text.len() as u64 / 4)?;
    Ok(Value::Bool(run.pattern(pattern)?.is_match(text)))
}

/// Whether all of `b` is in `a`.
fn holds(run: &mut Run<'_>, a: &Arc<Vec<Value>>, b: &[Value]) -> Result<bool, Failure> {
    let all = Value::List(Arc::clone(a));
    for item in b {
        if !matches!(operators::contains(run, item, &all)?, Value::Bool(true)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects(run: &mut Run<'_>, a: &Arc<Vec<Value>>, b: &[Value]) -> Answer {
    let all = Value::List(Arc::clone(a));
    for item in b {
        if matches!(operators::contains(run, item, &all)?, Value::Bool(true)) {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// Padding may be left out.
fn decode(run: &mut Run<'_>, text: &str) -> Answer {
    run.pay(text.len() as u64 / 8)?;
    let decoded = STANDARD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text));
    decoded.map(|bytes| Value::Bytes(bytes.into())).map_err(|_| Failure::new("illegal base64 data"))
}

/// The type that a conversion makes, as messages name it.
fn made(name: &str) -> &str {
    match name {
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        other => other,
    }
}

pub(super) fn convert(name: &str, value: &Value) -> Answer {
    let refused = || Failure::new(format!("type conversion error from '{}' to '{}'", value.type_name(), made(name)));
    if name == "dyn" || made(name) == value.type_name() {
        return Ok(value.clone());
    }
    match (name, value) {
        ("bool", Value::Text(text)) => match text.as_ref() {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => Err(refused()),
        },
        ("bytes", Value::Text(text)) => Ok(Value::Bytes(text.as_bytes().into())),
        ("string", value) => string(value).ok_or_else(|| signature(name, std::slice::from_ref(value)))?,
        ("double" | "int" | "uint", value) => number(name, value, refused),
        ("duration", Value::Text(text)) => duration::parse(text).map(Value::Span).map_err(|_| refused()),
        ("timestamp", Value::Text(text)) => text.parse().map(Value::Time).map_err(|_| refused()),
        ("timestamp", Value::Int(seconds)) => {
            jiff::Timestamp::from_second(*seconds).map(Value::Time).map_err(|_| time::out_of_range())
        }
        _ => Err(signature(name, std::slice::from_ref(value))),
    }
}

fn string(value: &Value) -> Option<Answer> {
    Some(Ok(Value::text(&match value {
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Uint(u) => u.to_string(),
        Value::Double(d) => double(*d),
        Value::Span(span) => time::seconds(*span),
        Value::Time(at) => at.to_string(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Some(Err(Failure::new("invalid UTF-8 in bytes, cannot convert to string"))),
        },
        _ => return None,
    })))
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "conversions of the language, their ranges checked"
)]
fn number(name: &str, value: &Value, refused: impl Fn() -> Failure) -> Answer {
    let overflow = || Failure::new(if name == "uint" { "unsigned integer overflow" } else { "integer overflow" });
    match (name, value) {
        ("double", Value::Int(i)) => Ok(Value::Double(*i as f64)),
        ("double", Value::Uint(u)) => Ok(Value::Double(*u as f64)),
        ("double", Value::Text(text)) => text.parse().map(Value::Double).map_err(|_| refused()),
        ("int", Value::Uint(u)) => i64::try_from(*u).map(Value::Int).map_err(|_| overflow()),
        ("int", Value::Double(d)) if d.abs() < 9_223_372_036_854_775_807.0 => Ok(Value::Int(*d as i64)),
        ("int", Value::Text(text)) => text.parse().map(Value::Int).map_err(|_| refused()),
        ("int", Value::Time(at)) => Ok(Value::Int(at.as_second())),
        ("int", Value::Span(span)) => Ok(Value::Int(*span)),
        ("uint", Value::Int(i)) => u64::try_from(*i).map(Value::Uint).map_err(|_| overflow()),
        ("uint", Value::Double(d)) if (0.0..18_446_744_073_709_551_615.0).contains(d) => Ok(Value::Uint(*d as u64)),
        ("uint", Value::Text(text)) => text.parse().map(Value::Uint).map_err(|_| refused()),
        (_, Value::Double(_)) => Err(overflow()),
        _ => Err(signature(name, std::slice::from_ref(value))),
    }
}
