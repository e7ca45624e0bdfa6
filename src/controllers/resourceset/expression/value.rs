//! Values of expressions: made from JSON, compared across kinds of numbers, named as users know their types.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

/// What an expression gives.
pub(super) type Answer = Result<Value, Failure>;

/// Why an expression gives nothing, in the words that users know from other evaluators of the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure(Arc<str>);

impl Failure {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }

    /// Operands do not fit, and there is no more to say.
    pub(super) fn overload() -> Self {
        Self::new("no such overload")
    }

    /// A function does not exist for anything like its first operand.
    pub(super) fn function(name: &str) -> Self {
        Self::new(format!("no such overload: {name}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value. Copies share what is large.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    List(Arc<Vec<Self>>),
    Map(Arc<Map>),
    Time(Timestamp),
    /// Nanoseconds.
    Span(i64),
    /// A type, by its name.
    Type(&'static str),
    Optional(Option<Arc<Self>>),
}

/// Entries in the order of their keys.
pub(super) type Map = BTreeMap<Key, Value>;

/// A key of a map: equal numbers are equal keys, whatever their types.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Bool(bool),
    Number(i128),
    Text(Arc<str>),
}

impl Key {
    /// The key that a value is; `None` for what cannot be one.
    pub(super) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(b) => Some(Self::Bool(*b)),
            Value::Int(i) => Some(Self::Number((*i).into())),
            Value::Uint(u) => Some(Self::Number((*u).into())),
            #[allow(
                clippy::cast_possible_truncation,
                reason = "it is a whole number, and far below the bounds of i128"
            )]
            Value::Double(d) if d.fract() == 0.0 && d.abs() < 1e30 => Some(Self::Number(*d as i128)),
            Value::Text(text) => Some(Self::Text(Arc::clone(text))),
            _ => None,
        }
    }

    pub(super) fn value(&self) -> Value {
        match self {
            Self::Bool(b) => Value::Bool(*b),
            Self::Number(n) => {
                i64::try_from(*n).map(Value::Int).or_else(|_| u64::try_from(*n).map(Value::Uint)).unwrap_or(Value::Null)
            }
            Self::Text(text) => Value::Text(Arc::clone(text)),
        }
    }
}

impl From<&serde_json::Value> for Value {
    /// Whole numbers that fit are `int`, all others `double`, as unstructured objects have them.
    fn from(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(b) => Self::Bool(*b),
            serde_json::Value::Number(n) => {
                n.as_i64().map_or_else(|| Self::Double(n.as_f64().unwrap_or(f64::NAN)), Self::Int)
            }
            serde_json::Value::String(text) => Self::text(text),
            serde_json::Value::Array(items) => Self::list(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(fields) => {
                let entry = |(key, value): (&String, _)| (Key::Text(key.as_str().into()), Self::from(value));
                Self::Map(Arc::new(fields.iter().map(entry).collect()))
            }
        }
    }
}

