//! Plain scalars that are numbers, by the rules of Go's `strconv` as go-yaml v2 calls it, and Go's way of printing them.

use serde_json::{Number, Value};

/// A number as go-yaml knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Numeric {
    Int(i64),
    /// Beyond `i64`.
    UInt(u64),
    Float(f64),
}

impl Numeric {
    /// Reads a scalar that begins with a digit, a sign or a dot; `None` when it is no number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.starts_with('.') {
            // Here go-yaml leaves underscores to Go, which wants digits on both sides.
            let separated =
                text.split('_').all(|part| part.ends_with(digit) && part.trim_start_matches('.').starts_with(digit));
            return if separated { float(&text.replace('_', "")) } else { None };
        }
        let without_underscores;
        let plain = if text.contains('_') {
            without_underscores = text.replace('_', "");
            without_underscores.as_str()
        } else {
            text
        };
        integer(plain).or_else(|| float(plain)).or_else(|| signed_binary(plain))
    }

    /// The JSON that Go's encoder prints for it; `None` for infinities and NaN, which JSON does not have.
    pub(super) fn to_json(self) -> Option<Value> {
        match self {
            Self::Int(i) => Some(Value::from(i)),
            Self::UInt(u) => Some(Value::from(u)),
            Self::Float(f) if f.fract() == 0.0 && f.abs() < 1e21 => {
                // Go prints the shortest digits, filled up with zeros: readers then see an integer.
                let digits = f.to_string();
                let whole = digits.parse::<i64>().map(Value::from).or_else(|_| digits.parse::<u64>().map(Value::from));
                whole.ok().or_else(|| Number::from_f64(f).map(Value::Number))
            }
            Self::Float(f) => Number::from_f64(f).map(Value::Number),
        }
    }

    /// The text of a mapping key, as `sigs.k8s.io/yaml` makes it; `None` for the integers that it refuses.
    pub(super) fn to_key(self) -> Option<String> {
        match self {
            Self::Int(i) => Some(i.to_string()),
            Self::UInt(_) => None,
            #[expect(clippy::cast_possible_truncation, reason = "the original formats keys in single precision")]
            Self::Float(f) => Some(general_format(f as f32)),
        }
    }
}

/// Go's `ParseInt` and `ParseUint` with base 0.
fn integer(text: &str) -> Option<Numeric> {
    let (negative, signed, digits) = match text.as_bytes().first()? {
        b'-' => (true, true, &text[1..]),
        b'+' => (false, true, &text[1..]),
        _ => (false, false, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', _, ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.as_bytes().first()?.is_ascii_alphanumeric() {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    match (negative, i64::try_from(magnitude)) {
        (false, Ok(i)) => Some(Numeric::Int(i)),
        (true, _) => 0i64.checked_sub_unsigned(magnitude).map(Numeric::Int),
        (false, Err(_)) if signed => None,
        (false, Err(_)) => Some(Numeric::UInt(magnitude)),
    }
}

/// go-yaml reads `0b` with a sign after it, which nobody means but everybody then gets.
fn signed_binary(text: &str) -> Option<Numeric> {
    let digits = text.strip_prefix("0b")?;
    i64::from_str_radix(digits, 2).ok().map(Numeric::Int)
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let digits = |s: &str| s.len() - s.trim_start_matches(digit).len();
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let whole = digits(rest);
    let rest = &rest[whole..];
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let count = digits(fraction);
            if whole == 0 && count == 0 {
                return false;
            }
            &fraction[count..]
        }
        None if whole == 0 => return false,
        None => rest,
    };
    match rest.strip_prefix(['e', 'E']) {
        None => rest.is_empty(),
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
    }
}

fn digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Too large a number is no number: `12e4567` may be a commit.
fn float(text: &str) -> Option<Numeric> {
    if !is_float(text) {
        return None;
    }
    text.parse::<f64>().ok().filter(|f| f.is_finite()).map(Numeric::Float)
}

/// Go's `FormatFloat(f, 'g', -1, 64)` with go-yaml's names of the special values: the shortest digits, with an exponent
/// below 0.0001 and from a million on.
pub fn float_text(f: f64) -> String {
    special(f).map_or_else(|| general(&format!("{f:e}")), str::to_owned)
}

/// The same in single precision.
fn general_format(f: f32) -> String {
    special(f64::from(f)).map_or_else(|| general(&format!("{f:e}")), str::to_owned)
}

fn special(f: f64) -> Option<&'static str> {
    match f {
        _ if f.is_nan() => Some(".nan"),
        f64::INFINITY => Some(".inf"),
        f64::NEG_INFINITY => Some("-.inf"),
        _ if f == 0.0 => Some("0"),
        _ => None,
    }
}

/// Lays out `1.25e7`: with the shortest digits, Go changes to an exponent at the seventh.
fn general(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if !(-4..6).contains(&power) {
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", power.abs());
    }
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |m| ("-", m));
    let digits = mantissa.replace('.', "");
    let Ok(whole) = usize::try_from(power) else {
        let zeros = "0".repeat(power.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    };
    match digits.len().checked_sub(whole + 1) {
        None => format!("{sign}{digits}{}", "0".repeat(whole + 1 - digits.len())),
        Some(0) => format!("{sign}{digits}"),
        Some(_) => format!("{sign}{}.{}", &digits[..=whole], &digits[whole + 1..]),
    }
}
