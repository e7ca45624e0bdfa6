//! Conversions of constants, which fail before anything is evaluated (errata 5).

use std::sync::Arc;

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue};
use cel::{Context, Value as Cel};

use super::ENVIRONMENT;

/// Functions that convert, and the type that they convert to as messages name it.
const CONVERSIONS: [(&str, &str); 8] = [
    ("int", "int"),
    ("uint", "uint"),
    ("double", "double"),
    ("bool", "bool"),
    ("bytes", "bytes"),
    ("string", "string"),
    ("duration", "google.protobuf.Duration"),
    ("timestamp", "google.protobuf.Timestamp"),
];

/// Evaluates all conversions of literals.
pub(super) fn check(expression: &IdedExpr) -> Result<(), String> {
    if let Expr::Call(call) = &expression.expr {
        check_call(call, expression)?;
    }
    for child in children(&expression.expr) {
        check(child)?;
    }
    Ok(())
}

fn check_call(call: &CallExpr, whole: &IdedExpr) -> Result<(), String> {
    let Some((_, target)) = CONVERSIONS.iter().find(|(name, _)| *name == call.func_name) else { return Ok(()) };
    let (None, [argument]) = (&call.target, call.args.as_slice()) else { return Ok(()) };
    let Expr::Literal(literal) = &argument.expr else { return Ok(()) };
    let context = Context::with_env(Arc::clone(&ENVIRONMENT));
    match Cel::resolve(whole, &context) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("type conversion error from '{}' to '{target}'", type_of(literal))),
    }
}

fn type_of(literal: &LiteralValue) -> &'static str {
    match literal {
        LiteralValue::Boolean(_) => "bool",
        LiteralValue::Bytes(_) => "bytes",
        LiteralValue::Double(_) => "double",
        LiteralValue::Int(_) => "int",
        LiteralValue::Null => "null_type",
        LiteralValue::String(_) => "string",
        LiteralValue::UInt(_) => "uint",
    }
}

/// The expressions directly below one.
fn children(expression: &Expr) -> Vec<&IdedExpr> {
    match expression {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(c) => vec![&c.iter_range, &c.accu_init, &c.loop_cond, &c.loop_step, &c.result],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Struct(fields) => fields.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}
