//! Constraints on versions: comparisons joined with `,` or blanks (and), and with `||` (or).
//!
//! The rules are those that the Go library's own tests state, which differ from npm's and Cargo's in places: a version with
//! a pre-release fits only where a comparison beside it names one; `~0.0.0` lets everything through; `>1.1` begins with 1.2.

use std::cmp::Ordering;

use super::{Parts, Version, number};

/// Longest text that is read, in bytes. Sixty comparisons fit.
const LIMIT: usize = 1_000;

/// A constraint such as `>=1.2, <2 || ~3.1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    any: Vec<Vec<Comparison>>,
}

/// A text that is no constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("improper constraint: {0}")]
pub struct ConstraintError(pub String);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// The spellings of operators; a longer one before its own beginning.
const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("=", Operator::Equal),
];

/// How many of a version's numbers a comparison names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precision {
    /// `*`
    Nothing,
    /// `1`, `1.x`
    Major,
    /// `1.2`, `1.2.x`
    Minor,
    /// `1.2.3`
    Patch,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    operator: Operator,
    /// What is not named counts as 0.
    version: Version,
    precision: Precision,
}

impl Constraint {
    /// Reads one.
    ///
    /// # Errors
    /// When it is none, or longer than 1,000 bytes.
    pub fn parse(text: &str) -> Result<Self, ConstraintError> {
        let any: Option<Vec<_>> =
            if text.len() > LIMIT { None } else { text.split("||").map(|part| Group { rest: part }.read()).collect() };
        any.map(|any| Self { any }).ok_or_else(|| ConstraintError(text.to_owned()))
    }

    /// Whether a version satisfies it.
    pub fn matches(&self, version: &Version) -> bool {
        self.any.iter().any(|all| {
            let named = all.iter().any(|comparison| comparison.version.is_prerelease());
            (named || !version.is_prerelease()) && all.iter().all(|comparison| comparison.matches(version))
        })
    }
}

/// The text between two `||`.
struct Group<'a> {
    rest: &'a str,
}

impl Group<'_> {
    /// All its comparisons; `None` when something is none.
    fn read(mut self) -> Option<Vec<Comparison>> {
        let mut found = Vec::new();
        self.blank();
        loop {
            let operator = self.operator();
            self.blank();
            let first = self.version()?;
            match self.upper_end() {
                Some(last) if operator.is_none() => {
                    found.push(Comparison { operator: Operator::GreaterOrEqual, ..first });
                    found.push(Comparison { operator: Operator::LessOrEqual, ..last });
                }
                Some(_) => return None,
                None => found.push(Comparison { operator: operator.unwrap_or(Operator::Equal), ..first }),
            }
            let blank = self.blank();
            let comma = self.take(",");
            self.blank();
            match (self.rest.is_empty(), blank || comma) {
                (true, _) => return (!comma).then_some(found),
                (false, true) => {}
                (false, false) => return None,
            }
        }
    }

    /// The end of a range `1.0 - 2.0`; nothing is taken where there is none.
    fn upper_end(&mut self) -> Option<Comparison> {
        let before = self.rest;
        let end = (self.blank() && self.take("-") && self.blank()).then(|| self.version()).flatten();
        if end.is_none() {
            self.rest = before;
        }
        end
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes white space; whether there was any.
    fn blank(&mut self) -> bool {
        let rest = self.rest.trim_ascii_start();
        let was = rest.len() < self.rest.len();
        self.rest = rest;
        was
    }

    fn operator(&mut self) -> Option<Operator> {
        OPERATORS.into_iter().find(|(text, _)| self.take(text)).map(|(_, operator)| operator)
    }

    fn version(&mut self) -> Option<Comparison> {
        let end =
            self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || ".-+*".contains(c))).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let parts = Parts::split(text)?;
        let mut numbers = [0; 3];
        let mut precision = Precision::Patch;
        let mut elements = parts.numbers();
        for (place, coarser) in numbers.iter_mut().zip([Precision::Nothing, Precision::Major, Precision::Minor]) {
            match elements.next() {
                None | Some("x" | "X" | "*") => precision = precision.min(coarser),
                // what stands behind a wildcard is a number and means nothing
                Some(digits) => *place = number(digits)? * u64::from(precision == Precision::Patch),
            }
        }
        let version = Version::of(numbers, &parts)?;
        Some(Comparison { operator: Operator::Equal, version, precision })
    }
}

impl Comparison {
    fn matches(&self, found: &Version) -> bool {
        let order = found.cmp_precedence(&self.version);
        // a wildcard alone is 0.0.0 to the operators that know no prefix
        let exact = matches!(self.precision, Precision::Patch | Precision::Nothing);
        match self.operator {
            Operator::Equal if self.precision == Precision::Patch => order.is_eq(),
            Operator::Equal | Operator::Tilde => order.is_ge() && self.is_near(found),
            Operator::NotEqual => !self.is_same(found, order),
            Operator::Less => order.is_lt(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::Greater if exact => order.is_gt(),
            Operator::Greater => self.cmp_named(found).is_gt(),
            Operator::LessOrEqual if self.precision == Precision::Patch => order.is_le(),
            Operator::LessOrEqual => self.cmp_named(found).is_le(),
            Operator::Caret => order.is_ge() && self.is_compatible(found),
        }
    }

    /// How a version's numbers compare with those that are named, coarser ones first.
    fn cmp_named(&self, found: &Version) -> Ordering {
        let (found, named) = (&found.0, &self.version.0);
        let minor = found.minor.cmp(&named.minor);
        match self.precision {
            Precision::Major => found.major.cmp(&named.major),
            // `<=*` reaches as far as `<=0.0`
            Precision::Minor | Precision::Nothing => found.major.cmp(&named.major).then(minor),
            Precision::Patch => found.major.cmp(&named.major).then(minor).then(found.patch.cmp(&named.patch)),
        }
    }

    /// `~`: at most the patch differs, or the minor number where it is not named.
    fn is_near(&self, found: &Version) -> bool {
        let (found, named) = (&found.0, &self.version.0);
        let all = (named.major, named.minor, named.patch) == (0, 0, 0) && self.precision == Precision::Patch;
        match self.precision {
            _ if all => true,
            Precision::Nothing => true,
            Precision::Major => found.major == named.major,
            Precision::Minor | Precision::Patch => (found.major, found.minor) == (named.major, named.minor),
        }
    }

    /// `^`: nothing left of the first number that is not 0 differs.
    fn is_compatible(&self, found: &Version) -> bool {
        let (found, named) = (&found.0, &self.version.0);
        let same_minor = (found.major, found.minor) == (named.major, named.minor);
        match self.precision {
            _ if named.major > 0 => found.major == named.major,
            Precision::Major => found.major == named.major,
            _ if named.minor > 0 => same_minor,
            Precision::Minor => same_minor,
            Precision::Patch | Precision::Nothing => same_minor && found.patch == named.patch,
        }
    }

    /// Whether a version is the one that is named; what is not named may be anything, a pre-release aside.
    fn is_same(&self, found: &Version, order: Ordering) -> bool {
        match self.precision {
            Precision::Patch | Precision::Nothing => order.is_eq(),
            Precision::Minor => self.cmp_named(found).is_eq() && found.0.pre == self.version.0.pre,
            Precision::Major => self.cmp_named(found).is_eq(),
        }
    }
}
