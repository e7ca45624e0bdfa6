//! The command line as Flux v1 understood it. One table ([`table::FLAGS`]) says what every flag is; the parser and the help
//! text are driven by it.
//!
//! An own parser because users' manifests depend on the rules of Go's pflag (fluxd-v1 §1.1), which no argument library
//! here follows: CSV records as list values whose first occurrence replaces the default, `-l=x`, booleans with a value,
//! Go's numbers and durations, its error texts. What flags *mean* together is `settings`' work.

mod csv;
mod duration;
mod parse;
mod table;
mod usage;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

pub(super) use parse::{Parsed, parse};
pub(super) use usage::usage;
pub(super) use value::Value;

/// The type of a flag's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Bool,
    Int,
    Uint,
    Float,
    Duration,
    List,
}

/// Under which heading the help text shows a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    General,
    Git,
    Sync,
    Manifests,
    Images,
    Kubernetes,
    Ssh,
    Upstream,
    Additions,
}

/// What a flag does in this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// What the help says.
    Works,
    /// Nothing, and the reason.
    None(&'static str),
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    pub(super) name: &'static str,
    pub(super) short: Option<char>,
    pub(super) kind: Kind,
    /// As a user would write it; of a list, one CSV record.
    pub(super) default: &'static str,
    pub(super) help: &'static str,
    pub(super) group: Group,
    /// What to say when a deprecated flag is used; such flags are not shown in the help.
    pub(super) deprecated: Option<&'static str>,
    pub(super) effect: Effect,
}

/// The values of all flags: given ones, and defaults for the rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    values: BTreeMap<&'static str, Value>,
}

impl Given {
    /// Whether the user gave the flag, even with its default value.
    pub(super) fn is_given(&self, name: &str) -> bool {
        debug_assert!(table::find(name).is_some(), "no flag {name} in the table");
        self.values.contains_key(name)
    }

    /// The flags given that do nothing, with the reasons, in the order of the table.
    pub(super) fn without_effect(&self) -> Vec<(&'static str, &'static str)> {
        let given = table::FLAGS.iter().filter(|flag| self.values.contains_key(flag.name));
        given
            .filter_map(|flag| match flag.effect {
                Effect::None(why) => Some((flag.name, why)),
                Effect::Works => None,
            })
            .collect()
    }

    pub(super) fn text(&self, name: &str) -> String {
        match self.value(name) {
            Some(Value::Text(text)) => text,
            other => mismatch(name, &other),
        }
    }

    pub(super) fn bool(&self, name: &str) -> bool {
        match self.value(name) {
            Some(Value::Bool(value)) => value,
            other => mismatch(name, &other),
        }
    }

    pub(super) fn int(&self, name: &str) -> i64 {
        match self.value(name) {
            Some(Value::Int(value)) => value,
            other => mismatch(name, &other),
        }
    }

    pub(super) fn float(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Float(value)) => value,
            other => mismatch(name, &other),
        }
    }

    /// `None` when not given and without a default.
    pub(super) fn uint(&self, name: &str) -> Option<u64> {
        match self.value(name) {
            Some(Value::Uint(value)) => Some(value),
            None => None,
            other => mismatch(name, &other),
        }
    }

    /// Negative durations, which Go has, count as none at all.
    pub(super) fn duration(&self, name: &str) -> Duration {
        match self.value(name) {
            Some(Value::Duration(nanos)) => Duration::from_nanos(nanos.max(0).unsigned_abs()),
            other => mismatch(name, &other),
        }
    }

    pub(super) fn list(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Some(Value::List(items)) => items,
            other => mismatch(name, &other),
        }
    }

    fn value(&self, name: &str) -> Option<Value> {
        let given = self.values.get(name).cloned();
        given.or_else(|| table::find(name).and_then(value::default))
    }
}

/// A flag asked for under a type that it does not have: a mistake in `settings`, which its tests meet.
fn mismatch<T: Default>(name: &str, value: &Option<Value>) -> T {
    debug_assert!(false, "flag {name} is {value:?}");
    T::default()
}
