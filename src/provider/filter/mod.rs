//! Which of the things that were found are exported, and in which order (resourceset §8.3). Functions of data.

use regex::Regex;

use crate::object::pattern::go_expression;
use crate::object::semver::{Constraint, Version};

/// Results that are exported when nothing else is said.
const DEFAULT_LIMIT: usize = 100;
/// Results that may be asked for of git hosts.
pub(super) const MAX_LIMIT: usize = 10_000;

/// What a filter says, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Expressions that names of branches must match, and must not match.
    pub branch: Pair,
    /// The same for tags.
    pub tag: Pair,
    /// The same for environments.
    pub environment: Pair,
    /// Labels that a change request must have.
    pub labels: Vec<String>,
    /// Results at most; 100 when it is absent or not positive.
    pub limit: Option<i64>,
    /// The range that tags must lie in.
    pub semver: Option<String>,
}

/// Expressions that a name must match, and must not match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// What it must match.
    pub include: Option<String>,
    /// What it must not match.
    pub exclude: Option<String>,
}

/// Why a filter cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// An expression is none.
    #[error("invalid {field} regex: error parsing regexp: `{text}` is no regular expression")]
    Expression {
        /// The field of the filter.
        field: &'static str,
        /// What it says.
        text: String,
    },
    /// The range is none.
    #[error("invalid semver expression: {0}")]
    Semver(String),
    /// More results are asked for than any listing gives.
    #[error("result limit {0} exceeds maximum of {MAX_LIMIT}")]
    Limit(usize),
}

/// A filter ready for use.
#[derive(Clone, Debug)]
pub(super) struct Filters {
    include: Option<Regex>,
    exclude: Option<Regex>,
    /// The text of `include`, which one host takes as a parameter.
    pub(super) include_text: Option<String>,
    /// Labels that a change request must have.
    pub(super) labels: Vec<String>,
    /// Results at most.
    pub(super) limit: usize,
    semver: Option<Constraint>,
}

impl Filters {
    /// Compiles a filter.
    pub(super) fn new(filter: &Filter) -> Result<Self, FilterError> {
        let (branch, tag, environment) = (&filter.branch, &filter.tag, &filter.environment);
        // the later of the three overrides the earlier (resourceset §8.3)
        let include = last([
            ("includeBranch", &branch.include),
            ("includeTag", &tag.include),
            ("includeEnvironment", &environment.include),
        ])?;
        let exclude = last([
            ("excludeBranch", &branch.exclude),
            ("excludeTag", &tag.exclude),
            ("excludeEnvironment", &environment.exclude),
        ])?;
        let semver = match filter.semver.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => Some(Constraint::parse(text).map_err(|e| FilterError::Semver(e.to_string()))?),
            None => None,
        };
        let limit = filter.limit.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0);
        let include_text = include.as_ref().map(|(text, _)| text.clone());
        Ok(Self {
            include: include.map(|(_, regex)| regex),
            exclude: exclude.map(|(_, regex)| regex),
            include_text,
            labels: filter.labels.clone(),
            limit: limit.unwrap_or(DEFAULT_LIMIT),
            semver,
        })
    }

    /// The same, refusing a limit that no git host is asked for.
    pub(super) fn bounded(self) -> Result<Self, FilterError> {
        if self.limit > MAX_LIMIT { Err(FilterError::Limit(self.limit)) } else { Ok(self) }
    }

    /// Whether a name passes.
    pub(super) fn admits(&self, name: &str) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(name))
            && !self.exclude.as_ref().is_some_and(|exclude| exclude.is_match(name))
    }

    /// Whether a change request has all labels that are asked for.
    pub(super) fn admits_labels(&self, labels: &[String]) -> bool {
        self.labels.iter().all(|wanted| labels.contains(wanted))
    }

    /// Chooses among the names of all tags: those that pass, in falling order, no more than the limit.
    pub(super) fn select_tags(&self, names: &[String]) -> Vec<String> {
        let passing = names.iter().filter(|name| self.admits(name));
        let mut chosen: Vec<String> = match &self.semver {
            None => {
                let mut names: Vec<String> = passing.cloned().collect();
                names.sort_by(|a, b| b.cmp(a));
                names
            }
            Some(range) => {
                let mut versions: Vec<(Version, &String)> = passing
                    .filter(|name| name.split('.').count() >= 3)
                    .filter_map(|name| Some((Version::parse(name)?, name)))
                    .filter(|(version, _)| range.matches(version))
                    .collect();
                versions.sort_by(|a, b| b.0.cmp_precedence(&a.0));
                versions.into_iter().map(|(_, name)| name.clone()).collect()
            }
        };
        chosen.truncate(self.limit);
        chosen
    }
}

type Written<'a> = (&'static str, &'a Option<String>);

/// Compiles all that are given, and keeps the last.
fn last(given: [Written<'_>; 3]) -> Result<Option<(String, Regex)>, FilterError> {
    let mut found = None;
    for (field, text) in given {
        let Some(text) = text.as_deref().filter(|text| !text.is_empty()) else { continue };
        let regex = go_expression(text)
            .ok_or_else(|| FilterError::Expression { field, text: text.chars().take(200).collect() })?;
        found = Some((text.to_owned(), regex));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
