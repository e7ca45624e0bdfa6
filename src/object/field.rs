//! Small changes to an object: a text at a path, and an annotation. They say what is to change, so that the same change
//! can be made to the bytes of a file and to a JSON value; making it is for others.

use std::fmt;

/// One step of a path into an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// To the value of this key.
    Key(String),
    /// To this element, counted from 0.
    Index(usize),
}

/// A text that is to stand at a path. What stands there now is a scalar: no mapping or list is made or replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// From the object's root.
    pub path: Vec<Step>,
    /// What is to stand there; always a string, whatever it looks like.
    pub value: String,
}

/// What is to become of one key of `metadata.annotations`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotationChange {
    /// The whole key, prefix included.
    pub key: String,
    /// What is to stand there; `None` takes the key away, and the last one takes `annotations` with it.
    pub value: Option<String>,
}

impl fmt::Display for FieldChange {
    /// The path alone, as `spec.template.spec.containers[0].image`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.path.iter().enumerate() {
            match step {
                Step::Key(key) if index == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(number) => write!(f, "[{number}]")?,
            }
        }
        Ok(())
    }
}
