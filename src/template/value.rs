//! The values that templates work on, with Go's distinctions of type: `int` and `int64` differ, and so do a list of
//! anything and a list of strings. Maps are shared and change in place; all else is immutable.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::time::Time;

/// Text as Go has it: any bytes, usually UTF-8.
pub type Text = Arc<[u8]>;

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
    /// `uint8`: one byte of a text.
    Byte(u8),
    /// `string`.
    Text(Text),
    /// A slice.
    List(List),
    /// A map.
    Map(Map),
    /// `time.Time`.
    Time(Time),
}

/// The Go type of a list's elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Element {
    /// `interface {}`.
    #[default]
    Any,
    /// `string`.
    Text,
    /// `int`.
    Int,
    /// `[]interface {}`.
    List,
}

/// A list; copies share its elements.
#[derive(Clone, Debug, Default)]
pub struct List {
    element: Element,
    items: Option<Arc<Items>>,
}

/// A map that changes in place: copies are the same map, as in Go.
#[derive(Clone, Debug, Default)]
pub struct Map {
    element: Element,
    entries: Option<Arc<Entries>>,
}

#[derive(Debug, Default)]
struct Items(Vec<Value>);

#[derive(Debug, Default)]
struct Entries(Mutex<BTreeMap<Text, Value>>);

impl List {
    /// A list of elements of one type.
    pub fn new(element: Element, items: Vec<Value>) -> Self {
        Self { element, items: Some(Arc::new(Items(items))) }
    }

    /// Go's nil slice: empty, but `null` in JSON.
    pub fn nil(element: Element) -> Self {
        Self { element, items: None }
    }

    /// The type of its elements.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Its elements.
    pub fn items(&self) -> &[Value] {
        self.items.as_ref().map_or(&[], |items| items.0.as_slice())
    }

    /// Whether it is a nil slice.
    pub fn is_nil(&self) -> bool {
        self.items.is_none()
    }

    /// Whether both are the same elements in memory.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        matches!((&self.items, &other.items), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
    }
}

impl Map {
    /// A map with values of one type.
    pub fn new(element: Element, entries: BTreeMap<Text, Value>) -> Self {
        Self { element, entries: Some(Arc::new(Entries(Mutex::new(entries)))) }
    }

    /// Go's nil map: empty, cannot be written to.
    pub fn nil() -> Self {
        Self { element: Element::Any, entries: None }
    }

    /// The type of its values.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Whether it is a nil map.
    pub fn is_nil(&self) -> bool {
        self.entries.is_none()
    }

    /// Entries it has.
    pub fn len(&self) -> usize {
        self.lock().map_or(0, |entries| entries.len())
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Option<Value> {
        self.lock()?.get(key).cloned()
    }

    /// A copy of the entries, in the order of their keys. Nobody walks over the map itself: it may contain itself.
    pub fn entries(&self) -> Vec<(Text, Value)> {
        self.lock().map_or_else(Vec::new, |entries| entries.iter().map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    /// Sets the value of a key; false for a nil map.
    pub fn set(&self, key: Text, value: Value) -> bool {
        // What was there is dropped after the lock is gone.
        let before = match self.lock() {
            None => return false,
            Some(mut entries) => entries.insert(key, value),
        };
        drop(before);
        true
    }

    /// Removes a key.
    pub fn remove(&self, key: &[u8]) {
        let before = self.lock().and_then(|mut entries| entries.remove(key));
        drop(before);
    }

    /// Whether both are the same map in memory.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        matches!((&self.entries, &other.entries), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
    }

    fn lock(&self) -> Option<MutexGuard<'_, BTreeMap<Text, Value>>> {
        self.entries.as_ref().map(|entries| entries.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Nested values are dropped one after the other: a template can nest them deeper than the stack is.
impl Drop for Items {
    fn drop(&mut self) {
        release(std::mem::take(&mut self.0));
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        let entries = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if entries.values().any(Value::is_collection) {
            release(std::mem::take(entries).into_values().collect());
        }
    }
}

fn release(mut pending: Vec<Value>) {
    if !pending.iter().any(Value::is_collection) {
        return;
    }
    while let Some(value) = pending.pop() {
        match value {
            Value::List(List { items: Some(items), .. }) => {
                if let Some(mut items) = Arc::into_inner(items) {
                    pending.append(&mut items.0);
                }
            }
            Value::Map(Map { entries: Some(entries), .. }) => {
                if let Some(mut entries) = Arc::into_inner(entries) {
                    let entries = entries.0.get_mut().unwrap_or_else(PoisonError::into_inner);
                    pending.extend(std::mem::take(entries).into_values());
                }
            }
            _ => {}
        }
    }
}

impl Value {
    /// A `[]interface {}`.
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(List::new(Element::Any, items))
    }

    /// A `[]string`.
    pub(super) fn texts(items: impl IntoIterator<Item = Self>) -> Self {
        Self::List(List::new(Element::Text, items.into_iter().collect()))
    }

    /// A `map[string]interface {}`.
    pub fn map(entries: BTreeMap<Text, Self>) -> Self {
        Self::Map(Map::new(Element::Any, entries))
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    pub(super) fn is_collection(&self) -> bool {
        matches!(self, Self::List(_) | Self::Map(_))
    }

    /// The text of a `string`.
    pub(super) fn as_text(&self) -> Option<&Text> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The name of its Go type, as `%T` prints it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Int64(_) => "int64",
            Self::Float(_) => "float64",
            Self::Byte(_) => "uint8",
            Self::Text(_) => "string",
            Self::List(list) => match list.element() {
                Element::Any => "[]interface {}",
                Element::Text => "[]string",
                Element::Int => "[]int",
                Element::List => "[][]interface {}",
            },
            Self::Map(map) => match map.element() {
                Element::Text => "map[string]string",
                _ => "map[string]interface {}",
            },
            Self::Time(_) => "time.Time",
        }
    }

    /// The name of its Go kind, as `reflect` has it.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Nil => "invalid",
            Self::List(_) => "slice",
            Self::Map(_) => "map",
            Self::Time(_) => "struct",
            scalar => scalar.type_name(),
        }
    }

    /// What `if` makes of it: false for zero and for what is empty.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(b) => *b,
            Self::Int(i) | Self::Int64(i) => *i != 0,
            Self::Byte(b) => *b != 0,
            Self::Float(f) => *f != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.items().is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Time(_) => true,
        }
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
            serde_json::Value::Array(items) => Self::list(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(entries) => Self::Map(entries.into()),
        }
    }
}

impl From<&serde_json::Map<String, serde_json::Value>> for Map {
    fn from(entries: &serde_json::Map<String, serde_json::Value>) -> Self {
        let entries = entries.iter().map(|(key, value)| (key.as_bytes().into(), Value::from(value)));
        Self::new(Element::Any, entries.collect())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.as_bytes().into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into_bytes().into())
    }
}

impl From<&[u8]> for Value {
    fn from(text: &[u8]) -> Self {
        Self::Text(text.into())
    }
}

impl From<Vec<u8>> for Value {
    fn from(text: Vec<u8>) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}
