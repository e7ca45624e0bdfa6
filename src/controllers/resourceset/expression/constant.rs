//! What fails for every object is found when an expression is parsed: conversions of constants, patterns, types that do not
//! exist (errata 5). Other operations on constants fail when they are evaluated, as in the original.

use cel::IdedExpr;
use cel::common::ast::{EntryExpr, Expr};

use super::evaluate::constant;
use super::functions::{CONVERSIONS, compile, convert};
use super::value::{Failure, Value};

/// Looks through a tree; gives its value where it is a constant.
pub(super) fn check(expression: &IdedExpr) -> Result<Option<Value>, Failure> {
    match &expression.expr {
        Expr::Literal(literal) => Ok(Some(constant(literal))),
        Expr::Unspecified | Expr::Ident(_) => Ok(None),
        Expr::Select(select) => check(&select.operand).map(|_| None),
        Expr::List(list) => {
            let items = list.elements.iter().map(check).collect::<Result<Option<Vec<_>>, _>>()?;
            Ok(items.filter(|_| list.optional_indices.is_empty()).map(Value::list))
        }
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    check(&entry.key)?;
                    check(&entry.value)?;
                }
            }
            Ok(None)
        }
        Expr::Struct(made) => Err(Failure::new(format!("unknown type: {}", made.type_name))),
        Expr::Comprehension(fold) => {
            for part in [&fold.iter_range, &fold.accu_init, &fold.loop_cond, &fold.loop_step, &fold.result] {
                check(part)?;
            }
            Ok(None)
        }
        Expr::Call(call) => {
            let target = call.target.as_deref().map(check).transpose()?.flatten();
            let args = call.args.iter().map(check).collect::<Result<Vec<_>, _>>()?;
            match (call.func_name.as_str(), args.as_slice()) {
                (name, [Some(value)]) if call.target.is_none() && CONVERSIONS.contains(&name) => {
                    convert(name, value).map(Some)
                }
                ("matches", [.., Some(Value::Text(pattern))]) if target.is_none() || call.args.len() == 1 => {
                    compile(pattern).map(|_| None)
                }
                _ => Ok(None),
            }
        }
    }
}
