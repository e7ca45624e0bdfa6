//! Arithmetic: everything is made an `int64` or a `float64` first, and what is no number counts as zero.

use super::super::exec::Fail;
use super::super::strconv;
use super::super::value::{Element, List, Value};
use super::Type::{Any, Float, Int, Text};
use super::{Context, Definition, Given, function, int, string};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("atoi", &[Text], |_, args| Ok(Value::Int(strconv::nearest_int(&string(args, 0))))),
    function("int", &[Any], |_, args| Ok(Value::Int(to_int(&args[0])))),
    function("int64", &[Any], |_, args| Ok(Value::Int64(to_int(&args[0])))),
    function("float64", &[Any], |_, args| Ok(Value::Float(to_float(&args[0])))),
    function("toDecimal", &[Any], |cx, args| {
        let text = cx.text_of(&args[0])?;
        let number = std::str::from_utf8(&text).ok().and_then(|text| strconv::parse_int(text, 8).ok());
        Ok(Value::Int64(number.unwrap_or(0)))
    }),
    function("add1", &[Any], |_, args| Ok(Value::Int64(to_int(&args[0]).wrapping_add(1)))),
    function("add", &[Any], |_, args| Ok(folded(args, i64::wrapping_add))).variadic(),
    function("sub", &[Any, Any], |_, args| Ok(folded(args, i64::wrapping_sub))),
    function("mul", &[Any, Any], |_, args| Ok(folded(args, i64::wrapping_mul))).variadic(),
    function("div", &[Any, Any], |_, args| divided(args, i64::wrapping_div)),
    function("mod", &[Any, Any], |_, args| divided(args, i64::wrapping_rem)),
    function("max", &[Any, Any], |_, args| Ok(folded(args, i64::max))).variadic(),
    function("biggest", &[Any, Any], |_, args| Ok(folded(args, i64::max))).variadic(),
    function("min", &[Any, Any], |_, args| Ok(folded(args, i64::min))).variadic(),
    function("maxf", &[Any, Any], |_, args| Ok(folded_floats(args, maximum))).variadic(),
    function("minf", &[Any, Any], |_, args| Ok(folded_floats(args, |a, b| -maximum(-a, -b)))).variadic(),
    function("ceil", &[Any], |_, args| Ok(Value::Float(to_float(&args[0]).ceil()))),
    function("floor", &[Any], |_, args| Ok(Value::Float(to_float(&args[0]).floor()))),
    function("round", &[Any, Int, Float], |_, args| {
        let on = args.get(2).map_or(0.5, to_float);
        Ok(Value::Float(round(to_float(&args[0]), int(args, 1), on)))
    })
    .variadic(),
    function("randInt", &[Int, Int], random),
    function("seq", &[Int], sequence).variadic(),
    function("until", &[Int], |cx, args| {
        let count = int(args, 0);
        let numbers = steps(cx, 0, count, if count < 0 { -1 } else { 1 })?;
        Ok(ints(numbers))
    }),
    function("untilStep", &[Int, Int, Int], |cx, args| Ok(ints(steps(cx, int(args, 0), int(args, 1), int(args, 2))?))),
];

/// A value as an integer, as sprig's `toInt64` makes one.
pub(super) fn to_int(value: &Value) -> i64 {
    match value {
        Value::Text(text) => {
            std::str::from_utf8(text).ok().and_then(|text| strconv::parse_int(text, 10).ok()).unwrap_or(0)
        }
        Value::Int(i) | Value::Int64(i) => *i,
        Value::Byte(b) => i64::from(*b),
        Value::Float(f) => truncated(*f),
        Value::Bool(b) => i64::from(*b),
        Value::Nil | Value::List(_) | Value::Map(_) | Value::Time(_) => 0,
    }
}

/// A float without its fraction; one that does not fit becomes the smallest integer, as on amd64.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(super) fn truncated(f: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&f) { f as i64 } else { i64::MIN }
}

