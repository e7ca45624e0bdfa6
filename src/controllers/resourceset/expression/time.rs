//! Times and spans of time.

use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp, Zoned};

use super::functions::signature;
use super::value::{Answer, Failure, Value};

pub(super) fn out_of_range() -> Failure {
    Failure::new("timestamp overflow")
}

fn too_long() -> Failure {
    Failure::new("duration overflow")
}

pub(super) fn add(a: &Value, b: &Value) -> Answer {
    match (a, b) {
        (Value::Span(a), Value::Span(b)) => a.checked_add(*b).map(Value::Span).ok_or_else(too_long),
        (Value::Time(at), Value::Span(span)) | (Value::Span(span), Value::Time(at)) => moved(*at, *span),
        _ => Err(Failure::overload()),
    }
}

pub(super) fn subtract(a: &Value, b: &Value) -> Answer {
    match (a, b) {
        (Value::Span(a), Value::Span(b)) => a.checked_sub(*b).map(Value::Span).ok_or_else(too_long),
        (Value::Time(at), Value::Span(span)) => moved(*at, span.checked_neg().ok_or_else(too_long)?),
        (Value::Time(a), Value::Time(b)) => {
            i64::try_from(a.duration_since(*b).as_nanos()).map(Value::Span).map_err(|_| too_long())
        }
        _ => Err(Failure::overload()),
    }
}

fn moved(at: Timestamp, span: i64) -> Answer {
    at.checked_add(SignedDuration::from_nanos(span)).map(Value::Time).map_err(|_| out_of_range())
}

/// A span as its seconds: `90s`, `0.5s`.
pub(super) fn seconds(span: i64) -> String {
    let (whole, rest) = (span.unsigned_abs() / 1_000_000_000, span.unsigned_abs() % 1_000_000_000);
    let sign = if span < 0 { "-" } else { "" };
    let fraction = format!("{rest:09}");
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}s"),
        fraction => format!("{sign}{whole}.{fraction}s"),
    }
}

/// Parts of a time, in UTC or the zone given, and whole units of a span.
pub(super) fn member(name: &str, value: &Value, args: &[Value]) -> Answer {
    let wrong = || {
        let all: Vec<Value> = std::iter::once(value).chain(args).cloned().collect();
        signature(name, &all)
    };
    match (value, args) {
        (Value::Span(span), []) => {
            let unit = match name {
                "getHours" => 3_600_000_000_000,
                "getMinutes" => 60_000_000_000,
                "getSeconds" => 1_000_000_000,
                "getMilliseconds" => 1_000_000,
                _ => return Err(Failure::function(name)),
            };
            Ok(Value::Int(span / unit))
        }
        (Value::Time(at), []) => part(name, &at.to_zoned(TimeZone::UTC)),
        (Value::Time(at), [Value::Text(zone)]) => part(name, &at.to_zoned(self::zone(zone)?)),
        _ => Err(wrong()),
    }
}

/// A zone by its name or as `+02:00`.
fn zone(name: &str) -> Result<TimeZone, Failure> {
    let unknown = || Failure::new(format!("unknown time zone {name}"));
    if let Some((hours, minutes)) = name.split_once(':') {
        let negative = hours.starts_with('-');
        let number =
            |text: &str| text.trim_start_matches(['+', '-']).parse::<i32>().ok().filter(|n| (0..60).contains(n));
        let seconds = number(hours).zip(number(minutes)).map(|(h, m)| h * 3600 + m * 60).ok_or_else(unknown)?;
        let offset = Offset::from_seconds(if negative { -seconds } else { seconds });
        return offset.map(Offset::to_time_zone).map_err(|_| unknown());
    }
    TimeZone::get(name).map_err(|_| unknown())
}

fn part(name: &str, at: &Zoned) -> Answer {
    let number = match name {
        "getFullYear" => i64::from(at.year()),
        "getMonth" => i64::from(at.month()) - 1,
        "getDate" => i64::from(at.day()),
        "getDayOfMonth" => i64::from(at.day()) - 1,
        "getDayOfWeek" => i64::from(at.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i64::from(at.day_of_year()) - 1,
        "getHours" => i64::from(at.hour()),
        "getMinutes" => i64::from(at.minute()),
        "getSeconds" => i64::from(at.second()),
        "getMilliseconds" => i64::from(at.millisecond()),
        _ => return Err(Failure::function(name)),
    };
    Ok(Value::Int(number))
}
