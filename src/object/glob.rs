//! Flux v1's globs: only `*` is special, the whole text must match, case counts.

/// A pattern in which `*` stands for any run of characters, also an empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// Every text is a pattern.
    pub fn new(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }

    /// Whether the whole text matches.
    pub fn is_match(&self, text: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else { return self.0 == text };
        let Some(mut left) = text.strip_prefix(first) else { return false };
        let mut parts: Vec<&str> = rest.split('*').collect();
        let last = parts.pop().unwrap_or("");
        for part in parts {
            match left.find(part) {
                Some(at) => left = &left[at + part.len()..],
                None => return false,
            }
        }
        left.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_star_is_special_and_the_whole_text_must_match() {
        for (pattern, text, want) in [
            ("*", "", true),
            ("*", "foo", true),
            ("master-*", "master-", true),
            ("master-*", "foo-master", false),
            ("*metrics.k8s.io/*", "custom.metrics.k8s.io/v1/Kind", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b", "ab?", false),
            ("a*a", "a", false),
            ("a?c", "abc", false),
        ] {
            assert_eq!(Glob::new(pattern).is_match(text), want, "{pattern} on {text}");
        }
    }
}
