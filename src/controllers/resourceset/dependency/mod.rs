//! What a ResourceSet depends on: objects that have to exist, or to be ready, before anything is built (resourceset §6).
//! Which identity reads them is the caller's affair.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::api::resourceset::Dependency;
use crate::object::Gvk;
use crate::operator::sets::dependency_status;
use crate::runtime::blocking;

use super::expression::{Expression, ExpressionError, ParseError, visible};

/// One dependency, its expression parsed.
#[derive(Clone, Debug)]
pub struct Check {
    dependency: Dependency,
    expression: Option<Arc<Expression>>,
}

/// The expression of a dependency is none. Nothing but a change of the ResourceSet mends it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to parse expression for dependency {id}: {source}")]
pub struct WrongExpression {
    id: String,
    source: ParseError,
}

/// A dependency that is not as it should be, in the words of resourceset §6.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// It cannot be read.
    #[error("dependency {id} not found: {why}")]
    Missing {
        /// The dependency.
        id: String,
        /// The words of the API server.
        why: String,
    },
    /// Its expression is not true.
    #[error("dependency {id} not ready: expression '{expression}'")]
    Expression {
        /// The dependency.
        id: String,
        /// The expression.
        expression: String,
    },
    /// One of our own kinds whose conditions are not all as they should be.
    #[error("dependency {id} not ready")]
    Conditions {
        /// The dependency.
        id: String,
    },
    /// Any other kind, by its status.
    #[error("dependency {id} not ready: status {status}")]
    Status {
        /// The dependency.
        id: String,
        /// The word of kstatus.
        status: &'static str,
    },
    /// An expression gives no answer.
    #[error(transparent)]
    NoAnswer(#[from] ExpressionError),
}

/// Parses the expressions of all dependencies. One whose `ready` is not set needs none, and its expression is not looked at.
///
/// # Errors
/// On the first that is no expression.
pub fn parse(dependencies: &[Dependency]) -> Result<Vec<Check>, WrongExpression> {
    dependencies
        .iter()
        .map(|dependency| {
            let expression = match dependency.ready_expr.as_deref().filter(|e| !e.is_empty()) {
                Some(text) if dependency.ready == Some(true) => {
                    let parsed = Expression::parse(text);
                    Some(parsed.map_err(|source| WrongExpression { id: Id(dependency).to_string(), source })?)
                }
                Some(_) | None => None,
            };
            Ok(Check { dependency: dependency.clone(), expression: expression.map(Arc::new) })
        })
        .collect()
}

/// Checks dependencies in their order, until one is not as it should be. `read` gives the live object of a kind, namespace
/// and name, or the API server's words why not; of a namespaced kind without a namespace it says that `an empty namespace may
/// not be set when a resource name is provided` (errata 21).
///
/// # Errors
/// The first dependency that is missing or not ready.
pub async fn check<F, E>(
    checks: &[Check],
    own_namespace: &str,
    read: impl Fn(Gvk, Option<String>, String) -> F,
) -> Result<(), NotReady>
where
    F: Future<Output = Result<Value, E>>,
    E: fmt::Display,
{
    for check in checks {
        let wanted = &check.dependency;
        let id = || Id(wanted).to_string();
        let gvk = Gvk::new(&wanted.api_version, &wanted.kind);
        let namespace = wanted.namespace.clone().filter(|n| !n.is_empty());
        let object = read(gvk, namespace, wanted.name.clone())
            .await
            .map_err(|e| NotReady::Missing { id: id(), why: e.to_string() })?;
        if wanted.ready == Some(true) {
            is_ready(check, visible(object, own_namespace)).await?;
        }
    }
    Ok(())
}

async fn is_ready(check: &Check, object: Value) -> Result<(), NotReady> {
    let wanted = &check.dependency;
    let id = || Id(wanted).to_string();
    if let Some(expression) = &check.expression {
        return match evaluate(expression, object).await? {
            true => Ok(()),
            false => Err(NotReady::Expression { id: id(), expression: expression.text().to_owned() }),
        };
    }
    if matches!(wanted.kind.as_str(), "ResourceSet" | "ResourceSetInputProvider") {
        return match evaluate(&Expression::own_kinds(), object).await? {
            true => Ok(()),
            false => Err(NotReady::Conditions { id: id() }),
        };
    }
    match dependency_status(&object) {
        (true, _) => Ok(()),
        (false, status) => Err(NotReady::Status { id: id(), status }),
    }
}

/// Evaluates beside the threads that drive everything else.
async fn evaluate(expression: &Arc<Expression>, object: Value) -> Result<bool, ExpressionError> {
    let ours = Arc::clone(expression);
    blocking("expression", move || ours.evaluate(&object)).await.unwrap_or_else(|e| {
        Err(ExpressionError::Evaluation { expression: expression.text().to_owned(), why: e.to_string() })
    })
}

/// `apiVersion/Kind/[namespace/]name`.
struct Id<'a>(&'a Dependency);

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dependency { api_version, kind, name, namespace, .. } = self.0;
        match namespace.as_deref().filter(|n| !n.is_empty()) {
            Some(namespace) => write!(f, "{api_version}/{kind}/{namespace}/{name}"),
            None => write!(f, "{api_version}/{kind}/{name}"),
        }
    }
}

#[cfg(test)]
mod tests;
