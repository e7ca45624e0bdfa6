//! `format`: texts with values put in (`%s %d %f %e %b %x %X %o %%`).

use super::evaluate::Run;
use super::time::seconds;
use super::value::{Answer, Failure, Key, Value, double};

/// Puts values into a text.
pub(super) fn format(run: &mut Run<'_>, text: &str, items: &[Value]) -> Answer {
    let mut out = String::new();
    let mut items = items.iter();
    let mut rest = text;
    let mut used = 0;
    while let Some((before, clause)) = rest.split_once('%') {
        out.push_str(before);
        if let Some(after) = clause.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let (precision, clause) = precision(clause)?;
        let mut letters = clause.chars();
        let verb = letters.next().ok_or_else(|| failed("unexpected end of string"))?;
        let item = items.next().ok_or_else(|| failed(&format!("index {used} out of range")))?;
        used += 1;
        run.pay_for(item)?;
        let shown = put(verb, precision, item).map_err(|why| failed(&why))?;
        super::texts::bounded(run, shown.len() + 16)?;
        out.push_str(&shown);
        rest = letters.as_str();
    }
    out.push_str(rest);
    super::texts::bounded(run, out.len())?;
    Ok(Value::text(&out))
}

fn failed(why: &str) -> Failure {
    Failure::new(format!("error during formatting: {why}"))
}

/// `.3` before a verb.
fn precision(clause: &str) -> Result<(usize, &str), Failure> {
    let Some(digits) = clause.strip_prefix('.') else { return Ok((6, clause)) };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let precision = digits[..end].parse::<usize>().ok().filter(|p| *p <= 100);
    precision.map(|p| (p, &digits[end..])).ok_or_else(|| failed("the precision is no number from 0 to 100"))
}

fn put(verb: char, precision: usize, item: &Value) -> Result<String, String> {
    let wrong = |what: &str| Err(format!("{what} clause can only be used on numbers, was given {}", item.type_name()));
    Ok(match (verb, item) {
        ('s', item) => shown(item),
        ('d', Value::Int(i)) => i.to_string(),
        ('d', Value::Uint(u)) => u.to_string(),
        ('d', Value::Double(d)) if !d.is_finite() => special(*d),
        ('d', Value::Double(d)) => double(*d),
        ('d', _) => return wrong("decimal"),
        ('f' | 'e', Value::Double(d)) if !d.is_finite() => special(*d),
        ('f', item) => match floating(item) {
            Some(d) => format!("{d:.precision$}"),
            None => return wrong("fixed-point"),
        },
        ('e', item) => match floating(item) {
            Some(d) => scientific(d, precision),
            None => return wrong("scientific"),
        },
        ('b', Value::Bool(b)) => u8::from(*b).to_string(),
        ('b' | 'o' | 'x' | 'X', Value::Int(i)) => {
            let sign = if *i < 0 { "-" } else { "" };
            format!("{sign}{}", based(verb, i.unsigned_abs()))
        }
        ('b' | 'o' | 'x' | 'X', Value::Uint(u)) => based(verb, *u),
        ('x', Value::Text(text)) => hex::encode(text.as_bytes()),
        ('X', Value::Text(text)) => hex::encode_upper(text.as_bytes()),
        ('x', Value::Bytes(bytes)) => hex::encode(bytes),
        ('X', Value::Bytes(bytes)) => hex::encode_upper(bytes),
        ('b', _) => return wrong("binary"),
        ('o', _) => return wrong("octal"),
        ('x' | 'X', _) => return wrong("hex"),
        (other, _) => return Err(format!("unrecognized formatting clause \"{other}\"")),
    })
}

#[allow(clippy::cast_precision_loss, reason = "fixed-point text of a whole number")]
fn floating(item: &Value) -> Option<f64> {
    match item {
        Value::Double(d) => Some(*d),
        Value::Int(i) => Some(*i as f64),
        Value::Uint(u) => Some(*u as f64),
        _ => None,
    }
}

fn special(d: f64) -> String {
    if d.is_nan() {
        "NaN"
    } else if d > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
    .to_owned()
}

fn scientific(d: f64, precision: usize) -> String {
    let text = format!("{d:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
    format!("{digits}e{sign}{exponent:0>2}")
}

fn based(verb: char, n: u64) -> String {
    match verb {
        'b' => format!("{n:b}"),
        'o' => format!("{n:o}"),
        'x' => format!("{n:x}"),
        _ => format!("{n:X}"),
    }
}

/// Any value as text.
fn shown(item: &Value) -> String {
    match item {
        Value::Double(d) if !d.is_finite() => special(*d),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let entry = |(key, value): (&Key, &Value)| format!("{}: {}", shown(&key.value()), shown(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Time(at) => at.to_string(),
        Value::Span(span) => seconds(*span),
        Value::Optional(Some(value)) => shown(value),
        other => other.to_string(),
    }
}
