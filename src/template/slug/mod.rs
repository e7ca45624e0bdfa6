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

/// Whether a code stands in one of the ranges, whose ends are listed in order.
fn is_in(code: u16, ends: &[u16]) -> bool {
    let after = ends.partition_point(|end| *end <= code);
    after % 2 == 1 || after > 0 && ends[after - 1] == code
}

/// Cuts at the last dash that leaves a short enough name, else in the middle of a word.
fn shorten(slug: &str) -> &str {
    if slug.len() <= MAX_LENGTH {
        return slug;
    }
    let at = slug[..=MAX_LENGTH].rfind('-').unwrap_or(MAX_LENGTH);
    &slug[..at]
}

#[cfg(test)]
mod tests {
    use super::slugify;

    #[test]
    fn names_are_made_as_the_original_makes_them() {
        for (text, slug) in [
            (">=1.0.0-rc.0", "1-0-0-rc-0"),
            ("Feature/My_Branch #42", "feature-my_branch-42"),
            ("Ünïcode & more @home", "unicode-and-more-athome"),
            ("日本語", "ri-ben-yu"),
            ("€ 5 🎉", "eu-5"),
            ("", ""),
        ] {
            assert_eq!(slugify(text), slug);
        }
        assert_eq!(slugify(&"a".repeat(80)), "a".repeat(63));
        assert_eq!(slugify(&"abcdefg-".repeat(10)), format!("{}abcdefg", "abcdefg-".repeat(7)));
    }
}
