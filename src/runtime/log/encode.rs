//! Writing key-value pairs as logfmt (quoting as Go's logfmt writers do it) or as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

/// One logged value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Text.
    Text(String),
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number with a fraction.
    Float(f64),
}

/// Writes one logfmt line.
pub(super) fn logfmt(pairs: &[(&str, Value)]) -> Vec<u8> {
    let mut line = String::with_capacity(160);
    for (key, value) in pairs {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(key.chars().filter(|c| !is_special(*c)));
        line.push('=');
        match value {
            Value::Text(text) => push_text(&mut line, text),
            Value::Bool(value) => line.push_str(if *value { "true" } else { "false" }),
            // Writing into a String cannot fail.
            Value::Int(number) => write!(line, "{number}").unwrap_or_default(),
            Value::Float(number) => write!(line, "{number}").unwrap_or_default(),
        }
    }
    line.push('\n');
    line.into_bytes()
}

/// Characters that a bare word cannot hold. U+FFFD stands for bytes that were not UTF-8.
fn is_special(c: char) -> bool {
    c <= ' ' || c == '=' || c == '"' || c == '\u{fffd}'
}

/// Bare if it can be; the word `null` is quoted because bare it means a missing value.
fn push_text(line: &mut String, text: &str) {
    if text != "null" && !text.chars().any(is_special) {
        return line.push_str(text);
    }
    line.push('"');
    for c in text.chars() {
        match c {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            c if c < ' ' => write!(line, "\\u{:04x}", u32::from(c)).unwrap_or_default(),
            '\u{fffd}' => line.push_str("\\ufffd"),
            c => line.push(c),
        }
    }
    line.push('"');
}

/// Writes one JSON line with sorted keys; of a key given twice the last value stands.
pub(super) fn json(pairs: Vec<(&str, Value)>) -> Vec<u8> {
    let map: BTreeMap<&str, Value> = pairs.into_iter().collect();
    let mut line = serde_json::to_vec(&map).unwrap_or_else(|e| format!(r#"{{"err":"log line: {e}"}}"#).into_bytes());
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_exactly_when_go_quotes_it() {
        let cases = [
            ("", "k="),
            ("plain", "k=plain"),
            ("two words", r#"k="two words""#),
            ("a=b", r#"k="a=b""#),
            ("say \"x\"", r#"k="say \"x\"""#),
            (r"back\slash", r"k=back\slash"),
            (r"back\ slash", r#"k="back\\ slash""#),
            ("line\nbreak\ttab\r", r#"k="line\nbreak\ttab\r""#),
            ("\u{1}", r#"k="\u0001""#),
            ("null", r#"k="null""#),
            ("nulls", "k=nulls"),
            ("zażółć", "k=zażółć"),
            ("bad\u{fffd}", r#"k="bad\ufffd""#),
            ("[a,b]{c}", "k=[a,b]{c}"),
            ("\u{7f}", "k=\u{7f}"),
        ];
        for (text, expected) in cases {
            let line = logfmt(&[("k", Value::Text(text.to_owned()))]);
            assert_eq!(String::from_utf8(line).unwrap(), format!("{expected}\n"), "{text:?}");
        }
    }

    #[test]
    fn numbers_stay_bare_and_keys_lose_what_they_cannot_hold() {
        let pairs = [("a b", Value::Int(-3)), ("c", Value::Float(0.25)), ("d=", Value::Bool(false))];
        assert_eq!(logfmt(&pairs), b"ab=-3 c=0.25 d=false\n");
    }

    #[test]
    fn json_lines_escape_only_what_json_needs() {
        let line = json(vec![("b", Value::Text("<\"\n".to_owned())), ("a", Value::Int(1)), ("a", Value::Int(2))]);
        assert_eq!(String::from_utf8(line).unwrap(), "{\"a\":2,\"b\":\"<\\\"\\n\"}\n");
    }
}
