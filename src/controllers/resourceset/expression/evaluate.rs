//! Walks the tree of an expression. Every step costs, and so does every look at many values, so that no expression runs for
//! long; missing fields and operands that do not fit fail in the words of the API that ours follows.

use std::collections::HashMap;
use std::sync::Arc;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr, operators as op};
use regex::Regex;

use super::value::{Answer, Failure, Key, Map, Value};
use super::{fold, functions, operators};

/// Steps of one evaluation. A loop over ten thousand items that looks at a few fields of each stays below; what would run for
/// more than some hundred milliseconds does not.
const STEPS: u64 = 1_000_000;

/// One evaluation.
pub(super) struct Run<'e> {
    variables: &'e Map,
    /// Names bound by loops, innermost last. What loops gather may be a failure, until it turns out not to matter.
    pub(super) scopes: Vec<(&'e str, Answer)>,
    left: u64,
    patterns: HashMap<Arc<str>, Regex>,
}

/// Names of types that expressions may use as values.
const TYPES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
    "optional_type",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
];

impl<'e> Run<'e> {
    pub(super) fn new(variables: &'e Map) -> Self {
        Self { variables, scopes: Vec::new(), left: STEPS, patterns: HashMap::new() }
    }

    /// Pays for steps.
    pub(super) fn pay(&mut self, steps: u64) -> Result<(), Failure> {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        let interrupted =
            || Failure::new(format!("operation interrupted: the expression takes more than {STEPS} steps"));
        left.map(|_| ()).ok_or_else(interrupted)
    }

    /// Pays for looking at all of a value.
    pub(super) fn pay_for(&mut self, value: &Value) -> Result<(), Failure> {
        self.pay(value.weight(self.left))
    }

    pub(super) fn evaluate(&mut self, expression: &'e IdedExpr) -> Answer {
        self.pay(1)?;
        match &expression.expr {
            Expr::Unspecified => Err(Failure::new("the expression is empty")),
            Expr::Literal(literal) => Ok(constant(literal)),
            Expr::Ident(name) => self.name(name).unwrap_or_else(|| Err(missing(name))),
            Expr::Select(select) => self.select(expression, select),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Struct(made) => Err(Failure::new(format!("unknown type: {}", made.type_name))),
            Expr::Comprehension(fold) => fold::fold(self, fold),
            Expr::Call(call) => self.call(expression, call),
        }
    }

    fn name(&self, name: &str) -> Option<Answer> {
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some((_, bound)) = self.scopes.iter().rev().find(|(bound, _)| *bound == name) {
            return Some(bound.clone());
        }
        let found = self.variables.get(&Key::Text(name.into()));
        let found = found.cloned().or_else(|| TYPES.iter().find(|t| **t == name).map(|t| Value::Type(t)));
        found.map(Ok)
    }

    /// What a chain of names fails with or stands for when no variable has its first name: the whole chain is then the name
    /// that is missing.
    fn unbound(&self, expression: &IdedExpr) -> Option<Answer> {
        let chain = chain(expression)?;
        let root = chain.first()?;
        if self.name(root).is_some() {
            return None;
        }
        let name = chain.join(".");
        Some(self.name(&name).unwrap_or_else(|| Err(missing(&name))))
    }

    fn select(&mut self, expression: &'e IdedExpr, select: &'e SelectExpr) -> Answer {
        if let Some(answer) = self.unbound(expression) {
            return answer;
        }
        let value = self.evaluate(&select.operand)?;
        let key = Value::text(&select.field);
        match (select.test, value) {
            (true, Value::Optional(inner)) => {
                Ok(Value::Bool(inner.is_some_and(|v| operators::find(&v, &key).is_ok_and(|f| f.is_some()))))
            }
            (true, value) => Ok(Value::Bool(operators::find(&value, &key).is_ok_and(|found| found.is_some()))),
            (false, value) => operators::index(&value, &key),
        }
    }

