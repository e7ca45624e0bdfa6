//! Regular expressions, as Go's `regexp` matches them.

use std::borrow::Cow;

use regex::bytes::{NoExpand, Regex, RegexBuilder};

use super::super::exec::Fail;
use super::super::format::quote;
use super::super::value::{Element, List, Value};
use super::Type::{Int, Text};
use super::{Context, Definition, Given, function, int, pattern, string, text};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("regexMatch", &[Text, Text], |cx, args| match compiled(cx, args) {
        Err(Fail::Message(_)) => Ok(false.into()),
        Err(limit) => Err(limit),
        Ok(regex) => Ok(regex.is_match(text(args, 1)).into()),
    }),
    function("mustRegexMatch", &[Text, Text], |cx, args| Ok(compiled(cx, args)?.is_match(text(args, 1)).into())),
    function("regexFind", &[Text, Text], |cx, args| find(&compiled_or_panic(cx, args)?, args)),
    function("mustRegexFind", &[Text, Text], |cx, args| find(&compiled(cx, args)?, args)),
    function("regexFindAll", &[Text, Text, Int], |cx, args| {
        let regex = compiled_or_panic(cx, args)?;
        find_all(cx, &regex, args)
    }),
    function("mustRegexFindAll", &[Text, Text, Int], |cx, args| {
        let regex = compiled(cx, args)?;
        find_all(cx, &regex, args)
    }),
    function("regexReplaceAll", &[Text, Text, Text], |cx, args| {
        let regex = compiled_or_panic(cx, args)?;
        replace(cx, &regex, args, true)
    }),
    function("mustRegexReplaceAll", &[Text, Text, Text], |cx, args| {
        let regex = compiled(cx, args)?;
        replace(cx, &regex, args, true)
    }),
    function("regexReplaceAllLiteral", &[Text, Text, Text], |cx, args| {
        let regex = compiled_or_panic(cx, args)?;
        replace(cx, &regex, args, false)
    }),
    function("mustRegexReplaceAllLiteral", &[Text, Text, Text], |cx, args| {
        let regex = compiled(cx, args)?;
        replace(cx, &regex, args, false)
    }),
    function("regexSplit", &[Text, Text, Int], |cx, args| {
        let regex = compiled_or_panic(cx, args)?;
        split(cx, &regex, args)
    }),
    function("mustRegexSplit", &[Text, Text, Int], |cx, args| {
        let regex = compiled(cx, args)?;
        split(cx, &regex, args)
    }),
    function("regexQuoteMeta", &[Text], |cx, args| {
        cx.text_of_length(text(args, 0).len() * 2)?;
        let mut out = Vec::with_capacity(text(args, 0).len());
        for b in text(args, 0) {
            if b"\\.+*?()|[]{}^$".contains(b) {
                out.push(b'\\');
            }
            out.push(*b);
        }
        Ok(out.into())
    }),
];

/// Bytes that a compiled pattern may have.
const COMPILED: usize = 1 << 20;

/// Compiled patterns that a rendering keeps.
const KEPT: usize = 64;

/// Steps that each part of a pattern costs when it is compiled.
const STEPS_PER_PART: usize = 8;

/// A compiled pattern, and how large it is with its repetitions written out.
#[derive(Clone, Debug)]
pub(in super::super) struct Compiled {
    regex: Regex,
    weight: usize,
}

/// Compiles the first argument, and pays for that and for looking at the second. Errors are Go's `Compile`'s.
fn compiled(cx: &mut Context<'_, '_>, args: &[Value]) -> Result<Regex, Fail> {
    let source = text(args, 0);
    let known = cx.run.patterns.get(source).cloned();
    let compiled = match known {
        Some(compiled) => compiled,
        None => {
            let compiled = compile(cx, &string(args, 0))?;
            if cx.run.patterns.len() < KEPT {
                cx.run.patterns.insert(source.to_vec(), compiled.clone());
            }
            compiled
        }
    };
    cx.run.meter.spend((text(args, 1).len() / 16).saturating_mul(1 + compiled.weight / 16))?;
    Ok(compiled.regex)
}

fn compile(cx: &mut Context<'_, '_>, source: &str) -> Result<Compiled, Fail> {
    let pattern = pattern::translate(source)?;
    let parts = pattern.text.len().saturating_add(pattern.weight);
    cx.run.meter.spend(parts.saturating_mul(STEPS_PER_PART))?;
    let built = RegexBuilder::new(&pattern.text).size_limit(COMPILED).dfa_size_limit(COMPILED).build();
    match built {
        Ok(regex) => Ok(Compiled { regex, weight: pattern.weight }),
        Err(regex::Error::CompiledTooBig(_)) => {
            Err(Fail::Limit(format!("a pattern of the template takes more than the limit of {COMPILED} bytes")))
        }
        Err(error) => Err(Fail::Message(go_error(source, &error.to_string()))),
    }
}

