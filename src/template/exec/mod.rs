//! Carries a template out, node by node, with the errors of Go's `text/template`. Values are found in `eval`, functions
//! called in `call`.

mod call;
mod eval;
mod field;
mod meter;

use std::collections::BTreeMap;

use super::engine::{EngineSettings, Functions};
use super::error::{ErrorKind, TemplateError};
use super::functions::{Compiled, Table};
use super::parse::{At, Body, Branch, Call, Node, Pipe, Set};
use super::value::{Map, Value};
pub(super) use meter::{Fail, Meter};

type Done<T> = Result<T, TemplateError>;

/// A value and whether Go would hold it as an `interface {}`: elements of maps and lists of anything, and what some
/// functions give. Errors show the difference.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    pub(super) value: Value,
    pub(super) is_interface: bool,
}

impl Held {
    pub(super) fn concrete(value: Value) -> Self {
        Self { value, is_interface: false }
    }

    pub(super) fn interface(value: Value) -> Self {
        Self { value, is_interface: true }
    }

    /// The value alone; nil becomes no value at all.
    fn unwrapped(self) -> Self {
        Self::concrete(self.value)
    }

    /// Whether it is Go's zero `reflect.Value`.
    pub(super) fn is_invalid(&self) -> bool {
        !self.is_interface && self.value.is_nil()
    }

    /// The name of its static type.
    fn type_name(&self) -> &'static str {
        if self.is_interface { "interface {}" } else { self.value.type_name() }
    }
}

/// One rendering: what all its templates share.
pub(super) struct Run<'e> {
    pub(super) settings: &'e EngineSettings,
    pub(super) functions: &'e Table,
    pub(super) inputs: Option<Map>,
    pub(super) meter: Meter,
    pub(super) out: Vec<u8>,
    /// Regular expressions that are compiled already.
    pub(super) patterns: BTreeMap<Vec<u8>, Compiled>,
}

/// What follows a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// One template being carried out.
struct Frame<'t, 'r, 'e> {
    run: &'r mut Run<'e>,
    set: &'t Set,
    body: &'t Body,
    /// What an error would point at.
    at: Option<At<'t>>,
    variables: Vec<(&'t str, Held)>,
}

/// Carries out a template with a value as its dot; what it prints is added to the run's output.
///
/// # Errors
/// In Go's words, and on every limit.
pub(super) fn execute(run: &mut Run<'_>, set: &Set, body: &Body, dot: Value) -> Done<()> {
    let dot = Held::concrete(dot);
    let mut frame = Frame { run, set, body, at: None, variables: vec![("$", dot.clone())] };
    frame.list(&dot, &body.nodes).map(drop)
}

impl<'t> Frame<'t, '_, '_> {
    /// The error of an action, at the place that was marked last.
    fn error<T>(&self, message: impl std::fmt::Display) -> Done<T> {
        Err(self.located(ErrorKind::Execute, &message))
    }

    fn located(&self, kind: ErrorKind, message: &dyn std::fmt::Display) -> TemplateError {
        let name = &self.body.name;
        let Some(at) = self.at else {
            return TemplateError { message: format!("template: {name}: {message}"), line: 0, column: None, kind };
        };
        let before = &self.body.text[..at.pos()];
        let line = 1 + before.bytes().filter(|b| *b == b'\n').count();
        let column = before.len() - before.rfind('\n').map_or(0, |newline| newline + 1);
        let place = format!("{}:{line}:{column}", self.body.parse_name);
        let quoted = super::format::quote(name.as_bytes(), b'"');
        let message = format!("template: {place}: executing {quoted} at <{at}>: {message}");
        TemplateError { message, line, column: Some(column), kind }
    }

    /// The error of a bound, or of a function without its name.
    fn failed(&self, fail: Fail) -> TemplateError {
        match fail {
            Fail::Message(message) => self.located(ErrorKind::Execute, &message),
            Fail::Limit(message) => self.located(ErrorKind::Limit, &message),
        }
    }

    fn step(&mut self, cost: usize) -> Done<()> {
        self.run.meter.spend(cost).map_err(|fail| self.failed(fail))
    }

