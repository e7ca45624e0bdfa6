//! Which values of a file are encrypted.

use regex::Regex;
use serde::Deserialize;

use super::SopsError;

/// What SOPS assumes when the metadata name no rule.
const DEFAULT_SUFFIX: &str = "_unencrypted";

/// The rule as written; SOPS allows one at most.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Written {
    unencrypted_suffix: Option<String>,
    encrypted_suffix: Option<String>,
    unencrypted_regex: Option<String>,
    encrypted_regex: Option<String>,
    unencrypted_comment_regex: Option<String>,
    encrypted_comment_regex: Option<String>,
}

/// A rule: what it looks at, and whether values that match are the encrypted ones.
#[derive(Debug)]
pub(super) struct Rules {
    pattern: Pattern,
    matching_is_encrypted: bool,
}

#[derive(Debug)]
enum Pattern {
    KeySuffix(String),
    Key(Regex),
    Comment(Regex),
}

impl Rules {
    /// Takes the one rule that is written.
    ///
    /// # Errors
    /// [`SopsError::Metadata`] for several rules, and for an expression that is none.
    pub(super) fn new(written: &Written) -> Result<Self, SopsError> {
        let wrong = |e: regex::Error| SopsError::Metadata(e.to_string());
        let regex = |text: &str| Regex::new(text).map_err(wrong);
        let given = |text: &Option<String>| text.clone().filter(|t| !t.is_empty());
        let mut found = Vec::new();
        for (text, encrypted) in [(&written.unencrypted_suffix, false), (&written.encrypted_suffix, true)] {
            found.extend(given(text).map(|suffix| (Pattern::KeySuffix(suffix), encrypted)));
        }
        for (text, encrypted) in [(&written.unencrypted_regex, false), (&written.encrypted_regex, true)] {
            if let Some(text) = given(text) {
                found.push((Pattern::Key(regex(&text)?), encrypted));
            }
        }
        for (text, encrypted) in [(&written.unencrypted_comment_regex, false), (&written.encrypted_comment_regex, true)]
        {
            if let Some(text) = given(text) {
                found.push((Pattern::Comment(regex(&text)?), encrypted));
            }
        }
        if found.len() > 1 {
            return Err(SopsError::Metadata("more than one of the rules that say what is encrypted".into()));
        }
        let (pattern, matching_is_encrypted) =
            found.pop().unwrap_or_else(|| (Pattern::KeySuffix(DEFAULT_SUFFIX.into()), false));
        Ok(Self { pattern, matching_is_encrypted })
    }

    /// Whether the value at a path of keys, under these comments, is encrypted.
    pub(super) fn is_encrypted(&self, path: &[&str], comments: &[Vec<&str>]) -> bool {
        let matches = match &self.pattern {
            Pattern::KeySuffix(suffix) => path.iter().any(|key| key.ends_with(suffix.as_str())),
            Pattern::Key(regex) => path.iter().any(|key| regex.is_match(key)),
            Pattern::Comment(regex) => comments.iter().flatten().any(|comment| regex.is_match(comment)),
        };
        matches == self.matching_is_encrypted
    }
}
