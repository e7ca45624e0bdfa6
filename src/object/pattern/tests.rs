//! Patterns as files have them: what they match, how they order, what they print.

use proptest::prelude::*;

use super::*;

#[test]
fn patterns_match_as_in_v1() {
    for (pattern, tag, want) in [
        ("*", "", true),
        ("*", "1", true),
        ("glob:*", "foo", true),
        ("master-*", "master-", true),
        ("glob:master-*", "master-foo", true),
        ("glob:master-*", "foo-master", false),
        ("semver:*", "1", true),
        ("semver:*", "1.0", true),
        ("semver:*", "v1.0.3", true),
        ("semver:*", "", false),
        ("semver:*", "latest", false),
        ("semver:*", "2.0.1-alpha.1", false),
        ("semver:~1", "v1", true),
        ("semver:~1", "1.2.3", true),
        ("semver:~1", "2", false),
        ("semver:2.0.1-alpha.1", "2.0.1-alpha.1", true),
        ("semver:2.0.1-alpha.1", "2.0.1-alpha.2", false),
        ("regexp:(.*?)", "anything", true),
        ("regexp:^([a-zA-Z]+)$", "foo", true),
        ("regexp:^([a-zA-Z]+)$", "foo1", false),
        ("regex:^\\w{7}(?:\\w)?$", "af14eb2", true),
        ("regex:^\\w{7}(?:\\w)?$", "af14eb2fd", false),
        // an expression is searched for, a glob must match as a whole
        ("regexp:a", "cat", true),
        ("glob:a", "cat", false),
        // what cannot be read matches everything, a version aside
        ("regexp:(", "anything", true),
        ("semver:nonsense", "1.0", true),
        ("semver:nonsense", "anything", false),
    ] {
        assert_eq!(Pattern::parse(pattern).matches(tag), want, "{pattern} on {tag}");
    }
}

#[test]
fn patterns_are_printed_with_their_prefix() {
    for (text, want) in [
        ("*", "glob:*"),
        ("glob:a", "glob:a"),
        ("semver:~1", "semver:~1"),
        ("regex:a", "regexp:a"),
        ("regexp:a", "regexp:a"),
        ("", "glob:"),
    ] {
        assert_eq!(Pattern::parse(text).to_string(), want);
    }
    assert_eq!(Pattern::default().to_string(), "glob:*");
}

#[test]
fn a_broken_pattern_is_not_written() {
    for text in ["semver:nonsense", "regexp:(", "regex:[", "semver:"] {
        assert_eq!(Pattern::check(text).unwrap_err().to_string(), format!("invalid tag pattern: {text:?}"));
    }
    for text in ["semver:~1", "regexp:^v", "anything at all", "glob:*"] {
        assert_eq!(Pattern::check(text), Ok(Pattern::parse(text)));
    }
}

#[test]
fn latest_is_chosen_only_by_its_name() {
    let tags = ["latest".to_owned(), "LATEST".into(), "1".into()];
    for (pattern, want) in [
        ("*", vec!["1"]),
        ("latest", vec!["latest"]),
        ("glob:latest", vec!["latest"]),
        ("glob:lat*", vec![]),
        ("regexp:latest", vec![]),
    ] {
        assert_eq!(Pattern::parse(pattern).select(&tags), want, "{pattern}");
    }
}

fn sorted(pattern: &str, tags: &[(&str, i64)]) -> Vec<String> {
    let created = |seconds: i64| (seconds > 0).then(|| Timestamp::from_second(seconds).unwrap());
    let mut all: Vec<_> = tags.iter().map(|(tag, at)| Candidate { tag, created: created(*at) }).collect();
    let pattern = Pattern::parse(pattern);
    all.sort_by(|a, b| pattern.newer(a, b));
    let forward: Vec<_> = all.iter().map(|c| c.tag.to_owned()).collect();
    all.reverse();
    all.sort_by(|a, b| pattern.newer(a, b));
    assert_eq!(
        all.iter().map(|c| c.tag.to_owned()).collect::<Vec<_>>(),
        forward,
        "the order does not depend on the input"
    );
    forward
}

