//! Pipelines, commands and operands: what their values are.

use super::super::parse::{At, Command, Expr, Number, Pipe, Term};
use super::super::value::Value;
use super::{Done, Frame, Held};

impl<'t> Frame<'t, '_, '_> {
    /// The value of a pipeline; variables that it declares are pushed, for the caller to pop.
    pub(super) fn pipeline(&mut self, dot: &Held, pipe: &'t Pipe) -> Done<Held> {
        self.at = Some(At::Pipe(pipe));
        let mut value: Option<Held> = None;
        for command in &pipe.commands {
            self.step(1)?;
            value = Some(self.command(dot, command, value)?.unwrapped());
        }
        let value = value.unwrap_or_default();
        for name in &pipe.variables {
            if pipe.is_assignment {
                self.assign(name, value.clone())?;
            } else {
                self.variables.push((name.as_str(), value.clone()));
            }
        }
        Ok(value)
    }

    /// Overwrites the variable of that name that was declared last.
    pub(super) fn assign(&mut self, name: &str, value: Held) -> Done<()> {
        match self.variables.iter_mut().rev().find(|(known, _)| *known == name) {
            Some((_, held)) => {
                *held = value;
                Ok(())
            }
            None => self.error(format_args!("undefined variable: {name}")),
        }
    }

    fn variable(&self, name: &str) -> Done<Held> {
        match self.variables.iter().rev().find(|(known, _)| *known == name) {
            Some((_, held)) => Ok(held.clone()),
            None => self.error(format_args!("undefined variable: {name}")),
        }
    }

    /// A command's value; `last` is that of the command before it in the pipeline, which becomes its last argument.
    fn command(&mut self, dot: &Held, command: &'t Command, last: Option<Held>) -> Done<Held> {
        let first = &command.args[0];
        let args = &command.args[1..];
        match &first.term {
            Term::Field(fields) => {
                self.at = Some(At::Expr(first));
                self.fields(dot, dot.clone(), fields, (args, last))
            }
            Term::Chain(inner, fields) => self.chain(dot, first, (inner, fields), (args, last)),
            Term::Function(name, function) => {
                self.at = Some(At::Expr(first));
                self.call(dot, (name, function), At::Command(command), (args, last))
            }
            Term::Pipe(pipe) => {
                self.takes_no_argument(first, args, last.as_ref())?;
                self.deeper(|frame| frame.pipeline(dot, pipe))
            }
            Term::Variable(fields) => self.variable_fields(dot, first, fields, (args, last)),
            Term::Nil => {
                self.at = Some(At::Expr(first));
                self.takes_no_argument(first, args, last.as_ref())?;
                self.error("nil is not a command")
            }
            _ => {
                self.at = Some(At::Expr(first));
                self.takes_no_argument(first, args, last.as_ref())?;
                self.constant(dot, first)
            }
        }
    }

    fn takes_no_argument(&self, first: &Expr, args: &[Expr], last: Option<&Held>) -> Done<()> {
        if args.is_empty() && last.is_none() {
            return Ok(());
        }
        self.error(format_args!("can't give argument to non-function {first}"))
    }

    /// A constant or the dot, where no type is asked for.
    fn constant(&mut self, dot: &Held, expr: &'t Expr) -> Done<Held> {
        Ok(match &expr.term {
            Term::Bool(b) => Held::concrete(Value::Bool(*b)),
            Term::Dot => dot.clone(),
            Term::Text(_, text) => Held::concrete(Value::Text(text.clone())),
            Term::Number(number) => return self.ideal(expr, number),
            _ => return self.error(format_args!("can't evaluate command {:?}", expr.to_string())),
        })
    }

    /// The type that a number has by itself.
    fn ideal(&mut self, expr: &'t Expr, number: &Number) -> Done<Held> {
        self.at = Some(At::Expr(expr));
        let text = number.text.as_str();
        let is_hex = (text.starts_with("0x") || text.starts_with("0X")) && !text.contains(['p', 'P']);
        let looks_float = !is_hex && !text.starts_with('\'') && text.contains(['.', 'e', 'E', 'p', 'P']);
        match (number.float.filter(|_| looks_float), number.int, number.uint) {
            (Some(float), ..) => Ok(Held::concrete(Value::Float(float))),
            (None, Some(int), _) => Ok(Held::concrete(Value::Int(int))),
            (None, None, Some(_)) => self.error(format_args!("{text} overflows int")),
            (None, None, None) => Ok(Held::default()),
        }
    }

    fn chain(
        &mut self,
        dot: &Held,
        expr: &'t Expr,
        (inner, fields): (&'t Expr, &'t [String]),
        args: (&'t [Expr], Option<Held>),
    ) -> Done<Held> {
        self.at = Some(At::Expr(expr));
        if matches!(inner.term, Term::Nil) {
            return self.error(format_args!("indirection through explicit nil in {expr}"));
        }
        let receiver = match self.operand(dot, inner)? {
            Some(receiver) => receiver,
            None => return self.error(format_args!("can't evaluate command {:?}", inner.to_string())),
        };
        self.fields(dot, receiver, fields, args)
    }

    fn variable_fields(
        &mut self,
        dot: &Held,
        expr: &'t Expr,
        fields: &'t [String],
        (args, last): (&'t [Expr], Option<Held>),
    ) -> Done<Held> {
        self.at = Some(At::Expr(expr));
        let value = self.variable(&fields[0])?;
        if fields.len() > 1 {
            return self.fields(dot, value, &fields[1..], (args, last));
        }
        if !args.is_empty() || last.is_some() {
            // Go names the first of the arguments, which is the variable itself.
            return self.error(format_args!("can't give argument to non-function {expr}"));
        }
        Ok(value)
    }

    /// The value of an operand that is no constant, whatever its type; none for a constant.
    pub(super) fn operand(&mut self, dot: &Held, expr: &'t Expr) -> Done<Option<Held>> {
        self.at = Some(At::Expr(expr));
        let none: &'t [Expr] = &[];
        Ok(Some(match &expr.term {
            Term::Dot => dot.clone(),
            Term::Field(fields) => self.fields(dot, dot.clone(), fields, (none, None))?,
            Term::Variable(fields) => self.variable_fields(dot, expr, fields, (none, None))?,
            Term::Pipe(pipe) => self.deeper(|frame| frame.pipeline(dot, pipe))?,
            Term::Function(name, function) => self.call(dot, (name, function), At::Expr(expr), (none, None))?,
            Term::Chain(inner, fields) => self.chain(dot, expr, (inner, fields), (none, None))?,
            _ => return Ok(None),
        }))
    }

    /// A constant as an argument that may be anything.
    pub(super) fn constant_argument(&mut self, expr: &'t Expr) -> Done<Held> {
        self.at = Some(At::Expr(expr));
        match &expr.term {
            Term::Number(number) => self.ideal(expr, number),
            Term::Bool(b) => Ok(Held::concrete(Value::Bool(*b))),
            Term::Text(_, text) => Ok(Held::concrete(Value::Text(text.clone()))),
            _ => self.error(format_args!("can't handle assignment of {expr} to empty interface argument")),
        }
    }
}
