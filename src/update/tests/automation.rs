//! What automation decides, and what it says when it does not.

use proptest::prelude::*;

use crate::update::tests::fixture::{Fixture, id};
use crate::update::{Decision, Verdict, automated, decide};

const AUTO: (&str, &str) = ("fluxcd.io/automated", "true");

/// The decision about one container `web` that runs an image of the repository `web`.
fn decided(image: &str, filter: &str, tags: &[(&str, i64)]) -> Decision {
    let annotations = [AUTO, ("fluxcd.io/tag.web", filter)];
    let fixture = Fixture::default().both("web", &[("web", image)], &annotations).repository("web", tags);
    decide(&fixture.world())
}

fn shown(decision: &Decision) -> Vec<String> {
    let line = |remark: &crate::update::Remark| match &remark.verdict {
        Verdict::Update { new, reason } => format!("{new}: {reason}"),
        other => other.to_string(),
    };
    let updates = decision.remarks.iter().filter(|r| !r.verdict.is_warning()).count();
    assert_eq!(decision.changes.len(), updates, "each change is told of");
    decision.remarks.iter().map(line).collect()
}

#[test]
fn the_newest_image_that_the_filter_lets_through_is_chosen() {
    let days = [("1.0", 86_400), ("1.1", 172_800), ("2.0", 43_200), ("latest", 999_999)];
    for (image, filter, want) in [
        (
            "web:1.0",
            "*",
            vec!["web:1.1: latest 1.1 (1970-01-03 00:00:00 +0000 UTC) > current 1.0 (1970-01-02 00:00:00 +0000 UTC)"],
        ),
        ("web:1.1", "*", vec![]),
        ("web:1.0", "glob:1.0*", vec![]),
        // the highest version, though it was made first
        (
            "web:1.1",
            "semver:*",
            vec!["web:2.0: latest 2.0 (1970-01-01 12:00:00 +0000 UTC) > current 1.1 (1970-01-03 00:00:00 +0000 UTC)"],
        ),
        (
            "web:1.0",
            "semver:~1",
            vec!["web:1.1: latest 1.1 (1970-01-03 00:00:00 +0000 UTC) > current 1.0 (1970-01-02 00:00:00 +0000 UTC)"],
        ),
        ("web:1.0", "glob:none*", vec![]),
        ("nobody/knows:1", "*", vec![]),
    ] {
        assert_eq!(shown(&decided(image, filter, &days)), want, "{image} {filter}");
    }
}

#[test]
fn an_image_is_never_replaced_by_an_older_one_of_its_filter() {
    let tags = [("1.0", 10), ("1.1", 20), ("2.0", 30), ("main-7", 40), ("main-6", 35)];
    let newer = "current image is newer than every image that the registry offers, of which the best is web:2.0";
    for (image, filter, want) in [
        ("web:3.0", "semver:*", newer),
        // a filter that the current image does not pass asks for another one
        (
            "web:2.0",
            "semver:~1",
            "web:1.1: latest 1.1 (1970-01-01 00:00:20 +0000 UTC) of filter semver:~1, which does not let the current 2.0 \
             (1970-01-01 00:00:30 +0000 UTC) through",
        ),
        (
            "web:main-7",
            "glob:2.*",
            "web:2.0: latest 2.0 (1970-01-01 00:00:30 +0000 UTC) of filter glob:2.*, which does not let the current main-7 \
             (1970-01-01 00:00:40 +0000 UTC) through",
        ),
    ] {
        assert_eq!(shown(&decided(image, filter, &tags)), [want], "{image} {filter}");
    }
}

#[test]
fn of_images_that_are_equally_new_the_current_one_stays() {
    let tags = [("a", 10), ("b", 10), ("c", 10), ("latest", 10)];
    for tag in ["a", "b", "c"] {
        assert_eq!(shown(&decided(&format!("web:{tag}"), "*", &tags)), [""; 0], "{tag}");
    }
    // one that the filter does not let through makes way
    let moved = "web:a: latest a (1970-01-01 00:00:10 +0000 UTC) of filter glob:*, which does not let the current latest \
                 (1970-01-01 00:00:10 +0000 UTC) through";
    assert_eq!(shown(&decided("web:latest", "*", &tags)), [moved]);
    let versions = [("1.10", 10), ("1.10.0", 20), ("v1.10", 30)];
    for tag in ["1.10", "1.10.0", "v1.10"] {
        assert_eq!(shown(&decided(&format!("web:{tag}"), "semver:*", &versions)), [""; 0], "{tag}");
    }
}

#[test]
fn what_is_not_known_well_enough_is_told_and_left_alone() {
    for (image, filter, tags, want) in [
        ("web", "*", &[("1", 10)][..], "image has no tag"),
        ("web:1", "*", &[("1", 0), ("2", 20)][..], "image with zero created timestamp"),
        ("web:1", "glob:2*", &[("1", 10), ("2", 0)][..], "image with zero created timestamp"),
        ("web:gone", "*", &[("1", 10)][..], "image with zero created timestamp"),
        (
            "web:1",
            "*",
            &[("1", 10), ("2", -1)][..],
            "inconsistent repository metadata: missing metadata for image tag \"2\"",
        ),
        (
            "web:1",
            "semver:*",
            &[("1", 10), ("2", -1)][..],
            "inconsistent repository metadata: missing metadata for image tag \"2\"",
        ),
    ] {
        assert_eq!(shown(&decided(image, filter, tags)), [want], "{image} {filter} {tags:?}");
    }
    // an image without a time comes last
    assert_eq!(shown(&decided("web:1", "*", &[("1", 10), ("2", 0)])), [""; 0]);
    // versions need no times, and a gap behind the newest one does not matter
    let by_version = decided("web:1", "semver:*", &[("1", -1), ("2", 0), ("1.5", -1)]);
    assert_eq!(shown(&by_version), ["web:2: latest 2 > current 1"]);
}

