//! Defaults, conditions, and questions about types.

use super::super::value::Value;
use super::Type::{Any, Bool, Text};
use super::{Context, Definition, Fail, Given, equality, function, string};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("default", &[Any, Any], |_, args| {
        Ok(args.get(1).filter(|given| given.is_true()).unwrap_or(&args[0]).clone())
    })
    .variadic()
    .interface(),
    function("empty", &[Any], |_, args| Ok((!args[0].is_true()).into())),
    function("coalesce", &[Any], |_, args| Ok(args.iter().find(|arg| arg.is_true()).cloned().unwrap_or_default()))
        .variadic()
        .interface(),
    function("all", &[Any], |_, args| Ok(args.iter().all(Value::is_true).into())).variadic(),
    function("any", &[Any], |_, args| Ok(args.iter().any(Value::is_true).into())).variadic(),
    function("ternary", &[Any, Any, Bool], |_, args| Ok(args[usize::from(!args[2].is_true())].clone())).interface(),
    function("fail", &[Text], |_, args| Err(Fail::Message(string(args, 0).into_owned()))),
    function("bool", &[Any], to_bool),
    function("typeOf", &[Any], |_, args| Ok(args[0].type_name().into())),
    function("typeIs", &[Text, Any], type_is),
    // A value is never a pointer, so that a type is like itself only.
    function("typeIsLike", &[Text, Any], type_is),
    function("kindOf", &[Any], |_, args| Ok(args[0].kind_name().into())),
    function("kindIs", &[Text, Any], |_, args| Ok((string(args, 0) == args[1].kind_name()).into())),
    function("deepEqual", &[Any, Any], |cx, args| {
        equality::deep_equal(&args[0], &args[1], &mut cx.run.meter).map(Value::Bool)
    }),
    Definition::raw("inputs", &[], |cx, _| match &cx.run.inputs {
        Some(inputs) => Ok(super::Held::concrete(Value::Map(inputs.clone()))),
        None => Ok(super::Held::concrete(Value::Map(super::Map::nil()))),
    }),
];

fn type_is(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    Ok((string(args, 0) == args[1].type_name()).into())
}

/// The words of Go's `ParseBool`; numbers other than zero are true (resourceset D1).
fn to_bool(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    match &args[0] {
        Value::Text(text) => match text.as_ref() {
            b"1" | b"t" | b"T" | b"TRUE" | b"true" | b"True" => Ok(true.into()),
            b"0" | b"f" | b"F" | b"FALSE" | b"false" | b"False" => Ok(false.into()),
            other => {
                let quoted = super::super::format::quote(other, b'"');
                Err(format!("strconv.ParseBool: parsing {quoted}: invalid syntax").into())
            }
        },
        value @ (Value::Bool(_) | Value::Int(_) | Value::Int64(_) | Value::Byte(_) | Value::Float(_)) => {
            Ok(value.is_true().into())
        }
        other => Err(format!("cannot convert {} to bool", other.type_name()).into()),
    }
}
