//! Why a text is no template, or why a template could not be rendered, in the words of Go's `text/template`.

/// An error of parsing or rendering; its text is the one that Go's engine gives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// The whole text, with its place: `template: resourceset:1:4: executing …`.
    pub message: String,
    /// Line in the template, counted from 1; 0 when the error has no place.
    pub line: usize,
    /// Bytes before the place on its line; only errors of rendering have it.
    pub column: Option<usize>,
    /// What kind of error it is.
    pub kind: ErrorKind,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is no template.
    Parse,
    /// An action failed.
    Execute,
    /// The template wants more than the limits allow.
    Limit,
}
