//! The documents of a stream as stretches of text, each of which can be parsed alone. A line that begins with `---` or
//! `...` bounds documents wherever it stands, in quotes and block scalars too, so that no parser is needed to find them.

use std::ops::Range;

/// Cuts a stream; the parts together are the whole. Directives and comments before `---` go with the document they stand
/// before, if nothing else stands there.
pub(super) fn documents(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut has_content, mut at) = (0, false, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match line.as_bytes() {
            [b'-', b'-', b'-', rest @ ..] if is_marker_end(rest) => {
                if has_content {
                    found.push(start..at);
                    start = at;
                }
                has_content = true;
            }
            [b'.', b'.', b'.', rest @ ..] if is_marker_end(rest) => {
                found.push(start..end);
                (start, has_content) = (end, false);
            }
            [] | [b'%' | b'#', ..] => {}
            _ => has_content = has_content || !is_blank_or_comment(line),
        }
        at = end;
    }
    if start < text.len() || found.is_empty() {
        found.push(start..text.len());
    }
    found
}

fn is_marker_end(rest: &[u8]) -> bool {
    matches!(rest.first(), None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

fn is_blank_or_comment(line: &str) -> bool {
    let content = line.trim_start();
    content.is_empty() || content.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_bound_documents_and_what_only_leads_in_goes_with_the_next() {
        for (text, want) in [
            ("", vec![""]),
            ("a: 1\n", vec!["a: 1\n"]),
            ("a: 1\n---\nb: 2\n--- # c\nc: 3", vec!["a: 1\n", "---\nb: 2\n", "--- # c\nc: 3"]),
            ("# note\n\n%YAML 1.2\n---\na: 1\n", vec!["# note\n\n%YAML 1.2\n---\na: 1\n"]),
            ("a: 1\n...\n# x\n%TAG ! a\n---\nb: 2\n", vec!["a: 1\n...\n", "# x\n%TAG ! a\n---\nb: 2\n"]),
            ("a: 1\n...\nb: 2\n", vec!["a: 1\n...\n", "b: 2\n"]),
            ("---\r\na: |\r\n  ---\r\n---\r\n", vec!["---\r\na: |\r\n  ---\r\n", "---\r\n"]),
            ("a:\n ---\n---x: 1\n", vec!["a:\n ---\n---x: 1\n"]),
            ("---\n---\na: 1\n---", vec!["---\n", "---\na: 1\n", "---"]),
        ] {
            let parts: Vec<&str> = documents(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(parts, want, "{text:?}");
            assert_eq!(parts.concat(), text);
        }
    }
}
