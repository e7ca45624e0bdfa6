//! The tree of a template, and its parts as errors show them: in the form of Go's `String` methods, whatever the
//! delimiters are.

use std::fmt;
use std::sync::Arc;

use super::super::format::quote;
use super::super::functions::Function;

/// One template of a set.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) name: String,
    /// The name of the template whose text this one stands in.
    pub(crate) parse_name: Arc<str>,
    /// That text.
    pub(crate) text: Arc<str>,
    pub(crate) nodes: Vec<Node>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Text(Arc<[u8]>),
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template(Call),
    Break,
    Continue,
}

#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) pipe: Pipe,
    pub(crate) list: Vec<Node>,
    pub(crate) otherwise: Vec<Node>,
}

/// A call of a template by its name.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) pos: usize,
    pub(crate) name: String,
    pub(crate) pipe: Option<Pipe>,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) pos: usize,
    pub(crate) variables: Vec<String>,
    /// The variables are assigned, not declared.
    pub(crate) is_assignment: bool,
    pub(crate) commands: Vec<Command>,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) pos: usize,
    /// Never empty.
    pub(crate) args: Vec<Expr>,
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) pos: usize,
    pub(crate) term: Term,
}

#[derive(Debug)]
pub(crate) enum Term {
    Function(String, Function),
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    /// As written, and what it means.
    Text(String, Arc<[u8]>),
    Field(Vec<String>),
    /// The name with its `$`, and fields.
    Variable(Vec<String>),
    Chain(Box<Expr>, Vec<String>),
    Pipe(Pipe),
}

/// A constant under all the types that can hold it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Number {
    pub(crate) text: String,
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
}

/// What an error points at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At<'t> {
    Call(&'t Call),
    Pipe(&'t Pipe),
    Command(&'t Command),
    Expr(&'t Expr),
}

impl At<'_> {
    pub(crate) fn pos(&self) -> usize {
        match self {
            Self::Call(call) => call.pos,
            Self::Pipe(pipe) => pipe.pos,
            Self::Command(command) => command.pos,
            Self::Expr(expr) => expr.pos,
        }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(call) => call.fmt(f),
            Self::Pipe(pipe) => pipe.fmt(f),
            Self::Command(command) => command.fmt(f),
            Self::Expr(expr) => expr.fmt(f),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{{template {}", quote(self.name.as_bytes(), b'"'))?;
        if let Some(pipe) = &self.pipe {
            write!(f, " {pipe}")?;
        }
        f.write_str("}}")
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.variables.is_empty() {
            write!(f, "{} {} ", self.variables.join(", "), if self.is_assignment { "=" } else { ":=" })?;
        }
        for (index, command) in self.commands.iter().enumerate() {
            let before = if index > 0 { " | " } else { "" };
            write!(f, "{before}{command}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, arg) in self.args.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            match &arg.term {
                Term::Pipe(pipe) => write!(f, "({pipe})")?,
                _ => arg.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.term {
            Term::Function(name, _) => f.write_str(name),
            Term::Dot => f.write_str("."),
            Term::Nil => f.write_str("nil"),
            Term::Bool(b) => b.fmt(f),
            Term::Number(number) => f.write_str(&number.text),
            Term::Text(quoted, _) => f.write_str(quoted),
            Term::Field(fields) => write!(f, ".{}", fields.join(".")),
            Term::Variable(fields) => f.write_str(&fields.join(".")),
            Term::Chain(first, fields) => {
                match &first.term {
                    Term::Pipe(pipe) => write!(f, "({pipe})")?,
                    _ => first.fmt(f)?,
                }
                write!(f, ".{}", fields.join("."))
            }
            Term::Pipe(pipe) => pipe.fmt(f),
        }
    }
}
