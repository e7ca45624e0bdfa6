//! Texts into times by a layout, with the errors of Go's `time.Parse`.

use std::sync::Arc;

use super::layout::{DAYS, MONTHS, Part, next_part};
use super::{DAY, Time, days_in, days_of, quoted};

/// Why a part of a text does not fit its part of the layout.
enum Misfit {
    Bad,
    /// A number beyond its range: of what.
    Range(&'static str),
}

/// What has been read so far.
#[derive(Default)]
struct Seen {
    year: i64,
    month: Option<u32>,
    day: Option<u32>,
    year_day: Option<u32>,
    hour: u32,
    minute: u32,
    second: u32,
    nanos: u32,
    is_pm: bool,
    is_am: bool,
    is_utc: bool,
    offset: Option<i32>,
    zone: String,
}

/// Reads a time; without a zone it is in UTC.
///
/// # Errors
/// In Go's words.
pub(crate) fn parse(layout: &str, text: &str) -> Result<Time, String> {
    let mut seen = Seen::default();
    let (mut layout_rest, mut rest) = (layout, text);
    let error = |message: &str| format!("parsing time {}{message}", quoted(text));
    let mismatch = |at: &str, wanted: &str| {
        let (layout, at, wanted) = (quoted(layout), quoted(at), quoted(wanted));
        error(&format!(" as {layout}: cannot parse {at} as {wanted}"))
    };
    loop {
        let (before, part, tail) = next_part(layout_rest);
        rest = skip(rest, before).map_err(|at| mismatch(at, before))?;
        let Some((part, written)) = part else {
            if rest.is_empty() {
                break;
            }
            return Err(error(&format!(": extra text: {}", quoted(rest))));
        };
        layout_rest = tail;
        rest = match seen.part(part, rest, layout_rest) {
            Ok(rest) => rest,
            Err(Misfit::Range(what)) => return Err(error(&format!(": {what} out of range"))),
            Err(Misfit::Bad) => return Err(mismatch(rest, written)),
        };
    }
    seen.time().map_err(|what| error(&format!(": {what}")))
}

/// Passes over the layout's own text; a run of spaces stands for any number of them.
fn skip<'t>(text: &'t str, prefix: &str) -> Result<&'t str, &'t str> {
    let (mut text, mut prefix) = (text, prefix);
    while let Some(c) = prefix.chars().next() {
        if c == ' ' {
            if !text.is_empty() && !text.starts_with(' ') {
                return Err(text);
            }
            prefix = prefix.trim_start_matches(' ');
            text = text.trim_start_matches(' ');
        } else {
            text = text.strip_prefix(c).ok_or(text)?;
            prefix = &prefix[c.len_utf8()..];
        }
    }
    Ok(text)
}

/// Reads one or two digits, or exactly two.
fn number(text: &str, both: bool) -> Result<(u32, &str), Misfit> {
    let digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    if digits == 0 || both && digits < 2 {
        return Err(Misfit::Bad);
    }
    Ok((text[..digits].parse().map_err(|_| Misfit::Bad)?, &text[digits..]))
}

fn below<'t>(limit: u32, what: &'static str, (number, rest): (u32, &'t str)) -> Result<(u32, &'t str), Misfit> {
    if number < limit { Ok((number, rest)) } else { Err(Misfit::Range(what)) }
}

/// Reads one of some names, in any case; which one.
fn name<'t>(text: &'t str, names: &[&str], length: Option<usize>) -> Result<(u32, &'t str), Misfit> {
    for (name, index) in names.iter().zip(0..) {
        let name = &name[..length.unwrap_or(name.len())];
        if text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return Ok((index, &text[name.len()..]));
        }
    }
    Err(Misfit::Bad)
}

