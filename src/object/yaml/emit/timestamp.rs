//! Texts that go-yaml takes for points in time, and therefore writes in quotes.

/// Whether a text is a date, or a date with a time, in one of the forms of go-yaml's `parseTimestamp`.
pub(super) fn is_timestamp(text: &str) -> bool {
    parse(text.as_bytes()).is_some()
}

fn parse(text: &[u8]) -> Option<()> {
    let (year, rest) = digits(text, 4, 4)?;
    let (month, rest) = digits(rest.strip_prefix(b"-")?, 1, 2)?;
    let (day, rest) = digits(rest.strip_prefix(b"-")?, 1, 2)?;
    if !(1..=12).contains(&month) || day < 1 || day > days(year, month) {
        return None;
    }
    match rest.split_first() {
        None => Some(()),
        Some((b' ', time)) => clock(time)?.is_empty().then_some(()),
        Some((b'T' | b't', time)) => zone(clock(time)?),
        Some(_) => None,
    }
}

/// Reads between `min` and `max` digits, as many as there are.
fn digits(text: &[u8], min: usize, max: usize) -> Option<(u32, &[u8])> {
    let count = text.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    let number = text[..count].iter().fold(0, |number, b| number * 10 + u32::from(b - b'0'));
    (count >= min).then_some((number, &text[count..]))
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Reads a time of day with an optional fraction; gives what follows it.
fn clock(text: &[u8]) -> Option<&[u8]> {
    let (hour, rest) = digits(text, 1, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(b":")?, 1, 2)?;
    let (second, rest) = digits(rest.strip_prefix(b":")?, 1, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let Some(fraction) = rest.strip_prefix(b".").or_else(|| rest.strip_prefix(b",")) else { return Some(rest) };
    let count = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
    Some(if count == 0 { rest } else { &fraction[count..] })
}

fn zone(text: &[u8]) -> Option<()> {
    if text == b"Z" {
        return Some(());
    }
    let rest = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-"))?;
    let (hours, rest) = digits(rest, 2, 2)?;
    let (minutes, rest) = digits(rest.strip_prefix(b":")?, 2, 2)?;
    (rest.is_empty() && hours <= 24 && minutes <= 60).then_some(())
}
