//! Functions of texts. Places in texts count characters.

use super::evaluate::Run;
use super::format;
use super::functions::signature;
use super::value::{Answer, Failure, Value};

/// All functions here that are called on a text or a list of texts.
pub(super) const NAMES: &[&str] = &[
    "charAt",
    "contains",
    "endsWith",
    "format",
    "indexOf",
    "join",
    "lastIndexOf",
    "lowerAscii",
    "replace",
    "reverse",
    "split",
    "startsWith",
    "substring",
    "trim",
    "upperAscii",
];

/// Texts longer than this are not made.
const LONGEST: usize = 4 << 20;

pub(super) fn member(run: &mut Run<'_>, name: &str, text: &str, args: &[Value]) -> Answer {
    run.pay(1 + text.len() as u64 / 16)?;
    match (name, args) {
        ("contains", [Value::Text(other)]) => Ok(Value::Bool(text.contains(other.as_ref()))),
        ("startsWith", [Value::Text(other)]) => Ok(Value::Bool(text.starts_with(other.as_ref()))),
        ("endsWith", [Value::Text(other)]) => Ok(Value::Bool(text.ends_with(other.as_ref()))),
        ("contains" | "startsWith" | "endsWith", [_]) => Err(Failure::overload()),
        ("charAt", [Value::Int(at)]) => char_at(text, *at),
        ("indexOf", [Value::Text(part), rest @ ..]) if rest.len() < 2 => find(run, text, part, rest, false),
        ("lastIndexOf", [Value::Text(part), rest @ ..]) if rest.len() < 2 => find(run, text, part, rest, true),
        ("lowerAscii", []) => Ok(Value::text(&text.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(Value::text(&text.to_ascii_uppercase())),
        ("trim", []) => Ok(Value::text(text.trim())),
        ("reverse", []) => Ok(Value::text(&text.chars().rev().collect::<String>())),
        ("replace", [Value::Text(old), Value::Text(new)]) => replace(run, text, old, new, -1),
        ("replace", [Value::Text(old), Value::Text(new), Value::Int(most)]) => replace(run, text, old, new, *most),
        ("split", [Value::Text(separator)]) => split(run, text, separator, -1),
        ("split", [Value::Text(separator), Value::Int(most)]) => split(run, text, separator, *most),
        ("substring", [Value::Int(start)]) => substring(text, *start, None),
        ("substring", [Value::Int(start), Value::Int(end)]) => substring(text, *start, Some(*end)),
        ("format", [Value::List(items)]) => format::format(run, text, items),
        _ if NAMES.contains(&name) => {
            let all: Vec<Value> = std::iter::once(Value::text(text)).chain(args.iter().cloned()).collect();
            Err(signature(name, &all))
        }
        _ => Err(Failure::function(name)),
    }
}

fn out_of_range(at: i64) -> Failure {
    Failure::new(format!("index out of range: {at}"))
}

/// A place within a text of so many characters, its end included.
fn place(at: i64, length: usize) -> Result<usize, Failure> {
    usize::try_from(at).ok().filter(|at| *at <= length).ok_or_else(|| out_of_range(at))
}

fn char_at(text: &str, at: i64) -> Answer {
    let place = place(at, text.chars().count())?;
    Ok(Value::text(&text.chars().skip(place).take(1).collect::<String>()))
}

fn find(run: &mut Run<'_>, text: &str, part: &str, from: &[Value], last: bool) -> Answer {
    let (text, part): (Vec<char>, Vec<char>) = (text.chars().collect(), part.chars().collect());
    run.pay((text.len() * part.len().max(1)) as u64 / 16)?;
    let from = match from {
        [Value::Int(from)] => Some(place(*from, text.len())?),
        [] => None,
        _ => return Err(Failure::overload()),
    };
    let fits = |at: &usize| text[*at..].starts_with(&part);
    let Some(latest) = text.len().checked_sub(part.len()) else { return Ok(Value::Int(-1)) };
    let found = if last {
        (0..=latest.min(from.unwrap_or(latest))).rev().find(fits)
    } else {
        (from.unwrap_or(0)..=latest).find(fits)
    };
    Ok(found.map_or(Value::Int(-1), Value::count))
}

fn replace(run: &mut Run<'_>, text: &str, old: &str, new: &str, most: i64) -> Answer {
    let times = text.matches(old).count().min(usize::try_from(most).unwrap_or(usize::MAX));
    let length = text.len().saturating_add(times.saturating_mul(new.len()));
    bounded(run, length)?;
    Ok(Value::text(&text.replacen(old, new, times)))
}

/// Pays for a text that is about to be made.
pub(super) fn bounded(run: &mut Run<'_>, length: usize) -> Result<(), Failure> {
    run.pay(length as u64 / 16)?;
    if length > LONGEST { Err(Failure::new(format!("a text may have {LONGEST} bytes at most"))) } else { Ok(()) }
}

fn split(run: &mut Run<'_>, text: &str, separator: &str, most: i64) -> Answer {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    run.pay(text.len() as u64 / 2)?;
    let parts: Vec<Value> = match (most, separator) {
        (0, _) => Vec::new(),
        (most, "") => {
            let singles = text.chars().count().min(most - 1);
            let cut = text.char_indices().nth(singles).map_or(text.len(), |(at, _)| at);
            let mut parts: Vec<Value> = text[..cut].chars().map(|c| Value::text(c.encode_utf8(&mut [0; 4]))).collect();
            parts.extend(Some(&text[cut..]).filter(|rest| !rest.is_empty()).map(Value::text));
            parts
        }
        (most, separator) => text.splitn(most, separator).map(Value::text).collect(),
    };
    Ok(Value::list(parts))
}

fn substring(text: &str, start: i64, end: Option<i64>) -> Answer {
    let length = text.chars().count();
    if let Some(end) = end
        && start > end
    {
        return Err(Failure::new(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let (start, end) = (place(start, length)?, end.map_or(Ok(length), |end| place(end, length))?);
    Ok(Value::text(&text.chars().skip(start).take(end - start).collect::<String>()))
}

pub(super) fn join(run: &mut Run<'_>, items: &[Value], args: &[Value]) -> Answer {
    let separator = match args {
        [] => "",
        [Value::Text(separator)] => separator.as_ref(),
        _ => return Err(Failure::function("join")),
    };
    let mut parts = Vec::with_capacity(items.len());
    for item in items {
        let Value::Text(part) = item else { return Err(Failure::overload()) };
        bounded(run, part.len() + separator.len() + 16)?;
        parts.push(part.as_ref());
    }
    Ok(Value::text(&parts.join(separator)))
}

/// A text in quotes, so that a reader gets it back.
pub(super) fn quote(run: &mut Run<'_>, text: &str) -> Answer {
    bounded(run, text.len())?;
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        let escaped = match c {
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\u{c}' => 'f',
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            '\u{b}' => 'v',
            '\\' | '"' => c,
            other => {
                out.push(other);
                continue;
            }
        };
        out.extend(['\\', escaped]);
    }
    out.push('"');
    Ok(Value::text(&out))
}
