//! Values as text, as Go's `fmt` prints them.

mod float;
mod printf;
mod quoted;
mod verb;

pub(super) use float::{Notation, format_float};
pub(super) use printf::sprintf;
pub(super) use quoted::{is_printable, next_char, quote, unicode_point};

use super::exec::{Fail, Meter};
use super::value::Value;

/// A text that grows within the limits.
pub(super) struct Printer<'m> {
    pub(super) out: Vec<u8>,
    pub(super) meter: &'m mut Meter,
}

type Printed = Result<(), Fail>;

impl Printer<'_> {
    pub(super) fn push(&mut self, text: &[u8]) -> Printed {
        self.meter.grow(self.out.len(), text.len())?;
        self.out.extend_from_slice(text);
        Ok(())
    }

    /// Prints a value as `%v` does.
    pub(super) fn value(&mut self, value: &Value, depth: usize) -> Printed {
        match value {
            Value::Nil => self.push(b"<nil>"),
            Value::Bool(b) => self.push(if *b { b"true" } else { b"false" }),
            Value::Int(i) | Value::Int64(i) => self.push(i.to_string().as_bytes()),
            Value::Byte(b) => self.push(b.to_string().as_bytes()),
            Value::Float(f) => self.push(format_float(*f, Notation::General, None).as_bytes()),
            Value::Text(text) => self.push(text),
            Value::Time(time) => self.push(time.to_string().as_bytes()),
            Value::List(list) => {
                self.meter.nest(depth)?;
                self.push(b"[")?;
                for (index, item) in list.items().iter().enumerate() {
                    if index > 0 {
                        self.push(b" ")?;
                    }
                    self.value(item, depth + 1)?;
                }
                self.push(b"]")
            }
            Value::Map(map) => {
                self.meter.nest(depth)?;
                self.push(b"map[")?;
                for (index, (key, item)) in map.entries().iter().enumerate() {
                    if index > 0 {
                        self.push(b" ")?;
                    }
                    self.push(key)?;
                    self.push(b":")?;
                    self.value(item, depth + 1)?;
                }
                self.push(b"]")
            }
        }
    }
}

fn printed(meter: &mut Meter, print: impl FnOnce(&mut Printer<'_>) -> Printed) -> Result<Vec<u8>, Fail> {
    let mut printer = Printer { out: Vec::new(), meter };
    print(&mut printer)?;
    Ok(printer.out)
}

/// Go's `fmt.Sprintf("%v")`.
pub(super) fn text_of(value: &Value, meter: &mut Meter) -> Result<Vec<u8>, Fail> {
    printed(meter, |printer| printer.value(value, 0))
}

/// Go's `fmt.Sprint`: a space stands between operands neither of which is a string.
pub(super) fn sprint(values: &[Value], meter: &mut Meter) -> Result<Vec<u8>, Fail> {
    printed(meter, |printer| {
        for (index, value) in values.iter().enumerate() {
            let spaced = index > 0 && value.as_text().is_none() && values[index - 1].as_text().is_none();
            if spaced {
                printer.push(b" ")?;
            }
            printer.value(value, 0)?;
        }
        Ok(())
    })
}

/// Go's `fmt.Sprintln`.
pub(super) fn sprintln(values: &[Value], meter: &mut Meter) -> Result<Vec<u8>, Fail> {
    printed(meter, |printer| {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                printer.push(b" ")?;
            }
            printer.value(value, 0)?;
        }
        printer.push(b"\n")
    })
}
