//! Calls of functions: their arguments made to fit the types that they declare, with Go's errors where they do not.

use super::super::error::TemplateError;
use super::super::functions::{Action, Context, Function, Type};
use super::super::parse::{At, Expr, Term};
use super::super::value::{Map, Value};
use super::{Done, Fail, Frame, Held};

impl<'t> Frame<'t, '_, '_> {
    /// Calls a function. `node` is what an error of the function points at; `last` comes from the pipeline.
    pub(super) fn call(
        &mut self,
        dot: &Held,
        (name, function): (&'t str, &'t Function),
        node: At<'t>,
        (args, last): (&'t [Expr], Option<Held>),
    ) -> Done<Held> {
        self.step(1)?;
        self.count_arguments(name, function, args.len(), last.is_some())?;
        if let Action::And | Action::Or = function.action() {
            return self.logic(dot, matches!(function.action(), Action::Or), args, last);
        }
        let mut values = Vec::with_capacity(args.len() + 1);
        for (index, arg) in args.iter().enumerate() {
            values.push(self.argument(dot, function.parameter(index), arg)?);
        }
        let callee = args.first().map(ToString::to_string);
        if let Some(last) = last {
            values.push(self.fit(last, function.parameter(args.len()))?);
        }
        let result = {
            let mut context = Context { run: self.run, set: self.set };
            match function.action() {
                Action::Call => Err(call_value(callee, &values)),
                _ => function.carry_out(&mut context, values),
            }
        };
        match result {
            Ok(value) if function.gives_interface() => Ok(Held::interface(value.value)),
            Ok(value) => Ok(value),
            Err(fail) => Err(self.function_error(name, node, fail)),
        }
    }

    fn function_error(&mut self, name: &str, node: At<'t>, fail: Fail) -> TemplateError {
        self.at = Some(node);
        match fail {
            Fail::Message(message) => self.failed(Fail::Message(format!("error calling {name}: {message}"))),
            limit @ Fail::Limit(_) => self.failed(limit),
        }
    }

    fn count_arguments(&self, name: &str, function: &Function, given: usize, piped: bool) -> Done<()> {
        let count = given + usize::from(piped);
        let declared = function.parameters();
        if function.is_variadic() {
            let least = declared - 1;
            if count < least {
                return self.error(format_args!("wrong number of args for {name}: want at least {least} got {given}"));
            }
        } else if count != declared {
            return self.error(format_args!("wrong number of args for {name}: want {declared} got {count}"));
        }
        Ok(())
    }

    /// `and` and `or` look at no more arguments than they need.
    fn logic(&mut self, dot: &Held, is_or: bool, args: &'t [Expr], last: Option<Held>) -> Done<Held> {
        let mut value = Held::default();
        for arg in args {
            value = self.argument(dot, Type::Raw, arg)?;
            if value.value.is_true() == is_or {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }

    /// An argument of a type.
    pub(super) fn argument(&mut self, dot: &Held, wanted: Type, expr: &'t Expr) -> Done<Held> {
        self.at = Some(At::Expr(expr));
        if matches!(expr.term, Term::Nil) {
            return match wanted {
                Type::Any => Ok(Held::interface(Value::Nil)),
                Type::Raw => Ok(Held::default()),
                Type::Map => Ok(Held::concrete(Value::Map(Map::nil()))),
                other => self.error(format_args!("cannot assign nil to {}", other.name())),
            };
        }
        if let Some(value) = self.operand(dot, expr)? {
            return self.fit(value, wanted);
        }
        let found = |what: &str| format!("expected {what}; found {expr}");
        match (wanted, &expr.term) {
            (Type::Any | Type::Raw, _) => self.constant_argument(expr),
            (Type::Bool, Term::Bool(b)) => Ok(Held::concrete(Value::Bool(*b))),
            (Type::Bool, _) => self.error(found("bool")),
            (Type::Text, Term::Text(_, text)) => Ok(Held::concrete(Value::Text(text.clone()))),
            (Type::Text, _) => self.error(found("string")),
            (Type::Int, Term::Number(number)) if number.int.is_some() => {
                Ok(Held::concrete(Value::Int(number.int.unwrap_or_default())))
            }
            (Type::Int, _) => self.error(found("integer")),
            (Type::Float, Term::Number(number)) if number.float.is_some() => {
                Ok(Held::concrete(Value::Float(number.float.unwrap_or_default())))
            }
            (Type::Float, _) => self.error(found("float")),
            (Type::Map | Type::Time, _) => {
                self.error(format_args!("can't handle {expr} for arg of type {}", wanted.name()))
            }
        }
    }

    /// A value as an argument of a type.
    pub(super) fn fit(&self, value: Held, wanted: Type) -> Done<Held> {
        if value.is_invalid() {
            return match wanted {
                Type::Any => Ok(Held::interface(Value::Nil)),
                Type::Raw => Ok(value),
                Type::Map => Ok(Held::concrete(Value::Map(Map::nil()))),
                other => self.error(format_args!("invalid value; expected {}", other.name())),
            };
        }
        if matches!(wanted, Type::Any | Type::Raw) {
            return Ok(value);
        }
        if wanted.name() == value.value.type_name() {
            return Ok(value.unwrapped());
        }
        let got = if value.value.is_nil() { "interface {}" } else { value.value.type_name() };
        self.error(format_args!("wrong type for value; expected {}; got {got}", wanted.name()))
    }
}

/// What `call` says: no value of a template is a function.
fn call_value(callee: Option<String>, values: &[Held]) -> Fail {
    match values.first().map(|held| &held.value) {
        None | Some(Value::Nil) => "call of nil".into(),
        Some(value) => {
            let name = callee.unwrap_or_else(|| match value {
                Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
                other => format!("<{} Value>", other.type_name()),
            });
            format!("non-function {name} of type {}", value.type_name()).into()
        }
    }
}
