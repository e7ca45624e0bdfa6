//! Expressions in CEL over one object, as ResourceSets judge dependencies by them (resourceset §6).
//!
//! The interpreter cannot be interrupted, so what it runs is metered: each round of a macro and each call of a function goes
//! through the meter, which knows how long the evaluation has taken and how large its values have become.

mod constant;
mod depth;
mod meter;
mod sets;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use cel::{Context, Env, ExecutionError, IdedExpr, Value as Cel, extensions};
use serde_json::Value;

/// Bytes of an expression.
const MAX_BYTES: usize = 16 << 10;
/// Operators, selections and brackets of an expression: no nesting is deeper, and no thread's stack too small for it.
const MAX_OPERATORS: usize = 300;
/// The longest evaluation. It is asked between steps; one step takes a fraction of a second at most.
const MAX_TIME: Duration = Duration::from_secs(2);

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
        if text.len() > MAX_BYTES {
            return Err(wrong(format!("it has {} bytes, more than the limit of {MAX_BYTES}", text.len())));
        }
        if depth::operators(text) > MAX_OPERATORS {
            return Err(wrong(format!("it has more than {MAX_OPERATORS} operators, selections and brackets")));
        }
        let tree = ENVIRONMENT.parser().parse(text).map_err(|e| wrong(e.to_string()))?;
        constant::check(&tree).map_err(ParseError::Constant)?;
        // Macros add levels of their own.
        let tree = meter::metered(tree, 2 * MAX_OPERATORS).map_err(|e| wrong(e.to_owned()))?;
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
        let failed = |why: String| ExpressionError::Evaluation { expression: self.text.clone(), why };
        let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
        for (name, value) in object.as_object().into_iter().flatten() {
            context.add_variable_from_value(name.as_str(), from_json(value));
        }
        match meter::run(MAX_TIME, || Cel::resolve(&self.tree, &context)).map_err(|e| failed(words(&e)))? {
            Cel::Bool(verdict) => Ok(verdict),
            _ => Err(ExpressionError::NotBoolean(self.text.clone())),
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

static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(environment()));

fn environment() -> Env {
    let mut env = Env::stdlib();
    // Declarations fail on doubles only, and each is made once.
    let declared = env
        .add_extension(extensions::strings)
        .and_then(|()| env.add_extension(extensions::encoders))
        .and_then(|()| sets::declare(&mut env))
        .and_then(|()| meter::declare(&mut env));
    debug_assert!(declared.is_ok(), "{declared:?}");
    env
}

/// Integers of JSON are integers of CEL, whatever their sign.
fn from_json(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(b) => Cel::Bool(*b),
        Value::Number(n) => n.as_i64().map_or_else(|| Cel::Float(n.as_f64().unwrap_or_default()), Cel::Int),
        Value::String(text) => Cel::from(text.as_str()),
        Value::Array(items) => Cel::from(items.iter().map(from_json).collect::<Vec<_>>()),
        Value::Object(map) => {
            let map: std::collections::HashMap<String, Cel> =
                map.iter().map(|(key, value)| (key.clone(), from_json(value))).collect();
            Cel::from(map)
        }
    }
}

/// An error in the words of cel-go, which users know.
fn words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::UndeclaredReference(name) => format!("no such attribute(s): {name}"),
        ExecutionError::NoSuchOverload(_)
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnexpectedType { .. } => "no such overload".to_owned(),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(_) => "index out of bounds".to_owned(),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        // The others show values, which may be a Secret's.
        _ => "it cannot be evaluated over this object".to_owned(),
    }
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