impl Value {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(Arc::new(items))
    }

    pub(super) fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// A length or place as a number.
    pub(super) fn count(n: usize) -> Self {
        Self::Int(i64::try_from(n).unwrap_or(i64::MAX))
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Time(_) => "google.protobuf.Timestamp",
            Self::Span(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
        }
    }

    /// The name that messages about loops use for its type.
    pub(super) fn native_name(&self) -> &'static str {
        match self {
            Self::Null => "types.Null",
            Self::Bool(_) => "types.Bool",
            Self::Int(_) => "types.Int",
            Self::Uint(_) => "types.Uint",
            Self::Double(_) => "types.Double",
            Self::Text(_) => "types.String",
            Self::Bytes(_) => "types.Bytes",
            Self::List(_) => "*types.baseList",
            Self::Map(_) => "*types.baseMap",
            Self::Time(_) => "types.Timestamp",
            Self::Span(_) => "types.Duration",
            Self::Type(_) => "*types.Type",
            Self::Optional(_) => "*types.Optional",
        }
    }

    /// Equality, also of unlike types, which are never equal but for numbers.
    pub(super) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Time(a), Self::Time(b)) => a == b,
            (Self::Span(a), Self::Span(b)) => a == b,
            (Self::Type(a), Self::Type(b)) => a == b,
            (Self::List(a), Self::List(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.equals(b)),
            (Self::Map(a), Self::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|((k, a), (l, b))| k == l && a.equals(b))
            }
            (Self::Optional(a), Self::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals(b),
                (a, b) => a.is_none() && b.is_none(),
            },
            _ => numbers(self, other) == Some(Some(Ordering::Equal)),
        }
    }

    /// Order of values that have one; `Ok(None)` for what is not a number.
    pub(super) fn order(&self, other: &Self, function: &str) -> Result<Option<Ordering>, Failure> {
        let order = match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::Time(a), Self::Time(b)) => a.cmp(b),
            (Self::Span(a), Self::Span(b)) => a.cmp(b),
            (Self::Null | Self::List(_) | Self::Map(_) | Self::Type(_) | Self::Optional(_), _) => {
                return Err(Failure::function(function));
            }
            _ => return numbers(self, other).ok_or_else(Failure::overload),
        };
        Ok(Some(order))
    }

    /// How much there is of it, for the cost of looking at all of it. Stops counting at `most`.
    pub(super) fn weight(&self, most: u64) -> u64 {
        let children = |values: &mut dyn Iterator<Item = &Self>| {
            values.fold(1, |sum: u64, v| if sum > most { sum } else { sum + v.weight(most - sum) })
        };
        match self {
            Self::Text(text) => 1 + text.len() as u64 / 16,
            Self::Bytes(bytes) => 1 + bytes.len() as u64 / 16,
            Self::List(items) => children(&mut items.iter()),
            Self::Map(entries) => children(&mut entries.values()),
            Self::Optional(Some(value)) => 1 + value.weight(most),
            _ => 1,
        }
    }

    /// Whether it is what its type has when nothing is set.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Self::Null | Self::Optional(None) => true,
            Self::Bool(b) => !b,
            Self::Int(i) => *i == 0,
            Self::Uint(u) => *u == 0,
            Self::Double(d) => *d == 0.0,
            Self::Text(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
            Self::Span(span) => *span == 0,
            Self::Time(_) | Self::Type(_) | Self::Optional(Some(_)) => false,
        }
    }
}

/// Compares numbers of any types; the outer `None` when one is no number, the inner for what is not a number.
#[allow(clippy::cast_precision_loss, reason = "as the language compares unlike numbers")]
fn numbers(a: &Value, b: &Value) -> Option<Option<Ordering>> {
    let whole = |v: &Value| match v {
        Value::Int(i) => Some(i128::from(*i)),
        Value::Uint(u) => Some(i128::from(*u)),
        _ => None,
    };
    let any = |v: &Value| match v {
        Value::Double(d) => Some(*d),
        other => whole(other).map(|n| n as f64),
    };
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(Some(a.cmp(&b))),
        _ => Some(any(a)?.partial_cmp(&any(b)?)),
    }
}

impl fmt::Display for Value {
    /// As keys and places show in messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::Int(i) => write!(f, "{i}"),
            Self::Uint(u) => write!(f, "{u}"),
            Self::Double(d) => f.write_str(&double(*d)),
            Self::Text(text) => f.write_str(text),
            Self::Type(name) => f.write_str(name),
            other => f.write_str(other.type_name()),
        }
    }
}

/// A number in its shortest form, with an exponent below 1e-4 and from 1e21 on.
pub(super) fn double(d: f64) -> String {
    if d.is_nan() {
        return "NaN".to_owned();
    }
    if d.is_infinite() {
        return if d > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if d == 0.0 || (1e-4..1e21).contains(&d.abs()) {
        return format!("{d}");
    }
    let text = format!("{d:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |e| ("-", e));
    format!("{digits}e{sign}{exponent:0>2}")
}