/// A value as a float, as sprig's `toFloat64` makes one.
#[expect(clippy::cast_precision_loss, reason = "rounded, as in Go")]
pub(super) fn to_float(value: &Value) -> f64 {
    match value {
        Value::Text(text) => {
            std::str::from_utf8(text).ok().and_then(|text| strconv::parse_float(text).ok()).unwrap_or(0.0)
        }
        Value::Int(i) | Value::Int64(i) => *i as f64,
        Value::Byte(b) => f64::from(*b),
        Value::Float(f) => *f,
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::Nil | Value::List(_) | Value::Map(_) | Value::Time(_) => 0.0,
    }
}

fn folded(args: &[Value], combine: fn(i64, i64) -> i64) -> Value {
    Value::Int64(args.iter().map(to_int).reduce(combine).unwrap_or(0))
}

fn folded_floats(args: &[Value], combine: fn(f64, f64) -> f64) -> Value {
    Value::Float(args.iter().map(to_float).reduce(combine).unwrap_or(0.0))
}

/// Go's `math.Max`: what is no number wins, and zero beats minus zero.
fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return if a == f64::INFINITY || b == f64::INFINITY { f64::INFINITY } else { f64::NAN };
    }
    if a == 0.0 && b == 0.0 { if a.is_sign_negative() { b } else { a } } else { a.max(b) }
}

fn divided(args: &[Value], divide: fn(i64, i64) -> i64) -> Given {
    let (a, b) = (to_int(&args[0]), to_int(&args[1]));
    if b == 0 { Err("runtime error: integer divide by zero".into()) } else { Ok(Value::Int64(divide(a, b))) }
}

fn round(value: f64, places: i64, on: f64) -> f64 {
    let power = ten_to(places);
    let digit = power * value;
    let rounded = if digit.fract() >= on { digit.ceil() } else { digit.floor() };
    rounded / power
}

/// Ten to a power by squaring, as Go's `math.Pow` does it.
fn ten_to(exponent: i64) -> f64 {
    let (mut result, mut base, mut left) = (1.0, 10.0, exponent.unsigned_abs());
    while left > 0 {
        if left & 1 == 1 {
            result *= base;
        }
        base *= base;
        left >>= 1;
    }
    if exponent < 0 { 1.0 / result } else { result }
}

fn random(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let (min, max) = (int(args, 0), int(args, 1));
    let below = u64::try_from(max.wrapping_sub(min)).ok().filter(|below| *below > 0);
    let below = below.ok_or_else(|| Fail::from("invalid argument to Intn"))?;
    let random = cx.run.settings.random.as_ref().ok_or_else(|| Fail::from("random numbers are not available here"))?;
    let offset = i64::try_from(random(below) % below).unwrap_or(0);
    Ok(Value::Int(min.wrapping_add(offset)))
}

/// The numbers from one to before another; none when the step goes the other way.
fn steps(cx: &mut Context<'_, '_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>, Fail> {
    let goes_there = if stop < start { step < 0 } else { step > 0 };
    if !goes_there {
        return Ok(Vec::new());
    }
    let (distance, stride) = (start.abs_diff(stop), step.unsigned_abs());
    let count = usize::try_from(distance.div_ceil(stride)).unwrap_or(usize::MAX);
    cx.list_of(count)?;
    Ok((0..count)
        .scan(start, |next, _| {
            let current = *next;
            *next = next.wrapping_add(step);
            Some(current)
        })
        .collect())
}

fn ints(numbers: Vec<i64>) -> Value {
    Value::List(List::new(Element::Int, numbers.into_iter().map(Value::Int).collect()))
}

/// `seq end`, `seq start end`, `seq start step end`: the end is included.
fn sequence(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let numbers: Vec<i64> = (0..args.len()).map(|index| int(args, index)).collect();
    let (start, step, end) = match numbers.as_slice() {
        [end] => (1, if *end < 1 { -1 } else { 1 }, *end),
        [start, end] => (*start, if end < start { -1 } else { 1 }, *end),
        [start, step, end] if end >= start || *step <= 0 => (*start, *step, *end),
        _ => return Ok("".into()),
    };
    let increment = if end < start { -1 } else { 1 };
    let numbers = steps(cx, start, end.wrapping_add(increment), step)?;
    let shown: Vec<String> = numbers.iter().map(i64::to_string).collect();
    Ok(shown.join(" ").into())
}
