//! Tag patterns: which tags of an image may be chosen, and which of two is newer (fluxd-v1 §3.10).

mod expression;

pub use expression::compile as go_expression;

use std::cmp::Ordering;
use std::fmt;

use jiff::Timestamp;
use regex::Regex;

use super::Glob;
use super::semver::{Constraint, Version};

/// The tag that is left out unless the pattern names it.
const LATEST: &str = "latest";

/// A pattern for tags.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    Glob(Glob),
    /// `None`: the constraint cannot be read, every version matches.
    Semver(Option<Constraint>),
    /// `None`: the expression cannot be read, every tag matches.
    Regexp(Option<Regex>),
}

/// A pattern that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid tag pattern: {0:?}")]
pub struct PatternError(pub String);

/// A tag with what its place in the order rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// The tag.
    pub tag: &'a str,
    /// When the image was made, if that is known.
    pub created: Option<Timestamp>,
}

impl Default for Pattern {
    /// The pattern `glob:*`.
    fn default() -> Self {
        Self::parse("*")
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Pattern {}

impl Pattern {
    /// Reads a pattern as it stands in a file: one with a broken constraint or expression matches everything
    /// (every version, for `semver:`).
    pub fn parse(text: &str) -> Self {
        if let Some(rest) = text.strip_prefix("semver:") {
            return Self { text: rest.to_owned(), rule: Rule::Semver(Constraint::parse(rest).ok()) };
        }
        if let Some(rest) = text.strip_prefix("regexp:").or_else(|| text.strip_prefix("regex:")) {
            return Self { text: rest.to_owned(), rule: Rule::Regexp(expression::compile(rest)) };
        }
        let glob = text.strip_prefix("glob:").unwrap_or(text);
        Self { text: glob.to_owned(), rule: Rule::Glob(Glob::new(glob)) }
    }

    /// Reads a pattern that somebody is about to write down.
    ///
    /// # Errors
    /// When its constraint or expression cannot be read.
    pub fn check(text: &str) -> Result<Self, PatternError> {
        let pattern = Self::parse(text);
        match pattern.rule {
            Rule::Semver(None) | Rule::Regexp(None) => Err(PatternError(text.to_owned())),
            Rule::Glob(_) | Rule::Semver(_) | Rule::Regexp(_) => Ok(pattern),
        }
    }

    /// Whether a tag fits, without regard to the rule about `latest` (see [`Pattern::admits`]).
    pub fn matches(&self, tag: &str) -> bool {
        match &self.rule {
            Rule::Glob(glob) => glob.is_match(tag),
            Rule::Semver(constraint) => {
                Version::parse(tag).is_some_and(|v| constraint.as_ref().is_none_or(|c| c.matches(&v)))
            }
            Rule::Regexp(expression) => expression.as_ref().is_none_or(|e| e.is_match(tag)),
        }
    }

    /// Whether a tag may be chosen: it fits, and it is not `latest` (in any case) unless the pattern is just that.
    pub fn admits(&self, tag: &str) -> bool {
        let named = matches!(self.rule, Rule::Glob(_)) && self.text == LATEST;
        (named || !tag.eq_ignore_ascii_case(LATEST)) && self.matches(tag)
    }

    /// The tags that may be chosen, in the order given.
    pub fn select<'a>(&self, tags: &'a [String]) -> Vec<&'a str> {
        tags.iter().map(String::as_str).filter(|tag| self.admits(tag)).collect()
    }

    /// Whether the order rests on the time at which images were made.
    pub fn requires_timestamp(&self) -> bool {
        !matches!(self.rule, Rule::Semver(_))
    }

    /// Whether neither of two is newer: made at the same time, or versions of the same precedence. Their place in the list
    /// ([`Pattern::newer`]) then rests on their names alone.
    pub fn is_equal(&self, a: &Candidate<'_>, b: &Candidate<'_>) -> bool {
        match &self.rule {
            Rule::Semver(_) => match (Version::parse(a.tag), Version::parse(b.tag)) {
                (Some(a), Some(b)) => a.cmp_precedence(&b).is_eq(),
                _ => a.tag == b.tag,
            },
            Rule::Glob(_) | Rule::Regexp(_) => a.created == b.created,
        }
    }

    /// The order in which images are listed, newest first: `Less` when `a` stands before `b`. Total and independent of the
    /// order of its input, so that equals never change places.
    pub fn newer(&self, a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
        match &self.rule {
            Rule::Semver(_) => by_version(a.tag, b.tag),
            // `None` is less than any time, so images without one come last
            Rule::Glob(_) | Rule::Regexp(_) => b.created.cmp(&a.created).then_with(|| a.tag.cmp(b.tag)),
        }
    }
}

fn by_version(a: &str, b: &str) -> Ordering {
    match (Version::parse(a), Version::parse(b)) {
        (Some(va), Some(vb)) => vb.cmp_precedence(&va).then_with(|| b.cmp(a)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

impl fmt::Display for Pattern {
    /// Always with its prefix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.rule {
            Rule::Glob(_) => "glob",
            Rule::Semver(_) => "semver",
            Rule::Regexp(_) => "regexp",
        };
        write!(f, "{prefix}:{}", self.text)
    }
}

#[cfg(test)]
mod tests;