/// As [`compiled`], with the error of Go's `MustCompile`.
fn compiled_or_panic(cx: &mut Context<'_, '_>, args: &[Value]) -> Result<Regex, Fail> {
    compiled(cx, args).map_err(|fail| match fail {
        Fail::Message(message) => {
            let source = string(args, 0);
            let is_plain = source.chars().all(|c| c == '\t' || c >= ' ' && c != '`' && c != '\u{7f}');
            let shown = if is_plain { format!("`{source}`") } else { quote(text(args, 0), b'"') };
            Fail::Message(format!("regexp: Compile({shown}): {message}"))
        }
        limit => limit,
    })
}

/// Our engine's complaint in Go's words.
fn go_error(source: &str, error: &str) -> String {
    let what = if error.contains("unclosed group") {
        "missing closing )"
    } else if error.contains("invalid character class range") {
        return format!("error parsing regexp: invalid character class range: `{}`", bad_range(source));
    } else if error.contains("Unicode property not found") || error.contains("Unicode") {
        "invalid character class range"
    } else if error.contains("duplicate capture group name") {
        "duplicate capture group name"
    } else {
        "invalid pattern"
    };
    format!("error parsing regexp: {what}: `{source}`")
}

/// The first range of a pattern that goes backwards.
fn bad_range(source: &str) -> &str {
    let chars: Vec<(usize, char)> = source.char_indices().collect();
    let found = chars.windows(3).find(|part| part[1].1 == '-' && part[0].1 > part[2].1);
    found.map_or(source, |part| &source[part[0].0..part[2].0 + part[2].1.len_utf8()])
}

fn find(regex: &Regex, args: &[Value]) -> Given {
    Ok(regex.find(text(args, 1)).map_or(&[] as &[u8], |found| found.as_bytes()).into())
}

fn find_all(cx: &mut Context<'_, '_>, regex: &Regex, args: &[Value]) -> Given {
    let limit = usize::try_from(int(args, 2)).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for part in regex.find_iter(text(args, 1)).take(limit) {
        cx.run.meter.spend(1)?;
        found.push(part.as_bytes().into());
    }
    cx.list_of(found.len())?;
    Ok(if found.is_empty() { Value::List(List::nil(Element::Text)) } else { Value::texts(found) })
}

fn replace(cx: &mut Context<'_, '_>, regex: &Regex, args: &[Value], expands: bool) -> Given {
    let (haystack, new) = (text(args, 1), text(args, 2));
    // What a replacement inserts is bounded before it is made: each match by the whole text for each group it names.
    let matches = regex.find_iter(haystack).count();
    let groups = if expands { new.iter().filter(|b| **b == b'$').count() } else { 0 };
    let longest = regex.find_iter(haystack).map(|found| found.len()).max().unwrap_or(0);
    let inserted = new.len().saturating_add(groups.saturating_mul(longest)).saturating_mul(matches);
    cx.text_of_length(inserted.saturating_add(haystack.len()))?;
    let replaced: Cow<'_, [u8]> =
        if expands { regex.replace_all(haystack, new) } else { regex.replace_all(haystack, NoExpand(new)) };
    Ok(replaced.as_ref().into())
}

/// Go's `Split`: an empty match at the beginning or right after another cuts nothing.
fn split(cx: &mut Context<'_, '_>, regex: &Regex, args: &[Value]) -> Given {
    let (haystack, count) = (text(args, 1), int(args, 2));
    if count == 0 {
        return Ok(Value::List(List::nil(Element::Text)));
    }
    if !regex.as_str().is_empty() && haystack.is_empty() {
        return Ok(Value::texts(["".into()]));
    }
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let mut parts: Vec<Value> = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for found in regex.find_iter(haystack) {
        if parts.len() + 1 >= limit {
            break;
        }
        cx.run.meter.spend(1)?;
        end = found.start();
        if found.end() != 0 {
            parts.push(haystack[begin..end].into());
        }
        begin = found.end();
    }
    if end != haystack.len() {
        parts.push(haystack[begin..].into());
    }
    cx.list_of(parts.len())?;
    Ok(Value::texts(parts))
}
