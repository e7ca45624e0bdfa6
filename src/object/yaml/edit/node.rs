//! One document with the place of everything in it: where nodes stand counts here, which the loader does not keep. Nodes
//! lie in one list and name each other by number, because aliases make a graph of them.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, StructureStyle, options};

use crate::object::yaml::scalar::{self, Resolved};
use crate::object::yaml::{Dialect, Limits};

use super::Refusal;

/// The number of a node in its document.
pub(super) type Id = usize;

/// A value, or a key.
#[derive(Debug)]
pub(super) struct Node {
    /// Its bytes: of a scalar with its quotes, of a block scalar without the header and without blank lines behind it that
    /// do not count, of a collection up to the end of what is in it. Anchors and tags stand before it.
    pub(super) range: Range<usize>,
    /// Where the key before it ends, for values of mappings.
    pub(super) after_key: Option<usize>,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Scalar(Scalar),
    Seq { items: Vec<Id> },
    Map { entries: Vec<Entry>, is_flow: bool },
    Alias(Option<Id>),
}

#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) style: ScalarStyle,
    /// Whether it is a string, whatever it looks like.
    pub(super) is_text: bool,
    pub(super) is_tagged: bool,
}

#[derive(Debug)]
pub(super) struct Entry {
    /// The key as the loader reads it.
    pub(super) name: String,
    pub(super) is_merge: bool,
    pub(super) key: Id,
    pub(super) value: Id,
}

/// A document.
#[derive(Debug)]
pub(super) struct Doc<'t> {
    pub(super) text: &'t str,
    nodes: Vec<Node>,
    /// The topmost node.
    pub(super) root: Id,
}

impl<'t> Doc<'t> {
    /// Reads the one document of a text that the loader has accepted.
    ///
    /// # Errors
    /// When there is none, or the parser refuses it.
    pub(super) fn read(text: &'t str, limits: &Limits) -> Result<Self, Refusal> {
        let depth = limits.depth + 2;
        let options = options! { emit_comments: false, flow_nesting_limit: depth, block_nesting_limit: depth };
        let parser = Parser::new_from_str_with_options(text, options);
        let mut reader = Reader { text, parser, nodes: Vec::new(), anchors: HashMap::new() };
        loop {
            match reader.event()? {
                (Event::DocumentStart(..), _) => break,
                (Event::StreamEnd, _) => return Err(Refusal::new(0, "there is no document")),
                _ => {}
            }
        }
        let (event, span) = reader.event()?;
        let root = reader.node(event, &span, None)?;
        Ok(Self { text, nodes: reader.nodes, root })
    }

    /// A node.
    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// The node that an alias stands for; any other is itself.
    pub(super) fn target(&self, id: Id) -> Id {
        match self.nodes[id].content {
            Content::Alias(Some(target)) => target,
            _ => id,
        }
    }

    /// The entries of a mapping, and whether it is written in flow style.
    pub(super) fn entries(&self, id: Id) -> Option<(&[Entry], bool)> {
        match &self.nodes[id].content {
            Content::Map { entries, is_flow } => Some((entries, *is_flow)),
            _ => None,
        }
    }

    /// The value that a key of a mapping has, as the loader finds it: of several the last, merged ones in their place.
    pub(super) fn lookup(&self, map: Id, key: &str) -> Option<Id> {
        let (entries, _) = self.entries(map)?;
        entries.iter().rev().find_map(|entry| match entry.is_merge {
            true => self.merged(self.target(entry.value), key),
            false => (entry.name == key).then_some(entry.value),
        })
    }

