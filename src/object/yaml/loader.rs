//! Parser events into JSON values, within the bounds. What a scalar means is decided in `scalar`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, Tag, options};
use serde_json::{Map, Value};

use super::scalar::{self, Resolved};
use super::{Dialect, Document, Limits, YamlError};

/// Nodes that aliases may repeat in one document; go-yaml stops at about twice as many.
const REPEATED_NODES: usize = 200_000;

/// The deepest nesting whatever the limits say: JSON readers stop at 128.
const MAX_DEPTH: usize = 120;

/// The documents of a stream, one after the other; it ends after the first error.
pub struct Documents<'t> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    dialect: Dialect,
    limits: Limits,
    read: usize,
    spent: Cost,
    /// What aliases of the current document repeated.
    repeated: Cost,
    anchors: HashMap<usize, Anchor>,
    items: Vec<u32>,
    done: bool,
}

/// What a node costs.
#[derive(Clone, Copy, Default)]
struct Cost {
    nodes: usize,
    bytes: usize,
}

/// A value that aliases may repeat; `None` while it is being read.
type Anchor = Option<(Value, Cost)>;

/// How a mapping takes a merged entry.
#[derive(Default)]
struct Entries {
    map: Map<String, Value>,
    /// Mappings to merge when explicit keys win, in the order of precedence.
    later: Vec<Map<String, Value>>,
}

impl fmt::Debug for Documents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").field("read", &self.read).field("done", &self.done).finish_non_exhaustive()
    }
}

impl<'t> Documents<'t> {
    /// Starts at the beginning of a decoded stream.
    pub fn new(text: &'t str, dialect: Dialect, limits: &Limits) -> Self {
        let limits = Limits { depth: limits.depth.min(MAX_DEPTH), ..*limits };
        Self {
            text,
            parser: Parser::new_from_str_with_options(text, parser_options(&limits)),
            dialect,
            limits,
            read: 0,
            spent: Cost::default(),
            repeated: Cost::default(),
            anchors: HashMap::new(),
            items: Vec::new(),
            done: false,
        }
    }

