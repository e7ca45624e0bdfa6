//! Tables of what filters let through.

use super::*;

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn pair(include: &str, exclude: &str) -> Pair {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Pair { include: some(include), exclude: some(exclude) }
}

fn tags(names: &[&str], filter: &Filter) -> Vec<String> {
    Filters::new(filter).unwrap().select_tags(&owned(names))
}

fn semver(range: &str) -> Filter {
    Filter { semver: Some(range.to_owned()), ..Filter::default() }
}

#[test]
fn expressions_are_not_anchored_and_exclusion_wins() {
    let filters = Filters::new(&Filter { branch: pair("feat", "feat/skip"), ..Filter::default() }).unwrap();
    for (name, passes) in [("feat/a", true), ("my-feat", true), ("feat/skip-1", false), ("main", false)] {
        assert_eq!(filters.admits(name), passes, "{name}");
    }
    assert!(Filters::new(&Filter::default()).unwrap().admits("anything"));
}

#[test]
fn the_expression_of_the_later_kind_overrides() {
    let filter = Filter { branch: pair("^main$", "x"), tag: pair("^dev$", ""), ..Filter::default() };
    let filters = Filters::new(&filter).unwrap();
    assert!(filters.admits("dev") && !filters.admits("main"));
    let filter = Filter { environment: pair("^prod$", ""), ..filter };
    assert!(Filters::new(&filter).unwrap().admits("prod"));
}

#[test]
fn all_labels_are_wanted() {
    let filters = Filters::new(&Filter { labels: owned(&["a", "b"]), ..Filter::default() }).unwrap();
    assert!(filters.admits_labels(&owned(&["c", "b", "a"])));
    assert!(!filters.admits_labels(&owned(&["a"])) && !filters.admits_labels(&[]));
    assert!(Filters::new(&Filter::default()).unwrap().admits_labels(&[]));
}

#[test]
fn tags_come_in_falling_order() {
    let all = ["v1", "v3", "v2", "10", "9"];
    assert_eq!(tags(&all, &Filter::default()), ["v3", "v2", "v1", "9", "10"]);
    assert_eq!(tags(&all, &Filter { limit: Some(2), ..Filter::default() }), ["v3", "v2"]);
    // calendar versions, by their bytes
    let filter = Filter { tag: pair(r"^\d{4}\.\d{2}\.\d{2}$", ""), limit: Some(1), ..Filter::default() };
    assert_eq!(tags(&["2024.01.02", "2023.12.31", "latest", "2024.01.10"], &filter), ["2024.01.10"]);
}

#[test]
fn versions_come_in_falling_order_and_need_three_parts() {
    let all = ["6.0.4", "v6.0.10", "6.1.0", "1.2", "V1.2.3", "1.2.3.4", "06.0.05", "6.0.11-rc.1", "latest"];
    assert_eq!(tags(&all, &semver("6.0.x")), ["v6.0.10", "06.0.05", "6.0.4"]);
    assert_eq!(tags(&all, &semver("*")), ["6.1.0", "v6.0.10", "06.0.05", "6.0.4"]);
    assert_eq!(tags(&all, &semver(">=6.0.0-0 <6.1.0"))[0], "6.0.11-rc.1");
    assert_eq!(tags(&all, &Filter { limit: Some(1), ..semver("6.0.x") }), ["v6.0.10"]);
    assert_eq!(tags(&all, &semver(">9.0.0")), [""; 0]);
}

#[test]
fn equal_versions_keep_the_order_in_which_they_came_and_duplicates_stay() {
    let all = ["1.0.0", "v1.0.0", "1.0.0+b", "1.0.0", "2.0.0"];
    assert_eq!(tags(&all, &semver(">=1.0.0")), ["2.0.0", "1.0.0", "v1.0.0", "1.0.0+b", "1.0.0"]);
}

#[test]
fn limits_have_a_default_and_an_end() {
    let limit = |limit| Filters::new(&Filter { limit, ..Filter::default() }).unwrap();
    for (given, want) in [(None, 100), (Some(0), 100), (Some(-1), 100), (Some(7), 7), (Some(10_000), 10_000)] {
        assert_eq!(limit(given).bounded().unwrap().limit, want);
    }
    let refused = limit(Some(10_001)).bounded().unwrap_err().to_string();
    assert_eq!(refused, "result limit 10001 exceeds maximum of 10000");
}

#[test]
fn what_is_no_filter_is_refused_by_its_field() {
    let refusal = |filter: Filter| Filters::new(&filter).unwrap_err().to_string();
    let branch = |include, exclude| Filter { branch: pair(include, exclude), ..Filter::default() };
    assert!(refusal(branch("(", "")).starts_with("invalid includeBranch regex: error parsing regexp: "));
    assert!(refusal(branch("", "[")).starts_with("invalid excludeBranch regex: "));
    assert!(refusal(Filter { tag: pair("*", ""), ..Filter::default() }).starts_with("invalid includeTag regex: "));
    let environment = Filter { environment: pair("", "("), ..Filter::default() };
    assert!(refusal(environment).starts_with("invalid excludeEnvironment regex: "));
    assert!(refusal(semver("latest")).starts_with("invalid semver expression: "));
}
