//! Values as YAML, in the layout that `sigs.k8s.io/yaml` gives them.

use super::super::exec::Fail;
use super::Context;
use super::Type::Any;
use super::{Definition, Given, Value, function, json};
use crate::object::yaml;

pub(super) const FUNCTIONS: &[Definition] = &[
    function("toYaml", &[Any], |cx, args| match encoded(cx, args) {
        Err(Fail::Message(_)) => Ok("".into()),
        given => given,
    }),
    function("mustToYaml", &[Any], encoded),
];

/// Gives the YAML with its line end.
pub(super) fn encoded(cx: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let json = match json::to_json(&args[0], &mut cx.run.meter, 0) {
        Err(Fail::Message(message)) => return Err(format!("error marshaling into JSON: {message}").into()),
        json => json?,
    };
    let text = yaml::emit(&json);
    cx.text_of_length(text.len())?;
    Ok(text.into())
}
