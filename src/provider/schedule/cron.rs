//! Cron expressions of five fields, and when they trigger (resourceset §8.10). The dialect and the words of refusals are
//! those of Go's robfig/cron v3: `?` is `*`, a restricted day of the month or of the week is enough, days of the week are
//! 0 to 6, and local times that a change of the clock leaves out do not trigger.

use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

use super::CronError;
use crate::api::duration;

/// Years that are searched for a trigger, in both directions.
const YEARS: i16 = 5;
/// Bytes that an expression may have.
const LIMIT: usize = 1_000;

/// When something triggers.
#[derive(Clone, Debug)]
pub(super) enum Cron {
    /// At certain minutes.
    Fields { fields: Box<Fields>, zone: TimeZone },
    /// Again and again, this long after it was asked.
    Every(Duration),
}

/// The values that each field admits, as bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether a day must satisfy both of its fields: one of them says nothing.
    both: bool,
}

/// What a field may hold.
struct Bounds {
    low: u64,
    high: u64,
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds { low: 0, high: 59, names: &[] };
const HOURS: Bounds = Bounds { low: 0, high: 23, names: &[] };
const DAYS: Bounds = Bounds { low: 1, high: 31, names: &[] };
const MONTHS: Bounds = Bounds {
    low: 1,
    high: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAYS: Bounds = Bounds { low: 0, high: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

impl Cron {
    /// Reads an expression, to be understood in a zone.
    pub(super) fn parse(text: &str, zone: &str) -> Result<Self, CronError> {
        if text.len() > LIMIT {
            return Err(CronError(format!("expected at most {LIMIT} bytes, found {}", text.len())));
        }
        let bad = || CronError(format!("provided bad location {zone}: unknown time zone {zone}"));
        let zone = match zone {
            "" => TimeZone::UTC,
            name => TimeZone::get(name).map_err(|_| bad())?,
        };
        let text = text.trim();
        if text.starts_with('@') {
            return Self::descriptor(text, zone);
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        let &[minute, hour, day, month, weekday] = fields.as_slice() else {
            let shown = fields.join(" ");
            return Err(CronError(format!("expected exactly 5 fields, found {}: [{shown}]", fields.len())));
        };
        let (minutes, _) = field(minute, &MINUTES)?;
        let (hours, _) = field(hour, &HOURS)?;
        let (days, any_day) = field(day, &DAYS)?;
        let (months, _) = field(month, &MONTHS)?;
        let (weekdays, any_weekday) = field(weekday, &WEEKDAYS)?;
        let fields = Fields { minutes, hours, days, months, weekdays, both: any_day || any_weekday };
        Ok(Self::Fields { fields: Box::new(fields), zone })
    }

    fn descriptor(text: &str, zone: TimeZone) -> Result<Self, CronError> {
        if let Some(delay) = text.strip_prefix("@every ") {
            let delay =
                duration::parse(delay).map_err(|e| CronError(format!("failed to parse duration {text}: {e}")))?;
            // whole seconds, and at least one
            let seconds = u64::try_from(delay / 1_000_000_000).unwrap_or(1);
            return Ok(Self::Every(Duration::from_secs(seconds.max(1))));
        }
        let standard = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => return Err(CronError(format!("unrecognized descriptor: {other}"))),
        };
        let Self::Fields { fields, .. } = Self::parse(standard, "")? else {
            return Err(CronError(format!("unrecognized descriptor: {text}")));
        };
        Ok(Self::Fields { fields, zone })
    }

    /// The first trigger after a moment; `None` when there is none within five years.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(delay) => whole_seconds(after).checked_add(*delay).ok(),
            Self::Fields { fields, zone } => fields.next(after, zone),
        }
    }

    /// The latest trigger that is not after a moment; `None` when there is none within five years.
    pub(super) fn previous(&self, until: Timestamp) -> Option<Timestamp> {
        match self {
            // whoever asked a delay ago is triggered at this very second
            Self::Every(_) => Some(whole_seconds(until)),
            Self::Fields { fields, zone } => fields.previous(until, zone),
        }
    }
}

/// A moment without its fraction of a second.
pub(super) fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

impl Fields {
    fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        // the first whole minute after the moment
        let first = Timestamp::from_second((after.as_second().div_euclid(60) + 1) * 60).ok()?.to_zoned(zone.clone());
        let (mut date, last_year) = (first.date(), after.to_zoned(zone.clone()).year() + YEARS);
        let mut at = first;
        while date.year() <= last_year {
            if self.has_day(date)
                && let Some(found) = self.first_of_day(at, date)
            {
                return Some(found);
            }
            date = date.tomorrow().ok()?;
            at = date.to_zoned(zone.clone()).ok()?;
        }
        None
    }

