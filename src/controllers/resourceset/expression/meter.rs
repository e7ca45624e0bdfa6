//! Bounds of an evaluation: its time, and the size of what it makes.
//!
//! Before evaluation, [`metered`] wraps parts of the expression into calls of a function that users cannot write. It hands its
//! argument on, unless the bounds are overstepped; then each further call fails as well, so that no operator that forgives
//! errors keeps the evaluation going.

use std::cell::Cell;
use std::time::{Duration, Instant};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, operators};
use cel::common::types::{CelBytes, CelList, CelMap, CelString, DYN_TYPE};
use cel::common::value::Val;
use cel::{DeclarationError, Env, ExecutionError};

/// The function that hands its argument on.
const METER: &str = "@meter";
/// `string.replace` that looks at the size of its result first.
const REPLACE: &str = "@replaceable";
/// Bytes that one value may have, elements counted with a few bytes each.
const MAX_VALUE: usize = 4 << 20;
/// Bytes that all values of an evaluation may have together.
const MAX_TOTAL: usize = 256 << 20;
/// What an element of a list or map counts besides its content.
const ELEMENT: usize = 16;

thread_local! {
    /// End of the evaluation that runs on this thread, and the bytes that it may still make.
    static LEFT: Cell<Option<(Instant, usize)>> = const { Cell::new(None) };
}

/// Runs an evaluation within the bounds.
pub(super) fn run<T>(time: Duration, work: impl FnOnce() -> T) -> T {
    LEFT.with(|left| left.set(Some((Instant::now() + time, MAX_TOTAL))));
    let done = work();
    LEFT.with(|left| left.set(None));
    done
}

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_overload(METER, "meter_dyn", vec![DYN_TYPE], |mut args| {
        let value = args.pop().ok_or_else(ExecutionError::missing_argument_or_target)?;
        count(value.as_ref())?;
        Ok(value)
    })?;
    env.add_overload(REPLACE, "replaceable_dyn", vec![DYN_TYPE, DYN_TYPE, DYN_TYPE], |mut args| {
        let length = |at: usize| args.get(at).and_then(|v| v.downcast_ref::<CelString<'_>>()).map_or(0, |s| s.len());
        let (text, old, new) = (length(0), length(1), length(2));
        if (text / old.max(1) + 1).saturating_mul(new) > MAX_VALUE {
            return Err(exceeded("the result of replace is too large"));
        }
        args.truncate(1);
        args.pop().ok_or_else(ExecutionError::missing_argument_or_target)
    })
}

fn exceeded(what: &str) -> ExecutionError {
    ExecutionError::function_error(METER, format!("operation interrupted: {what}"))
}

fn count(value: &dyn Val) -> Result<(), ExecutionError> {
    let Some((end, left)) = LEFT.with(Cell::get) else { return Ok(()) };
    if left == 0 {
        return Err(exceeded("it makes too much data"));
    }
    if Instant::now() >= end {
        return Err(exceeded("it takes too long"));
    }
    let used = size(value, MAX_VALUE + 1);
    let left = if used > MAX_VALUE { 0 } else { left.saturating_sub(used) };
    LEFT.with(|cell| cell.set(Some((end, left))));
    if left == 0 { Err(exceeded("it makes too much data")) } else { Ok(()) }
}

/// The size of a value; not looked at any further once it is `enough`.
fn size(value: &dyn Val, enough: usize) -> usize {
    if let Some(text) = value.downcast_ref::<CelString<'_>>() {
        return text.len();
    }
    if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
        return bytes.inner().len();
    }
    let mut total = 0;
    if let Some(list) = value.downcast_ref::<CelList<'_>>() {
        for item in list.inner() {
            total += ELEMENT + size(item.as_ref(), enough.saturating_sub(total));
            if total >= enough {
                break;
            }
        }
    } else if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
        for value in map.inner().values() {
            total += 2 * ELEMENT + size(value.as_ref(), enough.saturating_sub(total));
            if total >= enough {
                break;
            }
        }
    }
    total
}

/// Wraps what has to be metered.
///
/// # Errors
/// When the expression is nested deeper than `depth`.
pub(super) fn metered(expression: IdedExpr, depth: usize) -> Result<IdedExpr, &'static str> {
    let Some(depth) = depth.checked_sub(1) else { return Err("it is nested too deep") };
    let id = expression.id;
    let expr = match expression.expr {
        Expr::Call(call) => return wrap_call(id, call, depth),
        Expr::Comprehension(comprehension) => Expr::Comprehension(Box::new(wrap_loop(*comprehension, depth)?)),
        Expr::List(mut list) => {
            list.elements = all(list.elements, depth)?;
            Expr::List(list)
        }
        Expr::Map(mut map) => {
            for entry in &mut map.entries {
                wrap_entry(&mut entry.expr, depth)?;
            }
            Expr::Map(map)
        }
        Expr::Struct(mut fields) => {
            for entry in &mut fields.entries {
                wrap_entry(&mut entry.expr, depth)?;
            }
            Expr::Struct(fields)
        }
        Expr::Select(mut select) => {
            *select.operand = metered(std::mem::take(&mut *select.operand), depth)?;
            Expr::Select(select)
        }
        leaf @ (Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified) => leaf,
    };
    Ok(IdedExpr { id, expr })
}

