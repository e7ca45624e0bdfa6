//! Texts: cutting, joining, changing, quoting, hashing.

use sha1::Digest as _;

use super::super::exec::Fail;
use super::super::format::quote;
use super::super::slug::slugify;
use super::super::value::{Element, Map, Value};
use super::Type::{Any, Int, Text};
use super::{Context, Definition, Given, function, int, string, text};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("hello", &[], |_, _| Ok("Hello!".into())),
    function("trim", &[Text], |_, args| Ok(trimmed(args, 0, char::is_whitespace))),
    function("trimAll", &[Text, Text], trim_all),
    function("trimall", &[Text, Text], trim_all),
    function("trimSuffix", &[Text, Text], |_, args| {
        Ok(text(args, 1).strip_suffix(text(args, 0)).unwrap_or(text(args, 1)).into())
    }),
    function("trimPrefix", &[Text, Text], |_, args| {
        Ok(text(args, 1).strip_prefix(text(args, 0)).unwrap_or(text(args, 1)).into())
    }),
    function("upper", &[Text], |_, args| Ok(string(args, 0).chars().map(upper).collect::<String>().into())),
    function("lower", &[Text], |_, args| Ok(string(args, 0).chars().map(lower).collect::<String>().into())),
    function("title", &[Text], |_, args| Ok(title(&string(args, 0)).into())),
    function("repeat", &[Int, Text], |cx, args| repeat(cx, int(args, 0), text(args, 1)).map(Value::from)),
    function("substr", &[Int, Int, Text], |_, args| substring(int(args, 0), int(args, 1), text(args, 2))),
    function("trunc", &[Int, Text], |_, args| Ok(truncate(int(args, 0), text(args, 1)).into())),
    function("contains", &[Text, Text], |_, args| Ok(contains(text(args, 1), text(args, 0)).into())),
    function("hasPrefix", &[Text, Text], |_, args| Ok(text(args, 1).starts_with(text(args, 0)).into())),
    function("hasSuffix", &[Text, Text], |_, args| Ok(text(args, 1).ends_with(text(args, 0)).into())),
    function("quote", &[Any], |cx, args| {
        joined(cx, args, |cx, value| Ok(quote(&cx.text_of(value)?, b'"').into_bytes()))
    })
    .variadic(),
    function("squote", &[Any], |cx, args| {
        joined(cx, args, |cx, value| Ok([b"'", cx.text_of(value)?.as_slice(), b"'"].concat()))
    })
    .variadic(),
    function("cat", &[Any], |cx, args| joined(cx, args, |cx, value| cx.text_of(value))).variadic(),
    function("indent", &[Int, Text], |cx, args| indent(cx, b"", args)),
    function("nindent", &[Int, Text], |cx, args| indent(cx, b"\n", args)),
    function("replace", &[Text, Text, Text], |cx, args| replace(cx, text(args, 0), text(args, 1), text(args, 2))),
    function("plural", &[Text, Text, Int], |_, args| Ok(args[usize::from(int(args, 2) != 1)].clone())),
    function("toString", &[Any], |cx, args| Ok(cx.text_of(&args[0])?.into())),
    function("sha1sum", &[Text], |_, args| Ok(hex::encode(sha1::Sha1::digest(text(args, 0))).into())),
    function("sha256sum", &[Text], |_, args| Ok(hex::encode(sha2::Sha256::digest(text(args, 0))).into())),
    function("adler32sum", &[Text], |_, args| Ok(adler32(text(args, 0)).to_string().into())),
    function("split", &[Text, Text], |cx, args| split_map(cx, text(args, 0), -1, text(args, 1))),
    function("splitn", &[Text, Int, Text], |cx, args| split_map(cx, text(args, 0), int(args, 1), text(args, 2))),
    function("splitList", &[Text, Text], |cx, args| Ok(Value::texts(split(cx, text(args, 0), -1, text(args, 1))?))),
    function("slugify", &[Text], |_, args| Ok(slugify(&string(args, 0)).into())),
];

fn trimmed(args: &[Value], index: usize, cut: impl FnMut(char) -> bool) -> Value {
    string(args, index).trim_matches(cut).into()
}

fn trim_all(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let cut = string(args, 0);
    Ok(trimmed(args, 1, |c| cut.contains(c)))
}

/// Go changes characters one to one: what would become two letters stays.
fn upper(c: char) -> char {
    one(c.to_uppercase()).unwrap_or(c)
}

fn lower(c: char) -> char {
    if c == 'İ' { 'i' } else { one(c.to_lowercase()).unwrap_or(c) }
}

fn one(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next();
    first.filter(|_| chars.next().is_none())
}

fn title(text: &str) -> String {
    let mut after = true;
    text.chars()
        .map(|c| {
            let shown = if after { upper(c) } else { c };
            after = if c.is_ascii() { !c.is_ascii_alphanumeric() && c != '_' } else { c.is_whitespace() };
            shown
        })
        .collect()
}