#[test]
fn newer_means_made_later_or_of_a_higher_version() {
    let tags = [("b", 5), ("a", 5), ("zero", 0), ("c", 9), ("also-zero", 0)];
    assert_eq!(sorted("*", &tags), ["c", "a", "b", "also-zero", "zero"]);
    assert_eq!(sorted("regexp:.", &tags), ["c", "a", "b", "also-zero", "zero"]);
    let tags = [("1.9", 9), ("1.10", 1), ("1.10.0", 2), ("x", 3), ("latest", 3), ("v2-rc.1", 1), ("2", 0)];
    assert_eq!(sorted("semver:*", &tags), ["2", "v2-rc.1", "1.10.0", "1.10", "1.9", "latest", "x"]);
}

#[test]
fn images_made_at_the_same_time_are_equal_and_so_are_spellings_of_a_version() {
    let at = |tag, seconds| Candidate { tag, created: Some(Timestamp::from_second(seconds).unwrap()) };
    for (pattern, a, b, want) in [
        ("*", at("a", 1), at("b", 1), true),
        ("*", at("a", 1), at("b", 2), false),
        ("semver:*", at("1.10", 1), at("1.10.0", 2), true),
        ("semver:*", at("1.10", 1), at("1.11", 1), false),
        ("semver:*", at("x", 1), at("1", 1), false),
    ] {
        assert_eq!(Pattern::parse(pattern).is_equal(&a, &b), want, "{pattern}: {a:?} {b:?}");
    }
}

#[test]
fn expressions_of_go_are_understood() {
    for (pattern, tag, want) in [
        ("regexp:^\\Qv1.\\E[0-9]+$", "v1.5", true),
        ("regexp:^\\Qv1.\\E[0-9]+$", "v1x5", false),
        ("regexp:^[[]", "[", true),
        ("regexp:^[a&&b]+$", "a&b", true),
        ("regexp:^[[:alpha:]]+$", "abc", true),
        ("regexp:^[^[]+$", "abc", true),
        ("regexp:^[]a]$", "]", true),
        ("regexp:^v(?P<n>\\d+)$", "v12", true),
        ("regexp:(?i)^V1", "v1", true),
        ("regexp:^\\w+$", "é", false),
        ("regexp:^1.2$", "1\u{e9}2", true),
    ] {
        assert!(Pattern::check(pattern).is_ok(), "{pattern}");
        assert_eq!(Pattern::parse(pattern).matches(tag), want, "{pattern} on {tag}");
    }
}

proptest! {
    #[test]
    fn the_order_is_total(tags in proptest::collection::vec(("[v0-9.a-]{0,6}", 0i64..4), 3), pattern in "(semver|glob|regexp):\\*?") {
        let pattern = Pattern::parse(&pattern);
        let all: Vec<_> = tags
            .iter()
            .map(|(tag, at)| Candidate { tag, created: (*at > 0).then(|| Timestamp::from_second(*at).unwrap()) })
            .collect();
        for (a, b) in [(0, 1), (1, 2), (0, 2)] {
            prop_assert_eq!(pattern.newer(&all[a], &all[b]), pattern.newer(&all[b], &all[a]).reverse());
        }
        if pattern.newer(&all[0], &all[1]).is_le() && pattern.newer(&all[1], &all[2]).is_le() {
            prop_assert!(pattern.newer(&all[0], &all[2]).is_le());
        }
    }

    #[test]
    fn no_text_makes_the_reader_fail(text in ".{0,30}", tag in ".{0,20}") {
        let pattern = Pattern::parse(&text);
        pattern.matches(&tag);
        prop_assert_eq!(Pattern::parse(&pattern.to_string()), pattern);
    }
}
