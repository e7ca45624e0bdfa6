//! How lists and mappings of the built-in kinds are merged: a table of the fields where it is not the default, or below
//! which there is such a field.
//!
//! Lines of its text: `kind GROUP/VERSION KIND FIELD…` and `type NAME FIELD…`, where a field is `name=strategies:key>type`
//! and each of the three parts may be missing. The text is made from an API server's OpenAPI document by
//! [`table_text`](super::table_text).

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::object::Gvk;

/// From the OpenAPI document of Kubernetes 1.36.
const CURRENT: &str = include_str!("kinds.txt");
/// Versions that Flux v1 knew and API servers dropped since.
const FORMER: &str = include_str!("former-kinds.txt");

/// Merge rules of many kinds.
#[derive(Debug, Default)]
pub struct Table {
    kinds: HashMap<Gvk, Fields>,
    types: HashMap<Box<str>, Fields>,
}

type Fields = HashMap<Box<str>, Field>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Field {
    rule: Rule,
    of: Option<Box<str>>,
}

/// How one field is merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rule {
    /// A list: its elements are merged; else it is replaced.
    pub(super) merge: bool,
    /// A mapping: it is replaced; else it is merged.
    pub(super) replace: bool,
    /// Patches made for it say which fields stay.
    pub(super) retain_keys: bool,
    /// The field that tells elements apart; none for lists of plain values.
    pub(super) key: Option<Box<str>>,
}

/// What is known of the mapping at hand; of an unknown one, nothing, and every default holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape<'a> {
    table: &'a Table,
    fields: Option<&'a Fields>,
}

static DEFAULT_RULE: Rule = Rule { merge: false, replace: false, retain_keys: false, key: None };

impl<'a> Shape<'a> {
    /// The rule of a field, and the shape of its value or of its elements.
    pub(super) fn field(self, name: &str) -> (&'a Rule, Self) {
        match self.fields.and_then(|fields| fields.get(name)) {
            Some(field) => {
                let fields = field.of.as_ref().and_then(|of| self.table.types.get(of));
                (&field.rule, Self { fields, ..self })
            }
            None => (&DEFAULT_RULE, Self { fields: None, ..self }),
        }
    }
}

impl Table {
    /// The table that comes with the program.
    pub fn builtin() -> &'static Self {
        static TABLE: LazyLock<Table> = LazyLock::new(|| {
            let mut table = Table::default();
            for line in CURRENT.lines().chain(FORMER.lines()) {
                table.add_line(line);
            }
            table
        });
        &TABLE
    }

    /// Whether the kind is in the table, by exact group, version and kind.
    pub fn has(&self, gvk: &Gvk) -> bool {
        self.kinds.contains_key(gvk)
    }

    /// The lines of the built-in text that lack in it although `text` has them: what another API server knows and this
    /// program does not.
    pub fn unknown_to_builtin(text: &str) -> Vec<&str> {
        let known: std::collections::HashSet<&str> = CURRENT.lines().collect();
        text.lines().filter(|line| !known.contains(line)).collect()
    }

    pub(super) fn shape(&self, gvk: &Gvk) -> Shape<'_> {
        Shape { table: self, fields: self.kinds.get(gvk) }
    }

    /// Takes one line; whether it was understood. Empty lines and those that begin with `#` say nothing.
    pub(super) fn add_line(&mut self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        match words.next() {
            None => true,
            Some(first) if first.starts_with('#') => true,
            Some("kind") => {
                let (Some(api_version), Some(kind)) = (words.next(), words.next()) else { return false };
                let Some(fields) = words.map(read_field).collect() else { return false };
                self.kinds.insert(Gvk::new(api_version, kind), fields).is_none()
            }
            Some("type") => {
                let Some(name) = words.next() else { return false };
                let Some(fields) = words.map(read_field).collect() else { return false };
                self.types.insert(name.into(), fields).is_none()
            }
            Some(_) => false,
        }
    }

    /// Types that fields refer to and that are not there; for the test of the checked-in text.
    #[cfg(test)]
    pub(super) fn dangling(&self) -> Vec<&str> {
        let all = self.kinds.values().chain(self.types.values()).flat_map(|fields| fields.values());
        all.filter_map(|field| field.of.as_deref()).filter(|of| !self.types.contains_key(*of)).collect()
    }
}

fn read_field(word: &str) -> Option<(Box<str>, Field)> {
    let (word, of) = word.split_once('>').map_or((word, None), |(word, of)| (word, Some(of.into())));
    let (word, key) = word.split_once(':').map_or((word, None), |(word, key)| (word, Some(key.into())));
    let (name, strategies) = word.split_once('=').unwrap_or((word, ""));
    let mut rule = Rule { key, ..Rule::default() };
    for strategy in strategies.split(',').filter(|s| !s.is_empty()) {
        match strategy {
            "merge" => rule.merge = true,
            "replace" => rule.replace = true,
            "retainKeys" => rule.retain_keys = true,
            _ => return None,
        }
    }
    Some((name.into(), Field { rule, of }))
}
