//! How deep an expression can be nested at most, seen before it is parsed: parsers and interpreters recurse.

/// The number of characters outside of texts and comments that can nest something in something else.
pub(super) fn operators(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut count) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\'' | b'"' => match end_of_text(bytes, at) {
                Some(end) => at = end,
                // A parser that recovers from errors reads on behind the quote.
                None => return bytes.iter().filter(|b| nests(**b)).count(),
            },
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += bytes.iter().skip(at).position(|b| *b == b'\n').unwrap_or(bytes.len() - at);
            }
            _ => {
                count += usize::from(nests(byte));
                at += 1;
            }
        }
    }
    count
}

fn nests(byte: u8) -> bool {
    b"!-+*/%.?:&|<>=([{,".contains(&byte)
}

/// The first byte behind a text that begins with the quote at `start`; `None` when it does not end.
fn end_of_text(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let is_raw =
        start > 0 && matches!(bytes[start - 1], b'r' | b'R') || start > 1 && matches!(bytes[start - 2], b'r' | b'R');
    let triple = [quote; 3];
    let closing: &[u8] = if bytes[start..].starts_with(&triple) { &triple } else { &triple[..1] };
    let mut at = start + closing.len();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if !is_raw => at += 2,
            b'\n' | b'\r' if closing.len() == 1 => return None,
            _ if bytes[at..].starts_with(closing) => return Some(at + closing.len()),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_comments_do_not_count() {
        for (text, count) in [
            ("a.b", 1),
            ("'a.b.c' == x", 2),
            ("r'\\' + !!!a", 4),
            ("'\\'!!!' + a", 1),
            ("// it's\n!!!a", 3),
            ("\"\"\"a\n.\"\"\" + a", 1),
            ("'!!!", 3),
            ("'!\n!!", 3),
        ] {
            assert_eq!(operators(text), count, "{text}");
        }
    }
}
