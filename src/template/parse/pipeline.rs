//! Pipelines, commands and their operands.

use super::{Command, Expr, Kind, Parsed, Parser, Pipe, Term, Token, number};

impl Parser<'_> {
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Parsed<Pipe> {
        let pos = self.peek_solid().pos;
        let mut pipe = Pipe { pos, variables: Vec::new(), is_assignment: false, commands: Vec::new() };
        self.declarations(&mut pipe, context)?;
        loop {
            let token = self.next_solid();
            match token.kind {
                kind if kind == end => {
                    self.check(&pipe, context)?;
                    return Ok(pipe);
                }
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => {
                    self.back(token);
                    let command = self.command()?;
                    pipe.commands.push(command);
                }
                _ => return self.unexpected(&token, context),
            }
        }
    }

    /// Reads `$x :=`, `$x =` and in a range `$i, $x :=`, if they are there.
    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Parsed<()> {
        loop {
            if self.peek_solid().kind != Kind::Variable {
                return Ok(());
            }
            let variable = self.next();
            let after = self.peek().clone();
            let next = self.peek_solid().clone();
            if matches!(next.kind, Kind::Assign | Kind::Declare) {
                pipe.is_assignment = next.kind == Kind::Assign;
                self.next_solid();
                self.declare(pipe, variable.text);
                return Ok(());
            }
            if next.kind != Kind::Char || next.text != "," {
                if after.kind == Kind::Space {
                    self.back(after);
                }
                self.back(variable);
                return Ok(());
            }
            self.next_solid();
            self.declare(pipe, variable.text);
            if context != "range" || pipe.variables.len() >= 2 {
                return self.error(format_args!("too many declarations in {context}"));
            }
            if !matches!(self.peek_solid().kind, Kind::Variable | Kind::RightDelim | Kind::RightParen) {
                return self.error("range can only initialize variables");
            }
        }
    }

    fn declare(&mut self, pipe: &mut Pipe, name: String) {
        pipe.variables.push(name.clone());
        self.variables.push(name);
    }

    fn check(&self, pipe: &Pipe, context: &str) -> Parsed<()> {
        if pipe.commands.is_empty() {
            return self.error(format_args!("missing value for {context}"));
        }
        let is_constant =
            |expr: &Expr| matches!(expr.term, Term::Bool(_) | Term::Dot | Term::Nil | Term::Number(_) | Term::Text(..));
        match pipe.commands.iter().skip(1).position(|command| is_constant(&command.args[0])) {
            Some(at) => self.error(format_args!("non executable command in pipeline stage {}", at + 2)),
            None => Ok(()),
        }
    }

    fn command(&mut self) -> Parsed<Command> {
        let mut command = Command { pos: self.peek_solid().pos, args: Vec::new() };
        loop {
            self.peek_solid();
            if let Some(operand) = self.operand()? {
                command.args.push(operand);
            }
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.back(token),
                Kind::Pipe => {}
                _ => return self.unexpected(&token, "operand"),
            }
            break;
        }
        if command.args.is_empty() { self.error("empty command") } else { Ok(command) }
    }

    /// A term with the fields behind it; none when no term comes next.
    fn operand(&mut self) -> Parsed<Option<Expr>> {
        let Some(expr) = self.term()? else { return Ok(None) };
        if self.peek().kind != Kind::Field {
            return Ok(Some(expr));
        }
        let pos = self.peek().pos;
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            fields.push(self.next().text[1..].to_owned());
        }
        let term = match expr.term {
            Term::Field(before) => Term::Field([before, fields].concat()),
            Term::Variable(before) => Term::Variable([before, fields].concat()),
            Term::Bool(_) | Term::Text(..) | Term::Number(_) | Term::Nil | Term::Dot => {
                let quoted = super::super::format::quote(expr.to_string().as_bytes(), b'"');
                return self.error(format_args!("unexpected . after term {quoted}"));
            }
            _ => Term::Chain(Box::new(expr), fields),
        };
        Ok(Some(Expr { pos, term }))
    }

    fn term(&mut self) -> Parsed<Option<Expr>> {
        let token = self.next_solid();
        let pos = token.pos;
        let term = match token.kind {
            Kind::Identifier => match self.has_function(&token.text) {
                Some(function) => Term::Function(token.text, function),
                None => return self.error(format_args!("function \"{}\" not defined", token.text)),
            },
            Kind::Dot => Term::Dot,
            Kind::Nil => Term::Nil,
            Kind::Variable => self.variable(&token)?,
            Kind::Field => Term::Field(vec![token.text[1..].to_owned()]),
            Kind::Bool => Term::Bool(token.text == "true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => match number::read(&token) {
                Ok(number) => Term::Number(number),
                Err(message) => return self.error(message),
            },
            Kind::LeftParen => {
                Term::Pipe(self.deeper(|parser| parser.pipeline("parenthesized pipeline", Kind::RightParen))?)
            }
            Kind::String | Kind::RawString => match super::super::strconv::unquote(&token.text) {
                Ok(text) => Term::Text(token.text, text.into()),
                Err(e) => return self.error(e),
            },
            _ => {
                self.back(token);
                return Ok(None);
            }
        };
        Ok(Some(Expr { pos, term }))
    }

    fn variable(&self, token: &Token) -> Parsed<Term> {
        if self.variables.contains(&token.text) {
            return Ok(Term::Variable(vec![token.text.clone()]));
        }
        self.error(format_args!("undefined variable \"{}\"", token.text))
    }
}