    fn list(&mut self, list: &'e ListExpr) -> Answer {
        let mut items = Vec::with_capacity(list.elements.len());
        for (index, element) in list.elements.iter().enumerate() {
            let value = self.evaluate(element)?;
            if list.optional_indices.contains(&index) {
                items.extend(opened(value)?);
            } else {
                items.push(value);
            }
        }
        Ok(Value::list(items))
    }

    fn map(&mut self, map: &'e MapExpr) -> Answer {
        let mut entries = Map::new();
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { return Err(Failure::overload()) };
            let key = self.evaluate(&entry.key)?;
            let key =
                Key::of(&key).ok_or_else(|| Failure::new(format!("unsupported key type: {}", key.type_name())))?;
            let value = self.evaluate(&entry.value)?;
            let value = if entry.optional { opened(value)? } else { Some(value) };
            if let Some(value) = value {
                entries.insert(key, value);
            }
        }
        Ok(Value::Map(Arc::new(entries)))
    }

    fn call(&mut self, expression: &'e IdedExpr, call: &'e CallExpr) -> Answer {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (op::LOGICAL_AND, [left, right]) => self.logic(left, right, false),
            (op::LOGICAL_OR, [left, right]) => self.logic(left, right, true),
            (op::NOT_STRICTLY_FALSE, [term]) => {
                let is_false = matches!(self.evaluate(term), Ok(Value::Bool(false)));
                Ok(Value::Bool(!is_false))
            }
            (op::CONDITIONAL, [condition, yes, no]) => match self.evaluate(condition)? {
                Value::Bool(true) => self.evaluate(yes),
                Value::Bool(false) => self.evaluate(no),
                _ => Err(Failure::overload()),
            },
            (op::INDEX, [operand, key]) => {
                if let Some(answer) = self.unbound(expression) {
                    return answer;
                }
                let (value, key) = (self.evaluate(operand)?, self.evaluate(key)?);
                operators::index(&value, &key)
            }
            (op::OPT_INDEX | op::OPT_SELECT, [operand, key]) => {
                let (value, key) = (self.evaluate(operand)?, self.evaluate(key)?);
                operators::optional_index(&value, &key)
            }
            (name, args) => match namespaced(call) {
                Some(name) => self.function(name, None, args),
                None => self.function(name, call.target.as_deref(), args),
            },
        }
    }

    /// `&&` and `||`: one side that decides is enough, even when the other fails.
    fn logic(&mut self, left: &'e IdedExpr, right: &'e IdedExpr, decides: bool) -> Answer {
        let mut failure = None;
        for term in [left, right] {
            match self.evaluate(term) {
                Ok(Value::Bool(b)) if b == decides => return Ok(Value::Bool(decides)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => drop(failure.get_or_insert_with(Failure::overload)),
                Err(e) => drop(failure.get_or_insert(e)),
            }
            self.pay(0)?;
        }
        failure.map_or(Ok(Value::Bool(!decides)), Err)
    }

    fn function(&mut self, name: &str, target: Option<&'e IdedExpr>, args: &'e [IdedExpr]) -> Answer {
        let Some(target) = target else {
            let args = args.iter().map(|arg| self.evaluate(arg)).collect::<Result<Vec<_>, _>>()?;
            return functions::call(self, name, &args);
        };
        let target = self.evaluate(target)?;
        if let Value::Optional(inner) = &target {
            return self.optional(name, inner.as_deref(), args);
        }
        let mut all = vec![target];
        for arg in args {
            all.push(self.evaluate(arg)?);
        }
        functions::member(self, name, &all)
    }

    /// Functions of optional values, whose arguments are needed only where there is no value, or with it bound to a name.
    fn optional(&mut self, name: &str, inner: Option<&Value>, args: &'e [IdedExpr]) -> Answer {
        match (name, inner, args) {
            ("hasValue", inner, []) => Ok(Value::Bool(inner.is_some())),
            ("value", Some(value), []) | ("orValue", Some(value), [_]) => Ok(value.clone()),
            ("value", None, []) => Err(Failure::new("optional.none() dereference")),
            ("or", Some(value), [_]) => Ok(Value::some(value.clone())),
            ("orValue", None, [other]) => self.evaluate(other),
            ("or", None, [other]) => match self.evaluate(other)? {
                other @ Value::Optional(_) => Ok(other),
                _ => Err(Failure::overload()),
            },
            ("optMap" | "optFlatMap", None, [_, _]) => Ok(Value::Optional(None)),
            ("optMap" | "optFlatMap", Some(value), [bound, body]) => {
                let Expr::Ident(bound) = &bound.expr else {
                    return Err(Failure::new(format!("{name}() variable name must be a simple identifier")));
                };
                self.scopes.push((bound, Ok(value.clone())));
                let answer = self.evaluate(body);
                self.scopes.pop();
                if name == "optMap" { answer.map(Value::some) } else { answer }
            }
            _ => Err(Failure::function(name)),
        }
    }

    /// A pattern, compiled once. Compiling costs as much as it may take time.
    pub(super) fn pattern(&mut self, pattern: &Arc<str>) -> Result<Regex, Failure> {
        if let Some(known) = self.patterns.get(pattern) {
            return Ok(known.clone());
        }
        self.pay(2_000 + pattern.len() as u64 * 20)?;
        let compiled = functions::compile(pattern)?;
        self.patterns.insert(Arc::clone(pattern), compiled.clone());
        Ok(compiled)
    }
}

