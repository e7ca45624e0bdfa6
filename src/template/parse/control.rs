//! Actions that decide what is carried out: conditions, loops, calls of templates.

use super::{Branch, Call, End, Item, Kind, Node, Parsed, Parser, Pipe, Token};

impl Parser<'_> {
    pub(super) fn action(&mut self) -> Parsed<Item> {
        let token = self.next_solid();
        let node = match token.kind {
            Kind::Else => return self.otherwise().map(Item::End),
            Kind::End => {
                self.expect(&[Kind::RightDelim], "end")?;
                return Ok(Item::End(End::End));
            }
            Kind::Block => self.block()?,
            Kind::Break => self.leave_range(Node::Break, "{{break}}")?,
            Kind::Continue => self.leave_range(Node::Continue, "{{continue}}")?,
            Kind::If => Node::If(self.branch("if")?),
            Kind::Range => Node::Range(self.branch("range")?),
            Kind::With => Node::With(self.branch("with")?),
            Kind::Template => self.call()?,
            _ => {
                self.back(token);
                Node::Action(self.pipeline("command", Kind::RightDelim)?)
            }
        };
        Ok(Item::Node(node))
    }

    fn leave_range(&mut self, node: Node, context: &str) -> Parsed<Node> {
        let token = self.next_solid();
        if token.kind != Kind::RightDelim {
            return self.unexpected(&token, context);
        }
        if self.range_depth == 0 {
            return self.error(format_args!("{context} outside {{{{range}}}}"));
        }
        Ok(node)
    }

    /// An `else`; an `if` or `with` behind it is left for the branch to read.
    fn otherwise(&mut self) -> Parsed<End> {
        if !matches!(self.peek_solid().kind, Kind::If | Kind::With) {
            self.expect(&[Kind::RightDelim], "else")?;
        }
        Ok(End::Else)
    }

    fn branch(&mut self, context: &str) -> Parsed<Branch> {
        self.deeper(|parser| {
            let variables = parser.variables.len();
            let branch = parser.branch_parts(context)?;
            parser.variables.truncate(variables);
            Ok(branch)
        })
    }

    fn branch_parts(&mut self, context: &str) -> Parsed<Branch> {
        let pipe = self.pipeline(context, Kind::RightDelim)?;
        let in_range = usize::from(context == "range");
        self.range_depth += in_range;
        let (list, end) = self.list()?;
        self.range_depth -= in_range;
        let otherwise = match end {
            End::End => Vec::new(),
            End::Else => self.else_list(context)?,
        };
        Ok(Branch { pipe, list, otherwise })
    }

    /// What follows an `else`. One with an `if` shares its `end` with the outer one.
    fn else_list(&mut self, context: &str) -> Parsed<Vec<Node>> {
        match (context, self.peek().kind) {
            ("if", Kind::If) => {
                self.next();
                Ok(vec![Node::If(self.branch("if")?)])
            }
            ("with", Kind::With) => {
                self.next();
                Ok(vec![Node::With(self.branch("with")?)])
            }
            _ => match self.list()? {
                (list, End::End) => Ok(list),
                (_, end) => self.error(format_args!("expected end; found {end}")),
            },
        }
    }

    /// A template defined where it is called.
    fn block(&mut self) -> Parsed<Node> {
        const CONTEXT: &str = "block clause";
        let token = self.next_solid();
        let name = self.template_name(&token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelim)?;
        let nodes = self.inner_template(CONTEXT)?;
        self.add(name.clone(), nodes)?;
        Ok(Node::Template(Call { pos: token.pos, name, pipe: Some(pipe) }))
    }

    fn call(&mut self) -> Parsed<Node> {
        const CONTEXT: &str = "template clause";
        let token = self.next_solid();
        let name = self.template_name(&token, CONTEXT)?;
        let next = self.next_solid();
        let mut pipe: Option<Pipe> = None;
        if next.kind != Kind::RightDelim {
            self.back(next);
            pipe = Some(self.pipeline(CONTEXT, Kind::RightDelim)?);
        }
        Ok(Node::Template(Call { pos: token.pos, name, pipe }))
    }

    fn template_name(&self, token: &Token, context: &str) -> Parsed<String> {
        match token.kind {
            Kind::String | Kind::RawString => self.unquote(&token.text),
            _ => self.unexpected(token, context),
        }
    }
}
