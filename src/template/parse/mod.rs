//! Tokens into trees, by the grammar of Go's `text/template/parse` and with its errors.

mod control;
mod node;
mod number;
mod pipeline;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use node::{At, Body, Branch, Call, Command, Expr, Node, Number, Pipe, Term};

use super::engine::EngineSettings;
use super::error::{ErrorKind, TemplateError};
use super::functions::{Function, Table};
use super::lex::{self, Kind, Token};

/// The templates of a set by their names.
pub(super) type Set = BTreeMap<String, Arc<Body>>;

type Parsed<T> = Result<T, TemplateError>;

/// Where a list of nodes ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    End,
    Else,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::End => "{{end}}",
            Self::Else => "{{else}}",
        })
    }
}

/// What an action turns out to be.
enum Item {
    Node(Node),
    End(End),
}

struct Parser<'s> {
    settings: &'s EngineSettings,
    functions: &'s Table,
    name: Arc<str>,
    text: Arc<str>,
    tokens: std::vec::IntoIter<Token>,
    /// Tokens read ahead, the next one last; Go's parser has room for three.
    ahead: Vec<Token>,
    /// Line of the token read last, which errors tell.
    line: usize,
    variables: Vec<String>,
    action_line: usize,
    range_depth: usize,
    depth: usize,
    set: &'s mut Set,
}

/// Reads the templates of a text into a set; that of the text itself has the given name.
///
/// # Errors
/// In Go's words; and when the text is longer or nested deeper than the limits allow.
pub(super) fn add(
    settings: &EngineSettings,
    functions: &Table,
    (name, text): (&str, &str),
    set: &mut Set,
) -> Parsed<()> {
    let limit = settings.limits.template_bytes;
    if text.len() > limit {
        let message =
            format!("template: {name}: the template has {} bytes, more than the limit of {limit}", text.len());
        return Err(TemplateError { message, line: 0, column: None, kind: ErrorKind::Limit });
    }
    let (left, right) = &settings.delimiters;
    // Within one text a name is defined once; what another text defines gives way.
    let mut own = Set::new();
    let mut parser = Parser {
        settings,
        functions,
        name: name.into(),
        text: text.into(),
        tokens: lex::tokens(text, left, right).into_iter(),
        ahead: Vec::new(),
        line: 1,
        variables: vec!["$".into()],
        action_line: 0,
        range_depth: 0,
        depth: 0,
        set: &mut own,
    };
    parser.whole()?;
    for (name, body) in own {
        if !is_blank(&body.nodes) || !set.contains_key(&name) {
            set.insert(name, body);
        }
    }
    Ok(())
}

