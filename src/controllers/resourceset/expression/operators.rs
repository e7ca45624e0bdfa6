//! Operators: arithmetic that refuses to overflow, order, membership, and access by key or place.

use std::cmp::Ordering;
use std::sync::Arc;

use cel::common::ast::operators as op;

use super::evaluate::Run;
use super::time;
use super::value::{Answer, Failure, Key, Value};

/// Calls an operator; `None` when the name is none.
pub(super) fn call(run: &mut Run<'_>, name: &str, args: &[Value]) -> Option<Answer> {
    let answer = match (name, args) {
        (op::EQUALS | op::NOT_EQUALS, [a, b]) => {
            run.pay_for(a).map(|()| Value::Bool(a.equals(b) == (name == op::EQUALS)))
        }
        (op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS, [a, b]) => ordered(run, name, a, b),
        (op::IN, [a, b]) => contains(run, a, b),
        (op::LOGICAL_NOT, [Value::Bool(b)]) => Ok(Value::Bool(!b)),
        (op::NEGATE, [a]) => negate(a),
        (op::ADD, [a, b]) => add(run, a, b),
        (op::SUBSTRACT, [a, b]) => subtract(a, b),
        (op::MULTIPLY, [a, b]) => scale(op::MULTIPLY, a, b),
        (op::DIVIDE, [a, b]) => scale(op::DIVIDE, a, b),
        (op::MODULO, [a, b]) => scale(op::MODULO, a, b),
        (op::LOGICAL_NOT, _) => Err(Failure::function(name)),
        _ => return None,
    };
    Some(answer)
}

fn ordered(run: &mut Run<'_>, name: &str, a: &Value, b: &Value) -> Answer {
    run.pay_for(a)?;
    let order = a.order(b, name)?;
    Ok(Value::Bool(match name {
        op::LESS => order == Some(Ordering::Less),
        op::LESS_EQUALS => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        op::GREATER => order == Some(Ordering::Greater),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }))
}

/// Whether a list has an element, or a map a key.
pub(super) fn contains(run: &mut Run<'_>, item: &Value, all: &Value) -> Answer {
    match all {
        Value::List(items) => {
            for other in items.iter() {
                run.pay_for(other)?;
                if item.equals(other) {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        Value::Map(entries) => Ok(Value::Bool(Key::of(item).is_some_and(|key| entries.contains_key(&key)))),
        _ => Err(Failure::overload()),
    }
}

fn overflow() -> Failure {
    Failure::new("integer overflow")
}

fn unsigned_overflow() -> Failure {
    Failure::new("unsigned integer overflow")
}

fn negate(a: &Value) -> Answer {
    match a {
        Value::Int(i) => i.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Double(d) => Ok(Value::Double(-d)),
        Value::Span(span) => span.checked_neg().map(Value::Span).ok_or_else(|| Failure::new("duration overflow")),
        _ => Err(Failure::function(op::NEGATE)),
    }
}

fn add(run: &mut Run<'_>, a: &Value, b: &Value) -> Answer {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.checked_add(*b).map(Value::Int).ok_or_else(overflow),
        (Value::Uint(a), Value::Uint(b)) => a.checked_add(*b).map(Value::Uint).ok_or_else(unsigned_overflow),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::Text(x), Value::Text(y)) => {
            run.pay_for(a)?;
            run.pay_for(b)?;
            Ok(Value::Text(format!("{x}{y}").into()))
        }
        (Value::Bytes(x), Value::Bytes(y)) => {
            run.pay_for(a)?;
            run.pay_for(b)?;
            Ok(Value::Bytes([&x[..], &y[..]].concat().into()))
        }
        (Value::List(x), Value::List(y)) => {
            run.pay((x.len() + y.len()) as u64)?;
            Ok(Value::List(Arc::new(x.iter().chain(y.iter()).cloned().collect())))
        }
        (Value::Span(_) | Value::Time(_), _) => time::add(a, b),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Text(_) | Value::Bytes(_) | Value::List(_), _) => {
            Err(Failure::overload())
        }
        _ => Err(Failure::function(op::ADD)),
    }
}

fn subtract(a: &Value, b: &Value) -> Answer {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.checked_sub(*b).map(Value::Int).ok_or_else(overflow),
        (Value::Uint(a), Value::Uint(b)) => a.checked_sub(*b).map(Value::Uint).ok_or_else(unsigned_overflow),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Span(_) | Value::Time(_), _) => time::subtract(a, b),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), _) => Err(Failure::overload()),
        _ => Err(Failure::function(op::SUBSTRACT)),
    }
}

/// Multiplication, division and remainder.
fn scale(name: &str, a: &Value, b: &Value) -> Answer {
    let zero = || Failure::new(if name == op::MODULO { "modulus by zero" } else { "division by zero" });
    match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) if name != op::MULTIPLY => Err(zero()),
        (Value::Int(a), Value::Int(b)) => match name {
            op::MULTIPLY => a.checked_mul(*b),
            op::DIVIDE => a.checked_div(*b),
            _ => a.checked_rem(*b),
        }
        .map(Value::Int)
        .ok_or_else(overflow),
        (Value::Uint(a), Value::Uint(b)) => match name {
            op::MULTIPLY => a.checked_mul(*b),
            op::DIVIDE => a.checked_div(*b),
            _ => a.checked_rem(*b),
        }
        .map(Value::Uint)
        .ok_or_else(unsigned_overflow),
        (Value::Double(a), Value::Double(b)) if name == op::MULTIPLY => Ok(Value::Double(a * b)),
        (Value::Double(a), Value::Double(b)) if name == op::DIVIDE => Ok(Value::Double(a / b)),
        (Value::Int(_) | Value::Uint(_), _) => Err(Failure::overload()),
        (Value::Double(_), _) if name != op::MODULO => Err(Failure::overload()),
        _ => Err(Failure::function(name)),
    }
}

/// The value at a key or place.
pub(super) fn index(value: &Value, key: &Value) -> Answer {
    match value {
        // A part of what may be absent may be absent.
        Value::Optional(Some(inner)) => optional_index(inner, key),
        Value::Optional(None) => Ok(Value::Optional(None)),
        Value::List(_) => find(value, key)?.ok_or_else(|| Failure::new(format!("index out of bounds: {key}"))),
        _ => find(value, key)?.ok_or_else(|| Failure::new(format!("no such key: {key}"))),
    }
}

/// The value at a key or place, if there is one.
pub(super) fn optional_index(value: &Value, key: &Value) -> Answer {
    match value {
        Value::Optional(Some(inner)) => optional_index(inner, key),
        Value::Optional(None) => Ok(Value::Optional(None)),
        _ => Ok(Value::Optional(find(value, key)?.map(Arc::new))),
    }
}

/// Looks a key or place up. Nothing but lists and maps has any.
pub(super) fn find(value: &Value, key: &Value) -> Result<Option<Value>, Failure> {
    match value {
        Value::Map(entries) => Ok(Key::of(key).and_then(|key| entries.get(&key).cloned())),
        Value::List(items) => match (key, Key::of(key)) {
            (Value::Int(_) | Value::Uint(_) | Value::Double(_), Some(Key::Number(at))) => {
                Ok(usize::try_from(at).ok().and_then(|at| items.get(at).cloned()))
            }
            (Value::Double(d), _) => Err(Failure::new(format!("unsupported index value {d} in list"))),
            _ => Err(Failure::new(format!("unsupported index type '{}' in list", key.type_name()))),
        },
        _ => Ok(None),
    }
}