impl Seen {
    fn part<'t>(&mut self, part: Part, text: &'t str, layout: &str) -> Result<&'t str, Misfit> {
        match part {
            Part::Year | Part::LongYear => return self.year(text, part == Part::LongYear),
            Part::Month | Part::LongMonth => {
                let (index, rest) = name(text, &MONTHS, (part == Part::Month).then_some(3))?;
                self.month = Some(index + 1);
                return Ok(rest);
            }
            Part::WeekDay => return Ok(name(text, &DAYS, Some(3))?.1),
            Part::LongWeekDay => return Ok(name(text, &DAYS, None)?.1),
            Part::UpperPm | Part::LowerPm => {
                let (pm, am) = if part == Part::UpperPm { ("PM", "AM") } else { ("pm", "am") };
                self.is_pm |= text.starts_with(pm);
                self.is_am |= text.starts_with(am);
                return text.strip_prefix(pm).or_else(|| text.strip_prefix(am)).ok_or(Misfit::Bad);
            }
            Part::ZoneName => return self.zone_name(text),
            Part::Zone(may_be_z, colons, count) => return self.zone(text, may_be_z, colons, count),
            Part::Fraction(count) => return self.fraction(text, count),
            Part::ShortFraction(_) => {
                let digits = fraction_digits(text);
                return if digits == 0 { Ok(text) } else { self.fraction(text, digits) };
            }
            Part::UnderYearDay | Part::ZeroYearDay => return self.year_day(text, part == Part::ZeroYearDay),
            _ => {}
        }
        self.small_number(part, text, layout)
    }

    /// Months, days, hours, minutes and seconds as numbers.
    fn small_number<'t>(&mut self, part: Part, text: &'t str, layout: &str) -> Result<&'t str, Misfit> {
        let text = if part == Part::UnderDay { text.strip_prefix(' ').unwrap_or(text) } else { text };
        let both =
            matches!(part, Part::ZeroMonth | Part::ZeroDay | Part::ZeroHour12 | Part::ZeroMinute | Part::ZeroSecond);
        let read = number(text, both)?;
        let rest = read.1;
        match part {
            Part::NumMonth | Part::ZeroMonth if !(1..=12).contains(&read.0) => return Err(Misfit::Range("month")),
            Part::NumMonth | Part::ZeroMonth => self.month = Some(read.0),
            Part::Hour => self.hour = below(24, "hour", read)?.0,
            Part::Hour12 | Part::ZeroHour12 => self.hour = below(13, "hour", read)?.0,
            Part::Minute | Part::ZeroMinute => self.minute = below(60, "minute", read)?.0,
            Part::Second | Part::ZeroSecond => {
                self.second = below(60, "second", read)?.0;
                // A fraction may follow even where the layout has none.
                let follows = matches!(next_part(layout).1, Some((Part::Fraction(_) | Part::ShortFraction(_), _)));
                let digits = fraction_digits(rest);
                if digits > 0 && !follows {
                    return self.fraction(rest, digits);
                }
            }
            _ => self.day = Some(read.0),
        }
        Ok(rest)
    }

    fn year<'t>(&mut self, text: &'t str, is_long: bool) -> Result<&'t str, Misfit> {
        let digits = text.get(..if is_long { 4 } else { 2 }).ok_or(Misfit::Bad)?;
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Misfit::Bad);
        }
        let year: i64 = digits.parse().map_err(|_| Misfit::Bad)?;
        self.year = match year {
            year if is_long => year,
            69.. => year + 1900,
            _ => year + 2000,
        };
        Ok(&text[digits.len()..])
    }

    fn year_day<'t>(&mut self, text: &'t str, all: bool) -> Result<&'t str, Misfit> {
        let text = if all { text } else { text.trim_start_matches(' ') };
        let digits = text.bytes().take(3).take_while(u8::is_ascii_digit).count();
        if digits == 0 || all && digits < 3 {
            return Err(Misfit::Bad);
        }
        self.year_day = text[..digits].parse().ok();
        Ok(&text[digits..])
    }

    /// A point or comma and so many digits.
    fn fraction<'t>(&mut self, text: &'t str, digits: usize) -> Result<&'t str, Misfit> {
        let fraction = text.strip_prefix(['.', ',']).and_then(|text| text.get(..digits)).ok_or(Misfit::Bad)?;
        if !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Misfit::Bad);
        }
        let nine: String = fraction.chars().chain("000000000".chars()).take(9).collect();
        self.nanos = nine.parse().map_err(|_| Misfit::Bad)?;
        Ok(&text[digits + 1..])
    }

    fn zone<'t>(&mut self, text: &'t str, may_be_z: bool, colons: bool, count: usize) -> Result<&'t str, Misfit> {
        if let Some(rest) = text.strip_prefix('Z').filter(|_| may_be_z) {
            self.is_utc = true;
            return Ok(rest);
        }
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let mut rest = text.strip_prefix(['+', '-']).ok_or(Misfit::Bad)?;
        let mut offset = 0;
        let limits = [(25, "time zone offset hour"), (61, "time zone offset minute"), (61, "time zone offset second")];
        for (index, ((limit, what), unit)) in limits.into_iter().zip([3600, 60, 1]).take(count).enumerate() {
            if index > 0 && colons {
                rest = rest.strip_prefix(':').ok_or(Misfit::Bad)?;
            }
            let (read, tail) = below(limit, what, number(rest, true)?)?;
            offset += i32::try_from(read).unwrap_or(0) * unit;
            rest = tail;
        }
        self.offset = Some(sign * offset);
        Ok(rest)
    }

    fn zone_name<'t>(&mut self, text: &'t str) -> Result<&'t str, Misfit> {
        if let Some(rest) = text.strip_prefix("UTC") {
            self.is_utc = true;
            return Ok(rest);
        }
        let length = zone_name_length(text).ok_or(Misfit::Bad)?;
        self.zone = text[..length].to_owned();
        Ok(&text[length..])
    }

    fn time(mut self) -> Result<Time, &'static str> {
        if self.is_pm && self.hour < 12 {
            self.hour += 12;
        } else if self.is_am && self.hour == 12 {
            self.hour = 0;
        }
        let (month, day) = self.date()?;
        let days = days_of(self.year, month, day);
        let clock = (self.hour * 60 + self.minute) * 60 + self.second;
        let mut time = Time::unix(days * DAY + i64::from(clock), self.nanos);
        let zone: Arc<str> = self.zone.as_str().into();
        if self.is_utc {
            return Ok(time);
        }
        if let Some(offset) = self.offset {
            time.seconds -= i64::from(offset);
            if offset != 0 || !matches!(self.zone.as_str(), "" | "UTC") {
                (time.offset, time.zone) = (offset, zone);
            }
        } else if !self.zone.is_empty() {
            // Zones are not known by their names; GMT+3 says its offset, but the time of day is taken as UTC.
            let hours: i32 = self.zone.strip_prefix("GMT").and_then(|hours| hours.parse().ok()).unwrap_or(0);
            (time.offset, time.zone) = (hours * 3600, zone);
        }
        Ok(time)
    }

    fn date(&self) -> Result<(u32, u32), &'static str> {
        let Some(year_day) = self.year_day else {
            let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
            let is_valid = (1..=days_in(self.year, month)).contains(&day);
            return if is_valid { Ok((month, day)) } else { Err("day out of range") };
        };
        let mut left = year_day;
        for month in 1..=12 {
            let days = days_in(self.year, month);
            if (1..=days).contains(&left) {
                if self.month.is_some_and(|seen| seen != month) {
                    return Err("day-of-year does not match month");
                }
                if self.day.is_some_and(|seen| seen != left) {
                    return Err("day-of-year does not match day");
                }
                return Ok((month, left));
            }
            left = left.wrapping_sub(days);
        }
        Err("day-of-year out of range")
    }
}

fn fraction_digits(text: &str) -> usize {
    text.strip_prefix(['.', ',']).map_or(0, |text| text.bytes().take_while(u8::is_ascii_digit).count())
}

/// How long a zone's name at the beginning of a text is: three letters, or up to five that end in T.
fn zone_name_length(text: &str) -> Option<usize> {
    if text.starts_with("ChST") || text.starts_with("MeST") {
        return Some(4);
    }
    if let Some(rest) = text.strip_prefix("GMT") {
        return Some(3 + signed_hours(rest));
    }
    if text.starts_with(['+', '-']) {
        return Some(signed_hours(text)).filter(|length| *length > 0 && text.len() >= 3);
    }
    let upper = text.bytes().take(6).take_while(u8::is_ascii_uppercase).count();
    match upper {
        5 if text[..5].ends_with('T') => Some(5),
        4 if text[..4].ends_with('T') || text.starts_with("WITA") => Some(4),
        3 => Some(3),
        _ => None,
    }
}

fn signed_hours(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['+', '-']) else { return 0 };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    match rest[..digits].parse::<u32>() {
        Ok(..=23) => digits + 1,
        _ => 0,
    }
}
