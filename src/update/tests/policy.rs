//! What policy updates change, and what is told of them.

use std::collections::BTreeMap;

use crate::report::PolicyUpdate;
use crate::update::plan_policies;
use crate::update::tests::fixture::{Fixture, id};

fn update(add: &[(&str, &str)], remove: &[&str]) -> PolicyUpdate {
    let pair = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
    PolicyUpdate {
        add: add.iter().map(pair).collect(),
        remove: remove.iter().map(|k| ((*k).to_owned(), "true".to_owned())).collect(),
    }
}

#[test]
fn each_object_gets_its_edits_and_an_unknown_one_its_reason() {
    let fixture = Fixture::default().git("a", &[("web", "x:1"), ("side", "y:1")], &[("fluxcd.io/locked", "true")]).git(
        "b",
        &[("web", "x:1")],
        &[],
    );
    let updates = [
        (id("a"), update(&[("automated", "true"), ("tag_all", "semver:~1")], &["locked"])),
        (id("b"), update(&[], &["locked"])),
        (id("zzz"), update(&[("automated", "true")], &[])),
    ];
    let plan = plan_policies(&updates.into(), &fixture.git).unwrap();
    let a: Vec<_> = plan.edits[&id("a")].iter().map(|(k, v)| (k.as_str(), v.as_deref())).collect();
    let want = [
        ("automated", Some("true")),
        ("locked", None),
        ("tag.side", Some("semver:~1")),
        ("tag.web", Some("semver:~1")),
    ];
    assert_eq!(a, want);
    assert_eq!(plan.edits.keys().cloned().collect::<Vec<_>>(), [id("a"), id("b")]);

    let results = plan.results(&BTreeMap::from([(id("a"), true), (id("b"), false)]));
    let shown: Vec<_> = results.0.iter().map(|(id, r)| (id.name(), r.status.as_str(), r.error.as_str())).collect();
    assert_eq!(shown, [("a", "success", ""), ("b", "skipped", ""), ("zzz", "skipped", "not found in repository")]);
}

#[test]
fn a_filter_that_cannot_be_read_refuses_the_whole_update() {
    let fixture = Fixture::default().git("a", &[("web", "x:1")], &[]);
    let updates =
        [(id("a"), update(&[("tag.web", "semver:!!")], &[])), (id("b"), update(&[("automated", "true")], &[]))];
    let refusal = plan_policies(&updates.into(), &fixture.git).unwrap_err();
    assert_eq!(refusal.to_string(), "invalid tag pattern: \"semver:!!\"");
}
