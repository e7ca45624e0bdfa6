//! Go's `fmt.Sprintf`: the format's text into directives. What a directive makes of a value is in `verb`.

use super::super::exec::{Fail, Meter};
use super::super::value::Value;
use super::quoted::next_char;
use super::verb::Spec;
use super::{Printed, Printer};

/// Widths, precisions and indexes beyond this are wrong, as in Go.
const TOO_LARGE: i64 = 1_000_000;

/// Fills a format with values. Mistakes show in the text, as `%!d(string=x)`.
pub(crate) fn sprintf(format: &[u8], args: &[Value], meter: &mut Meter) -> Result<Vec<u8>, Fail> {
    let mut run = Run {
        printer: Printer { out: Vec::new(), meter },
        format,
        at: 0,
        args,
        arg: 0,
        good_arg: true,
        reordered: false,
        after_index: false,
    };
    run.all()?;
    Ok(run.printer.out)
}

struct Run<'r, 'm> {
    printer: Printer<'m>,
    format: &'r [u8],
    at: usize,
    args: &'r [Value],
    arg: usize,
    good_arg: bool,
    reordered: bool,
    after_index: bool,
}

impl Run<'_, '_> {
    fn all(&mut self) -> Printed {
        while self.at < self.format.len() {
            let rest = &self.format[self.at..];
            let plain = rest.iter().position(|b| *b == b'%').unwrap_or(rest.len());
            self.printer.push(&rest[..plain])?;
            self.at += plain;
            if self.at < self.format.len() {
                self.at += 1;
                self.directive()?;
            }
        }
        if self.reordered || self.arg >= self.args.len() {
            return Ok(());
        }
        self.printer.push(b"%!(EXTRA ")?;
        for (index, arg) in self.args[self.arg..].iter().enumerate() {
            if index > 0 {
                self.printer.push(b", ")?;
            }
            if !arg.is_nil() {
                self.printer.push(arg.type_name().as_bytes())?;
                self.printer.push(b"=")?;
            }
            self.printer.value(arg, 0)?;
        }
        self.printer.push(b")")
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    fn directive(&mut self) -> Printed {
        let mut spec = self.flags();
        self.good_arg = true;
        self.after_index = false;
        self.index();
        self.width(&mut spec)?;
        self.precision(&mut spec)?;
        if !self.after_index {
            self.index();
        }
        let Some(_) = self.peek() else { return self.printer.push(b"%!(NOVERB)") };
        let (verb, size) = next_char(&self.format[self.at..]);
        let verb = verb.unwrap_or(char::REPLACEMENT_CHARACTER);
        self.at += size;
        let shown = verb.to_string();
        match self.args.get(self.arg) {
            _ if verb == '%' => self.printer.push(b"%"),
            _ if !self.good_arg => self.printer.push(format!("%!{shown}(BADINDEX)").as_bytes()),
            None => self.printer.push(format!("%!{shown}(MISSING)").as_bytes()),
            Some(value) => {
                self.arg += 1;
                spec.for_verb(verb);
                self.printer.verb(value, verb, &spec, 0)
            }
        }
    }

    fn flags(&mut self) -> Spec {
        let mut spec = Spec::default();
        loop {
            match self.peek() {
                Some(b'#') => spec.sharp = true,
                Some(b'0') => spec.zero = true,
                Some(b'+') => spec.plus = true,
                Some(b'-') => spec.minus = true,
                Some(b' ') => spec.space = true,
                _ => return spec,
            }
            self.at += 1;
        }
    }

    fn width(&mut self, spec: &mut Spec) -> Printed {
        if self.peek() == Some(b'*') {
            self.at += 1;
            let width = self.int_argument();
            if width.is_none() {
                self.printer.push(b"%!(BADWIDTH)")?;
            }
            if width.is_some_and(|width| width < 0) {
                spec.minus = true;
                spec.zero = false;
            }
            spec.width = width.and_then(|width| usize::try_from(width.abs()).ok());
            self.after_index = false;
        } else {
            spec.width = self.number();
            if self.after_index && spec.width.is_some() {
                self.good_arg = false;
            }
        }
        Ok(())
    }

    fn precision(&mut self, spec: &mut Spec) -> Printed {
        if self.peek() != Some(b'.') || self.at + 1 >= self.format.len() {
            return Ok(());
        }
        self.at += 1;
        if self.after_index {
            self.good_arg = false;
        }
        self.index();
        if self.peek() != Some(b'*') {
            spec.precision = Some(self.number().unwrap_or(0));
            return Ok(());
        }
        self.at += 1;
        let precision = self.int_argument();
        spec.precision = precision.and_then(|precision| usize::try_from(precision).ok());
        if spec.precision.is_none() {
            self.printer.push(b"%!(BADPREC)")?;
        }
        self.after_index = false;
        Ok(())
    }

    fn number(&mut self) -> Option<usize> {
        let start = self.at;
        let mut number: i64 = 0;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            number = number * 10 + i64::from(digit - b'0');
            if number > TOO_LARGE {
                self.at = self.format.len();
                return None;
            }
            self.at += 1;
        }
        (self.at > start).then(|| usize::try_from(number).unwrap_or(0))
    }

    fn int_argument(&mut self) -> Option<i64> {
        let value = self.args.get(self.arg)?;
        self.arg += 1;
        let number = match value {
            Value::Int(i) | Value::Int64(i) => *i,
            Value::Byte(b) => i64::from(*b),
            _ => return None,
        };
        (-TOO_LARGE..=TOO_LARGE).contains(&number).then_some(number)
    }

    /// Reads `[n]`, which chooses the argument.
    fn index(&mut self) {
        self.after_index = false;
        if self.peek() != Some(b'[') {
            return;
        }
        self.reordered = true;
        let rest = &self.format[self.at + 1..];
        let Some(end) = rest.iter().position(|b| *b == b']') else {
            self.good_arg = false;
            self.at += 1;
            return;
        };
        let number = std::str::from_utf8(&rest[..end]).ok().filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
        let index = number.and_then(|n| n.parse::<usize>().ok()).and_then(|n| n.checked_sub(1));
        self.at += end + 2;
        match index.filter(|index| *index < self.args.len()) {
            Some(index) => {
                self.arg = index;
                self.after_index = true;
            }
            None => self.good_arg = false,
        }
    }
}
