//! From a flag's text to its value, with the rules and error texts of Go's `strconv` and pflag.

use super::{Flag, Kind, csv, duration};

/// A checked value.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cli) enum Value {
    Text(String),
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// Nanoseconds.
    Duration(i64),
    List(Vec<String>),
    /// Of the form `key=value`; a later occurrence replaces those of the same key.
    Pairs(Vec<String>),
}

/// Reads one occurrence of a flag.
pub(super) fn read(kind: Kind, text: &str) -> Result<Value, String> {
    match kind {
        Kind::Text => Ok(Value::Text(text.to_owned())),
        Kind::Bool => bool(text).map(Value::Bool),
        Kind::Int | Kind::Count => int(text).map(Value::Int),
        Kind::Uint => uint(text).map(Value::Uint),
        Kind::Float => float(text).map(Value::Float),
        Kind::Duration => duration::parse(text).map(Value::Duration),
        Kind::List if text.is_empty() => Ok(Value::List(Vec::new())),
        Kind::List => csv::record(text).map(Value::List),
        Kind::Map => pairs(text).map(Value::Pairs),
    }
}

/// pflag's `stringToString`: one pair with equals signs enough is taken as it is, several are one CSV record.
fn pairs(text: &str) -> Result<Vec<String>, String> {
    let pairs = match text.matches('=').count() {
        0 if text.is_empty() => Vec::new(),
        0 => return Err(format!("{text} must be formatted as key=value")),
        1 => vec![text.trim_matches('"').to_owned()],
        _ => csv::record(text)?,
    };
    match pairs.iter().find(|pair| !pair.contains('=')) {
        Some(pair) => Err(format!("{pair} must be formatted as key=value")),
        None => Ok(pairs),
    }
}

/// The default of a flag; an unsigned number may have none.
pub(super) fn default(flag: &Flag) -> Option<Value> {
    if flag.kind == Kind::Uint && flag.default.is_empty() { None } else { read(flag.kind, flag.default).ok() }
}

fn bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {text:?}: invalid syntax")),
    }
}

fn int(text: &str) -> Result<i64, String> {
    let error = |why| format!("strconv.ParseInt: parsing {text:?}: {why}");
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let size = magnitude(rest).map_err(error)?;
    let signed = if negative { 0_i64.checked_sub_unsigned(size) } else { i64::try_from(size).ok() };
    signed.ok_or_else(|| error(OUT_OF_RANGE))
}

fn uint(text: &str) -> Result<u64, String> {
    magnitude(text).map_err(|why| format!("strconv.ParseUint: parsing {text:?}: {why}"))
}

const INVALID: &str = "invalid syntax";
const OUT_OF_RANGE: &str = "value out of range";

/// A number with Go's base prefixes (`0x`, `0o`, `0b`, a leading `0` for octal) and underscores between digits.
fn magnitude(text: &str) -> Result<u64, &'static str> {
    let lower = text.to_ascii_lowercase();
    let (base, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    // An underscore may follow a base prefix, and stands between digits only.
    let body = if base == 10 { digits } else { digits.strip_prefix('_').unwrap_or(digits) };
    let plain = body.replace('_', "");
    let misplaced = body.starts_with('_') || body.ends_with('_') || body.contains("__");
    if plain.is_empty() || misplaced || !plain.chars().all(|c| c.is_digit(base)) {
        return Err(INVALID);
    }
    u64::from_str_radix(&plain, base).map_err(|_| OUT_OF_RANGE)
}

fn float(text: &str) -> Result<f64, String> {
    let bad = text.is_empty() || text.contains(char::is_whitespace);
    let parsed = if bad { None } else { text.parse::<f64>().ok() };
    parsed.ok_or_else(|| format!("strconv.ParseFloat: parsing {text:?}: invalid syntax"))
}
