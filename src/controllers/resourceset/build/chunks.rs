//! A text into its documents, as the API machinery takes it apart before any YAML is read: by lines that begin with `---`,
//! whatever they stand in (resourceset §4.5).

/// The documents of a text with the line that each begins at, counted from 1. Nothing between two separators is no document.
pub(super) struct Chunks<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

impl<'t> Chunks<'t> {
    /// Starts at the beginning of a text.
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1 }
    }
}

impl<'t> Iterator for Chunks<'t> {
    /// The error says what follows a separator, where only a comment may.
    type Item = Result<(u32, &'t str), String>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.text;
        let (mut start, mut end, mut first) = (self.at, self.at, self.line);
        for line in text[self.at..].split_inclusive('\n') {
            self.at += line.len();
            self.line = self.line.saturating_add(1);
            let Some(after) = line.strip_prefix("---").map(str::trim) else {
                end = self.at;
                continue;
            };
            if !after.is_empty() && !after.starts_with('#') {
                self.at = text.len();
                return Some(Err(format!("invalid Yaml document separator: {after}")));
            }
            if end > start {
                return Some(Ok((first, &text[start..end])));
            }
            (start, end, first) = (self.at, self.at, self.line);
        }
        (end > start).then(|| Ok((first, &text[start..end])))
    }
}
