//! The documents of an encrypted file with the place of every value: order, places and comments count here, which the
//! loader of manifests does not keep.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, StructureStyle, options};
use serde_json::Value;

use crate::object::yaml::{self, Dialect};

use super::SopsError;

/// Nesting of collections, and comments in a row.
const MAX_DEPTH: usize = 100;
const MAX_COMMENTS: usize = 10_000;

/// A scalar and its place.
#[derive(Debug)]
pub(super) struct Scalar {
    /// The text without quotes.
    pub(super) text: String,
    is_plain: bool,
    /// Bytes of the file, quotes included.
    pub(super) range: Range<usize>,
    /// Line, counted from 1.
    pub(super) line: usize,
}

/// One entry of a mapping.
#[derive(Debug)]
pub(super) struct Entry {
    /// Comments above it, and beside its value.
    pub(super) comments: Vec<String>,
    pub(super) key: Scalar,
    pub(super) value: Node,
}

/// A value.
#[derive(Debug)]
pub(super) enum Node {
    Scalar(Scalar),
    Seq { elements: Vec<(Vec<String>, Self)> },
    Map { entries: Vec<Entry>, flow_end: Option<usize> },
}

impl Scalar {
    /// What it means to the YAML library of sops.
    pub(super) fn value(&self) -> Value {
        let plain = if self.is_plain { yaml::plain_scalar(&self.text, Dialect::Kustomize) } else { None };
        plain.unwrap_or_else(|| Value::from(self.text.as_str()))
    }
}

impl Node {
    /// Where the last scalar in it ends, or the bracket that closes it.
    pub(super) fn end(&self) -> Option<usize> {
        match self {
            Self::Scalar(scalar) => Some(scalar.range.end),
            Self::Seq { elements } => elements.last().and_then(|(_, node)| node.end()),
            Self::Map { flow_end: Some(end), .. } => Some(*end),
            Self::Map { entries, .. } => entries.last().and_then(|entry| entry.value.end()),
        }
    }
}

/// Reads all documents; `None` stands for an empty one.
///
/// # Errors
/// [`SopsError::Shape`] for bad syntax and what no encrypted file holds: aliases, and keys that are no scalars.
pub(super) fn read(text: &str) -> Result<Vec<Option<Node>>, SopsError> {
    let options = options! {
        emit_comments: true,
        max_buffered_comment_events: MAX_COMMENTS,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut reader = Reader { parser: Parser::new_from_str_with_options(text, options), comments: Vec::new() };
    let mut documents = Vec::new();
    loop {
        match reader.event()? {
            (Event::StreamEnd, _) => return Ok(documents),
            (Event::DocumentStart(..), _) => {
                let (event, span) = reader.event()?;
                let root = reader.node(event, &span)?;
                let is_empty = matches!(&root, Node::Scalar(scalar) if scalar.value().is_null());
                documents.push((!is_empty).then_some(root));
            }
            _ => {}
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// Comments read since the last entry began.
    comments: Vec<String>,
}

impl<'t> Reader<'t> {
    fn event(&mut self) -> Result<(Event<'t>, Span), SopsError> {
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::Comment(text, _), _))) => self.comments.push(text.into_owned()),
                Some(Ok(event)) => return Ok(event),
                Some(Err(e)) => return Err(shape(e.marker().line(), &e.info())),
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: &Span) -> Result<Node, SopsError> {
        match event {
            Event::Scalar(text, style, _, tag) => {
                let is_plain = style == ScalarStyle::Plain && tag.is_none();
                Ok(Node::Scalar(scalar(text.into_owned(), is_plain, span)?))
            }
            Event::SequenceStart(..) => self.sequence(),
            Event::MappingStart(style, ..) => self.mapping(style),
            _ => Err(shape(span.start.line(), "aliases are not supported in encrypted files")),
        }
    }

    fn sequence(&mut self) -> Result<Node, SopsError> {
        let mut elements = Vec::new();
        loop {
            let (event, span) = self.event()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok(Node::Seq { elements });
            }
            let mut comments = std::mem::take(&mut self.comments);
            let element = self.node(event, &span)?;
            self.take_comment_beside(&element, &mut comments)?;
            elements.push((comments, element));
        }
    }

    fn mapping(&mut self, style: StructureStyle) -> Result<Node, SopsError> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.event()?;
            let key = match event {
                Event::MappingEnd => {
                    let end = span.byte_range().map(|range| range.end);
                    let flow_end = if style == StructureStyle::Flow { end } else { None };
                    return Ok(Node::Map { entries, flow_end });
                }
                Event::Scalar(text, ..) => scalar(text.into_owned(), false, &span)?,
                _ => return Err(shape(span.start.line(), "only scalars can be keys in encrypted files")),
            };
            let mut comments = std::mem::take(&mut self.comments);
            let (event, span) = self.event()?;
            let value = self.node(event, &span)?;
            self.take_comment_beside(&value, &mut comments)?;
            entries.push(Entry { comments, key, value });
        }
    }

    /// A comment on the line of a scalar belongs to it.
    fn take_comment_beside(&mut self, node: &Node, comments: &mut Vec<String>) -> Result<(), SopsError> {
        let Node::Scalar(scalar) = node else { return Ok(()) };
        let beside = match self.parser.peek() {
            Some(Ok((Event::Comment(..), span))) => span.start.line() == scalar.line,
            _ => false,
        };
        if beside && let Some(Ok((Event::Comment(text, _), _))) = self.parser.next_event() {
            comments.push(text.into_owned());
        }
        Ok(())
    }
}

fn scalar(text: String, is_plain: bool, span: &Span) -> Result<Scalar, SopsError> {
    let line = span.start.line();
    let range = span.byte_range().ok_or_else(|| shape(line, "a value without a place"))?;
    Ok(Scalar { text, is_plain, range, line })
}

fn shape(line: usize, message: &str) -> SopsError {
    SopsError::Shape(format!("yaml: line {line}: {message}"))
}
