//! What sprig has beyond slim-sprig, as far as it is a function of its arguments, and what generators of charts add:
//! `include`, `tpl`, `required` (component A13.1).

use std::collections::BTreeMap;

use super::super::exec::{self, Fail, Meter};
use super::super::parse;
use super::super::value::{Element, List, Map as ValueMap, Value};
use super::Type::{Any, Int, Map, Text};
use super::{Context, Definition, Given, NIL_POINTER, function, int, json_text, map, string, text, words};
use crate::object::yaml::{self, Dialect, Limits};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("include", &[Text, Any], include),
    function("tpl", &[Text, Any], tpl),
    function("required", &[Text, Any], |_, args| match &args[1] {
        Value::Nil => Err(Fail::Message(string(args, 0).into_owned())),
        Value::Text(text) if text.is_empty() => Err(Fail::Message(string(args, 0).into_owned())),
        value => Ok(value.clone()),
    })
    .interface(),
    // Helm and its kin cut the line end, and fail where slim-sprig is silent.
    function("toYaml", &[Any], to_yaml),
    function("mustToYaml", &[Any], to_yaml),
    function("fromYaml", &[Text], from_yaml).interface(),
    function("mustFromYaml", &[Text], from_yaml).interface(),
    function("fromYamlArray", &[Text], |cx, args| as_list(from_yaml(cx, args)?)),
    function("mustFromYamlArray", &[Text], |cx, args| as_list(from_yaml(cx, args)?)),
    function("fromJson", &[Text], |cx, args| json_text::read(text(args, 0), &mut cx.run.meter)).interface(),
    function("fromJsonArray", &[Text], |cx, args| as_list(json_text::read(text(args, 0), &mut cx.run.meter)?)),
    function("mustFromJsonArray", &[Text], |cx, args| as_list(json_text::read(text(args, 0), &mut cx.run.meter)?)),
    function("merge", &[Map, Map], |cx, args| merge(cx, args, false)).variadic().interface(),
    function("mustMerge", &[Map, Map], |cx, args| merge(cx, args, false)).variadic().interface(),
    function("mergeOverwrite", &[Map, Map], |cx, args| merge(cx, args, true)).variadic().interface(),
    function("mustMergeOverwrite", &[Map, Map], |cx, args| merge(cx, args, true)).variadic().interface(),
    function("deepCopy", &[Any], |cx, args| copy(&args[0], &mut cx.run.meter, 0)).interface(),
    function("mustDeepCopy", &[Any], |cx, args| copy(&args[0], &mut cx.run.meter, 0)).interface(),
    function("camelcase", &[Text], |_, args| Ok(words::camel(&string(args, 0)).into())),
    function("kebabcase", &[Text], |_, args| Ok(words::separated(&string(args, 0), '-').into())),
    function("snakecase", &[Text], |_, args| Ok(words::separated(&string(args, 0), '_').into())),
    function("untitle", &[Text], |_, args| Ok(words::untitle(&string(args, 0)).into())),
    function("initials", &[Text], |_, args| Ok(words::initials(&string(args, 0)).into())),
    function("swapcase", &[Text], |_, args| Ok(words::swap_case(&string(args, 0)).into())),
    function("nospace", &[Text], |_, args| {
        Ok(string(args, 0).chars().filter(|c| !c.is_whitespace()).collect::<String>().into())
    }),
    function("abbrev", &[Int, Text], |_, args| Ok(words::abbreviate(int(args, 0), &string(args, 1)).into())),
    function("sha512sum", &[Text], |_, args| {
        use sha2::Digest as _;
        Ok(hex::encode(sha2::Sha512::digest(text(args, 0))).into())
    }),
    function("bitwiseAnd", &[Any, Any], |_, args| bits(args, |a, b| a & b)),
    function("bitwiseOr", &[Any, Any], |_, args| bits(args, |a, b| a | b)),
    function("bitwiseXor", &[Any, Any], |_, args| bits(args, |a, b| a ^ b)),
    function("bitwiseShiftLeft", &[Any, Any], |_, args| bits(args, |by, v| shift(by, v, u64::checked_shl))),
    function("bitwiseShiftRight", &[Any, Any], |_, args| bits(args, |by, v| shift(by, v, u64::checked_shr))),
];

/// Carries out a template of the set and gives what it prints.
fn include(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let name = string(args, 0);
    let Some(body) = cx.set.get(name.as_ref()).cloned() else {
        return Err(
            format!("template: no template {:?} associated with template {:?}", name, cx.run.settings.name).into()
        );
    };
    printed(cx, |cx| exec::execute(cx.run, cx.set, &body, args[1].clone()))
}

/// Reads a text as a template, which knows all templates of the set, and gives what it prints.
fn tpl(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let source = string(args, 0);
    cx.run.meter.spend(source.len() / 4)?;
    let mut set = cx.set.clone();
    let name = cx.run.settings.name.clone();
    set.remove(&name);
    parse::add(cx.run.settings, cx.run.functions, (&name, &source), &mut set).map_err(failed)?;
    let Some(body) = set.get(&name).cloned() else { return Ok("".into()) };
    printed(cx, |cx| exec::execute(cx.run, &set, &body, args[1].clone()))
}

