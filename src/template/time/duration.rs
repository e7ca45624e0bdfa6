//! Spans of time as Go writes and reads them: `1h2m3.5s`.

use std::fmt;

use super::quoted;

/// Nanoseconds of a second.
pub(crate) const SECOND: i64 = 1_000_000_000;

/// Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Duration(pub(crate) i64);

impl Duration {
    /// Go's `ParseDuration`.
    ///
    /// # Errors
    /// In Go's words.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let shown = || quoted(text);
        let invalid = || format!("time: invalid duration {}", shown());
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if unsigned == "0" {
            return Ok(Self(0));
        }
        if unsigned.is_empty() {
            return Err(invalid());
        }
        let mut rest = unsigned;
        let mut total: i128 = 0;
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let (number, tail) = rest.split_at(end);
            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
                return Err(invalid());
            }
            let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
            let (name, tail) = tail.split_at(end);
            if name.is_empty() {
                return Err(format!("time: missing unit in duration {}", shown()));
            }
            let unit =
                unit(name).ok_or_else(|| format!("time: unknown unit {} in duration {}", quoted(name), shown()))?;
            total += nanos(whole, fraction, unit).ok_or_else(invalid)?;
            rest = tail;
        }
        let total = if negative { -total } else { total };
        i64::try_from(total).map(Self).map_err(|_| invalid())
    }

    /// To the next full second, halves away from zero.
    pub(crate) fn rounded_to_seconds(self) -> Self {
        let rest = self.0 % SECOND;
        let down = self.0 - rest;
        Self(if rest.abs() * 2 >= SECOND { down.saturating_add(SECOND * self.0.signum()) } else { down })
    }
}

fn unit(name: &str) -> Option<i64> {
    Some(match name {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3600 * SECOND,
        _ => return None,
    })
}

fn nanos(whole: &str, fraction: &str, unit: i64) -> Option<i128> {
    let whole: i128 = if whole.is_empty() { 0 } else { i128::from(whole.parse::<i64>().ok()?) };
    let digits = &fraction[..fraction.len().min(18)];
    let part: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let scale = 10i128.pow(u32::try_from(digits.len()).ok()?);
    Some(whole * i128::from(unit) + part * i128::from(unit) / scale)
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        let decimal = |n: u64, unit: u64| {
            let digits = format!("{:0width$}", n % unit, width = unit.ilog10() as usize);
            let digits = digits.trim_end_matches('0');
            let dot = if digits.is_empty() || unit == 1 { "" } else { "." };
            format!("{}{dot}{}", n / unit, if unit == 1 { "" } else { digits })
        };
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{sign}{nanos}ns"),
            1_000..1_000_000 => write!(f, "{sign}{}µs", decimal(nanos, 1_000)),
            1_000_000..1_000_000_000 => write!(f, "{sign}{}ms", decimal(nanos, 1_000_000)),
            _ => {
                let minute = 60_000_000_000;
                let (minutes, seconds) = (nanos / minute, decimal(nanos % minute, 1_000_000_000));
                match (minutes / 60, minutes % 60) {
                    (0, 0) => write!(f, "{sign}{seconds}s"),
                    (0, minutes) => write!(f, "{sign}{minutes}m{seconds}s"),
                    (hours, minutes) => write!(f, "{sign}{hours}h{minutes}m{seconds}s"),
                }
            }
        }
    }
}