    /// Goes one level deeper, with an error at the limit.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Done<T>) -> Done<T> {
        self.run.meter.enter().map_err(|fail| self.failed(fail))?;
        let result = inner(self);
        self.run.meter.leave();
        result
    }

    fn print(&mut self, text: &[u8]) -> Done<()> {
        let length = self.run.out.len();
        self.run.meter.grow(length, text.len()).map_err(|fail| self.failed(fail))?;
        self.run.out.extend_from_slice(text);
        Ok(())
    }

    fn list(&mut self, dot: &Held, nodes: &'t [Node]) -> Done<Flow> {
        for node in nodes {
            let flow = self.node(dot, node)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn node(&mut self, dot: &Held, node: &'t Node) -> Done<Flow> {
        self.step(1)?;
        match node {
            Node::Text(text) => self.print(text)?,
            Node::Action(pipe) => {
                let value = self.pipeline(dot, pipe)?;
                if pipe.variables.is_empty() {
                    self.print_value(&value)?;
                }
            }
            Node::If(branch) => return self.deeper(|frame| frame.condition(dot, branch, false)),
            Node::With(branch) => return self.deeper(|frame| frame.condition(dot, branch, true)),
            Node::Range(branch) => return self.deeper(|frame| frame.range(dot, branch)),
            Node::Template(call) => self.deeper(|frame| frame.call_template(dot, call))?,
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn print_value(&mut self, held: &Held) -> Done<()> {
        if held.is_invalid() {
            let is_silent = self.run.settings.functions == Functions::Full;
            return self.print(if is_silent { b"" } else { b"<no value>" });
        }
        if let Value::Text(text) = &held.value {
            return self.print(text);
        }
        let text = super::format::text_of(&held.value, &mut self.run.meter).map_err(|fail| self.failed(fail))?;
        self.print(&text)
    }

    fn condition(&mut self, dot: &Held, branch: &'t Branch, sets_dot: bool) -> Done<Flow> {
        let variables = self.variables.len();
        let value = self.pipeline(dot, &branch.pipe)?;
        let flow = match value.value.is_true() {
            true if sets_dot => self.list(&value, &branch.list),
            true => self.list(dot, &branch.list),
            false => self.list(dot, &branch.otherwise),
        }?;
        self.variables.truncate(variables);
        Ok(flow)
    }

    fn range(&mut self, dot: &Held, branch: &'t Branch) -> Done<Flow> {
        let variables = self.variables.len();
        let over = self.pipeline(dot, &branch.pipe)?.value;
        let flow = match over {
            Value::Int(count) | Value::Int64(count) => {
                let is_int = matches!(over, Value::Int(_));
                self.range_numbers(dot, branch, count, if is_int { Value::Int } else { Value::Int64 })
            }
            Value::Byte(count) => {
                self.range_numbers(dot, branch, i64::from(count), |i| Value::Byte(u8::try_from(i).unwrap_or(0)))
            }
            Value::List(list) => {
                let is_interface = list.element() == super::value::Element::Any;
                let items = (0..).map(Value::Int).zip(list.items());
                let items = items.map(|(index, item)| (Some(index), Held { value: item.clone(), is_interface }));
                self.iterate(dot, branch, items)
            }
            Value::Map(map) => {
                let is_interface = map.element() == super::value::Element::Any;
                let entries = map.entries();
                self.step(entries.len() / 8)?;
                let items =
                    entries.into_iter().map(|(key, value)| (Some(Value::Text(key)), Held { value, is_interface }));
                self.iterate(dot, branch, items)
            }
            Value::Nil => self.list(dot, &branch.otherwise),
            other => {
                let text = super::format::text_of(&other, &mut self.run.meter).map_err(|fail| self.failed(fail))?;
                let text = String::from_utf8_lossy(&text).into_owned();
                self.error(format_args!("range can't iterate over {text}"))
            }
        }?;
        self.variables.truncate(variables);
        Ok(flow)
    }

    fn range_numbers(
        &mut self,
        dot: &Held,
        branch: &'t Branch,
        count: i64,
        number: impl Fn(i64) -> Value,
    ) -> Done<Flow> {
        if branch.pipe.variables.len() > 1 {
            return self.error(format_args!("can't use {count} to iterate over more than one variable"));
        }
        self.iterate(dot, branch, (0..count).map(|i| (None, Held::concrete(number(i)))))
    }

    /// Carries out the body once for each item, or the `else` when there is none.
    fn iterate(
        &mut self,
        dot: &Held,
        branch: &'t Branch,
        items: impl Iterator<Item = (Option<Value>, Held)>,
    ) -> Done<Flow> {
        let mark = self.variables.len();
        let mut is_empty = true;
        for (index, item) in items {
            is_empty = false;
            self.step(1)?;
            self.set_range_variables(&branch.pipe, index, &item, mark)?;
            let flow = self.list(&item, &branch.list)?;
            self.variables.truncate(mark);
            if flow == Flow::Break {
                return Ok(Flow::Next);
            }
        }
        if is_empty { self.list(dot, &branch.otherwise) } else { Ok(Flow::Next) }
    }

    fn set_range_variables(&mut self, pipe: &'t Pipe, index: Option<Value>, item: &Held, mark: usize) -> Done<()> {
        let index = Held::concrete(index.unwrap_or_default());
        match (pipe.variables.as_slice(), pipe.is_assignment) {
            ([], _) => {}
            ([one], true) => self.assign(one, item.clone())?,
            ([first, second, ..], true) => {
                self.assign(first, index)?;
                self.assign(second, item.clone())?;
            }
            (declared, false) => {
                // They were declared by the pipeline, and are the last ones on the stack.
                self.variables[mark - 1].1 = item.clone();
                if declared.len() > 1 {
                    self.variables[mark - 2].1 = index;
                }
            }
        }
        Ok(())
    }

    fn call_template(&mut self, dot: &Held, call: &'t Call) -> Done<()> {
        self.at = Some(At::Call(call));
        let Some(body) = self.set.get(&call.name) else {
            let quoted = super::format::quote(call.name.as_bytes(), b'"');
            return self.error(format_args!("template {quoted} not defined"));
        };
        let dot = match &call.pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Held::default(),
        };
        execute(self.run, self.set, body, dot.value)
    }
}