    /// The first trigger on a day, from a minute of it on.
    fn first_of_day(&self, mut at: Zoned, date: Date) -> Option<Timestamp> {
        while at.date() == date {
            if !has(self.hours, at.hour()) {
                at = at.checked_add(Span::new().minutes(60 - i64::from(at.minute()))).ok()?;
            } else if !has(self.minutes, at.minute()) {
                at = at.checked_add(Span::new().minutes(1)).ok()?;
            } else {
                return Some(at.timestamp());
            }
        }
        None
    }

    fn previous(&self, until: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut at = Timestamp::from_second(until.as_second().div_euclid(60) * 60).ok()?.to_zoned(zone.clone());
        let (mut date, first_year) = (at.date(), at.year() - YEARS);
        while date.year() >= first_year {
            if self.has_day(date)
                && let Some(found) = self.last_of_day(at, date)
            {
                return Some(found);
            }
            let midnight = date.to_zoned(zone.clone()).ok()?;
            at = midnight.checked_sub(Span::new().minutes(1)).ok()?;
            date = date.yesterday().ok()?;
        }
        None
    }

    /// The last trigger on a day, up to a minute of it.
    fn last_of_day(&self, mut at: Zoned, date: Date) -> Option<Timestamp> {
        while at.date() == date {
            if !has(self.hours, at.hour()) {
                at = at.checked_sub(Span::new().minutes(i64::from(at.minute()) + 1)).ok()?;
            } else if !has(self.minutes, at.minute()) {
                at = at.checked_sub(Span::new().minutes(1)).ok()?;
            } else {
                return Some(at.timestamp());
            }
        }
        None
    }

    fn has_day(&self, date: Date) -> bool {
        if !has(self.months, date.month()) {
            return false;
        }
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        if self.both { day && weekday } else { day || weekday }
    }
}

fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits >> value & 1 == 1)
}

/// Reads one field: its values, and whether it says nothing.
fn field(text: &str, bounds: &Bounds) -> Result<(u64, bool), CronError> {
    let (mut bits, mut any) = (0, false);
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (values, star) = range(part, bounds)?;
        bits |= values;
        any |= star;
    }
    Ok((bits, any))
}

/// Reads `number`, `number-number` or `*`, each also with `/step`.
fn range(text: &str, bounds: &Bounds) -> Result<(u64, bool), CronError> {
    let (span, step) = match text.split('/').collect::<Vec<_>>().as_slice() {
        [span] => (*span, None),
        [span, step] => (*span, Some(number(step)?)),
        _ => return Err(CronError(format!("too many slashes: {text}"))),
    };
    let ends: Vec<&str> = span.split('-').collect();
    let star = matches!(ends[0], "*" | "?");
    let (low, mut high) = match ends.as_slice() {
        _ if star => (bounds.low, bounds.high),
        [low] => (named(low, bounds)?, named(low, bounds)?),
        [low, high] => (named(low, bounds)?, named(high, bounds)?),
        _ => return Err(CronError(format!("too many hyphens: {text}"))),
    };
    if step.is_some() && ends.len() == 1 {
        // `5/10` is `5-59/10`
        high = bounds.high;
    }
    let step_by = step.unwrap_or(1);
    let refuse = |reason: String| Err(CronError(format!("{reason}: {text}")));
    if low < bounds.low {
        return refuse(format!("beginning of range ({low}) below minimum ({})", bounds.low));
    }
    if high > bounds.high {
        return refuse(format!("end of range ({high}) above maximum ({})", bounds.high));
    }
    if low > high {
        return refuse(format!("beginning of range ({low}) beyond end of range ({high})"));
    }
    if step_by == 0 {
        return refuse("step of range should be a positive number".to_owned());
    }
    let step_by = usize::try_from(step_by).unwrap_or(usize::MAX);
    let bits = (low..=high).step_by(step_by).fold(0_u64, |bits, value| bits | 1 << value);
    Ok((bits, star && step_by <= 1))
}

fn named(text: &str, bounds: &Bounds) -> Result<u64, CronError> {
    let name = text.to_ascii_lowercase();
    match bounds.names.iter().position(|known| *known == name) {
        Some(at) => Ok(bounds.low + at as u64),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, CronError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        let reason = format!("strconv.Atoi: parsing {text:?}: invalid syntax");
        return Err(CronError(format!("failed to parse int from {text}: {reason}")));
    }
    let out_of_range =
        || CronError(format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: value out of range"));
    let value: u64 = digits.parse().map_err(|_| out_of_range())?;
    if text.starts_with('-') && value > 0 {
        return Err(CronError(format!("negative number (-{value}) not allowed: {text}")));
    }
    Ok(value)
}