fn all(expressions: Vec<IdedExpr>, depth: usize) -> Result<Vec<IdedExpr>, &'static str> {
    expressions.into_iter().map(|e| metered(e, depth)).collect()
}

fn wrap_entry(entry: &mut EntryExpr, depth: usize) -> Result<(), &'static str> {
    match entry {
        EntryExpr::StructField(field) => field.value = metered(std::mem::take(&mut field.value), depth)?,
        EntryExpr::MapEntry(entry) => {
            entry.key = metered(std::mem::take(&mut entry.key), depth)?;
            entry.value = metered(std::mem::take(&mut entry.value), depth)?;
        }
    }
    Ok(())
}

fn call(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }) }
}

/// Functions and `+` make values; the other operators do not.
fn wrap_call(id: u64, mut made: CallExpr, depth: usize) -> Result<IdedExpr, &'static str> {
    made.args = all(made.args, depth)?;
    if let Some(target) = made.target.take() {
        // The name of a library (`sets.contains`) is no value.
        made.target = Some(Box::new(metered(*target, depth)?));
    }
    if made.func_name == "replace"
        && let (Some(target), [old, new, ..]) = (made.target.take(), made.args.as_slice())
    {
        made.target = Some(Box::new(call(REPLACE, vec![*target, old.clone(), new.clone()])));
    }
    if matches!(made.func_name.as_str(), "join" | "format") {
        made.args = made.args.into_iter().map(|arg| call(METER, vec![arg])).collect();
    }
    let makes = made.func_name == operators::ADD || made.func_name.starts_with(|c: char| c.is_ascii_alphabetic());
    let name_only = matches!(made.func_name.as_str(), "optional" | "strings" | "sets" | "base64");
    let whole = IdedExpr { id, expr: Expr::Call(made) };
    Ok(if makes && !name_only { call(METER, vec![whole]) } else { whole })
}

/// Each round is metered: in its condition, or where lists are built, which the interpreter recognises by their form, in
/// what is asked and what is added.
fn wrap_loop(mut made: ComprehensionExpr, depth: usize) -> Result<ComprehensionExpr, &'static str> {
    made.iter_range = metered(made.iter_range, depth)?;
    if matches!(made.loop_cond.expr, Expr::Literal(_)) {
        made.loop_step = wrap_step(made.loop_step, depth)?;
    } else {
        made.loop_step = wrap_inner(made.loop_step, depth)?;
        made.loop_cond = call(METER, vec![made.loop_cond]);
    }
    made.result = wrap_inner(made.result, depth)?;
    Ok(made)
}

/// The operands of a call that belongs to the loop itself.
fn wrap_inner(step: IdedExpr, depth: usize) -> Result<IdedExpr, &'static str> {
    match step.expr {
        Expr::Call(mut made) if made.target.is_none() => {
            made.args = all(made.args, depth)?;
            Ok(IdedExpr { id: step.id, expr: Expr::Call(made) })
        }
        expr => metered(IdedExpr { id: step.id, expr }, depth),
    }
}

fn wrap_step(step: IdedExpr, depth: usize) -> Result<IdedExpr, &'static str> {
    let Expr::Call(mut made) = step.expr else { return metered(step, depth) };
    if made.func_name == operators::CONDITIONAL && made.args.len() == 3 {
        let mut args = made.args.into_iter();
        let (guard, then, otherwise) = (args.next(), args.next(), args.next());
        let guard = guard.map(|g| metered(g, depth)).transpose()?.map(|g| call(METER, vec![g]));
        let then = then.map(|t| wrap_step(t, depth)).transpose()?;
        made.args = guard.into_iter().chain(then).chain(otherwise).collect();
    } else {
        for arg in &mut made.args {
            if let Expr::List(list) = &mut arg.expr {
                let elements = all(std::mem::take(&mut list.elements), depth)?;
                list.elements = elements.into_iter().map(|e| call(METER, vec![e])).collect();
            }
        }
    }
    Ok(IdedExpr { id: step.id, expr: Expr::Call(made) })
}