/// Go's `strings.Repeat`.
pub(super) fn repeat(cx: &mut Context<'_, '_>, count: i64, text: &[u8]) -> Result<Vec<u8>, Fail> {
    let count = usize::try_from(count).map_err(|_| Fail::from("strings: negative Repeat count"))?;
    cx.text_of_length(text.len().saturating_mul(count))?;
    Ok(if text.is_empty() { Vec::new() } else { text.repeat(count) })
}

fn substring(start: i64, end: i64, text: &[u8]) -> Given {
    let length = text.len();
    let bounds = |message: String| Err(format!("runtime error: slice bounds out of range {message}").into());
    let Ok(from) = usize::try_from(start) else {
        return match usize::try_from(end) {
            Err(_) => bounds(format!("[:{end}]")),
            Ok(to) if to > length => bounds(format!("[:{to}] with length {length}")),
            Ok(to) => Ok(text[..to].into()),
        };
    };
    match usize::try_from(end) {
        Ok(to) if to <= length && from > to => bounds(format!("[{from}:{to}]")),
        Ok(to) if to <= length => Ok(text[from..to].into()),
        _ if from > length => bounds(format!("[{from}:{length}]")),
        _ => Ok(text[from..].into()),
    }
}

fn truncate(count: i64, text: &[u8]) -> &[u8] {
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if wanted >= text.len() {
        text
    } else if count < 0 {
        &text[text.len() - wanted..]
    } else {
        &text[..wanted]
    }
}

/// Joins what a function makes of each argument but nil.
fn joined(
    cx: &mut Context<'_, '_>,
    args: &[Value],
    shown: fn(&mut Context<'_, '_>, &Value) -> Result<Vec<u8>, Fail>,
) -> Given {
    let mut parts = Vec::new();
    let mut length = 0;
    for arg in args.iter().filter(|arg| !arg.is_nil()) {
        let part = shown(cx, arg)?;
        cx.run.meter.grow(length, part.len())?;
        length += part.len() + 1;
        parts.push(part);
    }
    Ok(parts.join(b" ".as_slice()).into())
}

fn indent(cx: &mut Context<'_, '_>, before: &[u8], args: &[Value]) -> Given {
    let pad = repeat(cx, int(args, 0), b" ")?;
    let text = text(args, 1);
    let lines = text.iter().filter(|b| **b == b'\n').count() + 1;
    cx.text_of_length(lines.saturating_mul(pad.len()).saturating_add(text.len()))?;
    let mut out = before.to_vec();
    for (index, line) in text.split(|b| *b == b'\n').enumerate() {
        if index > 0 {
            out.push(b'\n');
        }
        out.extend_from_slice(&pad);
        out.extend_from_slice(line);
    }
    Ok(out.into())
}

/// Where a text occurs in another, without overlap. An empty one occurs at every character and at the end.
fn occurrences(text: &[u8], part: &[u8]) -> Vec<usize> {
    if let (Ok(text), Ok(part)) = (std::str::from_utf8(text), std::str::from_utf8(part)) {
        return text.match_indices(part).map(|(at, _)| at).collect();
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at + part.len() <= text.len() {
        if text[at..].starts_with(part) {
            found.push(at);
            at += part.len().max(1);
        } else {
            at += 1;
        }
    }
    found
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || !occurrences(text, part).is_empty()
}

fn replace(cx: &mut Context<'_, '_>, old: &[u8], new: &[u8], text: &[u8]) -> Given {
    cx.run.meter.spend(text.len() / 16)?;
    let found = occurrences(text, old);
    cx.text_of_length(found.len().saturating_mul(new.len()).saturating_add(text.len()))?;
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in found {
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(new);
        from = at + old.len();
    }
    out.extend_from_slice(&text[from..]);
    Ok(out.into())
}

/// Go's `strings.SplitN`; a negative count means all parts.
fn split(cx: &mut Context<'_, '_>, separator: &[u8], count: i64, text: &[u8]) -> Result<Vec<Value>, Fail> {
    if count == 0 {
        return Ok(Vec::new());
    }
    cx.run.meter.spend(text.len() / 16)?;
    let mut cuts = occurrences(text, separator);
    if separator.is_empty() {
        // Between the characters, not at the ends.
        cuts.retain(|at| *at > 0 && *at < text.len());
        if text.is_empty() {
            return Ok(Vec::new());
        }
    }
    if let Ok(count) = usize::try_from(count) {
        cuts.truncate(count - 1);
    }
    cx.list_of(cuts.len() + 1)?;
    let mut parts = Vec::with_capacity(cuts.len() + 1);
    let mut from = 0;
    for at in cuts {
        parts.push(text[from..at].into());
        from = at + separator.len();
    }
    parts.push(text[from..].into());
    Ok(parts)
}

fn split_map(cx: &mut Context<'_, '_>, separator: &[u8], count: i64, text: &[u8]) -> Given {
    let parts = split(cx, separator, count, text)?;
    let entries = parts.into_iter().enumerate().map(|(index, part)| (format!("_{index}").into_bytes().into(), part));
    Ok(Value::Map(Map::new(Element::Text, entries.collect())))
}

fn adler32(text: &[u8]) -> u32 {
    const PRIME: u32 = 65_521;
    let (a, b) = text.iter().fold((1, 0), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % PRIME;
        (a, (b + a) % PRIME)
    });
    b << 16 | a
}
