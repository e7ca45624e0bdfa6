//! Bounds on the text of expressions, checked before the parser sees it: the parser and what follows it call themselves once
//! for every level of nesting, and a stack that is used up ends the process.

/// Bytes of an expression.
const BYTES: usize = 16 << 10;

/// Tells why a text is too large.
pub(super) fn check(text: &str) -> Result<(), String> {
    if text.len() > BYTES {
        return Err(format!("the expression has {} bytes, more than {BYTES}", text.len()));
    }
    Ok(())
}