impl Parser<'_> {
    fn next(&mut self) -> Token {
        if let Some(token) = self.ahead.pop() {
            return token;
        }
        let end = Token { kind: Kind::Eof, pos: self.text.len(), text: String::new(), line: self.line };
        let token = self.tokens.next().unwrap_or(end);
        self.line = token.line;
        token
    }

    fn back(&mut self, token: Token) {
        self.ahead.push(token);
    }

    fn peek(&mut self) -> &Token {
        if self.ahead.is_empty() {
            let token = self.next();
            self.ahead.push(token);
        }
        &self.ahead[self.ahead.len() - 1]
    }

    fn next_solid(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_solid(&mut self) -> &Token {
        let token = self.next_solid();
        self.back(token);
        self.peek()
    }

    fn error<T>(&self, message: impl std::fmt::Display) -> Parsed<T> {
        self.fail(ErrorKind::Parse, message)
    }

    fn fail<T>(&self, kind: ErrorKind, message: impl std::fmt::Display) -> Parsed<T> {
        let message = format!("template: {}:{}: {message}", self.name, self.line);
        Err(TemplateError { message, line: self.line, column: None, kind })
    }

    fn expect(&mut self, kinds: &[Kind], context: &str) -> Parsed<Token> {
        let token = self.next_solid();
        if kinds.contains(&token.kind) { Ok(token) } else { self.unexpected(&token, context) }
    }

    fn unexpected<T>(&self, token: &Token, context: &str) -> Parsed<T> {
        if token.kind != Kind::Error {
            return self.error(format_args!("unexpected {token} in {context}"));
        }
        if self.action_line == 0 || self.action_line == token.line {
            return self.error(token);
        }
        let action = if token.text.ends_with(" action") { "" } else { " in action" };
        self.error(format_args!("{token}{action} started at {}:{}", self.name, self.action_line))
    }

    fn has_function(&self, name: &str) -> Option<Function> {
        self.functions.get(name)
    }

    /// Goes one level deeper, with an error at the limit.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let limit = self.settings.limits.depth;
        if self.depth >= limit {
            return self.fail(ErrorKind::Limit, format_args!("actions nested deeper than the limit of {limit}"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn whole(&mut self) -> Parsed<()> {
        let mut nodes = Vec::new();
        while self.peek().kind != Kind::Eof {
            if self.peek().kind == Kind::LeftDelim {
                let delim = self.next();
                let token = self.next_solid();
                if token.kind == Kind::Define {
                    self.definition()?;
                    continue;
                }
                self.back(token);
                self.back(delim);
            }
            match self.text_or_action()? {
                Item::Node(node) => nodes.push(node),
                Item::End(end) => return self.error(format_args!("unexpected {end}")),
            }
        }
        let name = self.name.to_string();
        self.add(name, nodes)
    }

    fn definition(&mut self) -> Parsed<()> {
        const CONTEXT: &str = "define clause";
        let quoted = self.expect(&[Kind::String, Kind::RawString], CONTEXT)?;
        let name = self.unquote(&quoted.text)?;
        self.expect(&[Kind::RightDelim], CONTEXT)?;
        let nodes = self.inner_template(CONTEXT)?;
        self.add(name, nodes)
    }

    /// Reads a template within a text: it knows no variables and no range from outside.
    fn inner_template(&mut self, context: &str) -> Parsed<Vec<Node>> {
        let variables = std::mem::replace(&mut self.variables, vec!["$".into()]);
        let outer = (std::mem::take(&mut self.range_depth), std::mem::take(&mut self.action_line));
        let (nodes, end) = self.deeper(Self::list)?;
        if end != End::End {
            return self.error(format_args!("unexpected {end} in {context}"));
        }
        self.variables = variables;
        (self.range_depth, self.action_line) = outer;
        Ok(nodes)
    }

    fn unquote(&self, quoted: &str) -> Parsed<String> {
        match super::strconv::unquote(quoted) {
            Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Err(e) => self.error(e),
        }
    }

    /// Adds a template to the set. One that holds nothing but space gives way to another of its name.
    fn add(&mut self, name: String, nodes: Vec<Node>) -> Parsed<()> {
        let taken = self.set.get(&name).is_some_and(|body| !is_blank(&body.nodes));
        if taken && !is_blank(&nodes) {
            let quoted = super::format::quote(name.as_bytes(), b'"');
            return self.error(format_args!("template: multiple definition of template {quoted}"));
        }
        if !taken {
            let body = Body { name: name.clone(), parse_name: self.name.clone(), text: self.text.clone(), nodes };
            self.set.insert(name, Arc::new(body));
        }
        Ok(())
    }

    /// Reads up to the next `end` or `else`.
    fn list(&mut self) -> Parsed<(Vec<Node>, End)> {
        let mut nodes = Vec::new();
        while self.peek_solid().kind != Kind::Eof {
            match self.text_or_action()? {
                Item::Node(node) => nodes.push(node),
                Item::End(end) => return Ok((nodes, end)),
            }
        }
        self.error("unexpected EOF")
    }

    fn text_or_action(&mut self) -> Parsed<Item> {
        let token = self.next_solid();
        match token.kind {
            Kind::Text => Ok(Item::Node(Node::Text(token.text.as_bytes().into()))),
            Kind::LeftDelim => {
                self.action_line = token.line;
                let item = self.action();
                self.action_line = 0;
                item
            }
            _ => self.unexpected(&token, "input"),
        }
    }
}

fn is_blank(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| matches!(node, Node::Text(text) if text.trim_ascii().is_empty()))
}
