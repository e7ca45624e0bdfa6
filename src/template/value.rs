//! The values that templates work on, with Go's distinctions of type: `int` and `int64` differ, and so do a list of
//! anything and a list of strings. Maps are shared and change in place; all else is immutable.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Text as Go has it: any bytes, usually UTF-8.
pub(super) type Text = Arc<[u8]>;

/// A value of a template.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Go's untyped nil.
    #[default]
    Nil,
    /// `bool`.
    Bool(bool),
    /// `int`: literals, lengths, indexes.
    Int(i64),
    /// `int64`: integers of the data, results of arithmetic.
    Int64(i64),
    /// `float64`.
    Float(f64),
    /// `string`.
    Text(Arc<[u8]>),
    /// `[]interface {}`.
    List(List),
    /// `map[string]interface {}`.
    Map(Map),
}

/// A list; copies share its elements.
#[derive(Clone, Debug, Default)]
pub struct List(Arc<Vec<Value>>);

/// A map that changes in place: copies are the same map, as in Go.
#[derive(Clone, Debug, Default)]
pub struct Map(Arc<Mutex<BTreeMap<Text, Value>>>);

impl Map {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<Text, Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<&serde_json::Value> for Value {
    /// Integers that fit become `int64`, other numbers `float64`, as the reference decodes objects.
    fn from(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(b) => Self::Bool(*b),
            serde_json::Value::Number(n) => {
                n.as_i64().map_or_else(|| Self::Float(n.as_f64().unwrap_or_default()), Self::Int64)
            }
            serde_json::Value::String(text) => Self::from(text.as_str()),
            serde_json::Value::Array(items) => Self::List(List(Arc::new(items.iter().map(Self::from).collect()))),
            serde_json::Value::Object(entries) => Self::Map(entries.into()),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.as_bytes().into())
    }
}

impl From<&serde_json::Map<String, serde_json::Value>> for Map {
    fn from(entries: &serde_json::Map<String, serde_json::Value>) -> Self {
        let map = Self::default();
        map.entries().extend(entries.iter().map(|(key, value)| (key.as_bytes().into(), Value::from(value))));
        map
    }
}
