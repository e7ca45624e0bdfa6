//! Durations in the syntax of Go's `time.ParseDuration` (`1m30s`, `1.5h`, `-2ms`), in nanoseconds.

const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration; the error texts are Go's.
pub(in crate::cli) fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits == "0" {
        return Ok(0);
    }
    if digits.is_empty() {
        return Err(invalid());
    }
    let (mut rest, mut total) = (digits, 0_u64);
    while !rest.is_empty() {
        let (nanos, tail) = term(text, rest)?;
        total = total.checked_add(nanos).filter(|n| *n <= 1 << 63).ok_or_else(invalid)?;
        rest = tail;
    }
    match i64::try_from(total) {
        Ok(nanos) => Ok(if negative { -nanos } else { nanos }),
        Err(_) if negative => Ok(i64::MIN),
        Err(_) => Err(invalid()),
    }
}

/// Reads one number with its unit.
fn term<'a>(all: &str, rest: &'a str) -> Result<(u64, &'a str), String> {
    let invalid = || format!("time: invalid duration {all:?}");
    let (whole, after) = split_digits(rest);
    let (fraction, tail) = match after.strip_prefix('.') {
        Some(after_point) => split_digits(after_point),
        None => ("", after),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let end = tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len());
    let (unit, tail) = tail.split_at(end);
    if unit.is_empty() {
        return Err(format!("time: missing unit in duration {all:?}"));
    }
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    let (_, scale) = known.ok_or_else(|| format!("time: unknown unit {unit:?} in duration {all:?}"))?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
    let nanos = whole.checked_mul(*scale).ok_or_else(invalid)?;
    Ok((nanos.checked_add(fraction_of(fraction, *scale)).ok_or_else(invalid)?, tail))
}

/// Digits after the point, cut to whole nanoseconds.
fn fraction_of(digits: &str, scale: u64) -> u64 {
    let (mut value, mut unit) = (0_u128, 1_u128);
    // Beyond 19 digits nothing reaches a nanosecond of an hour.
    for digit in digits.bytes().take(19) {
        value = value * 10 + u128::from(digit - b'0');
        unit *= 10;
    }
    u64::try_from(value * u128::from(scale) / unit).unwrap_or_default()
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        const S: i64 = 1_000_000_000;
        let cases = [
            ("0", 0),
            ("+0", 0),
            ("5s", 5 * S),
            ("+5s", 5 * S),
            ("-5s", -5 * S),
            ("1m30s", 90 * S),
            ("1h15m30.918273645s", 4530 * S + 918_273_645),
            ("1.5h", 5400 * S),
            (".5s", S / 2),
            ("1.s", S),
            ("100ms", S / 10),
            ("11us", 11_000),
            ("12\u{b5}s", 12_000),
            ("12\u{3bc}s", 12_000),
            ("0.3333333333333333333h", 1199 * S + 999_999_999),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
        ];
        for (text, nanos) in cases {
            assert_eq!(parse(text), Ok(nanos), "{text:?}");
        }
    }

    #[test]
    fn wrong_durations_are_told_in_gos_words() {
        let cases = [
            ("", r#"time: invalid duration """#),
            ("-", r#"time: invalid duration "-""#),
            ("s", r#"time: invalid duration "s""#),
            (".s", r#"time: invalid duration ".s""#),
            ("10", r#"time: missing unit in duration "10""#),
            ("1d", r#"time: unknown unit "d" in duration "1d""#),
            ("1 s", r#"time: unknown unit " s" in duration "1 s""#),
            ("3000000h", r#"time: invalid duration "3000000h""#),
            ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
            ("1.1.1s", r#"time: missing unit in duration "1.1.1s""#),
        ];
        for (text, error) in cases {
            assert_eq!(parse(text), Err(error.to_owned()), "{text:?}");
        }
    }
}
