//! Layouts: how Go's reference time, Monday the second of January 2006 at 15:04:05, is written, so is any time.

use super::Time;

/// A part of a layout that stands for a part of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekDay,
    WeekDay,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    ZoneName,
    /// An offset: whether UTC is `Z`, with colons, how many numbers.
    Zone(bool, bool, usize),
    /// Zeros after a point: always so many digits.
    Fraction(usize),
    /// Nines after a point: as many digits as are needed.
    ShortFraction(usize),
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// What stands for what; the longer of two with the same beginning comes first.
const PARTS: &[(&str, Part)] = &[
    ("January", Part::LongMonth),
    ("Jan", Part::Month),
    ("Monday", Part::LongWeekDay),
    ("Mon", Part::WeekDay),
    ("MST", Part::ZoneName),
    ("002", Part::ZeroYearDay),
    ("01", Part::ZeroMonth),
    ("02", Part::ZeroDay),
    ("03", Part::ZeroHour12),
    ("04", Part::ZeroMinute),
    ("05", Part::ZeroSecond),
    ("06", Part::Year),
    ("15", Part::Hour),
    ("1", Part::NumMonth),
    ("2006", Part::LongYear),
    ("2", Part::Day),
    ("__2", Part::UnderYearDay),
    ("_2", Part::UnderDay),
    ("3", Part::Hour12),
    ("4", Part::Minute),
    ("5", Part::Second),
    ("PM", Part::UpperPm),
    ("pm", Part::LowerPm),
    ("-070000", Part::Zone(false, false, 3)),
    ("-07:00:00", Part::Zone(false, true, 3)),
    ("-0700", Part::Zone(false, false, 2)),
    ("-07:00", Part::Zone(false, true, 2)),
    ("-07", Part::Zone(false, false, 1)),
    ("Z070000", Part::Zone(true, false, 3)),
    ("Z07:00:00", Part::Zone(true, true, 3)),
    ("Z0700", Part::Zone(true, false, 2)),
    ("Z07:00", Part::Zone(true, true, 2)),
    ("Z07", Part::Zone(true, false, 1)),
];

/// The text before the next part, the part as written, and what follows it.
pub(super) fn next_part(layout: &str) -> (&str, Option<(Part, &str)>, &str) {
    for (at, _) in layout.char_indices() {
        let rest = &layout[at..];
        // "_2006" is an underscore and a year.
        if let Some(tail) = rest.strip_prefix("_2006") {
            return (&layout[..=at], Some((Part::LongYear, "2006")), tail);
        }
        let known = PARTS.iter().find(|(text, part)| {
            rest.strip_prefix(text).is_some_and(|tail| {
                *part != Part::Month && *part != Part::WeekDay || !tail.starts_with(|c: char| c.is_ascii_lowercase())
            })
        });
        if let Some((text, part)) = known {
            return (&layout[..at], Some((*part, text)), &rest[text.len()..]);
        }
        if let Some((part, length)) = fraction(rest) {
            return (&layout[..at], Some((part, &rest[..length])), &rest[length..]);
        }
    }
    (layout, None, "")
}

/// `.000` or `,999`, not followed by another digit.
fn fraction(text: &str) -> Option<(Part, usize)> {
    let digits = text.strip_prefix(['.', ','])?;
    let digit = digits.chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let count = digits.chars().take_while(|c| *c == digit).count();
    if digits[count..].starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    Some((if digit == '0' { Part::Fraction(count) } else { Part::ShortFraction(count) }, count + 1))
}

/// Writes a time by a layout.
pub(super) fn print(time: &Time, layout: &str) -> String {
    let mut out = String::new();
    let mut rest = layout;
    loop {
        let (before, part, tail) = next_part(rest);
        out.push_str(before);
        let Some((part, written)) = part else { return out };
        out.push_str(&print_part(time, part, written));
        rest = tail;
    }
}

fn print_part(time: &Time, part: Part, written: &str) -> String {
    let civil = time.civil();
    let month = MONTHS[civil.month.clamp(1, 12) as usize - 1];
    let hour12 = if civil.hour.is_multiple_of(12) { 12 } else { civil.hour % 12 };
    match part {
        Part::LongMonth => month.into(),
        Part::Month => month[..3].into(),
        Part::NumMonth => civil.month.to_string(),
        Part::ZeroMonth => format!("{:02}", civil.month),
        Part::LongWeekDay => DAYS[time.weekday()].into(),
        Part::WeekDay => DAYS[time.weekday()][..3].into(),
        Part::Day => civil.day.to_string(),
        Part::UnderDay => format!("{:2}", civil.day),
        Part::ZeroDay => format!("{:02}", civil.day),
        Part::UnderYearDay => format!("{:3}", time.year_day()),
        Part::ZeroYearDay => format!("{:03}", time.year_day()),
        Part::Hour => format!("{:02}", civil.hour),
        Part::Hour12 => hour12.to_string(),
        Part::ZeroHour12 => format!("{hour12:02}"),
        Part::Minute => civil.minute.to_string(),
        Part::ZeroMinute => format!("{:02}", civil.minute),
        Part::Second => civil.second.to_string(),
        Part::ZeroSecond => format!("{:02}", civil.second),
        Part::LongYear if civil.year < 0 => format!("-{:04}", civil.year.abs()),
        Part::LongYear => format!("{:04}", civil.year),
        Part::Year => format!("{:02}", civil.year.rem_euclid(100)),
        Part::UpperPm => if civil.hour >= 12 { "PM" } else { "AM" }.into(),
        Part::LowerPm => if civil.hour >= 12 { "pm" } else { "am" }.into(),
        Part::ZoneName if time.zone.is_empty() => offset(time.offset, false, 2),
        Part::ZoneName => time.zone.to_string(),
        Part::Zone(true, ..) if time.offset == 0 => "Z".into(),
        Part::Zone(_, colons, count) => offset(time.offset, colons, count),
        Part::Fraction(count) | Part::ShortFraction(count) => {
            let digits = format!("{:09}", time.nanos);
            let digits = &digits[..count.min(9)];
            let digits = if matches!(part, Part::Fraction(_)) { digits } else { digits.trim_end_matches('0') };
            if digits.is_empty() { String::new() } else { format!("{}{digits}", &written[..1]) }
        }
    }
}

fn offset(seconds: i32, colons: bool, count: usize) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let seconds = seconds.unsigned_abs();
    let numbers = [seconds / 3600, seconds / 60 % 60, seconds % 60];
    let numbers: Vec<String> = numbers.iter().take(count).map(|n| format!("{n:02}")).collect();
    format!("{sign}{}", numbers.join(if colons { ":" } else { "" }))
}
