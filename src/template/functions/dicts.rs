//! Maps: reading them, changing them in place, and new ones. What Go leaves without an order is sorted.

use std::collections::BTreeMap;

use super::super::exec::{Fail, Meter};
use super::super::value::{Text as Key, Value};
use super::Type::{Any, Map, Text};
use super::{Context, Definition, Given, function, map, text};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("dict", &[Any], dict).variadic(),
    function("get", &[Map, Text], |_, args| Ok(map(args, 0).get(text(args, 1)).unwrap_or_else(|| "".into())))
        .interface(),
    function("set", &[Map, Text, Any], set),
    function("unset", &[Map, Text], |_, args| {
        map(args, 0).remove(text(args, 1));
        Ok(args[0].clone())
    }),
    function("hasKey", &[Map, Text], |_, args| Ok(map(args, 0).get(text(args, 1)).is_some().into())),
    function("keys", &[Map], |cx, args| {
        let mut keys = Vec::new();
        for index in 0..args.len() {
            keys.extend(map(args, index).entries().into_iter().map(|(key, _)| Value::Text(key)));
            cx.list_of(keys.len())?;
        }
        Ok(Value::texts(keys))
    })
    .variadic(),
    function("values", &[Map], |cx, args| {
        let values: Vec<Value> = map(args, 0).entries().into_iter().map(|(_, value)| value).collect();
        cx.list_of(values.len())?;
        Ok(Value::list(values))
    }),
    function("pick", &[Map, Text], |cx, args| {
        cx.list_of(args.len())?;
        let from = map(args, 0);
        let keys = args[1..].iter().filter_map(Value::as_text);
        Ok(Value::map(keys.filter_map(|key| Some((key.clone(), from.get(key)?))).collect()))
    })
    .variadic(),
    function("omit", &[Map, Text], |cx, args| {
        let entries = map(args, 0).entries();
        cx.list_of(entries.len().saturating_mul(args.len()))?;
        let keep = |key: &Key| !args[1..].iter().filter_map(Value::as_text).any(|omitted| omitted == key);
        Ok(Value::map(entries.into_iter().filter(|(key, _)| keep(key)).collect()))
    })
    .variadic(),
    function("pluck", &[Text, Map], |cx, args| {
        cx.list_of(args.len())?;
        let found = (1..args.len()).filter_map(|index| map(args, index).get(text(args, 0)));
        Ok(Value::list(found.collect()))
    })
    .variadic(),
    function("dig", &[Any], dig).variadic().interface(),
];

fn dict(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    cx.list_of(args.len())?;
    let mut entries = BTreeMap::new();
    for pair in args.chunks(2) {
        let key = cx.text_of(&pair[0])?.into();
        entries.insert(key, pair.get(1).cloned().unwrap_or_else(|| "".into()));
    }
    Ok(Value::map(entries))
}

fn set(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let into = map(args, 0);
    if into.is_nil() {
        return Err("assignment to entry in nil map".into());
    }
    if holds(&args[2], &into, &mut cx.run.meter, 0)? {
        return Err("a map cannot be made to contain itself".into());
    }
    cx.list_of(1)?;
    into.set(text(args, 1).into(), args[2].clone());
    Ok(args[0].clone())
}

/// Whether a map is somewhere in a value. Go allows that, and runs out of stack when it prints it.
fn holds(value: &Value, wanted: &super::Map, meter: &mut Meter, depth: usize) -> Result<bool, Fail> {
    match value {
        Value::List(list) => {
            meter.nest(depth)?;
            list.items().iter().try_fold(false, |found, item| Ok(found || holds(item, wanted, meter, depth + 1)?))
        }
        Value::Map(map) => {
            meter.nest(depth)?;
            let mut entries = map.entries().into_iter();
            Ok(map.is_same(wanted)
                || entries.try_fold(false, |found, (_, item)| {
                    Ok::<_, Fail>(found || holds(&item, wanted, meter, depth + 1)?)
                })?)
        }
        _ => Ok(false),
    }
}

/// `dig "a" "b" default map`: the value under the keys, or the default where one is missing.
fn dig(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let [keys @ .., default, from] = args else { return Err("dig needs at least three arguments".into()) };
    if keys.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    let mut current = as_map(from)?;
    let keys = keys.iter().map(|key| key.as_text().ok_or_else(|| conversion(key, "string")));
    let keys: Vec<&Key> = keys.collect::<Result<_, _>>()?;
    let Some((last, before)) = keys.split_last() else { return Ok(default.clone()) };
    for key in before {
        match current.get(key) {
            Some(value) => current = as_map(&value)?,
            None => return Ok(default.clone()),
        }
    }
    Ok(current.get(last).unwrap_or_else(|| default.clone()))
}

fn as_map(value: &Value) -> Result<super::Map, Fail> {
    match value {
        Value::Map(map) if value.type_name() == Map.name() => Ok(map.clone()),
        other => Err(conversion(other, Map.name())),
    }
}

/// Go's words for a value of the wrong type behind an interface.
fn conversion(value: &Value, wanted: &str) -> Fail {
    let got = if value.is_nil() { "nil" } else { value.type_name() };
    format!("interface conversion: interface {{}} is {got}, not {wanted}").into()
}
