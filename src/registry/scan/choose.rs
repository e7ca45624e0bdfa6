//! Which tags of a repository are worth a request, and in which order. A function of what is wanted and what is known.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::super::Want;
use crate::object::pattern::{Candidate, Pattern};

/// What is known of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Known {
    /// Nothing.
    Missing,
    /// Nothing, because asking failed a short while ago.
    Failed,
    /// Its image; `due` when that should be looked at again.
    Usable {
        /// Whether the time to look again has come.
        due: bool,
    },
    /// That it cannot be used.
    Excluded {
        /// Whether the time to look again has come.
        due: bool,
    },
}

/// What to ask of one repository, each tag once, each list in order of work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Agenda {
    /// Tags that a choice waits for.
    pub(in super::super) decide: Vec<String>,
    /// Tags that run, or might be chosen, and are to be looked at again.
    pub(in super::super) refresh: Vec<String>,
    /// Tags that a filter admits by which nothing is chosen unless somebody asks.
    pub(in super::super) offer: Vec<String>,
    /// All others, for those who list images.
    pub(in super::super) rest: Vec<String>,
}

/// Sorts a repository's tags by how urgently they are wanted.
pub(in super::super) fn agenda(tags: &[String], want: &Want, known: impl Fn(&str) -> Known) -> Agenda {
    let (first, then) = (rested_on(&want.patterns, tags, want, &known), rested_on(&want.others, tags, want, &known));
    let (mut decide, mut refresh, mut offer, mut rest) = Default::default();
    for tag in tags {
        let runs = want.current.contains(tag);
        let (decides, offered) = (first.contains(tag.as_str()), then.contains(tag.as_str()));
        let set: &mut BTreeSet<String> = match known(tag) {
            Known::Missing if decides => &mut decide,
            Known::Missing if runs => &mut refresh,
            Known::Missing if offered => &mut offer,
            Known::Usable { due: true } | Known::Excluded { due: true } if decides || offered || runs => &mut refresh,
            Known::Missing | Known::Usable { due: true } | Known::Excluded { due: true } => &mut rest,
            Known::Failed | Known::Usable { .. } | Known::Excluded { .. } => continue,
        };
        set.insert(tag.clone());
    }
    let [decide, refresh, offer, rest] = [decide, refresh, offer, rest].map(newest_looking);
    Agenda { decide, refresh, offer, rest }
}

/// The tags that a choice by any of the patterns rests on: all that are admitted where times decide, else the newest.
fn rested_on<'a>(
    patterns: &[Pattern],
    tags: &'a [String],
    want: &Want,
    known: impl Fn(&str) -> Known,
) -> BTreeSet<&'a str> {
    // what all workloads run already needs no decision; it is among the tags that are looked at again
    let runs = |tag: &&str| !want.current.is_empty() && want.current.iter().all(|current| current == tag);
    let mut found = BTreeSet::new();
    for pattern in patterns {
        let admitted = pattern.select(tags).into_iter();
        if pattern.requires_timestamp() {
            found.extend(admitted);
        } else {
            let usable = admitted.filter(|tag| !matches!(known(tag), Known::Excluded { due: false }));
            found.extend(newest(pattern, usable).filter(|tag| !runs(tag)));
        }
    }
    found
}

/// The newest of some tags by a pattern that needs no times.
pub(in super::super) fn newest<'a>(pattern: &Pattern, tags: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let untimed = |tag| Candidate { tag, created: None };
    tags.into_iter().min_by(|a, b| pattern.newer(&untimed(a), &untimed(b)))
}

/// Tags with the highest numbers first: most often those were made last.
fn newest_looking(tags: BTreeSet<String>) -> Vec<String> {
    let mut sorted: Vec<String> = tags.into_iter().collect();
    sorted.sort_by(|a, b| natural(b, a));
    sorted
}

