//! One value by one verb of Go's `fmt`, with its flags.

use super::super::value::Value;
use super::float::{Notation, format_float};
use super::quoted::{is_printable, next_char, quote, quote_ascii};
use super::{Printed, Printer};

/// The flags of a directive.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spec {
    pub(super) sharp: bool,
    pub(super) zero: bool,
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) space: bool,
    /// `%#v`: as Go source.
    pub(super) source: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

impl Spec {
    /// With `v`, two of the flags mean other things.
    pub(super) fn for_verb(&mut self, verb: char) {
        if verb == 'v' {
            self.source = std::mem::take(&mut self.sharp);
            self.plus = false;
        }
    }
}

impl Printer<'_> {
    pub(super) fn verb(&mut self, value: &Value, verb: char, spec: &Spec, depth: usize) -> Printed {
        match (verb, value) {
            ('T', _) if depth == 0 => self.pad(&spec.cut(value.type_name().as_bytes()), spec),
            ('v', Value::Nil) if spec.source && depth > 0 => self.push(b"interface {}(nil)"),
            ('v', Value::Nil) => self.pad(b"<nil>", spec),
            // Within a collection a nil has no verb of its own.
            (_, Value::Nil) if depth > 0 => self.push(b"<nil>"),
            ('v' | 't', Value::Bool(b)) => self.pad(b.to_string().as_bytes(), spec),
            (_, Value::Int(i) | Value::Int64(i)) => self.integer(value, (*i < 0, i.unsigned_abs()), verb, spec),
            ('v', Value::Byte(b)) if spec.source => self.push(format!("0x{b:x}").as_bytes()),
            (_, Value::Byte(b)) => self.integer(value, (false, u64::from(*b)), verb, spec),
            (_, Value::Float(f)) => self.float(value, *f, verb, spec),
            (_, Value::Text(text)) => self.text(value, text, verb, spec),
            ('v' | 's' | 'x' | 'X' | 'q', Value::Time(time)) => {
                self.text(value, time.to_string().as_bytes(), verb, spec)
            }
            (_, Value::List(_) | Value::Map(_)) => self.collection(value, verb, spec, depth),
            _ => self.bad_verb(value, verb, spec),
        }
    }

    fn bad_verb(&mut self, value: &Value, verb: char, spec: &Spec) -> Printed {
        self.push(format!("%!{verb}(").as_bytes())?;
        if value.is_nil() {
            self.push(b"<nil>")?;
        } else {
            self.push(value.type_name().as_bytes())?;
            self.push(b"=")?;
            self.verb(value, 'v', spec, 0)?;
        }
        self.push(b")")
    }

    fn collection(&mut self, value: &Value, verb: char, spec: &Spec, depth: usize) -> Printed {
        self.meter.nest(depth)?;
        let (open, close, is_nil) = match value {
            Value::List(list) => ("[", "]", list.is_nil()),
            Value::Map(map) => ("map[", "]", map.is_nil()),
            _ => return Ok(()),
        };
        if spec.source {
            self.push(value.type_name().as_bytes())?;
            if is_nil {
                return self.push(b"(nil)");
            }
        }
        let (open, close, between) = if spec.source { ("{", "}", ", ") } else { (open, close, " ") };
        self.push(open.as_bytes())?;
        let items: Vec<(Option<Value>, Value)> = match value {
            Value::List(list) => list.items().iter().map(|item| (None, item.clone())).collect(),
            Value::Map(map) => map.entries().into_iter().map(|(k, v)| (Some(Value::Text(k)), v)).collect(),
            _ => Vec::new(),
        };
        for (index, (key, item)) in items.iter().enumerate() {
            if index > 0 {
                self.push(between.as_bytes())?;
            }
            if let Some(key) = key {
                self.verb(key, verb, spec, depth + 1)?;
                self.push(b":")?;
            }
            self.verb(item, verb, spec, depth + 1)?;
        }
        self.push(close.as_bytes())
    }

    fn integer(&mut self, value: &Value, (negative, n): (bool, u64), verb: char, spec: &Spec) -> Printed {
        let digits = match verb {
            'v' | 'd' => n.to_string(),
            'b' => format!("{n:b}"),
            'o' | 'O' => format!("{n:o}"),
            'x' => format!("{n:x}"),
            'X' => format!("{n:X}"),
            'c' | 'q' => {
                let c = u32::try_from(n).ok().filter(|_| !negative).and_then(char::from_u32);
                let text = c.unwrap_or(char::REPLACEMENT_CHARACTER).to_string();
                let text = match verb {
                    'c' => text,
                    _ if spec.plus => quote_ascii(text.as_bytes(), b'\''),
                    _ => quote(text.as_bytes(), b'\''),
                };
                return self.pad(text.as_bytes(), spec);
            }
            'U' => return self.unicode(if negative { n.wrapping_neg() } else { n }, spec),
            _ => return self.bad_verb(value, verb, spec),
        };
        if spec.precision == Some(0) && n == 0 {
            return self.pad(b"", &Spec { zero: false, ..*spec });
        }
        let signed = negative || spec.plus || spec.space;
        let least = match (spec.precision, spec.width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if spec.zero && !spec.minus => width.saturating_sub(usize::from(signed)),
            _ => 0,
        };
        self.meter.grow(self.out.len(), least)?;
        let digits = format!("{digits:0>least$}");
        let prefix = match verb {
            'b' if spec.sharp => "0b",
            'o' if spec.sharp && !digits.starts_with('0') => "0",
            'O' if spec.sharp && !digits.starts_with('0') => "0o0",
            'O' => "0o",
            'x' if spec.sharp => "0x",
            'X' if spec.sharp => "0X",
            _ => "",
        };
        let sign = match () {
            () if negative => "-",
            () if spec.plus => "+",
            () if spec.space => " ",
            () => "",
        };
        self.pad(format!("{sign}{prefix}{digits}").as_bytes(), &Spec { zero: false, ..*spec })
    }

    fn unicode(&mut self, code: u64, spec: &Spec) -> Printed {
        let least = spec.precision.unwrap_or(4).max(4);
        self.meter.grow(self.out.len(), least)?;
        let shown = u32::try_from(code).ok().and_then(char::from_u32).filter(|c| spec.sharp && is_printable(*c));
        let shown = shown.map(|c| format!(" '{c}'")).unwrap_or_default();
        self.pad(format!("U+{code:0>least$X}{shown}").as_bytes(), &Spec { zero: false, ..*spec })
    }

    fn float(&mut self, value: &Value, f: f64, verb: char, spec: &Spec) -> Printed {
        let (notation, precision) = match verb {
            'v' | 'g' | 'G' => (Notation::General, spec.precision),
            'e' | 'E' => (Notation::Exponent, Some(spec.precision.unwrap_or(6))),
            'f' | 'F' => (Notation::Fixed, Some(spec.precision.unwrap_or(6))),
            _ => return self.bad_verb(value, verb, spec),
        };
        self.meter.grow(self.out.len(), precision.unwrap_or(0))?;
        let mut text = format_float(f, notation, precision);
        if matches!(verb, 'E' | 'G') {
            text = text.replace('e', "E");
        }
        let unsigned = text.trim_start_matches(['+', '-']);
        let sign = match () {
            () if text.starts_with('-') => "-",
            () if spec.plus => "+",
            () if spec.space => " ",
            () => "",
        };
        if !f.is_finite() {
            let sign = if f.is_infinite() && sign.is_empty() { "+" } else { sign };
            return self.pad(format!("{sign}{unsigned}").as_bytes(), &Spec { zero: false, ..*spec });
        }
        if let (true, false, Some(width)) = (spec.zero, spec.minus || sign.is_empty(), spec.width) {
            let least = width.saturating_sub(sign.len());
            self.meter.grow(self.out.len(), least)?;
            return self.push(format!("{sign}{unsigned:0>least$}").as_bytes());
        }
        self.pad(format!("{sign}{unsigned}").as_bytes(), spec)
    }

    fn text(&mut self, value: &Value, text: &[u8], verb: char, spec: &Spec) -> Printed {
        match verb {
            'v' if spec.source => self.pad(quote(text, b'"').as_bytes(), spec),
            'v' | 's' => self.pad(&spec.cut(text), spec),
            'q' => {
                let text = spec.cut(text);
                let can_backquote = std::str::from_utf8(&text).is_ok_and(|text| {
                    text.chars().all(|c| c == '\t' || !matches!(c, '`' | '\u{feff}' | '\u{7f}' | ..' ') || c == ' ')
                });
                if spec.sharp && can_backquote {
                    return self.pad(&[b"`", text.as_slice(), b"`"].concat(), spec);
                }
                let quoted = if spec.plus { quote_ascii(&text, b'"') } else { quote(&text, b'"') };
                self.pad(quoted.as_bytes(), spec)
            }
            'x' | 'X' => self.hex(text, verb == 'X', spec),
            _ => self.bad_verb(value, verb, spec),
        }
    }

    fn hex(&mut self, text: &[u8], upper: bool, spec: &Spec) -> Printed {
        let text = &text[..spec.precision.unwrap_or(text.len()).min(text.len())];
        self.meter.grow(self.out.len(), text.len() * 5)?;
        let mark = if upper { "0X" } else { "0x" };
        let mut out = String::new();
        for (index, b) in text.iter().enumerate() {
            if index > 0 && spec.space {
                out.push(' ');
            }
            if spec.sharp && (index == 0 || spec.space) {
                out.push_str(mark);
            }
            out.push_str(&if upper { format!("{b:02X}") } else { format!("{b:02x}") });
        }
        self.pad(out.as_bytes(), spec)
    }

    fn pad(&mut self, text: &[u8], spec: &Spec) -> Printed {
        let mut rest = text;
        let mut count = 0;
        while spec.width.is_some() && !rest.is_empty() {
            rest = &rest[next_char(rest).1..];
            count += 1;
        }
        let missing = spec.width.unwrap_or(0).saturating_sub(count);
        self.meter.grow(self.out.len(), missing)?;
        let padding = vec![if spec.zero && !spec.minus { b'0' } else { b' ' }; missing];
        if spec.minus {
            self.push(text)?;
            self.push(&padding)
        } else {
            self.push(&padding)?;
            self.push(text)
        }
    }
}

impl Spec {
    /// A text cut to as many characters as the precision says.
    fn cut(&self, text: &[u8]) -> Vec<u8> {
        let Some(precision) = self.precision else { return text.to_vec() };
        let mut end = 0;
        for _ in 0..precision {
            if end >= text.len() {
                break;
            }
            end += next_char(&text[end..]).1;
        }
        text[..end].to_vec()
    }
}
