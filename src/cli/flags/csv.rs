//! One CSV record with the rules and error texts of Go's `encoding/csv`, which list flags are written in.

/// Splits the first record of `text`. Fields may be quoted; a quoted field may hold commas, line breaks and doubled
/// quotes.
pub(super) fn record(text: &str) -> Result<Vec<String>, String> {
    let text = text.trim_start_matches(['\n', '\r']);
    if text.is_empty() {
        return Err("EOF".to_owned());
    }
    let mut reader = Reader { text, at: 0, line: 1, line_start: 0 };
    let mut fields = Vec::new();
    loop {
        let (field, ended) = if text[reader.at..].starts_with('"') { reader.quoted()? } else { reader.bare()? };
        fields.push(field);
        if ended {
            return Ok(fields);
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    line_start: usize,
}

impl Reader<'_> {
    /// Reads an unquoted field; also says whether the record ended with it.
    fn bare(&mut self) -> Result<(String, bool), String> {
        let rest = &self.text[self.at..];
        let end = rest.find([',', '\n']).unwrap_or(rest.len());
        let field = &rest[..end];
        if let Some(quote) = field.find('"') {
            return Err(self.error(self.at + quote, self.line, "bare \" in non-quoted-field"));
        }
        self.at += end + 1;
        let ended = !rest[end..].starts_with(',');
        Ok((if ended { field.trim_end_matches('\r') } else { field }.to_owned(), ended))
    }

    /// Reads a field whose opening quote is the next character.
    fn quoted(&mut self) -> Result<(String, bool), String> {
        let first_line = self.line;
        let mut field = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let Some(quote) = rest.find('"') else {
                let end = self.text.len();
                return Err(self.error(end, first_line, "extraneous or missing \" in quoted-field"));
            };
            for (newline, _) in rest[..quote].match_indices('\n') {
                self.line += 1;
                self.line_start = self.at + newline + 1;
            }
            field.push_str(&rest[..quote].replace("\r\n", "\n"));
            let after = &rest[quote + 1..];
            self.at += quote + 1;
            if after.starts_with('"') {
                field.push('"');
                self.at += 1;
            } else if after.starts_with(',') {
                self.at += 1;
                return Ok((field, false));
            } else if after.is_empty() || after.starts_with('\n') || after.starts_with("\r\n") {
                return Ok((field, true));
            } else {
                return Err(self.error(self.at - 1, first_line, "extraneous or missing \" in quoted-field"));
            }
        }
    }

    fn error(&self, at: usize, first_line: usize, what: &str) -> String {
        let place = format!("parse error on line {}, column {}: {what}", self.line, at - self.line_start + 1);
        if first_line == self.line { place } else { format!("record on line {first_line}; {place}") }
    }
}

#[cfg(test)]
mod tests {
    use super::record;

    #[test]
    fn records_are_split_as_go_splits_them() {
        let cases: &[(&str, &[&str])] = &[
            ("a", &["a"]),
            ("a,b,,c", &["a", "b", "", "c"]),
            (" a , b", &[" a ", " b"]),
            (r#""a,b",c"#, &["a,b", "c"]),
            (r#""say ""x""""#, &[r#"say "x""#]),
            ("\"two\nlines\",b", &["two\nlines", "b"]),
            ("a\nignored", &["a"]),
            ("\n\na", &["a"]),
            (",", &["", ""]),
            (r#""""#, &[""]),
        ];
        for (text, expected) in cases {
            assert_eq!(record(text).unwrap(), *expected, "{text:?}");
        }
    }

    #[test]
    fn broken_quotes_are_told_with_line_and_column() {
        let cases = [
            (r#"a"b"#, r#"parse error on line 1, column 2: bare " in non-quoted-field"#),
            (r#""a"b"#, r#"parse error on line 1, column 3: extraneous or missing " in quoted-field"#),
            (r#"x,"a"#, r#"parse error on line 1, column 5: extraneous or missing " in quoted-field"#),
            ("\n", "EOF"),
        ];
        for (text, expected) in cases {
            assert_eq!(record(text).unwrap_err(), expected, "{text:?}");
        }
    }
}