#[test]
fn pinned_images_follow_their_tag_and_stay_pinned() {
    let tags = [("1", 10), ("2", 20)];
    let at = "(1970-01-01 00:00:20 +0000 UTC)";
    for (image, annotation, want) in [
        (
            "web:1@sha256:10",
            "",
            vec![format!("web:2@sha256:20: latest 2 {at} > current 1 (1970-01-01 00:00:10 +0000 UTC)")],
        ),
        ("web:2@sha256:20", "", vec![]),
        ("web:2@sha256:19", "", vec![format!("web:2@sha256:20: another image is behind 2 {at}")]),
        ("web:2", "true", vec![format!("web:2@sha256:20: another image is behind 2 {at}")]),
        ("web:2", "", vec![]),
        // a digest alone is known by the tag that has it
        ("web@sha256:20", "", vec![]),
        (
            "web@sha256:10",
            "",
            vec![format!("web:2@sha256:20: latest 2 {at} > current 1 (1970-01-01 00:00:10 +0000 UTC)")],
        ),
        ("web@sha256:77", "", vec!["image has no tag".to_owned()]),
    ] {
        let annotations = [AUTO, ("fluxd.io/pin", annotation)];
        let fixture = Fixture::default().both("web", &[("web", image)], &annotations).repository("web", &tags);
        assert_eq!(shown(&decide(&fixture.world())), want, "{image} {annotation}");
    }
}

#[test]
fn only_automated_workloads_that_are_live_and_free_are_looked_at() {
    let images = [("web", "web:1")];
    let fixture = Fixture::default()
        .both("a", &images, &[AUTO])
        .both("b", &images, &[("flux.weave.works/automated", "true")])
        .both("locked", &images, &[AUTO, ("fluxcd.io/locked", "true")])
        .both("ignored", &images, &[AUTO, ("fluxcd.io/ignore", "true")])
        .both("unasked", &images, &[("fluxcd.io/automated", "yes")])
        .git("absent", &images, &[AUTO])
        .git("spared", &images, &[AUTO])
        .live("spared", &images, &[("fluxcd.io/ignore", "true")])
        .repository("web", &[("1", 10), ("2", 20)]);
    assert_eq!(automated(&fixture.git), [id("a"), id("absent"), id("b"), id("spared")]);
    let changed: Vec<_> = decide(&fixture.world()).changes.into_iter().map(|change| change.workload).collect();
    assert_eq!(changed, [id("a"), id("b")]);
}

#[test]
fn what_git_says_already_is_not_decided_again_while_it_is_being_applied() {
    let fixture = Fixture::default()
        .git("web", &[("web", "web:2")], &[AUTO])
        .live("web", &[("web", "web:1")], &[])
        .repository("web", &[("1", 10), ("2", 20)]);
    assert_eq!(decide(&fixture.world()), Decision::default());
}

#[test]
fn ninety_workloads_of_one_repository_are_one_decision() {
    let mut fixture = Fixture::default().repository("quay.io/shop/web", &[("1", 10), ("2", 20)]);
    for n in 0..90 {
        fixture = fixture.both(&format!("web-{n}"), &[("web", "quay.io/shop/web:1")], &[AUTO]);
    }
    assert_eq!(decide(&fixture.world()).changes.len(), 90);
}

proptest! {
    #[test]
    fn a_decision_that_was_carried_out_is_the_last(
        tags in proptest::collection::vec(("[0-9]{1,2}(\\.[0-9]){0,2}|[a-c]{1,2}|latest", 0i64..4), 1..8),
        current in 0usize..8,
        filter in prop_oneof![Just("*"), Just("semver:*"), Just("regexp:^[0-9]"), Just("glob:a*"), Just("semver:~1")],
        pin in any::<bool>(),
    ) {
        let mut unique: Vec<(&str, i64)> = Vec::new();
        for (tag, at) in &tags {
            if unique.iter().all(|(other, _)| other != tag) {
                unique.push((tag, *at));
            }
        }
        let mut image = format!("web:{}", unique[current % unique.len()].0);
        let annotations = [AUTO, ("fluxcd.io/tag.web", filter), ("fluxd.io/pin", if pin { "true" } else { "" })];
        let decide_on = |image: &str| {
            let fixture = Fixture::default().both("web", &[("web", image)], &annotations).repository("web", &unique);
            decide(&fixture.world()).changes.pop()
        };
        if let Some(change) = decide_on(&image) {
            image = change.target;
            prop_assert_eq!(decide_on(&image), None, "from {}", change.current);
        }
    }
}
