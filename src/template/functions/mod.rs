//! The functions that templates call: Go's own, those of slim-sprig, and what ResourceSets add (resourceset §4.4). Each
//! declares the Go types of its parameters, so that wrong arguments meet Go's errors.

mod builtin;
mod dates;
mod dicts;
mod encoding;
mod equality;
mod full;
mod json;
mod json_text;
mod lists;
mod logic;
mod numbers;
mod paths;
mod pattern;
mod regex;
mod strings;
mod urls;
mod words;
mod yaml;

use std::collections::BTreeMap;

pub(super) use regex::Compiled;

use super::engine::{EngineSettings, Functions, Hook};
use super::exec::{Fail, Held, Run};
use super::parse::Set;
use super::value::{List, Map, Value};

/// What a function gives.
type Given = Result<Value, Fail>;

/// What Go says when it reads through a nil.
const NIL_POINTER: &str = "runtime error: invalid memory address or nil pointer dereference";

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// `interface {}`
    Any,
    /// `reflect.Value`: also what is not there.
    Raw,
    Bool,
    Text,
    Int,
    Float,
    /// `map[string]interface {}`
    Map,
    Time,
}

impl Type {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Raw => "reflect.Value",
            Self::Bool => "bool",
            Self::Text => "string",
            Self::Int => "int",
            Self::Float => "float64",
            Self::Map => "map[string]interface {}",
            Self::Time => "time.Time",
        }
    }
}

/// What functions have besides their arguments.
pub(super) struct Context<'c, 'e> {
    pub(super) run: &'c mut Run<'e>,
    pub(super) set: &'c Set,
}

/// How a function is carried out.
#[derive(Clone, Copy)]
pub(super) enum Action {
    Plain(fn(&mut Context<'_, '_>, &[Value]) -> Given),
    /// Sees whether an argument is there at all.
    Raw(fn(&mut Context<'_, '_>, &[Held]) -> Result<Held, Fail>),
    And,
    Or,
    Call,
    /// The embedder does it.
    Added,
}

/// A function's name, types and body.
#[derive(Clone, Copy)]
pub(super) struct Definition {
    name: &'static str,
    parameters: &'static [Type],
    is_variadic: bool,
    gives_interface: bool,
    action: Action,
}

/// A function with so many parameters.
const fn function(
    name: &'static str,
    parameters: &'static [Type],
    body: fn(&mut Context<'_, '_>, &[Value]) -> Given,
) -> Definition {
    Definition { name, parameters, is_variadic: false, gives_interface: false, action: Action::Plain(body) }
}

impl Definition {
    /// The last parameter takes any number of arguments.
    const fn variadic(self) -> Self {
        Self { is_variadic: true, ..self }
    }

    /// Its result is declared as `interface {}`.
    const fn interface(self) -> Self {
        Self { gives_interface: true, ..self }
    }

    const fn raw(
        name: &'static str,
        parameters: &'static [Type],
        body: fn(&mut Context<'_, '_>, &[Held]) -> Result<Held, Fail>,
    ) -> Self {
        Self { name, parameters, is_variadic: false, gives_interface: false, action: Action::Raw(body) }
    }
}

/// What is known of a function of the embedder.
const ADDED: Definition = Definition {
    name: "added",
    parameters: &[Type::Any],
    is_variadic: true,
    gives_interface: true,
    action: Action::Added,
};

/// A function as a template knows it.
#[derive(Clone)]
pub(super) enum Function {
    Known(&'static Definition),
    Added(Hook),
}

impl Function {
    fn definition(&self) -> &Definition {
        match self {
            Self::Known(definition) => definition,
            Self::Added(_) => &ADDED,
        }
    }

    /// Calls it with arguments of the types that it declares.
    pub(super) fn carry_out(&self, context: &mut Context<'_, '_>, args: Vec<Held>) -> Result<Held, Fail> {
        let values = |args: Vec<Held>| args.into_iter().map(|held| held.value).collect::<Vec<_>>();
        match (self, self.action()) {
            (Self::Added(hook), _) => hook(&values(args)).map(Held::concrete).map_err(Fail::Message),
            (_, Action::Plain(function)) => function(context, &values(args)).map(Held::concrete),
            (_, Action::Raw(function)) => function(context, &args),
            (_, Action::And | Action::Or | Action::Call | Action::Added) => Ok(Held::default()),
        }
    }

