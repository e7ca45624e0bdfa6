//! Parser events into JSON values, within the bounds.

use super::{Dialect, Document, Limits, YamlError};

/// The documents of a stream, one after the other; it ends after the first error.
#[derive(Debug)]
pub struct Documents<'t> {
    text: &'t str,
}

impl<'t> Documents<'t> {
    /// Starts at the beginning of a decoded stream.
    pub fn new(text: &'t str, dialect: Dialect, limits: &Limits) -> Self {
        let _ = (dialect, limits);
        Self { text }
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Document, YamlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let _ = self.text;
        None
    }
}
