//! Lists: parts of them, and new ones. The `must` forms are the same functions: both end the rendering when they fail,
//! in the same words.

use super::super::exec::Fail;
use super::super::value::{Element, List, Value};
use super::Type::{Any, Int, Text};
use super::numbers::to_int;
use super::{Context, Definition, Given, NIL_POINTER, equality, function, int, list, text};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("list", &[Any], |cx, args| made(cx, args.to_vec())).variadic(),
    function("tuple", &[Any], |cx, args| made(cx, args.to_vec())).variadic(),
    function("append", &[Any, Any], push),
    function("push", &[Any, Any], push),
    function("mustAppend", &[Any, Any], push),
    function("mustPush", &[Any, Any], push),
    function("prepend", &[Any, Any], prepend),
    function("mustPrepend", &[Any, Any], prepend),
    function("first", &[Any], first).interface(),
    function("mustFirst", &[Any], first).interface(),
    function("last", &[Any], last).interface(),
    function("mustLast", &[Any], last).interface(),
    function("rest", &[Any], rest),
    function("mustRest", &[Any], rest),
    function("initial", &[Any], initial),
    function("mustInitial", &[Any], initial),
    function("reverse", &[Any], reverse),
    function("mustReverse", &[Any], reverse),
    function("uniq", &[Any], uniq),
    function("mustUniq", &[Any], uniq),
    function("without", &[Any, Any], without).variadic(),
    function("mustWithout", &[Any, Any], without).variadic(),
    function("has", &[Any, Any], has),
    function("mustHas", &[Any, Any], has),
    function("compact", &[Any], compact),
    function("mustCompact", &[Any], compact),
    function("slice", &[Any, Any], slice).variadic().interface(),
    function("mustSlice", &[Any, Any], slice).variadic().interface(),
    function("chunk", &[Int, Any], chunk),
    function("mustChunk", &[Int, Any], chunk),
    function("concat", &[Any], concat).variadic().interface(),
    function("join", &[Text, Any], join),
    function("sortAlpha", &[Any], sort_alpha),
    function("toStrings", &[Any], |cx, args| Ok(Value::texts(texts(cx, &args[0])?))),
];

/// A `[]interface {}`, if it may be that long.
fn made(cx: &mut Context<'_, '_>, items: Vec<Value>) -> Given {
    cx.list_of(items.len())?;
    Ok(Value::list(items))
}

fn push(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let items = list(&args[0], "Cannot push on type")?.items();
    made(cx, [items, &args[1..2]].concat())
}

fn prepend(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let items = list(&args[0], "Cannot prepend on type")?.items();
    made(cx, [&args[1..2], items].concat())
}

fn first(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    Ok(list(&args[0], "Cannot find first on type")?.items().first().cloned().unwrap_or_default())
}

fn last(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    Ok(list(&args[0], "Cannot find last on type")?.items().last().cloned().unwrap_or_default())
}

fn rest(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    match list(&args[0], "Cannot find rest on type")?.items() {
        [] => Ok(Value::List(List::nil(Element::Any))),
        [_, rest @ ..] => made(cx, rest.to_vec()),
    }
}

fn initial(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    match list(&args[0], "Cannot find initial on type")?.items() {
        [] => Ok(Value::List(List::nil(Element::Any))),
        [initial @ .., _] => made(cx, initial.to_vec()),
    }
}

fn reverse(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let items = list(&args[0], "Cannot find reverse on type")?.items();
    made(cx, items.iter().rev().cloned().collect())
}