    pub(super) fn action(&self) -> &Action {
        &self.definition().action
    }

    /// How many parameters are declared.
    pub(super) fn parameters(&self) -> usize {
        self.definition().parameters.len()
    }

    pub(super) fn is_variadic(&self) -> bool {
        self.definition().is_variadic
    }

    pub(super) fn gives_interface(&self) -> bool {
        self.definition().gives_interface
    }

    /// The type of an argument.
    pub(super) fn parameter(&self, index: usize) -> Type {
        let parameters = self.definition().parameters;
        parameters.get(index).or(parameters.last()).copied().unwrap_or(Type::Any)
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.definition().name)
    }
}

/// The functions of an engine by their names.
#[derive(Clone, Debug)]
pub(super) struct Table(BTreeMap<String, Function>);

const SLIM: &[&[Definition]] = &[
    builtin::FUNCTIONS,
    dates::FUNCTIONS,
    dicts::FUNCTIONS,
    encoding::FUNCTIONS,
    json::FUNCTIONS,
    lists::FUNCTIONS,
    logic::FUNCTIONS,
    numbers::FUNCTIONS,
    paths::FUNCTIONS,
    regex::FUNCTIONS,
    strings::FUNCTIONS,
    urls::FUNCTIONS,
    yaml::FUNCTIONS,
];

impl Table {
    pub(super) fn new(settings: &EngineSettings) -> Self {
        let more: &[&[Definition]] = match settings.functions {
            Functions::Slim => &[],
            Functions::Full => &[full::FUNCTIONS],
        };
        let known = SLIM.iter().chain(more).copied().flatten();
        let mut table: BTreeMap<_, _> =
            known.map(|definition| (definition.name.to_owned(), Function::Known(definition))).collect();
        table.extend(settings.hooks.iter().map(|(name, hook)| (name.clone(), Function::Added(hook.clone()))));
        Self(table)
    }

    pub(super) fn get(&self, name: &str) -> Option<Function> {
        self.0.get(name).cloned()
    }
}

impl Context<'_, '_> {
    /// Makes sure that a list of so many elements may be made.
    fn list_of(&mut self, count: usize) -> Result<(), Fail> {
        self.run.meter.grow(0, count.saturating_mul(size_of::<Value>()))?;
        self.run.meter.spend(count)
    }

    /// Makes sure that a text of so many bytes may be made.
    fn text_of_length(&mut self, length: usize) -> Result<(), Fail> {
        self.run.meter.grow(0, length)
    }

    /// Go's `%v`, which for texts is the text.
    fn text_of(&mut self, value: &Value) -> Result<Vec<u8>, Fail> {
        super::format::text_of(value, &mut self.run.meter)
    }
}

/// The bytes of an argument that is declared as a text.
fn text(args: &[Value], index: usize) -> &[u8] {
    args.get(index).and_then(Value::as_text).map_or(&[], |text| text)
}

/// The same as characters; bytes that are none are replaced.
fn string(args: &[Value], index: usize) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(text(args, index))
}

fn int(args: &[Value], index: usize) -> i64 {
    match args.get(index) {
        Some(Value::Int(i) | Value::Int64(i)) => *i,
        _ => 0,
    }
}

fn map(args: &[Value], index: usize) -> Map {
    match args.get(index) {
        Some(Value::Map(map)) => map.clone(),
        _ => Map::nil(),
    }
}

/// An argument that must be a list, for functions that complain in the same way.
fn list<'a>(value: &'a Value, complaint: &str) -> Result<&'a List, Fail> {
    match value {
        Value::List(list) => Ok(list),
        Value::Nil => Err(NIL_POINTER.into()),
        other => Err(format!("{complaint} {}", other.kind_name()).into()),
    }
}
