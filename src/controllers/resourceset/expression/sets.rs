//! The extension library `sets`: `sets.contains`, `sets.equivalent`, `sets.intersects`.

use cel::common::types::{CelBool, CelList, LIST_TYPE};
use cel::common::value::CowVal;
use cel::{DeclarationError, Env, ExecutionError};

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    let lists = || vec![LIST_TYPE, LIST_TYPE];
    env.add_overload("sets.contains", "list_sets_contains_list", lists(), |args| {
        with_lists(&args, "sets.contains", contains)
    })?;
    env.add_overload("sets.equivalent", "list_sets_equivalent_list", lists(), |args| {
        with_lists(&args, "sets.equivalent", |a, b| contains(a, b) && contains(b, a))
    })?;
    env.add_overload("sets.intersects", "list_sets_intersects_list", lists(), |args| {
        with_lists(&args, "sets.intersects", |a, b| {
            a.inner().iter().any(|x| b.inner().iter().any(|y| x.equals(y.as_ref())))
        })
    })
}

/// Whether the first holds all elements of the second.
fn contains(a: &CelList<'_>, b: &CelList<'_>) -> bool {
    b.inner().iter().all(|x| a.inner().iter().any(|y| x.equals(y.as_ref())))
}

/// Comparisons that one call may make: each element with each.
const MAX_COMPARISONS: usize = 1_000_000;

fn with_lists<'b, 'v>(
    args: &[CowVal<'b, 'v>],
    name: &str,
    decide: impl Fn(&CelList<'_>, &CelList<'_>) -> bool,
) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let list = |at: usize| args.get(at).and_then(|arg| arg.downcast_ref::<CelList<'_>>());
    match (list(0), list(1)) {
        (Some(a), Some(b)) if a.inner().len().saturating_mul(b.inner().len()) > MAX_COMPARISONS => {
            Err(ExecutionError::function_error(name, "the lists are too long"))
        }
        (Some(a), Some(b)) => Ok(CowVal::owned(CelBool::from(decide(a, b)))),
        _ => Err(ExecutionError::function_error(name, "no such overload")),
    }
}