/// What is in an optional value, for elements and entries that may be absent.
fn opened(value: Value) -> Result<Option<Value>, Failure> {
    match value {
        Value::Optional(inner) => Ok(inner.as_deref().cloned()),
        other => Err(Failure::new(format!("cannot initialize optional entry from non-optional value {other}"))),
    }
}

fn missing(name: &str) -> Failure {
    Failure::new(format!("no such attribute(s): {}", name.strip_prefix('.').unwrap_or(name)))
}

/// The names of a chain such as `a.b['c']`, when the expression is one.
fn chain(expression: &IdedExpr) -> Option<Vec<&str>> {
    let (mut at, mut names) = (expression, Vec::new());
    loop {
        match &at.expr {
            Expr::Ident(name) => {
                names.push(name.strip_prefix('.').unwrap_or(name));
                names.reverse();
                return Some(names);
            }
            Expr::Select(select) => {
                names.push(&select.field);
                at = &select.operand;
            }
            Expr::Call(CallExpr { func_name, args, .. }) if func_name == op::INDEX => {
                let [operand, key] = args.as_slice() else { return None };
                match &key.expr {
                    Expr::Literal(LiteralValue::String(name)) => names.push(name.inner()),
                    // What follows a place in a list is no part of a name.
                    _ => names.clear(),
                }
                at = operand;
            }
            _ => return None,
        }
    }
}

/// The name of a function that is called like a member of what is no value: `strings.quote`.
fn namespaced(call: &CallExpr) -> Option<&'static str> {
    let Expr::Ident(namespace) = &call.target.as_deref()?.expr else { return None };
    functions::NAMESPACED.iter().copied().find(|name| {
        name.split_once('.').is_some_and(|(space, function)| space == namespace && function == call.func_name)
    })
}

/// A literal of the grammar.
pub(super) fn constant(literal: &LiteralValue) -> Value {
    match literal {
        LiteralValue::Boolean(b) => Value::Bool(*b.inner()),
        LiteralValue::Bytes(bytes) => Value::Bytes(bytes.inner().into()),
        LiteralValue::Double(d) => Value::Double(*d.inner()),
        LiteralValue::Int(i) => Value::Int(*i.inner()),
        LiteralValue::Null => Value::Null,
        LiteralValue::String(text) => Value::text(text.inner()),
        LiteralValue::UInt(u) => Value::Uint(*u.inner()),
    }
}