    fn event(&mut self) -> Result<(Event<'t>, Span), YamlError> {
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::Comment(..), _))) => {}
                Some(Ok((Event::Scalar(text, style, anchor, tag), span))) => {
                    let text = self.without_added_line_end(text, style, &span);
                    return Ok((Event::Scalar(text, style, anchor, tag), span));
                }
                Some(Ok(event)) => return Ok(event),
                Some(Err(e)) => return Err(fail(e.marker().line(), e.info())),
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    /// A block scalar that ends with the stream has no line end that the stream does not have: go-yaml adds none, our
    /// parser does.
    fn without_added_line_end(&self, text: Cow<'t, str>, style: ScalarStyle, span: &Span) -> Cow<'t, str> {
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if !is_block || span.end.byte_offset() != Some(self.text.len()) {
            return text;
        }
        let source = self.text.rsplit(['\n', '\r']).next().unwrap_or_default();
        let content = source.trim_start();
        let Some(body) = text.strip_suffix('\n') else { return text };
        let last = body.rsplit('\n').next().unwrap_or_default();
        let holds_content = !content.is_empty() && last.ends_with(content);
        let holds_blanks = !last.is_empty() && source.ends_with(last);
        if holds_content || holds_blanks { Cow::Owned(body.to_owned()) } else { text }
    }

    fn next_document(&mut self) -> Result<Option<Document>, YamlError> {
        loop {
            match self.event()? {
                (Event::StreamEnd, _) => return Ok(None),
                (Event::DocumentStart(..), _) => break,
                _ => {}
            }
        }
        self.anchors.clear();
        self.items.clear();
        self.repeated = Cost::default();
        let (event, span) = self.event()?;
        let line = line_of(&span);
        self.read += 1;
        if self.read > self.limits.documents {
            return Err(fail(line, format!("more than {} documents in one stream", self.limits.documents)));
        }
        let value = self.node(event, line, 0)?;
        let is_list = value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
        let item_lines = if is_list { std::mem::take(&mut self.items) } else { Vec::new() };
        Ok(Some(Document { value, line: clamp(line), item_lines }))
    }

    fn node(&mut self, event: Event<'t>, line: usize, depth: usize) -> Result<Value, YamlError> {
        if let Event::Alias(id) = event {
            return self.repeat(id, line);
        }
        self.spent.nodes += 1;
        if self.spent.nodes > self.limits.nodes {
            return Err(fail(line, format!("more than {} nodes in one stream", self.limits.nodes)));
        }
        if depth > self.limits.depth {
            return Err(fail(line, format!("collections nested deeper than {}", self.limits.depth)));
        }
        let before = self.spent;
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.spent.bytes += text.len();
                (anchor, self.scalar(text.into_owned(), style, tag.as_deref(), line)?)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open(anchor);
                (anchor, self.sequence(depth, false)?)
            }
            Event::MappingStart(_, anchor, _) => {
                self.open(anchor);
                (anchor, self.mapping(depth)?)
            }
            other => return Err(fail(line, format!("expected a value, found {other:?}"))),
        };
        if anchor != 0 {
            let cost = Cost { nodes: 1 + self.spent.nodes - before.nodes, bytes: self.spent.bytes - before.bytes };
            self.anchors.insert(anchor, Some((value.clone(), cost)));
        }
        Ok(value)
    }

    fn open(&mut self, anchor: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, None);
        }
    }

    /// Takes the value of an anchor again, if the budget allows it.
    fn repeat(&mut self, id: usize, line: usize) -> Result<Value, YamlError> {
        let (value, cost) = match self.anchors.get(&id) {
            Some(Some((value, cost))) => (value, *cost),
            Some(None) => return Err(fail(line, "an anchor's value contains itself".into())),
            None => return Err(fail(line, "unknown anchor referenced".into())),
        };
        for total in [&mut self.spent, &mut self.repeated] {
            total.nodes += cost.nodes;
            total.bytes += cost.bytes;
        }
        let excess = self.repeated.nodes > REPEATED_NODES
            || self.repeated.bytes > self.limits.bytes
            || self.spent.bytes > 2 * self.limits.bytes
            || self.spent.nodes > self.limits.nodes;
        if excess {
            return Err(fail(line, "document contains excessive aliasing".into()));
        }
        Ok(value.clone())
    }

    fn scalar(&self, text: String, style: ScalarStyle, tag: Option<&Tag>, line: usize) -> Result<Value, YamlError> {
        let (resolved, replaced) = self.resolve(&text, style, tag, line)?;
        resolved.into_value(replaced.unwrap_or(text)).map_err(|message| fail(line, message))
    }

    fn resolve(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        line: usize,
    ) -> Result<(Resolved, Option<String>), YamlError> {
        scalar::resolve(text, style, tag, self.dialect).map_err(|message| fail(line, message))
    }

    /// Reads elements up to the end of the sequence; with `note_lines`, where each begins.
    fn sequence(&mut self, depth: usize, note_lines: bool) -> Result<Value, YamlError> {
        let mut elements = Vec::new();
        loop {
            let (event, span) = self.event()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok(Value::Array(elements));
            }
            let line = line_of(&span);
            if note_lines {
                self.items.push(clamp(line));
            }
            elements.push(self.node(event, line, depth + 1)?);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, YamlError> {
        let mut entries = Entries::default();
        loop {
            let (event, span) = self.event()?;
            let line = line_of(&span);
            let key = match event {
                Event::MappingEnd => return Ok(Value::Object(entries.finish())),
                Event::Scalar(text, style, 0, tag) if scalar::is_merge(&text, style, tag.as_deref()) => {
                    self.merge(&mut entries, depth)?;
                    continue;
                }
                Event::Scalar(text, style, anchor, tag) => {
                    self.key(text.into_owned(), (style, tag.as_deref()), anchor, line)?
                }
                Event::Alias(id) => key_of(self.repeat(id, line)?, line)?,
                _ => return Err(fail(line, "invalid map key: only scalars can be keys".into())),
            };
            let (event, span) = self.event()?;
            let line = line_of(&span);
            let value = match event {
                Event::SequenceStart(_, 0, _) if depth == 0 && key == "items" => {
                    self.items.clear();
                    self.sequence(depth + 1, true)?
                }
                event => self.node(event, line, depth + 1)?,
            };
            entries.map.insert(key, value);
        }
    }

    fn key(
        &mut self,
        text: String,
        (style, tag): (ScalarStyle, Option<&Tag>),
        anchor: usize,
        line: usize,
    ) -> Result<String, YamlError> {
        self.spent.nodes += 1;
        self.spent.bytes += text.len();
        let (resolved, replaced) = self.resolve(&text, style, tag, line)?;
        let text = replaced.unwrap_or(text);
        if anchor != 0 {
            let cost = Cost { nodes: 1, bytes: text.len() };
            let value = resolved.clone().into_value(text.clone()).map_err(|message| fail(line, message))?;
            self.anchors.insert(anchor, Some((value, cost)));
        }
        resolved.into_key(text).map_err(|message| fail(line, message))
    }

    /// Reads the value of a merge key: a mapping or a sequence of mappings, of which earlier ones win.
    fn merge(&mut self, entries: &mut Entries, depth: usize) -> Result<(), YamlError> {
        let (event, span) = self.event()?;
        let line = line_of(&span);
        let sources = match self.node(event, line, depth + 1)? {
            Value::Array(elements) => elements,
            one => vec![one],
        };
        let mut maps = Vec::with_capacity(sources.len());
        for source in sources {
            let Value::Object(map) = source else {
                return Err(fail(line, "map merge requires map or sequence of maps as the value".into()));
            };
            maps.push(map);
        }
        match self.dialect {
            Dialect::Kubernetes => maps.into_iter().rev().for_each(|map| entries.map.extend(map)),
            Dialect::Kustomize => entries.later.extend(maps),
        }
        Ok(())
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Document, YamlError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.next_document().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

impl Entries {
    fn finish(self) -> Map<String, Value> {
        let mut map = self.map;
        for (key, value) in self.later.into_iter().flatten() {
            map.entry(key).or_insert(value);
        }
        map
    }
}

fn parser_options(limits: &Limits) -> Options {
    options! {
        emit_comments: false,
        flow_nesting_limit: limits.depth + 2,
        block_nesting_limit: limits.depth + 2,
    }
}

/// The key that an alias stands for.
fn key_of(value: Value, line: usize) -> Result<String, YamlError> {
    match value {
        Value::String(text) => Ok(text),
        Value::Bool(b) => Ok(b.to_string()),
        Value::Number(n) => Ok(n.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(fail(line, "invalid map key: only scalars can be keys".into()))
        }
    }
}

fn line_of(span: &Span) -> usize {
    span.start.line()
}

fn clamp(line: usize) -> u32 {
    u32::try_from(line.max(1)).unwrap_or(u32::MAX)
}

fn fail(line: usize, message: String) -> YamlError {
    YamlError { line: clamp(line), message }
}
