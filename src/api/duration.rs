//! Durations as Go writes and reads them (`1h2m3.5s`): 64 bits of signed nanoseconds.

use std::fmt::Write as _;
use std::time::Duration;

const NANOS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration into nanoseconds; a sign is allowed.
///
/// # Errors
/// In the words of Go's `time` package.
pub fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (number, tail) = rest.split_at(rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len()));
        let (unit, tail) = tail.split_at(tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len()));
        if number.is_empty() || number == "." || number.matches('.').count() > 1 {
            return Err(invalid());
        }
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let scale = NANOS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
        let scale = scale.ok_or_else(|| format!("time: unknown unit {unit:?} in duration {text:?}"))?;
        total = scaled(number, scale).and_then(|n| total.checked_add(n)).ok_or_else(invalid)?;
        rest = tail;
    }
    i64::try_from(if negative { -total } else { total }).map_err(|_| invalid())
}

/// `number` (digits with at most one point) in nanoseconds; what is finer is cut off.
fn scaled(number: &str, scale: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = &fraction[..fraction.len().min(18)];
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let power = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    whole.checked_mul(scale)?.checked_add(part.checked_mul(scale)? / power)
}

/// Reads a duration that must not be negative; `None` also for what is no duration.
pub fn positive(text: &str) -> Option<Duration> {
    u64::try_from(parse(text).ok()?).ok().map(Duration::from_nanos)
}

/// Writes a duration as Go prints it: `331ms`, `52s`, `1m5s`, `8h0m0s`, `2.818583s`.
pub fn format(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    if nanos < 1_000_000_000 {
        let (unit, scale) = match nanos {
            0..1_000 => ("ns", 1),
            1_000..1_000_000 => ("µs", 1_000),
            _ => ("ms", 1_000_000),
        };
        return decimal(nanos, scale) + unit;
    }
    let (minutes, rest) = (nanos / 60_000_000_000, nanos % 60_000_000_000);
    let mut out = String::new();
    if minutes >= 60 {
        write_all(&mut out, minutes / 60, 'h');
    }
    if minutes > 0 {
        write_all(&mut out, minutes % 60, 'm');
    }
    out + &decimal(rest, 1_000_000_000) + "s"
}

fn write_all(out: &mut String, number: u128, unit: char) {
    // Writing into a string cannot fail.
    write!(out, "{number}{unit}").unwrap_or_default();
}

fn decimal(nanos: u128, scale: u128) -> String {
    let (whole, fraction) = (nanos / scale, nanos % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let digits = scale.ilog10() as usize;
    let fraction = format!("{fraction:0digits$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

/// A duration as messages show it: in milliseconds below one second, else in seconds, half away from zero (resourceset §7.3).
pub fn rounded(duration: Duration) -> String {
    let step = if duration < Duration::from_secs(1) { 1_000_000 } else { 1_000_000_000 };
    let nanos = (duration.as_nanos() + step / 2) / step * step;
    format(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}
