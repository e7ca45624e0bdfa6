//! Loops, into which the macros `all`, `exists`, `exists_one`, `filter` and `map` are expanded.

use std::sync::Arc;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, operators as op};

use super::evaluate::Run;
use super::value::{Answer, Failure, Key, Value};

/// Runs a loop. A failure of one round is kept as what was gathered, so that a later round can outweigh it.
pub(super) fn fold<'e>(run: &mut Run<'e>, fold: &'e ComprehensionExpr) -> Answer {
    let range = items(run.evaluate(&fold.iter_range)?, fold.iter_var2.is_some())?;
    let mut gathered = run.evaluate(&fold.accu_init);
    let depth = run.scopes.len();
    for (first, second) in range {
        run.pay(1)?;
        run.scopes.push((&fold.accu_var, gathered));
        let go_on = !matches!(run.evaluate(&fold.loop_cond), Ok(Value::Bool(false)));
        if !go_on {
            gathered = taken(run);
            break;
        }
        run.scopes.push((&fold.iter_var, Ok(first)));
        if let (Some(name), Some(second)) = (&fold.iter_var2, second) {
            run.scopes.push((name, Ok(second)));
        }
        gathered = match Appended::of(&fold.accu_var, &fold.loop_step) {
            Some(appended) => append(run, depth, &appended),
            None => run.evaluate(&fold.loop_step),
        };
        run.scopes.truncate(depth);
    }
    run.scopes.truncate(depth);
    run.scopes.push((&fold.accu_var, gathered));
    let answer = run.evaluate(&fold.result);
    run.scopes.truncate(depth);
    answer
}

fn taken(run: &mut Run<'_>) -> Answer {
    run.scopes.pop().map_or_else(|| Err(Failure::overload()), |(_, answer)| answer)
}

/// What is looped over: elements or keys; or, for two names, places with elements and keys with values.
fn items(range: Value, two: bool) -> Result<Vec<(Value, Option<Value>)>, Failure> {
    Ok(match (range, two) {
        (Value::List(items), false) => items.iter().map(|item| (item.clone(), None)).collect(),
        (Value::List(items), true) => {
            items.iter().enumerate().map(|(i, item)| (Value::count(i), Some(item.clone()))).collect()
        }
        (Value::Map(entries), false) => entries.keys().map(|key| (Key::value(key), None)).collect(),
        (Value::Map(entries), true) => entries.iter().map(|(k, v)| (k.value(), Some(v.clone()))).collect(),
        (other, _) => return Err(Failure::new(format!("got '{}', expected iterable type", other.native_name()))),
    })
}

/// A step that appends to the list gathered so far, perhaps under a condition: `filter` and `map` do. Done as one, for a
/// copy of the list in every round would cost the square of its length.
struct Appended<'e> {
    condition: Option<&'e IdedExpr>,
    list: &'e IdedExpr,
}

impl<'e> Appended<'e> {
    fn of(gathered: &str, step: &'e IdedExpr) -> Option<Self> {
        let Expr::Call(CallExpr { func_name, args, .. }) = &step.expr else { return None };
        let is_gathered = |e: &IdedExpr| matches!(&e.expr, Expr::Ident(name) if name == gathered);
        match (func_name.as_str(), args.as_slice()) {
            (op::ADD, [left, list]) if is_gathered(left) && matches!(list.expr, Expr::List(_)) => {
                Some(Self { condition: None, list })
            }
            (op::CONDITIONAL, [condition, yes, no]) if is_gathered(no) => {
                let inner = Self::of(gathered, yes).filter(|inner| inner.condition.is_none())?;
                Some(Self { condition: Some(condition), list: inner.list })
            }
            _ => None,
        }
    }
}

fn append<'e>(run: &mut Run<'e>, at: usize, appended: &Appended<'e>) -> Answer {
    let wanted = appended.condition.map_or(Ok(Value::Bool(true)), |condition| run.evaluate(condition));
    let more = match wanted? {
        Value::Bool(true) => Some(run.evaluate(appended.list)?),
        Value::Bool(false) => None,
        _ => return Err(Failure::overload()),
    };
    let slot = run.scopes.get_mut(at).map(|(_, answer)| std::mem::replace(answer, Ok(Value::Null)));
    let Value::List(mut list) = slot.unwrap_or_else(|| Err(Failure::overload()))? else {
        return Err(Failure::overload());
    };
    if let Some(Value::List(more)) = more {
        Arc::make_mut(&mut list).extend(more.iter().cloned());
    }
    Ok(Value::List(list))
}
