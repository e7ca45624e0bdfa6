//! Colours of a terminal, where they are wanted.

/// Whether to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint(pub bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// What comes into being.
    pub fn added(self, text: &str) -> String {
        self.with("32", text)
    }

    /// What goes, and what failed.
    pub fn removed(self, text: &str) -> String {
        self.with("31", text)
    }

    /// What changes, and what waits.
    pub fn changed(self, text: &str) -> String {
        self.with("33", text)
    }

    /// What matters less.
    pub fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    /// Headings.
    pub fn strong(self, text: &str) -> String {
        self.with("1", text)
    }
}
