//! Expressions in CEL over one object, as ResourceSets judge dependencies by them (resourceset §6).
//!
//! The grammar is the library's. Its interpreter cannot be interrupted and has errors of its own wording, so evaluation is
//! done here: step by step, each of which costs, and failing in the words of the API that ours follows.

mod constant;
mod evaluate;
mod fold;
mod format;
mod functions;
mod guard;
mod operators;
#[cfg(test)]
mod tests;
mod texts;
mod time;
mod value;

use std::sync::{Arc, LazyLock};

use cel::IdedExpr;
use cel::parser::{ParseErrors, Parser};
use serde_json::Value;

use crate::runtime::with_stack;

use self::evaluate::Run;
use self::value::{Key, Map};

/// Annotation that expressions do not see: it repeats the whole object as text.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A text is no expression that could ever be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// It is not understood, or larger than anybody needs.
    #[error("failed to parse the CEL expression '{expression}': {why}")]
    Syntax {
        /// The text.
        expression: String,
        /// Place and cause.
        why: String,
    },
    /// A part of it that does not depend on the object fails already.
    #[error("failed to create CEL program: {0}")]
    Constant(String),
}

/// An expression gives no truth value for an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// It fails: a field does not exist, types do not fit, or it takes too many steps.
    #[error("failed to evaluate the CEL expression '{expression}': {why}")]
    Evaluation {
        /// The text.
        expression: String,
        /// What fails.
        why: String,
    },
    /// It gives something else.
    #[error("failed to evaluate CEL expression as boolean: '{0}'")]
    NotBoolean(String),
}

/// An expression, parsed and checked for what can be known without an object.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    tree: IdedExpr,
}

/// What says that a ResourceSet or an input provider is ready.
const OWN_KINDS: &str = "status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True' && \
                         e.observedGeneration == metadata.generation)";

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// When the text is no expression, is too large or nested too deeply, or has a constant part that fails.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let wrong = |why: String| ParseError::Syntax { expression: text.to_owned(), why };
        guard::check(text).map_err(wrong)?;
        let parsed = with_stack("expression", guard::STACK, || {
            let tree = Parser::new().enable_optional_syntax(true).parse(text).map_err(|e| wrong(words(text, &e)))?;
            constant::check(&tree).map_err(|e| ParseError::Constant(e.to_string()))?;
            Ok(tree)
        });
        let tree = parsed.map_err(|e| wrong(e.to_string()))??;
        Ok(Self { text: text.to_owned(), tree })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is true of an object, whose top-level fields are its variables. It takes a bounded number of steps, but may
    /// compute for a moment.
    ///
    /// # Errors
    /// When a part that matters fails, or the result is no truth value.
    pub fn evaluate(&self, object: &Value) -> Result<bool, ExpressionError> {
        let variables: Map = object
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (Key::Text(name.as_str().into()), value::Value::from(value)))
            .collect();
        match Run::new(&variables).evaluate(&self.tree) {
            Ok(value::Value::Bool(verdict)) => Ok(verdict),
            Ok(_) => Err(ExpressionError::NotBoolean(self.text.clone())),
            Err(e) => Err(ExpressionError::Evaluation { expression: self.text.clone(), why: e.to_string() }),
        }
    }

    /// The expression that stands for readiness of our own kinds: every condition Ready is true and says so of the newest
    /// generation.
    pub fn own_kinds() -> Arc<Self> {
        static PARSED: LazyLock<Arc<Expression>> = LazyLock::new(|| {
            let parsed = Expression::parse(OWN_KINDS);
            Arc::new(parsed.unwrap_or(Expression { text: OWN_KINDS.to_owned(), tree: IdedExpr::default() }))
        });
        Arc::clone(&PARSED)
    }
}

/// Errors of the parser with their places. What only follows from another error is left out.
fn words(text: &str, errors: &ParseErrors) -> String {
    let shown = |error: &cel::ParseError| {
        let (line, column) = (usize::try_from(error.pos.0).unwrap_or(1), usize::try_from(error.pos.1).unwrap_or(1));
        guard::shown(text, line.max(1), column.saturating_sub(1), &error.msg)
    };
    let own = errors.errors.iter().filter(|e| !e.msg.starts_with("Incomplete "));
    let all: Vec<String> = own.map(shown).collect();
    if all.is_empty() { errors.to_string() } else { all.join("\n") }
}

/// What expressions may see of an object: not the annotation with its last applied form, and no `data` of a Secret outside
/// of the ResourceSet's own namespace (resourceset §6).
pub fn visible(mut object: Value, own_namespace: &str) -> Value {
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
    let foreign = object.pointer("/metadata/namespace").and_then(Value::as_str) != Some(own_namespace);
    if object["apiVersion"] == "v1"
        && object["kind"] == "Secret"
        && foreign
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("data");
    }
    object
}
