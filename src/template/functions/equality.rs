//! Go's `reflect.DeepEqual` on the values of templates.

use super::super::exec::{Fail, Meter};
use super::super::value::Value;

/// Whether two values have the same type and the same content. A nil list is not an empty one.
pub(super) fn deep_equal(a: &Value, b: &Value, meter: &mut Meter) -> Result<bool, Fail> {
    compare(a, b, meter, 0)
}

#[expect(clippy::float_cmp, reason = "DeepEqual compares exactly")]
fn compare(a: &Value, b: &Value, meter: &mut Meter, depth: usize) -> Result<bool, Fail> {
    meter.nest(depth)?;
    Ok(match (a, b) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) | (Value::Int64(a), Value::Int64(b)) => a == b,
        (Value::Byte(a), Value::Byte(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Time(a), Value::Time(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            if a.element() != b.element() || a.is_nil() != b.is_nil() || a.items().len() != b.items().len() {
                return Ok(false);
            }
            a.is_same(b) || all(a.items().iter().zip(b.items()), meter, depth)?
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.element() != b.element() || a.is_nil() != b.is_nil() || a.len() != b.len() {
                return Ok(false);
            }
            if a.is_same(b) {
                return Ok(true);
            }
            let (a, b) = (a.entries(), b.entries());
            a.iter().map(|(key, _)| key).eq(b.iter().map(|(key, _)| key))
                && all(a.iter().map(|(_, v)| v).zip(b.iter().map(|(_, v)| v)), meter, depth)?
        }
        _ => false,
    })
}

fn all<'v>(
    mut pairs: impl Iterator<Item = (&'v Value, &'v Value)>,
    meter: &mut Meter,
    depth: usize,
) -> Result<bool, Fail> {
    pairs.try_fold(true, |same, (a, b)| Ok(same && compare(a, b, meter, depth + 1)?))
}
