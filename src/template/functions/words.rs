//! Texts as words, for the functions of sprig that write them in another case.

/// Writes words in lower case with a mark between them: `FooBar baz` becomes `foo-bar-baz`.
pub(super) fn separated(text: &str, mark: char) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 8);
    for (at, c) in chars.iter().enumerate() {
        if matches!(c, '-' | '_') || c.is_whitespace() {
            if !out.is_empty() && !out.ends_with(mark) {
                out.push(mark);
            }
            continue;
        }
        let before = at.checked_sub(1).map(|at| chars[at]);
        let begins = match before {
            Some(before) if c.is_uppercase() => {
                before.is_lowercase()
                    || before.is_numeric()
                    || before.is_uppercase() && chars.get(at + 1).is_some_and(|next| next.is_lowercase())
            }
            Some(before) => c.is_numeric() && before.is_alphabetic(),
            None => false,
        };
        if begins && !out.is_empty() && !out.ends_with(mark) {
            out.push(mark);
        }
        out.extend(c.to_lowercase());
    }
    out.trim_end_matches(mark).to_owned()
}

/// Joins words, each with a capital: `foo_bar` becomes `FooBar`.
pub(super) fn camel(text: &str) -> String {
    let mut begins = true;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '-' | '_') || c.is_whitespace() {
            begins = true;
        } else if begins {
            out.extend(c.to_uppercase());
            begins = false;
        } else {
            out.push(c);
        }
    }
    out
}

/// The first letter of each word in lower case.
pub(super) fn untitle(text: &str) -> String {
    each(text, |c, begins| if begins { c.to_lowercase().collect() } else { c.to_string() })
}

/// Capitals become small letters, small letters capitals; the first of a word becomes a title letter.
pub(super) fn swap_case(text: &str) -> String {
    each(text, |c, _| if c.is_uppercase() { c.to_lowercase().collect() } else { c.to_uppercase().collect() })
}

fn each(text: &str, change: impl Fn(char, bool) -> String) -> String {
    let mut begins = true;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        out.push_str(&change(c, begins));
        begins = c.is_whitespace();
    }
    out
}

/// The first letters of the words.
pub(super) fn initials(text: &str) -> String {
    text.split_whitespace().filter_map(|word| word.chars().next()).collect()
}

/// Cuts a text to a width, three points included; widths under four leave it as it is.
pub(super) fn abbreviate(width: i64, text: &str) -> String {
    match usize::try_from(width) {
        Ok(width) if width >= 4 && text.chars().count() > width => {
            let kept: String = text.chars().take(width - 3).collect();
            format!("{kept}...")
        }
        _ => text.to_owned(),
    }
}