    fn merged(&self, source: Id, key: &str) -> Option<Id> {
        match &self.nodes[source].content {
            Content::Seq { items } => items.iter().find_map(|item| self.lookup(self.target(*item), key)),
            _ => self.lookup(source, key),
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    nodes: Vec<Node>,
    anchors: HashMap<usize, Id>,
}

impl<'t> Reader<'t> {
    fn event(&mut self) -> Result<(Event<'t>, Range<usize>), Refusal> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, place(&span)?)),
            Some(Err(e)) => Err(Refusal::new(e.marker().byte_offset().unwrap_or(0), e.info())),
            None => Ok((Event::StreamEnd, 0..0)),
        }
    }

    fn node(&mut self, event: Event<'t>, range: &Range<usize>, after_key: Option<usize>) -> Result<Id, Refusal> {
        let id = self.nodes.len();
        self.nodes.push(Node { range: range.clone(), after_key, content: Content::Alias(None) });
        let (anchor, content) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let resolved = scalar::resolve(&text, style, tag.as_deref(), Dialect::Kubernetes);
                let (resolved, replaced) = resolved.map_err(|reason| Refusal::new(range.start, reason))?;
                let is_text = resolved == Resolved::Text && replaced.is_none();
                let is_tagged = tag.is_some();
                if is_block(style) {
                    self.nodes[id].range.end = content_end(self.text, range, &text);
                }
                (anchor, Content::Scalar(Scalar { text: text.into_owned(), style, is_text, is_tagged }))
            }
            Event::SequenceStart(_, anchor, _) => {
                let (items, end) = self.items(range)?;
                self.nodes[id].range.end = end;
                (anchor, Content::Seq { items })
            }
            Event::MappingStart(style, anchor, _) => {
                let is_flow = style == StructureStyle::Flow;
                let (entries, end) = self.entries(range)?;
                self.nodes[id].range.end = end;
                (anchor, Content::Map { entries, is_flow })
            }
            Event::Alias(anchor) => (0, Content::Alias(self.anchors.get(&anchor).copied())),
            other => return Err(Refusal::new(range.start, format!("expected a value, found {other:?}"))),
        };
        self.nodes[id].content = content;
        if anchor != 0 {
            self.anchors.insert(anchor, id);
        }
        Ok(id)
    }

    fn items(&mut self, range: &Range<usize>) -> Result<(Vec<Id>, usize), Refusal> {
        let (mut items, mut end) = (Vec::new(), range.end);
        loop {
            let (event, place) = self.event()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok((items, end.max(flow_end(&place))));
            }
            let item = self.node(event, &place, None)?;
            end = self.nodes[item].range.end;
            items.push(item);
        }
    }

    fn entries(&mut self, range: &Range<usize>) -> Result<(Vec<Entry>, usize), Refusal> {
        let (mut entries, mut end) = (Vec::new(), range.end);
        loop {
            let (event, place) = self.event()?;
            if matches!(event, Event::MappingEnd) {
                return Ok((entries, end.max(flow_end(&place))));
            }
            let is_merge =
                matches!(&event, Event::Scalar(text, style, 0, tag) if scalar::is_merge(text, *style, tag.as_deref()));
            let key = self.node(event, &place, None)?;
            let name = self.key_name(key)?;
            let (event, place) = self.event()?;
            let is_scalar = matches!(event, Event::Scalar(..));
            let place = if is_scalar { self.behind_colon(place) } else { place };
            let value = self.node(event, &place, Some(self.nodes[key].range.end))?;
            end = self.nodes[value].range.end;
            entries.push(Entry { name, is_merge, key, value });
        }
    }

    /// An absent value is told at its colon; it stands behind it.
    fn behind_colon(&self, place: Range<usize>) -> Range<usize> {
        let rest = &self.text[place.start..];
        let blanks = rest.len() - rest.trim_start().len();
        if !place.is_empty() || !rest[blanks..].starts_with(':') {
            return place;
        }
        let behind = place.start + blanks + 1;
        behind..behind
    }

    fn key_name(&self, key: Id) -> Result<String, Refusal> {
        let node = match self.nodes[key].content {
            Content::Alias(Some(target)) => &self.nodes[target],
            _ => &self.nodes[key],
        };
        let at = self.nodes[key].range.start;
        let Content::Scalar(scalar) = &node.content else {
            return Err(Refusal::new(at, "only scalars can be keys"));
        };
        if scalar.is_text {
            return Ok(scalar.text.clone());
        }
        let resolved = scalar::resolve(&scalar.text, scalar.style, None, Dialect::Kubernetes);
        resolved.and_then(|(r, _)| r.into_key(scalar.text.clone())).map_err(|reason| Refusal::new(at, reason))
    }
}

/// Whether a scalar is written as a block below a header.
pub(super) fn is_block(style: ScalarStyle) -> bool {
    matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
}

/// Where the last line of a block scalar ends that counts; its line end is not in it.
fn content_end(text: &str, range: &Range<usize>, value: &str) -> usize {
    let mut body = &text[range.clone()];
    // The parser may count the indentation of the next line too.
    let last = body.rfind('\n').map_or(0, |at| at + 1);
    if last > 0 && body[last..].trim().is_empty() {
        body = &body[..last];
    }
    loop {
        body = body.strip_suffix('\n').unwrap_or(body);
        body = body.strip_suffix('\r').unwrap_or(body);
        let last = body.rfind('\n').map_or(0, |at| at + 1);
        let keeps_blank_lines = value.ends_with("\n\n") || value == "\n";
        if keeps_blank_lines || last == 0 || !body[last..].trim().is_empty() {
            return range.start + body.len();
        }
        body = &body[..last];
    }
}

/// Where a collection in brackets ends; the end of one without them is nowhere in the text.
fn flow_end(place: &Range<usize>) -> usize {
    if place.is_empty() { 0 } else { place.end }
}

fn place(span: &Span) -> Result<Range<usize>, Refusal> {
    span.byte_range().ok_or_else(|| Refusal::new(0, "a value without a place"))
}
