//! Durations as Go writes them (`1h2m3.5s`), which `.flux.yaml` uses.

use std::time::Duration;

/// Reads a duration. A sign is allowed; negative ones read as zero, because all that is asked of them is whether they reach
/// one second.
///
/// # Errors
/// In the words of Go's `time` package.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let unit_end = tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let number: f64 = number.parse().map_err(|_| invalid())?;
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let scale = seconds_of(unit).ok_or_else(|| format!("time: unknown unit {unit:?} in duration {text:?}"))?;
        total += number * scale;
        rest = tail;
    }
    let duration = Duration::try_from_secs_f64(total).map_err(|_| invalid())?;
    // Go's durations are 64 bits of nanoseconds.
    if duration.as_nanos() > i64::MAX as u128 {
        return Err(invalid());
    }
    Ok(if negative { Duration::ZERO } else { duration })
}

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_in_go() {
        for (text, millis) in [
            ("30s", 30_000),
            ("1h2m3.5s", 3_723_500),
            ("300ms", 300),
            (".5s", 500),
            ("0", 0),
            ("-5s", 0),
            ("+1m", 60_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for (text, error) in [
            ("10", "time: missing unit in duration \"10\""),
            ("", "time: invalid duration \"\""),
            ("s", "time: invalid duration \"s\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("1.2.3s", "time: invalid duration \"1.2.3s\""),
            ("9999999999h", "time: invalid duration \"9999999999h\""),
        ] {
            assert_eq!(parse(text), Err(error.to_owned()), "{text}");
        }
    }
}