fn printed(
    cx: &mut Context<'_, '_>,
    inner: impl FnOnce(&mut Context<'_, '_>) -> Result<(), super::super::error::TemplateError>,
) -> Given {
    cx.run.meter.enter()?;
    let outer = std::mem::take(&mut cx.run.out);
    let result = inner(cx);
    let out = std::mem::replace(&mut cx.run.out, outer);
    cx.run.meter.leave();
    result.map_err(failed)?;
    Ok(out.into())
}

fn failed(error: super::super::error::TemplateError) -> Fail {
    match error.kind {
        super::super::error::ErrorKind::Limit => Fail::Limit(error.message),
        _ => Fail::Message(error.message),
    }
}

fn to_yaml(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let given = super::yaml::encoded(cx, args)?;
    let Some(text) = given.as_text() else { return Ok(given) };
    Ok(text.strip_suffix(b"\n").unwrap_or(text).into())
}

fn from_yaml(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    cx.run.meter.grow(0, text(args, 0).len().saturating_mul(4))?;
    let limits = Limits { bytes: 4 << 20, nodes: 500_000, ..Limits::default() };
    let documents = yaml::read(text(args, 0), Dialect::Kubernetes, &limits)
        .map_err(|e| Fail::Message(format!("error converting YAML to JSON: {e}")))?;
    let first = documents.into_iter().next().map(|document| document.value);
    Ok(first.as_ref().map_or(Value::Nil, |value| floats(Value::from(value))))
}

/// Numbers as Go's JSON decodes them into an interface.
#[expect(clippy::cast_precision_loss, reason = "so does Go")]
fn floats(value: Value) -> Value {
    match value {
        Value::Int64(i) => Value::Float(i as f64),
        Value::List(list) => Value::list(list.items().iter().cloned().map(floats).collect()),
        Value::Map(map) => Value::map(map.entries().into_iter().map(|(key, value)| (key, floats(value))).collect()),
        other => other,
    }
}

fn as_list(value: Value) -> Given {
    match value {
        Value::List(_) => Ok(value),
        Value::Nil => Ok(Value::List(List::nil(Element::Any))),
        other => Err(format!("expected a list, found {}", other.type_name()).into()),
    }
}

/// Merges maps into the first one, which changes; what is there and not empty stays, or gives way.
fn merge(cx: &mut Context<'_, '_>, args: &[Value], overwrite: bool) -> Given {
    let into = map(args, 0);
    if into.is_nil() {
        return Err(NIL_POINTER.into());
    }
    for source in &args[1..] {
        // Copied, so that maps of the source are neither shared nor become part of themselves.
        if let Value::Map(from) = copy(source, &mut cx.run.meter, 0)? {
            merge_map(&into, &from, overwrite, &mut cx.run.meter, 0)?;
        }
    }
    Ok(args[0].clone())
}

fn merge_map(into: &ValueMap, from: &ValueMap, overwrite: bool, meter: &mut Meter, depth: usize) -> Result<(), Fail> {
    meter.nest(depth)?;
    for (key, value) in from.entries() {
        meter.spend(1)?;
        match (into.get(&key), &value) {
            (Some(Value::Map(inner)), Value::Map(more)) => merge_map(&inner, more, overwrite, meter, depth + 1)?,
            (Some(before), _) if before.is_true() && !(overwrite && value.is_true()) => {}
            (Some(_), value) if !value.is_true() => {}
            _ => {
                into.set(key, value);
            }
        }
    }
    Ok(())
}

fn copy(value: &Value, meter: &mut Meter, depth: usize) -> Given {
    meter.nest(depth)?;
    Ok(match value {
        Value::List(list) => {
            let items = list.items().iter().map(|item| copy(item, meter, depth + 1));
            Value::List(List::new(list.element(), items.collect::<Result<_, _>>()?))
        }
        Value::Map(map) => {
            let mut entries = BTreeMap::new();
            for (key, item) in map.entries() {
                entries.insert(key, copy(&item, meter, depth + 1)?);
            }
            Value::Map(ValueMap::new(map.element(), entries))
        }
        other => other.clone(),
    })
}

#[expect(clippy::cast_sign_loss, clippy::cast_possible_wrap, reason = "the bits stay the same")]
fn bits(args: &[Value], combine: fn(u64, u64) -> u64) -> Given {
    let number = |value: &Value| super::numbers::to_int(value) as u64;
    Ok(Value::Int64(combine(number(&args[0]), number(&args[1])) as i64))
}

fn shift(by: u64, value: u64, shift: fn(u64, u32) -> Option<u64>) -> u64 {
    u32::try_from(by).ok().and_then(|by| shift(value, by)).unwrap_or(0)
}
