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
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, build) = text.split_once('+').map_or((text, None), |(v, b)| (v, Some(b)));
        let (core, pre) = text.split_once('-').map_or((text, None), |(v, p)| (v, Some(p)));
        let mut numbers = core.split('.').map(number);
        let mut next = || numbers.next().unwrap_or(Some(0));
        let (major, minor, patch) = (number(core.split('.').next()?).and(next())?, next()?, next()?);
        if numbers.next().is_some() {
            return None;
        }
        let pre = semver::Prerelease::new(pre.unwrap_or_default()).ok().filter(|p| pre.is_none() || !p.is_empty())?;
        let build = match build {
            None => semver::BuildMetadata::EMPTY,
            Some(build) => semver::BuildMetadata::new(build).ok().filter(|b| !b.is_empty())?,
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

/// A run of digits, also with leading zeros.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
