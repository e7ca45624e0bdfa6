//! Fields: the values of keys of maps, and the methods of times.

use super::super::engine::MissingKey;
use super::super::functions::Type;
use super::super::parse::Expr;
use super::super::time::Time;
use super::super::value::{Element, Value};
use super::{Done, Frame, Held};

impl<'t> Frame<'t, '_, '_> {
    /// Follows `.a.b.c` from a value; the last one may be a method that takes arguments.
    pub(super) fn fields(
        &mut self,
        dot: &Held,
        receiver: Held,
        fields: &'t [String],
        (args, last): (&'t [Expr], Option<Held>),
    ) -> Done<Held> {
        let mut receiver = receiver;
        let none: &'t [Expr] = &[];
        let Some((end, before)) = fields.split_last() else { return Ok(receiver) };
        for field in before {
            receiver = self.field(dot, &receiver, field, (none, None))?;
        }
        self.field(dot, &receiver, end, (args, last))
    }

    fn field(
        &mut self,
        dot: &Held,
        receiver: &Held,
        name: &str,
        (args, last): (&'t [Expr], Option<Held>),
    ) -> Done<Held> {
        self.step(1)?;
        if receiver.is_invalid() {
            if self.run.settings.missing_key == MissingKey::Error {
                let quoted = super::super::format::quote(name.as_bytes(), b'"');
                return self.error(format_args!("nil data; no entry for key {quoted}"));
            }
            return Ok(Held::default());
        }
        let type_name = receiver.type_name();
        match &receiver.value {
            Value::Nil => self.error(format_args!("nil pointer evaluating {type_name}.{name}")),
            Value::Map(map) => {
                if !args.is_empty() || last.is_some() {
                    return self.error(format_args!("{name} is not a method but has arguments"));
                }
                let found = map.get(name.as_bytes());
                if found.is_none() && self.run.settings.missing_key == MissingKey::Error {
                    let quoted = super::super::format::quote(name.as_bytes(), b'"');
                    return self.error(format_args!("map has no entry for key {quoted}"));
                }
                Ok(match map.element() {
                    Element::Text => Held::concrete(found.unwrap_or_else(|| "".into())),
                    _ => Held::interface(found.unwrap_or_default()),
                })
            }
            Value::Time(time) => self.method(dot, time, name, (args, last)),
            _ => self.error(format_args!("can't evaluate field {name} in type {type_name}")),
        }
    }

    fn method(&mut self, dot: &Held, time: &Time, name: &str, (args, last): (&'t [Expr], Option<Held>)) -> Done<Held> {
        let Some(wanted) = Time::parameters(name) else {
            return self.error(format_args!("can't evaluate field {name} in type time.Time"));
        };
        let given = args.len() + usize::from(last.is_some());
        if given != wanted {
            return self.error(format_args!("wrong number of args for {name}: want {wanted} got {given}"));
        }
        let layout = match (args, last) {
            ([arg], _) => self.argument(dot, Type::Text, arg)?.value,
            (_, Some(last)) => self.fit(last, Type::Text)?.value,
            _ => Value::Nil,
        };
        let layout = layout.as_text().map_or(&[] as &[u8], |text| text);
        Ok(Held::concrete(time.method(name, &String::from_utf8_lossy(layout))))
    }
}
