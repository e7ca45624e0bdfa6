//! Points in time as Go's `time.Time` has them, as far as templates see them. There is no clock here, and the local zone
//! is UTC.

mod duration;
mod layout;
mod parse;

use std::fmt;
use std::sync::Arc;

pub(super) use duration::{Duration, SECOND};
pub(super) use parse::parse;

use super::value::Value;

/// A point in time, and the zone it is shown in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    /// Seconds since 1970.
    seconds: i64,
    nanos: u32,
    /// Seconds east of UTC.
    offset: i32,
    /// The zone's name; empty for one that is only an offset.
    zone: Arc<str>,
}

/// A date and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Civil {
    year: i64,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
}

const DAY: i64 = 86_400;

/// The first year of Go's time.
const ZERO: i64 = -62_135_596_800;

impl Time {
    /// So many seconds since 1970, in UTC.
    pub fn unix(seconds: i64, nanos: u32) -> Self {
        Self { seconds, nanos, offset: 0, zone: "UTC".into() }
    }

    /// Go's zero time: the first day of the first year.
    pub(super) fn zero() -> Self {
        Self::unix(ZERO, 0)
    }

    pub(super) fn seconds(&self) -> i64 {
        self.seconds
    }

    /// Nanoseconds from another time to this one, no more than fit.
    pub(super) fn since(&self, other: &Self) -> Duration {
        let nanos = i128::from(self.seconds - other.seconds) * i128::from(SECOND) + i128::from(self.nanos)
            - i128::from(other.nanos);
        Duration(i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX }))
    }

    pub(super) fn plus(&self, duration: Duration) -> Self {
        let nanos = i64::from(self.nanos) + duration.0.rem_euclid(SECOND);
        let seconds = self.seconds.saturating_add(duration.0.div_euclid(SECOND)).saturating_add(nanos / SECOND);
        Self { seconds, nanos: u32::try_from(nanos % SECOND).unwrap_or(0), ..self.clone() }
    }

    /// As JSON has it.
    pub(super) fn rfc3339(&self) -> String {
        self.format("2006-01-02T15:04:05.999999999Z07:00")
    }

    /// Go's `Format`.
    pub(super) fn format(&self, layout: &str) -> String {
        layout::print(self, layout)
    }

    fn civil(&self) -> Civil {
        let local = self.seconds.saturating_add(i64::from(self.offset));
        let (days, rest) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        let part = |n: i64| u32::try_from(n).unwrap_or(0);
        Civil { year, month, day, hour: part(rest / 3600), minute: part(rest / 60 % 60), second: part(rest % 60) }
    }

    /// Days since Sunday.
    fn weekday(&self) -> usize {
        let days = self.seconds.saturating_add(i64::from(self.offset)).div_euclid(DAY);
        usize::try_from((days + 4).rem_euclid(7)).unwrap_or(0)
    }

    fn year_day(&self) -> i64 {
        let civil = self.civil();
        days_of(civil.year, civil.month, civil.day) - days_of(civil.year, 1, 1) + 1
    }

    /// How many arguments a method of Go's time takes; none when there is no such method here.
    pub(super) fn parameters(method: &str) -> Option<usize> {
        match method {
            "Format" => Some(1),
            "Year" | "Day" | "Hour" | "Minute" | "Second" | "Nanosecond" | "YearDay" | "Unix" | "UnixMilli"
            | "IsZero" | "String" | "UTC" => Some(0),
            _ => None,
        }
    }

    /// What a method gives; `layout` is for `Format`.
    pub(super) fn method(&self, name: &str, layout: &str) -> Value {
        let civil = self.civil();
        match name {
            "Format" => self.format(layout).into(),
            "Year" => Value::Int(civil.year),
            "Day" => Value::Int(civil.day.into()),
            "Hour" => Value::Int(civil.hour.into()),
            "Minute" => Value::Int(civil.minute.into()),
            "Second" => Value::Int(civil.second.into()),
            "Nanosecond" => Value::Int(self.nanos.into()),
            "YearDay" => Value::Int(self.year_day()),
            "Unix" => Value::Int64(self.seconds),
            "UnixMilli" => Value::Int64(self.seconds.saturating_mul(1000) + i64::from(self.nanos / 1_000_000)),
            "IsZero" => Value::Bool(self.seconds == ZERO && self.nanos == 0),
            "UTC" => Value::Time(Self::unix(self.seconds, self.nanos)),
            _ => self.to_string().into(),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format("2006-01-02 15:04:05.999999999 -0700 MST"))
    }
}

/// Quotes a text in an error: Go's `time` escapes the bytes of what is not ASCII.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for b in text.bytes() {
        match b {
            b'"' | b'\\' => out.extend(['\\', char::from(b)]),
            b' '..0x80 => out.push(char::from(b)),
            b => out.push_str(&format!("\\x{b:02x}")),
        }
    }
    out.push('"');
    out
}

/// Days from 1970 to a date of the Gregorian calendar.
fn days_of(year: i64, month: u32, day: u32) -> i64 {
    // Years begin in March, so that the leap day is their last.
    let (month, day) = (i64::from(month), i64::from(day));
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn date_of(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    (year, u32::try_from(month).unwrap_or(1), u32::try_from(day).unwrap_or(1))
}

fn days_in(year: i64, month: u32) -> u32 {
    let next = if month == 12 { days_of(year + 1, 1, 1) } else { days_of(year, month + 1, 1) };
    u32::try_from(next - days_of(year, month, 1)).unwrap_or(31)
}
