//! One JSON value as YAML text, byte for byte as `sigs.k8s.io/yaml` v1.6.0 writes it (resourceset §4.2): what templates
//! see of an object, what `toYaml` prints, and what digests are taken of. Not for files that people keep: that is `write`.

mod order;
mod scalar;
#[cfg(test)]
mod tests;
mod timestamp;

use serde_json::{Map, Value};

use super::number::Numeric;
use scalar::Scalar;

/// Column after which a scalar is continued on the next line.
const WIDTH: usize = 80;

/// Spaces by which a mapping's lines stand in.
const INDENT: usize = 2;

/// Keys longer than this many bytes are written with a question mark.
const SIMPLE_KEY: usize = 128;

/// Writes one document: block style, lists at the column of their key, keys in natural order, scalars continued on the
/// next line after column 80, a line end at the end.
pub fn emit(value: &Value) -> String {
    document(value, WIDTH)
}

/// As [`emit`], but no scalar is continued on a next line. It means the same; a template's action in it stays on one
/// line, so that strings in it end where they began (resourceset §4.2, "long lines").
pub fn emit_unfolded(value: &Value) -> String {
    document(value, usize::MAX)
}

fn document(value: &Value, width: usize) -> String {
    let mut writer = Writer::new(width);
    writer.node(value, Context::Root);
    writer.indent = 0;
    writer.line();
    writer.out
}

/// What a node stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    Sequence,
    Mapping,
}

/// Text written so far, and where on the line it ends. The two flags are those of libyaml, on which line ends depend.
struct Writer {
    out: String,
    width: usize,
    column: usize,
    indent: usize,
    /// Nothing has been opened: the first collection stands at column 0.
    outermost: bool,
    /// The last thing written was white space, or wants none after it.
    whitespace: bool,
    /// Only indentation and indicators stand on this line.
    indention: bool,
}

impl Writer {
    fn new(width: usize) -> Self {
        Self { out: String::new(), width, column: 0, indent: 0, outermost: true, whitespace: true, indention: true }
    }

    fn node(&mut self, value: &Value, context: Context) {
        match value {
            Value::Object(map) if map.is_empty() => self.empty("{", "}"),
            Value::Array(list) if list.is_empty() => self.empty("[", "]"),
            Value::Object(map) => self.mapping(map),
            Value::Array(list) => self.sequence(list, context),
            leaf => self.scalar(&Scalar::of(leaf), false),
        }
    }

    fn empty(&mut self, open: &str, close: &str) {
        self.indicator(open, true, false);
        self.out.push_str(close);
        self.column += close.len();
    }

    fn mapping(&mut self, map: &Map<String, Value>) {
        let before = self.deepen(false);
        for key in order::sorted(map.keys().collect()) {
            let value = &map[key.as_str()];
            self.line();
            let key = Scalar::of_text(key);
            if key.is_multiline() || key.text.len() > SIMPLE_KEY {
                self.indicator("?", true, true);
                self.scalar(&key, false);
                self.line();
                self.indicator(":", true, true);
            } else {
                self.scalar(&key, true);
                self.indicator(":", false, false);
            }
            self.node(value, Context::Mapping);
        }
        self.restore(before);
    }

    fn sequence(&mut self, list: &[Value], context: Context) {
        let before = self.deepen(context == Context::Mapping && !self.indention);
        for value in list {
            self.line();
            self.indicator("-", true, true);
            self.node(value, Context::Sequence);
        }
        self.restore(before);
    }

    fn deepen(&mut self, stay: bool) -> (usize, bool) {
        let before = (self.indent, self.outermost);
        if !self.outermost && !stay {
            self.indent += INDENT;
        }
        self.outermost = false;
        before
    }

    fn restore(&mut self, before: (usize, bool)) {
        (self.indent, self.outermost) = before;
    }

    /// Moves to the indentation, on a new line unless this one holds nothing yet.
    fn line(&mut self) {
        if !self.indention || self.column > self.indent || (self.column == self.indent && !self.whitespace) {
            self.break_line();
        }
        while self.column < self.indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn break_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    /// Writes a mark such as `-`, after a space where one is wanted; `indents` when what follows may stand on its line.
    fn indicator(&mut self, mark: &str, apart: bool, indents: bool) {
        if apart && !self.whitespace {
            self.put(' ');
        }
        mark.chars().for_each(|c| self.put(c));
        self.whitespace = false;
        self.indention &= indents;
    }
}

/// A number as go-yaml prints what it reads from JSON.
fn number(number: &serde_json::Number) -> String {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(i), ..) => i.to_string(),
        (_, Some(u), _) => u.to_string(),
        (.., Some(f)) => match Numeric::Float(f).to_json() {
            Some(Value::Number(whole)) if whole.is_i64() || whole.is_u64() => whole.to_string(),
            _ => super::float_text(f),
        },
        _ => number.to_string(),
    }
}
