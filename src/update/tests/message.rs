//! Messages byte for byte.

use std::collections::BTreeMap;

use crate::object::ObjectId;
use crate::report::{
    AutoChange, Cause, ContainerUpdate, ContainersRelease, ImageRelease, PolicyUpdate, ResultSet, Update, UpdateSpec,
    WorkloadResult,
};
use crate::update::commit;
use crate::update::tests::fixture::id;

const SKIP: &str = "\n\n[ci skip]";

fn message(update: Update, results: &ResultSet, text: &str, skip: &str) -> String {
    commit(&UpdateSpec { cause: Cause { message: text.into(), user: String::new() }, update }, results, skip)
}

fn results(list: &[(&str, &str, &str, &[&str])]) -> ResultSet {
    let one = |(name, status, error, targets): &(&str, &str, &str, &[&str])| {
        let containers = targets.iter().map(|t| ContainerUpdate { target: (*t).into(), ..ContainerUpdate::default() });
        let result =
            WorkloadResult { status: (*status).into(), error: (*error).into(), containers: containers.collect() };
        (id(name), result)
    };
    ResultSet(list.iter().map(one).collect())
}

#[test]
fn a_release_names_its_image_and_its_workloads() {
    let spec = |workloads: &[&str], image: &str| {
        Update::Image(ImageRelease {
            workloads: Some(workloads.iter().map(|w| (*w).to_owned()).collect()),
            image: image.into(),
            ..ImageRelease::default()
        })
    };
    let none = ResultSet::default();
    let one = || spec(&["shop:deployment/web", "shop:deployment/db"], "example.org/web:2.1");
    for (update, text, skip, want) in [
        (one(), "", "", "Release example.org/web:2.1 to shop:deployment/web, shop:deployment/db\n"),
        (spec(&["<all>"], "<all latest>"), "", "", "Release all latest to all\n"),
        (one(), "", SKIP, "Release example.org/web:2.1 to shop:deployment/web, shop:deployment/db\n\n[ci skip]\n"),
        // no line of its own where the message ends without one (errata 7)
        (spec(&["<all>"], "<all latest>"), "", "[skip me]", "Release all latest to all[skip me]\n"),
        (one(), "because", "", "because\n"),
        (one(), "because\n\n\n\nof this  \n\n", SKIP, "because\n\nof this\n\n[ci skip]\n"),
        (one(), "# no comment", "", "# no comment\n"),
    ] {
        assert_eq!(message(update, &none, text, skip), want);
    }
}

#[test]
fn given_containers_are_listed_with_what_failed() {
    let workloads = ["b", "a", "c"].map(|name| (id(name), Vec::new())).into();
    let update = || Update::Containers(ContainersRelease { workloads, ..ContainersRelease::default() });
    let done = results(&[
        ("a", "success", "", &["x:2", "y:2"]),
        ("b", "success", "", &["x:2"]),
        ("c", "skipped", "image(s) up to date", &[]),
    ]);
    let want = "Update image refs in shop:deployment/a, shop:deployment/b\n\nshop:deployment/a\n- x:2\n- y:2\n\n\
                shop:deployment/b\n- x:2\n";
    let update = update();
    assert_eq!(message(update.clone(), &done, "", ""), want);
    let one = results(&[("a", "success", "", &["x:2"]), ("b", "failed", "no reason", &[])]);
    let want =
        "Update image refs in shop:deployment/a\n\nshop:deployment/a\n- x:2\n\nshop:deployment/b failed: no reason\n";
    assert_eq!(message(update.clone(), &one, "", ""), want);
    let two = results(&[("a", "success", "", &["x:2"]), ("b", "failed", "x", &[]), ("c", "failed", "y", &[])]);
    let want = "Update image refs in shop:deployment/a\n\nshop:deployment/a\n- x:2\n\n\
                Multiple workloads failed: shop:deployment/b, shop:deployment/c\n";
    assert_eq!(message(update, &two, "", ""), want);
}

#[test]
fn an_automated_release_lists_the_images_that_went_through() {
    let change = |name: &str, target: &str| AutoChange {
        workload: id(name),
        container: "c".into(),
        current: "x:1".into(),
        target: target.into(),
    };
    let auto = || Update::Auto(vec![change("a", "x:2"), change("b", "x:2"), change("c", "w:3"), change("d", "z:9")]);
    for (statuses, skip, want) in [
        ([("a", "skipped"), ("b", "skipped"), ("c", "skipped")], "", "Auto-release (no images)\n"),
        ([("a", "success"), ("b", "success"), ("c", "skipped")], "", "Auto-release x:2\n"),
        ([("a", "success"), ("b", "success"), ("c", "skipped")], SKIP, "Auto-release x:2\n\n[ci skip]\n"),
        (
            [("a", "success"), ("b", "success"), ("c", "success")],
            SKIP,
            "Auto-release multiple (2) images\n\n - w:3\n - x:2\n\n[ci skip]\n",
        ),
    ] {
        let done = results(&statuses.map(|(name, status)| (name, status, "", &[][..])));
        assert_eq!(message(auto(), &done, "", skip), want);
    }
}

fn policies(list: &[(&str, &[&str], &[&str])]) -> Update {
    let set = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), "true".to_owned())).collect();
    let one = |(name, add, remove): &(&str, &[&str], &[&str])| {
        (id(name), PolicyUpdate { add: set(add), remove: set(remove) })
    };
    Update::Policy(list.iter().map(one).collect::<BTreeMap<ObjectId, _>>())
}

#[test]
fn policies_are_told_by_kind_of_change() {
    let lock: &[(&str, &[&str], &[&str])] = &[("web", &["locked", "locked_user"], &[])];
    for (list, text, skip, want) in [
        (&[("web", &["automated"][..], &[][..])][..], "", "", "Automated: shop:deployment/web\n"),
        (&[("web", &["automated"], &[])], "", SKIP, "Automated: shop:deployment/web\n\n[ci skip]\n"),
        (&[("web", &["automated"], &[])], "", "[skip me]", "Automated: shop:deployment/web\n[skip me]\n"),
        (&[("web", &[], &["automated"])], "", "", "Deautomated: shop:deployment/web\n"),
        (
            &[("b", &["tag.x"], &[]), ("a", &[], &["tag.x"])],
            "",
            "",
            "Updated policies: shop:deployment/a, shop:deployment/b\n",
        ),
        (
            lock,
            "",
            "",
            "Updated workload policies\n\n- Locked: shop:deployment/web\n- Updated policies: shop:deployment/web\n",
        ),
        (
            lock,
            "a reason",
            SKIP,
            "a reason\n\n- Locked: shop:deployment/web\n- Updated policies: shop:deployment/web\n\n[ci skip]\n",
        ),
        (
            &[("web", &["automated"], &["locked"])],
            "",
            "",
            "Updated workload policies\n\n- Automated: shop:deployment/web\n- Unlocked: shop:deployment/web\n",
        ),
        (&[("web", &["automated"], &[])], "text", "", "text\n\n- Automated: shop:deployment/web\n"),
    ] {
        assert_eq!(message(policies(list), &ResultSet::default(), text, skip), want);
    }
}

#[test]
fn workloads_that_are_as_a_policy_update_asks_already_are_named_too() {
    let update = policies(&[("a", &["automated"], &[]), ("b", &["automated"], &[])]);
    let done = results(&[("a", "success", "", &[]), ("b", "skipped", "", &[])]);
    assert_eq!(message(update, &done, "", ""), "Automated: shop:deployment/a, shop:deployment/b\n");
}
