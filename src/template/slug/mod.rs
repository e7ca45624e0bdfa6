//! Texts as names: `Feature/My_Branch #42` becomes `feature-my_branch-42` (resourceset §4.4, `slugify`).

mod table;

use table::{SILENT, SPELLED, UNKNOWN};

/// The length of a label's value.
const MAX_LENGTH: usize = 63;

/// Makes a name of at most 63 characters out of lower-case letters, digits, `-` and `_`.
pub fn slugify(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for c in ascii(text.trim()).chars() {
        let c = c.to_ascii_lowercase();
        let c = if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        if c != '-' || !slug.ends_with('-') {
            slug.push(c);
        }
    }
    shorten(slug.trim_matches(['-', '_'])).to_owned()
}

/// Spells a text in ASCII.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '’' => {}
            '‒' | '–' | '—' | '―' => out.push('-'),
            '&' => out.push_str("and"),
            '@' => out.push_str("at"),
            c if c.is_ascii() => out.push(c),
            c => spell(c, &mut out),
        }
    }
    out
}

/// Spells one character beyond ASCII as the original does.
fn spell(c: char, out: &mut String) {
    // Its tables end with the first plane.
    let Ok(code) = u16::try_from(u32::from(c)) else { return };
    if is_in(code, SILENT) {
        return;
    }
    if is_in(code, UNKNOWN) {
        out.push('-');
    } else if let 0x2840..=0x28ff = code {
        // Braille with eight dots has no letters.
        let dots = (1..=8).filter(|dot| code >> (dot - 1) & 1 == 1).map(|dot| dot.to_string());
        out.push_str(&format!("-d{}-", dots.collect::<String>()));
    } else if let Some((_, spelling)) = SPELLED.iter().find(|(known, _)| *known == c) {
        out.push_str(spelling);
    } else {
        out.push_str(deunicode::deunicode_char(c).unwrap_or_default());
    }
}

fn is_in(code: u16, ranges: &[(u16, u16)]) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= code);
    after > 0 && code <= ranges[after - 1].1
}

/// Cuts at the last dash that leaves a short enough name, else in the middle of a word.
fn shorten(slug: &str) -> &str {
    if slug.len() <= MAX_LENGTH {
        return slug;
    }
    let at = slug[..=MAX_LENGTH].rfind('-').unwrap_or(MAX_LENGTH);
    &slug[..at]
}
