//! Floating-point numbers as Go's `strconv.FormatFloat` and `fmt` write them.

/// How a number is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// `%e`
    Exponent,
    /// `%f`
    Fixed,
    /// `%g`
    General,
}

/// Writes a number with so many digits, or with the fewest that say which number it is. `General` then uses an exponent
/// below 0.0001 and from a million on.
pub(crate) fn format_float(f: f64, notation: Notation, precision: Option<usize>) -> String {
    if f.is_nan() {
        return "NaN".into();
    }
    if f.is_infinite() {
        return if f > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    match notation {
        Notation::Fixed => precision.map_or_else(|| format!("{f}"), |precision| format!("{f:.precision$}")),
        Notation::Exponent => {
            let text = precision.map_or_else(|| format!("{f:e}"), |precision| format!("{f:.precision$e}"));
            with_go_exponent(&text)
        }
        Notation::General => general(f, precision),
    }
}

/// Go writes at least two digits of an exponent, and its sign.
fn with_go_exponent(text: &str) -> String {
    let (mantissa, exponent) = split(text);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

fn split(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn general(f: f64, precision: Option<usize>) -> String {
    let digits_wanted = precision.map(|precision| precision.max(1));
    let scientific = digits_wanted.map_or_else(|| format!("{f:e}"), |digits| format!("{f:.*e}", digits - 1));
    let (mantissa, exponent) = split(&scientific);
    // Go drops the zeros at the end that the precision asks for.
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let limit = match digits_wanted {
        None => 6,
        Some(wanted) => {
            let wanted = i32::try_from(wanted).unwrap_or(i32::MAX);
            let digits = i32::try_from(digits).unwrap_or(i32::MAX);
            if wanted > digits && digits > exponent { digits } else { wanted }
        }
    };
    if exponent < -4 || exponent >= limit {
        return with_go_exponent(&format!("{mantissa}e{exponent}"));
    }
    let places = i32::try_from(digits).unwrap_or(i32::MAX) - 1 - exponent;
    format!("{f:.*}", usize::try_from(places).unwrap_or(0))
}