/// Compares runs of digits as numbers and all else as text.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        if a.is_empty() || b.is_empty() {
            return a.len().cmp(&b.len());
        }
        let ((run_a, rest_a), (run_b, rest_b)) = (run(a), run(b));
        let order = match (is_number(run_a), is_number(run_b)) {
            (true, true) => {
                let (x, y) = (run_a.trim_start_matches('0'), run_b.trim_start_matches('0'));
                x.len().cmp(&y.len()).then_with(|| x.cmp(y))
            }
            _ => run_a.cmp(run_b),
        };
        if order.is_ne() {
            return order;
        }
        (a, b) = (rest_a, rest_b);
    }
}

fn run(text: &str) -> (&str, &str) {
    let number = is_number(text);
    text.split_at(text.find(|c: char| c.is_ascii_digit() != number).unwrap_or(text.len()))
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|tag| (*tag).to_owned()).collect()
    }

    fn want(patterns: &[&str], current: &[&str]) -> Want {
        let patterns = patterns.iter().map(|text| Pattern::parse(text)).collect();
        Want { patterns, current: strings(current), ..Want::default() }
    }

    #[test]
    fn a_version_pattern_needs_only_its_newest_usable_tag() {
        let tags = strings(&["1.0.0", "1.10.0", "1.9.0", "2.0.0", "dev"]);
        let all_missing = agenda(&tags, &want(&["semver:~1"], &["1.0.0"]), |_| Known::Missing);
        assert_eq!(all_missing.decide, ["1.10.0"]);
        assert_eq!(all_missing.refresh, ["1.0.0"]);
        assert_eq!(all_missing.rest, ["dev", "2.0.0", "1.9.0"]);
        let up_to_date = agenda(&tags, &want(&["semver:~1"], &["1.10.0"]), |_| Known::Missing);
        assert_eq!((up_to_date.decide, up_to_date.refresh), (strings(&[]), strings(&["1.10.0"])));
        let excluded = |tag: &str| if tag == "1.10.0" { Known::Excluded { due: false } } else { Known::Missing };
        assert_eq!(agenda(&tags, &want(&["semver:~1"], &[]), excluded).decide, ["1.9.0"]);
    }

    #[test]
    fn patterns_that_rest_on_times_need_all_they_admit() {
        let tags = strings(&["master-2", "master-10", "latest", "other"]);
        let plan = agenda(&tags, &want(&["glob:master-*", "regexp:^other$"], &[]), |_| Known::Missing);
        assert_eq!(plan.decide, ["other", "master-10", "master-2"]);
        assert_eq!(plan.rest, ["latest"]);
        let plan = agenda(&tags, &want(&["glob:*"], &["latest"]), |_| Known::Missing);
        assert_eq!((plan.decide.len(), plan.refresh), (3, strings(&["latest"])));
    }

    #[test]
    fn filters_that_nothing_is_chosen_by_make_no_choice_wait() {
        let tags = strings(&["1.0.0", "1.1.0", "dev", "old"]);
        let want = Want { others: vec![Pattern::parse("glob:*")], ..want(&["semver:*"], &["old"]) };
        let plan = agenda(&tags, &want, |_| Known::Missing);
        assert_eq!((plan.decide, plan.refresh), (strings(&["1.1.0"]), strings(&["old"])));
        assert_eq!((plan.offer, plan.rest), (strings(&["dev", "1.0.0"]), strings(&[])));
    }

    #[test]
    fn what_is_known_is_asked_again_only_when_due() {
        let tags = strings(&["a", "b", "c", "d"]);
        let known = |tag: &str| match tag {
            "a" => Known::Usable { due: true },
            "b" => Known::Usable { due: false },
            "c" => Known::Excluded { due: true },
            _ => Known::Failed,
        };
        let plan = agenda(&tags, &want(&["glob:*"], &[]), known);
        assert_eq!((plan.decide, plan.refresh, plan.rest), (strings(&[]), strings(&["c", "a"]), strings(&[])));
    }

    #[test]
    fn tags_with_the_highest_numbers_come_first() {
        let tags: BTreeSet<String> =
            strings(&["v9", "v10", "v010a", "build-2-x", "build-11-a", "z", "2024"]).into_iter().collect();
        assert_eq!(newest_looking(tags), ["z", "v010a", "v10", "v9", "build-11-a", "build-2-x", "2024"]);
    }
}
