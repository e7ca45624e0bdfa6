//! Paths to fields of an object.

use std::fmt;

use serde_json::Value;

/// One step of a path into an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// A key of a mapping.
    Key(String),
    /// An index of a list, from 0.
    Index(usize),
}

impl Step {
    /// A key of a mapping.
    pub fn key(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Index(index) => write!(f, "{index}"),
        }
    }
}

/// A field that exists, with its text if it is a string (or, in pod templates, another scalar).
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) path: Vec<Step>,
    pub(super) text: Option<String>,
}

impl Field {
    /// The field of a mapping that is at a path, if it holds a string.
    pub(super) fn string(map: &Value, path: &[Step], key: &str) -> Option<Self> {
        let text = map.get(key)?.as_str()?.to_owned();
        let mut path = path.to_vec();
        path.push(Step::key(key));
        Some(Self { path, text: Some(text) })
    }

    /// Follows a path of keys joined with dots from the value at `base`; `None` unless it ends at a string. Where
    /// `indices` allows it, a number in the path counts the items of a list.
    pub(super) fn at(value: &Value, base: &[Step], dotted: &str, indices: bool) -> Option<Self> {
        let mut path = base.to_vec();
        let mut at = value;
        for part in dotted.split('.') {
            let (next, step) = match at {
                Value::Object(map) => (map.get(part)?, Step::key(part)),
                Value::Array(items) if indices => {
                    let index = part.parse().ok()?;
                    (items.get(index)?, Step::Index(index))
                }
                _ => return None,
            };
            path.push(step);
            at = next;
        }
        Some(Self { path, text: Some(at.as_str()?.to_owned()) })
    }
}
