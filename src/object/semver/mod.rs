//! Versions as people write them in tags, and the constraints of the Go library Masterminds/semver v3 that v1's `semver:`
//! patterns are made of (fluxd-v1 §3.10). Precedence itself is the crate `semver`'s.

use std::cmp::Ordering;

mod constraint;

pub use constraint::{Constraint, ConstraintError};

/// A version read leniently: an optional `v`, one to three numbers, leading zeros, a pre-release, build metadata.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version(semver::Version);

impl Version {
    /// Reads a tag; `None` when it is no version.
    pub fn parse(text: &str) -> Option<Self> {
        let parts = Parts::split(text)?;
        let mut numbers = [0; 3];
        for (place, text) in numbers.iter_mut().zip(parts.numbers()) {
            *place = number(text)?;
        }
        Self::of(numbers, &parts)
    }

    /// Puts numbers together with the pre-release and the build metadata of a text.
    fn of([major, minor, patch]: [u64; 3], parts: &Parts<'_>) -> Option<Self> {
        let pre = match parts.pre {
            None => semver::Prerelease::EMPTY,
            Some(pre) => semver::Prerelease::new(pre).ok().filter(|pre| !pre.is_empty())?,
        };
        let build = match parts.build {
            None => semver::BuildMetadata::EMPTY,
            Some(build) => semver::BuildMetadata::new(build).ok().filter(|build| !build.is_empty())?,
        };
        Some(Self(semver::Version { major, minor, patch, pre, build }))
    }

    /// Whether it comes before a release (`1.0.0-rc.1`).
    pub fn is_prerelease(&self) -> bool {
        !self.0.pre.is_empty()
    }

    /// Order by precedence, in which build metadata do not count.
    pub fn cmp_precedence(&self, other: &Self) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }
}

/// A version's text taken apart: one to three elements, then what stands behind `-` and `+`.
struct Parts<'a> {
    core: &'a str,
    pre: Option<&'a str>,
    build: Option<&'a str>,
}

impl<'a> Parts<'a> {
    /// `None` when there are more than three elements.
    fn split(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, build) = text.split_once('+').map_or((text, None), |(head, build)| (head, Some(build)));
        let (core, pre) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
        (core.split('.').count() <= 3).then_some(Self { core, pre, build })
    }

    fn numbers(&self) -> impl Iterator<Item = &'a str> {
        self.core.split('.')
    }
}

/// A run of digits, also with leading zeros.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
