//! Constants: Go's ideal numbers, which take the type that is asked of them.

use super::super::format::quote;
use super::super::strconv::{self, Unit};
use super::{Kind, Number, Token};

/// Reads a number or a character.
///
/// # Errors
/// In Go's words; and for numbers with an imaginary part, which no function here takes.
pub(super) fn read(token: &Token) -> Result<Number, String> {
    let text = token.text.as_str();
    match token.kind {
        Kind::CharConstant => character(text),
        Kind::Complex => Err(format!("complex numbers are not supported: {}", quote(text.as_bytes(), b'"'))),
        _ => match text.strip_suffix('i') {
            Some(imaginary) if strconv::parse_float(imaginary) == Ok(0.0) => {
                Ok(Number { text: text.into(), int: Some(0), uint: Some(0), float: Some(0.0) })
            }
            Some(_) => Err(format!("complex numbers are not supported: {}", quote(text.as_bytes(), b'"'))),
            None => real(text),
        },
    }
}

fn character(text: &str) -> Result<Number, String> {
    let (unit, tail) = strconv::unquote_char(&text[1..], b'\'').map_err(|e| e.to_string())?;
    if tail != "'" {
        return Err(format!("malformed character constant: {text}"));
    }
    let code = match unit {
        Unit::Char(c) => u32::from(c),
        Unit::Byte(b) => u32::from(b),
    };
    Ok(Number { text: text.into(), int: Some(code.into()), uint: Some(code.into()), float: Some(code.into()) })
}

#[expect(clippy::cast_precision_loss, reason = "a constant asked for as a float is rounded, as in Go")]
fn real(text: &str) -> Result<Number, String> {
    let mut number = Number {
        text: text.into(),
        int: strconv::parse_int(text, 0).ok(),
        uint: strconv::parse_uint(text, 0).ok(),
        float: None,
    };
    if number.int == Some(0) {
        number.uint = Some(0);
    }
    number.float = number.int.map(|i| i as f64).or(number.uint.map(|u| u as f64));
    if number.float.is_none() {
        let Ok(float) = strconv::parse_float(text) else {
            return Err(format!("illegal number syntax: {}", quote(text.as_bytes(), b'"')));
        };
        if !text.contains(['.', 'e', 'E', 'p', 'P']) {
            return Err(format!("integer overflow: {}", quote(text.as_bytes(), b'"')));
        }
        number.float = Some(float);
        number.int = whole(float);
        number.uint = number.int.and_then(|i| u64::try_from(i).ok());
    }
    Ok(number)
}

/// The integer that a float is.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
fn whole(float: f64) -> Option<i64> {
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float);
    (fits && float.fract() == 0.0).then_some(float as i64)
}
