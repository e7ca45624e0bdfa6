//! Texts into numbers and characters as Go's `strconv` reads them.

/// Why a text is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumError {
    Syntax,
    Range,
}

impl std::fmt::Display for NumError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Syntax => "invalid syntax",
            Self::Range => "value out of range",
        })
    }
}

/// `ParseUint`: base 0 takes the base from a prefix and allows underscores.
pub(super) fn parse_uint(text: &str, base: u32) -> Result<u64, NumError> {
    let prefix = text.get(1..2).filter(|_| base == 0 && text.starts_with('0') && text.len() > 2).unwrap_or_default();
    let (radix, digits) = match prefix {
        "x" | "X" => (16, &text[2..]),
        "o" | "O" => (8, &text[2..]),
        "b" | "B" => (2, &text[2..]),
        _ if base == 0 && text.starts_with('0') => (8, &text[1..]),
        _ if base == 0 => (10, text),
        _ => (base, text),
    };
    if text.is_empty() || text.contains('_') && !(base == 0 && underscores_ok(text)) {
        return Err(NumError::Syntax);
    }
    let mut number: u64 = 0;
    let mut overflow = false;
    for c in digits.chars().filter(|c| *c != '_') {
        let digit = c.to_digit(radix).ok_or(NumError::Syntax)?;
        match number.checked_mul(u64::from(radix)).and_then(|n| n.checked_add(u64::from(digit))) {
            Some(next) => number = next,
            None => overflow = true,
        }
    }
    if overflow { Err(NumError::Range) } else { Ok(number) }
}

/// `ParseInt`, as [`parse_uint`] with a sign.
pub(super) fn parse_int(text: &str, base: u32) -> Result<i64, NumError> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if base != 0 && digits.contains('_') {
        return Err(NumError::Syntax);
    }
    let magnitude = parse_uint(digits, base)?;
    if negative {
        0i64.checked_sub_unsigned(magnitude).ok_or(NumError::Range)
    } else {
        i64::try_from(magnitude).map_err(|_| NumError::Range)
    }
}

/// What `ParseInt` gives beside an error: zero, or for a number out of range the nearest one.
pub(super) fn nearest_int(text: &str) -> i64 {
    match parse_int(text, 10) {
        Ok(number) => number,
        Err(NumError::Range) if text.starts_with('-') => i64::MIN,
        Err(NumError::Range) => i64::MAX,
        Err(NumError::Syntax) => 0,
    }
}

/// Underscores stand between digits, or between a base prefix and a digit.
fn underscores_ok(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text).as_bytes();
    let has_prefix = text.len() >= 2 && text[0] == b'0' && matches!(text[1].to_ascii_lowercase(), b'b' | b'o' | b'x');
    let hex = has_prefix && text[1].eq_ignore_ascii_case(&b'x');
    let mut last = if has_prefix { b'0' } else { b'^' };
    for b in &text[if has_prefix { 2 } else { 0 }..] {
        let is_digit = b.is_ascii_digit() || hex && b.is_ascii_hexdigit();
        last = match (is_digit, *b, last) {
            (true, ..) => b'0',
            (_, b'_', b'0') => b'_',
            (_, b'_', _) | (_, _, b'_') => return false,
            _ => b'!',
        };
    }
    last != b'_'
}

/// `ParseFloat` with 64 bits.
pub(super) fn parse_float(text: &str) -> Result<f64, NumError> {
    let (sign, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (-1.0, &text[1..]),
        Some(b'+') => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    match unsigned.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => return Ok(sign * f64::INFINITY),
        "nan" if unsigned.len() == text.len() => return Ok(f64::NAN),
        _ => {}
    }
    if unsigned.contains('_') && !underscores_ok(text) {
        return Err(NumError::Syntax);
    }
    let clean = unsigned.replace('_', "");
    let number = if has_hex_prefix(&clean) { hex_float(&clean[2..])? } else { decimal_float(&clean)? };
    if number.is_infinite() { Err(NumError::Range) } else { Ok(sign * number) }
}

fn has_hex_prefix(text: &str) -> bool {
    text.starts_with("0x") || text.starts_with("0X")
}

fn decimal_float(text: &str) -> Result<f64, NumError> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if is_plain { text.parse().map_err(|_| NumError::Syntax) } else { Err(NumError::Syntax) }
}

/// A hexadecimal mantissa with a binary exponent, which is not optional.
fn hex_float(text: &str) -> Result<f64, NumError> {
    let (mantissa, exponent) = text.split_once(['p', 'P']).ok_or(NumError::Syntax)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if whole.len() + fraction.len() == 0 || unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return Err(NumError::Syntax);
    }
    let mut number = 0.0;
    for c in whole.chars().chain(fraction.chars()) {
        number = number * 16.0 + f64::from(c.to_digit(16).ok_or(NumError::Syntax)?);
    }
    let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX / 8);
    let power = exponent.parse::<i32>().map_err(|_| NumError::Range)?.saturating_sub(places.saturating_mul(4));
    Ok(number * 2f64.powi(power.clamp(-2000, 2000)))
}

/// `Unquote`: the content of a quoted string, of either kind.
pub(super) fn unquote(quoted: &str) -> Result<Vec<u8>, NumError> {
    let inner = quoted.get(1..quoted.len().wrapping_sub(1)).ok_or(NumError::Syntax)?;
    match quoted.as_bytes()[0] {
        b'`' => Ok(inner.bytes().filter(|b| *b != b'\r').collect()),
        quote => {
            let mut out = Vec::with_capacity(inner.len());
            let mut rest = inner;
            while !rest.is_empty() {
                let (unit, tail) = unquote_char(rest, quote)?;
                match unit {
                    Unit::Char(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    Unit::Byte(b) => out.push(b),
                }
                rest = tail;
            }
            Ok(out)
        }
    }
}

/// What one character of a quoted text stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Char(char),
    Byte(u8),
}

/// `UnquoteChar`: the first character, and the text after it.
pub(super) fn unquote_char(text: &str, quote: u8) -> Result<(Unit, &str), NumError> {
    let mut chars = text.chars();
    let first = chars.next().ok_or(NumError::Syntax)?;
    if first != '\\' {
        let is_bare = u32::from(first) == u32::from(quote) || first == '\n';
        return if is_bare { Err(NumError::Syntax) } else { Ok((Unit::Char(first), chars.as_str())) };
    }
    let escape = chars.next().ok_or(NumError::Syntax)?;
    let rest = chars.as_str();
    let simple = |c: char| Ok((Unit::Char(c), rest));
    match escape {
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        '\\' => simple('\\'),
        '\'' | '"' if u32::from(escape) == u32::from(quote) => simple(escape),
        'x' => coded(rest, 2, 16),
        'u' => coded(rest, 4, 16),
        'U' => coded(rest, 8, 16),
        '0'..='7' => coded(&text[1..], 3, 8),
        _ => Err(NumError::Syntax),
    }
}

/// Two hexadecimal or three octal digits are a byte, more are a character.
fn coded(text: &str, count: usize, base: u32) -> Result<(Unit, &str), NumError> {
    let digits = text.get(..count).ok_or(NumError::Syntax)?;
    if !digits.chars().all(|c| c.is_digit(base)) {
        return Err(NumError::Syntax);
    }
    let code = u32::from_str_radix(digits, base).map_err(|_| NumError::Syntax)?;
    let unit = if count < 4 {
        Unit::Byte(u8::try_from(code).map_err(|_| NumError::Syntax)?)
    } else {
        Unit::Char(char::from_u32(code).ok_or(NumError::Syntax)?)
    };
    Ok((unit, &text[count..]))
}
