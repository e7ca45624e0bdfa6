//! Command lines as Flux v1's programs understood them. A table says what every flag is ([`table::FLAGS`] for the daemon,
//! one per verb for `fluxctl`); the parser and the help text are driven by it.
//!
//! An own parser because users' manifests depend on the rules of Go's pflag (fluxd-v1 §1.1), which no argument library
//! here follows: CSV records as list values whose first occurrence replaces the default, `-l=x`, booleans with a value,
//! Go's numbers and durations, its error texts. What flags *mean* together is `settings`' work.

mod controllers;
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

pub(super) use duration::parse as parse_duration;
pub(super) use parse::{FlagError, Parsed, parse, parse_controllers, parse_with};
pub(super) use usage::{of_controllers, usage};
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
    /// Adds one each time it is given without a value.
    Count,
    /// `key=value` pairs, joined by commas.
    Map,
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
    Controllers,
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

impl Flag {
    /// Makes a flag that does what its help says, under the heading of general ones.
    pub(super) const fn new(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Self {
        let (short, deprecated) = (None, None);
        Self { name, short, kind, default, help, group: Group::General, deprecated, effect: Effect::Works }
    }

    /// Gives it a letter.
    pub(super) const fn short(mut self, letter: char) -> Self {
        self.short = Some(letter);
        self
    }
}

/// Tables that a command line is read by; their names and letters are distinct.
pub(super) type Tables = [&'static [Flag]; 2];

/// The tables of the daemon.
const DAEMON: Tables = [table::FLAGS, controllers::SHARED];

/// The values of all flags: given ones, and defaults for the rest.
#[derive(Clone, Debug)]
pub(super) struct Given {
    tables: Tables,
    values: BTreeMap<&'static str, Value>,
}

impl Default for Given {
    fn default() -> Self {
        Self::of(DAEMON)
    }
}

impl Given {
    fn of(tables: Tables) -> Self {
        Self { tables, values: BTreeMap::new() }
    }

    fn find(&self, name: &str) -> Option<&'static Flag> {
        self.tables.iter().copied().flatten().find(|flag| flag.name == name)
    }

    /// Whether the user gave the flag, even with its default value.
    pub(super) fn is_given(&self, name: &str) -> bool {
        debug_assert!(self.find(name).is_some(), "no flag {name} in the table");
        self.values.contains_key(name)
    }

    /// The flags given that do nothing, with the reasons, in the order of the table.
    pub(super) fn without_effect(&self) -> Vec<(&'static str, &'static str)> {
        let given = self.tables.iter().copied().flatten().filter(|flag| self.values.contains_key(flag.name));
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
            Some(Value::List(items) | Value::Pairs(items)) => items,
            other => mismatch(name, &other),
        }
    }

    fn value(&self, name: &str) -> Option<Value> {
        let given = self.values.get(name).cloned();
        given.or_else(|| self.find(name).and_then(value::default))
    }
}

/// A flag asked for under a type that it does not have: a mistake in `settings`, which its tests meet.
fn mismatch<T: Default>(name: &str, value: &Option<Value>) -> T {
    debug_assert!(false, "flag {name} is {value:?}");
    T::default()
}