fn is_in(cx: &mut Context<'_, '_>, items: &[Value], wanted: &Value) -> Result<bool, Fail> {
    for item in items {
        if equality::deep_equal(wanted, item, &mut cx.run.meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let mut kept: Vec<Value> = Vec::new();
    for item in list(&args[0], "Cannot find uniq on type")?.items() {
        if !is_in(cx, &kept, item)? {
            kept.push(item.clone());
        }
    }
    made(cx, kept)
}

fn without(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let mut kept = Vec::new();
    for item in list(&args[0], "Cannot find without on type")?.items() {
        if !is_in(cx, &args[1..], item)? {
            kept.push(item.clone());
        }
    }
    made(cx, kept)
}

fn has(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    if args[1].is_nil() {
        return Ok(false.into());
    }
    let items = list(&args[1], "Cannot find has on type")?.items();
    is_in(cx, items, &args[0]).map(Value::Bool)
}

fn compact(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let items = list(&args[0], "Cannot compact on type")?.items();
    made(cx, items.iter().filter(|item| item.is_true()).cloned().collect())
}

fn slice(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let list = list(&args[0], "list should be type of slice or array but")?;
    let length = list.items().len();
    if length == 0 {
        return Ok(Value::Nil);
    }
    let bound = |index: usize, otherwise: usize| {
        args.get(index).map_or(Some(otherwise), |value| usize::try_from(to_int(value)).ok())
    };
    let part = match (bound(1, 0), bound(2, length)) {
        (Some(start), Some(end)) if start <= end && end <= length => &list.items()[start..end],
        _ => return Err("reflect.Value.Slice: slice index out of bounds".into()),
    };
    cx.list_of(part.len())?;
    Ok(Value::List(List::new(list.element(), part.to_vec())))
}

fn chunk(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let items = list(&args[1], "Cannot chunk type")?.items();
    let size = int(args, 0);
    if size < 0 && items.len() >= 2 && size.unsigned_abs() >= items.len() as u64 - 1 {
        // So says Go's arithmetic, rounding down.
        return Ok(Value::List(List::new(Element::List, Vec::new())));
    }
    let size = usize::try_from(size).ok().filter(|size| *size > 0);
    let size = size.ok_or_else(|| Fail::from("runtime error: makeslice: len out of range"))?;
    cx.list_of(items.len())?;
    let chunks = items.chunks(size).map(|chunk| Value::list(chunk.to_vec())).collect();
    Ok(Value::List(List::new(Element::List, chunks)))
}

fn concat(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let mut all = Vec::new();
    for arg in args {
        let items = match arg {
            Value::List(list) => list.items(),
            Value::Nil => return Err(NIL_POINTER.into()),
            other => return Err(format!("Cannot concat type {} as list", other.kind_name()).into()),
        };
        cx.list_of(all.len() + items.len())?;
        all.extend_from_slice(items);
    }
    Ok(if all.is_empty() { Value::List(List::nil(Element::Any)) } else { Value::list(all) })
}

/// A value as texts: each element of a list but nil, or the value itself.
pub(super) fn texts(cx: &mut Context<'_, '_>, value: &Value) -> Result<Vec<Value>, Fail> {
    match value {
        Value::List(list) => {
            cx.list_of(list.items().len())?;
            let items = list.items().iter().filter(|item| !item.is_nil());
            items
                .map(|item| match item {
                    Value::Text(_) => Ok(item.clone()),
                    other => Ok(cx.text_of(other)?.into()),
                })
                .collect()
        }
        Value::Nil => Ok(Vec::new()),
        other => Ok(vec![cx.text_of(other)?.into()]),
    }
}

fn join(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let parts = texts(cx, &args[1])?;
    let mut out: Vec<u8> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let part = part.as_text().map_or(&[] as &[u8], |text| text);
        let separator = if index > 0 { text(args, 0) } else { b"" };
        cx.run.meter.grow(out.len(), separator.len() + part.len())?;
        out.extend_from_slice(separator);
        out.extend_from_slice(part);
    }
    Ok(out.into())
}

fn sort_alpha(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let mut parts = match &args[0] {
        Value::Nil => vec!["<nil>".into()],
        value => texts(cx, value)?,
    };
    cx.run.meter.spend(parts.len())?;
    parts.sort_by(|a, b| a.as_text().cmp(&b.as_text()));
    Ok(Value::texts(parts))
}
