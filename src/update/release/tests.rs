//! The results of releases, by table (fluxd-v1 §6.2, §6.3, §14).

use super::*;
use crate::report::{AutoChange, ContainersRelease, ImageRelease};
use crate::update::tests::fixture::{Fixture, id};

const WEB: &str = "shop:deployment/web";

/// Workloads as they usually are: one of two containers, one locked, one ignored in the cluster, one not in the cluster.
fn shop() -> Fixture {
    Fixture::default()
        .both("web", &[("web", "quay.io/shop/web:1.0"), ("side", "sidecar:1")], &[])
        .both("locked", &[("web", "quay.io/shop/web:1.0")], &[("fluxcd.io/locked", "true")])
        .git("ignored", &[("web", "quay.io/shop/web:1.0")], &[])
        .live("ignored", &[("web", "quay.io/shop/web:1.0")], &[("fluxcd.io/ignore", "true")])
        .git("absent", &[("web", "quay.io/shop/web:1.0")], &[])
        .both("other", &[("other", "other:1")], &[])
        .repository("quay.io/shop/web", &[("1.0", 10), ("1.1", 20), ("0.9", 5), ("latest", 90)])
        .repository("sidecar", &[("1", 10), ("2", 20)])
}

fn image(workloads: &[&str], image: &str) -> ImageRelease {
    ImageRelease {
        workloads: Some(workloads.iter().map(|w| (*w).to_owned()).collect()),
        image: image.to_owned(),
        kind: "execute".into(),
        ..ImageRelease::default()
    }
}

/// Results in one line each: `name status text container:current→target …`.
fn shown(results: &ResultSet) -> Vec<String> {
    let line = |(id, result): (&ObjectId, &WorkloadResult)| {
        let changes = result.containers.iter().map(|c| format!(" {}:{}→{}", c.container, c.current, c.target));
        let error = if result.error.is_empty() { String::new() } else { format!(" {}", result.error) };
        format!("{} {}{error}{}", id.name(), result.status, changes.collect::<String>())
    };
    results.0.iter().map(line).collect()
}

fn released(fixture: &Fixture, spec: ImageRelease) -> Result<Vec<String>, String> {
    let release = select(&Update::Image(spec), &fixture.world()).map_err(|e| e.to_string())?;
    let successes: usize = release.results.0.values().map(|r| r.containers.len()).sum();
    assert_eq!(release.changes.len(), successes, "what is told is what is done");
    Ok(shown(&release.results))
}

const NOT_INCLUDED: [&str; 4] = [
    "absent ignored not included",
    "ignored ignored not included",
    "locked ignored not included",
    "other ignored not included",
];

#[test]
fn one_image_goes_to_the_named_workload_only() {
    let got = released(&shop(), image(&[WEB], "quay.io/shop/web:1.1")).unwrap();
    assert_eq!(got[..4], NOT_INCLUDED);
    assert_eq!(got[4], "web success web:quay.io/shop/web:1.0→quay.io/shop/web:1.1");
}

#[test]
fn one_image_goes_to_all_that_use_it_and_the_others_say_why_not() {
    let got = released(&shop(), image(&["<all>", "nonsense is never read"], "quay.io/shop/web:1.1")).unwrap();
    let want = [
        "absent skipped not accessible in cluster",
        "ignored skipped ignore",
        "locked skipped locked",
        "other ignored a different image",
        "web success web:quay.io/shop/web:1.0→quay.io/shop/web:1.1",
    ];
    assert_eq!(got, want);
}

#[test]
fn the_latest_images_go_to_all() {
    let got = released(&shop(), image(&["<all>"], "<all latest>")).unwrap();
    let want = [
        "absent skipped not accessible in cluster",
        "ignored skipped ignore",
        "locked skipped locked",
        "other ignored does not use image(s)",
        "web success web:quay.io/shop/web:1.0→quay.io/shop/web:1.1 side:sidecar:1→sidecar:2",
    ];
    assert_eq!(got, want);
}

#[test]
fn excluded_and_unknown_workloads_are_told() {
    let spec = ImageRelease { excludes: Some(vec![WEB.to_owned()]), ..image(&["<all>"], "<all latest>") };
    assert_eq!(released(&shop(), spec).unwrap()[4], "web ignored excluded");
    let got = released(&shop(), image(&[WEB, "shop:deployment/zzz"], "quay.io/shop/web:1.1")).unwrap();
    assert_eq!(got[5], "zzz skipped not found in repository");
}

#[test]
fn force_overrules_locks_of_named_workloads_only() {
    let forced = |workloads: &[&str], which: &str| ImageRelease { force: true, ..image(workloads, which) };
    let got =
        released(&shop(), forced(&["shop:deployment/locked", "shop:deployment/ignored"], "<all latest>")).unwrap();
    assert_eq!(
        got[1..3],
        [
            "ignored success web:quay.io/shop/web:1.0→quay.io/shop/web:1.1",
            "locked success web:quay.io/shop/web:1.0→quay.io/shop/web:1.1",
        ]
    );
    let got = released(&shop(), forced(&["<all>"], "quay.io/shop/web:1.1")).unwrap();
    assert_eq!(got[1..3], ["ignored skipped ignore", "locked skipped locked"]);
}

#[test]
fn force_overrules_filters_for_one_image_but_never_for_the_latest() {
    let filtered = || {
        Fixture::default()
            .both("web", &[("web", "web:1.0")], &[("fluxcd.io/tag.web", "glob:0.*")])
            .repository("web", &[("1.0", 10), ("1.1", 20), ("0.9", 5), ("latest", 90)])
    };
    for (workloads, which, force, want) in [
        (WEB, "web:1.1", false, "web skipped cannot find one or more images"),
        (WEB, "web:1.1", true, "web success web:web:1.0→web:1.1"),
        ("<all>", "web:1.1", true, "web success web:web:1.0→web:1.1"),
        (WEB, "<all latest>", true, "web success web:web:1.0→web:0.9"),
        (WEB, "web:latest", true, "web skipped cannot find one or more images"),
        (WEB, "web:1.0", true, "web skipped image(s) up to date"),
    ] {
        let spec = ImageRelease { force, ..image(&[workloads], which) };
        assert_eq!(released(&filtered(), spec).unwrap(), [want], "{workloads} {which} {force}");
    }
}

#[test]
fn specifications_that_cannot_be_read_fail_the_release() {
    let malformed = "expected image name as either <image>:<tag> or just <image>: invalid image ID";
    for (workloads, which, want) in [
        (WEB, "quay.io/shop/web:7", "image \"quay.io/shop/web:7\" does not exist: invalid image ID"),
        (WEB, "nobody/knows:1", "image \"nobody/knows:1\" does not exist: invalid image ID"),
        (WEB, "a:b:c", malformed),
        (WEB, "", "parsing \"\": blank image name: invalid image ID"),
        ("a b", "<all latest>", "parsing a b: invalid service ID"),
        (WEB, "web", "image \"web\" does not exist: invalid image ID"),
    ] {
        assert_eq!(released(&shop(), image(&[workloads], which)).unwrap_err(), want);
    }
    let refusal = select(&Update::Sync, &shop().world()).unwrap_err();
    assert_eq!(refusal.to_string(), "unknown update type \"sync\"");
}

#[test]
fn several_containers_of_which_none_changes_give_the_result_of_the_last() {
    for (containers, want) in [
        ([("a", "web:2"), ("b", "nobody")], "web ignored does not use image(s)"),
        ([("b", "nobody"), ("a", "web:2")], "web skipped image(s) up to date"),
        ([("a", "web:2"), ("b", "gap:1")], "web skipped cannot find one or more images"),
    ] {
        let fixture = Fixture::default()
            .both("web", &containers, &[])
            .repository("web", &[("1", 10), ("2", 20)])
            .repository("gap", &[("1", 10), ("2", -1)]);
        assert_eq!(released(&fixture, image(&[WEB], "<all latest>")).unwrap(), [want], "{containers:?}");
    }
}

#[test]
fn a_workload_of_which_an_image_cannot_be_read_has_failed() {
    let fixture = Fixture::default()
        .both("web", &[("web", "web:1"), ("bad", "a:b:c")], &[])
        .repository("web", &[("1", 10), ("2", 20)]);
    let want = "web failed expected image name as either <image>:<tag> or just <image>: invalid image ID";
    assert_eq!(released(&fixture, image(&[WEB], "<all latest>")).unwrap(), [want]);
    assert_eq!(released(&fixture, image(&[WEB], "web:2")).unwrap(), ["web ignored not accessible in cluster"]);
}

#[test]
fn images_are_written_as_git_spells_them_whatever_the_registry_is_called() {
    let fixture = Fixture::default()
        .git("web", &[("web", "docker.io/library/alpine:1")], &[])
        .live("web", &[("web", "alpine:1")], &[])
        .repository("index.docker.io/library/alpine", &[("1", 10), ("2", 20)]);
    let got = select(&Update::Image(image(&[WEB], "docker.io/alpine:2")), &fixture.world()).unwrap();
    assert_eq!(got.changes[0].target.full(), "docker.io/library/alpine:2");
    assert_eq!(got.changes[0].current.full(), "alpine:1");
}

#[test]
fn pinned_images_are_really_updated_and_stay_pinned() {
    for (now, annotations, which, want) in [
        ("web@sha256:10", &[][..], "<all latest>", "web success web:web@sha256:10→web:2@sha256:20"),
        ("web:1@sha256:10", &[][..], "web:2", "web success web:web:1@sha256:10→web:2@sha256:20"),
        ("web:2@sha256:20", &[][..], "<all latest>", "web skipped image(s) up to date"),
        // the tag was pushed again since
        ("web:2@sha256:19", &[][..], "<all latest>", "web success web:web:2@sha256:19→web:2@sha256:20"),
        ("web:1", &[("fluxd.io/pin", "true")][..], "<all latest>", "web success web:web:1→web:2@sha256:20"),
        ("web:2", &[("fluxcd.io/pin", "true")][..], "<all latest>", "web success web:web:2→web:2@sha256:20"),
        ("web:1", &[("fluxd.io/pin", "false")][..], "<all latest>", "web success web:web:1→web:2"),
        ("web:1", &[][..], "web:2@sha256:ff", "web success web:web:1→web:2@sha256:ff"),
    ] {
        let fixture =
            Fixture::default().both("web", &[("web", now)], annotations).repository("web", &[("1", 10), ("2", 20)]);
        assert_eq!(released(&fixture, image(&[WEB], which)).unwrap(), [want], "{now} {annotations:?} {which}");
    }
}

fn containers(list: &[(&str, &str, &str)], skip_mismatches: bool, force: bool) -> ContainersRelease {
    let update = |(container, current, target): &(&str, &str, &str)| ContainerUpdate {
        container: (*container).to_owned(),
        current: (*current).to_owned(),
        target: (*target).to_owned(),
    };
    let workloads = [(id("web"), list.iter().map(update).collect())].into();
    ContainersRelease { kind: "execute".into(), workloads, skip_mismatches, force }
}

fn with_containers(fixture: &Fixture, spec: ContainersRelease) -> (String, Vec<String>) {
    match select(&Update::Containers(spec), &fixture.world()) {
        Ok(release) => (String::new(), shown(&release.results)),
        Err(e) => (e.to_string(), e.results().map(shown).unwrap_or_default()),
    }
}

#[test]
fn given_containers_get_given_images_or_the_release_fails() {
    let (web, side) = (("web", "quay.io/shop/web:1.0", "quay.io/shop/web:0.9"), ("side", "", "sidecar:2"));
    let wrong = ("side", "sidecar:7", "sidecar:2");
    let both = "web success web:quay.io/shop/web:1.0→quay.io/shop/web:0.9 side:sidecar:1→sidecar:2";
    let mismatch = "container(s) tag mismatch: side";
    for (list, skip, error, want) in [
        (vec![web, side], false, "", both.to_owned()),
        (vec![web, wrong], false, "cannot satisfy specs", format!("web failed {mismatch}")),
        (vec![web, wrong], true, "", format!("web success {mismatch} web:quay.io/shop/web:1.0→quay.io/shop/web:0.9")),
        (vec![wrong], true, "no changes found", format!("web skipped {mismatch}")),
        (
            vec![web, ("x", "", "y:1"), ("z", "", "y:1")],
            true,
            "cannot satisfy specs",
            "web failed container(s) not found: x, z".to_owned(),
        ),
        (vec![("side", "", "sidecar:1")], false, "no changes found", "web skipped image(s) up to date".to_owned()),
        // another repository is what was asked for
        (vec![("side", "sidecar:1", "better:3")], false, "", "web success side:sidecar:1→better:3".to_owned()),
    ] {
        let (got, results) = with_containers(&shop(), containers(&list, skip, false));
        assert_eq!((got.as_str(), results[4].as_str()), (error, want.as_str()), "{list:?}");
        assert_eq!(results[..4], NOT_INCLUDED);
    }
}

#[test]
fn locks_hold_against_given_containers_unless_forced() {
    let fixture = Fixture::default().both("web", &[("web", "web:1")], &[("fluxcd.io/locked", "true")]);
    let list = [("web", "web:1", "web:2")];
    let got = with_containers(&fixture, containers(&list, false, false));
    assert_eq!(got, ("no changes found".to_owned(), vec!["web skipped locked".to_owned()]));
    let got = with_containers(&fixture, containers(&list, false, true));
    assert_eq!(got, (String::new(), vec!["web success web:web:1→web:2".to_owned()]));
}

#[test]
fn a_pinned_current_image_is_recognised_by_its_short_form() {
    let fixture = Fixture::default().both("web", &[("web", "web:1@sha256:00")], &[]);
    let got = with_containers(&fixture, containers(&[("web", "web@sha256:00", "web:2@sha256:11")], false, false));
    assert_eq!(got.1, ["web success web:web:1@sha256:00→web:2@sha256:11"]);
}

#[test]
fn what_automation_decided_is_carried_out_unless_git_moved_on() {
    let change = |workload: &str, current: &str, target: &str| AutoChange {
        workload: id(workload),
        container: "web".into(),
        current: current.into(),
        target: target.into(),
    };
    let auto = |changes| shown(&select(&Update::Auto(changes), &shop().world()).unwrap().results);
    let got = auto(vec![
        change("web", "quay.io/shop/web:1.0", "quay.io/shop/web:1.1"),
        change("locked", "quay.io/shop/web:1.0", "quay.io/shop/web:1.1"),
        change("zzz", "a:1", "a:2"),
    ]);
    let want = [
        "absent ignored not included",
        "ignored ignored not included",
        "locked skipped locked",
        "other ignored not included",
        "web success web:quay.io/shop/web:1.0→quay.io/shop/web:1.1",
        "zzz skipped not found in repository",
    ];
    assert_eq!(got, want);
    for (current, target) in
        [("quay.io/shop/web:0.9", "quay.io/shop/web:1.1"), ("quay.io/shop/web:1.0", "quay.io/shop/web:1.0")]
    {
        assert_eq!(auto(vec![change("web", current, target)])[4], "web skipped image(s) up to date");
    }
}

#[test]
fn only_workloads_that_are_concerned_are_looked_up_in_the_cluster() {
    let spec = ImageRelease { excludes: Some(vec![WEB.to_owned()]), ..image(&["<all>"], "<all latest>") };
    let asked = candidates(&Update::Image(spec), &shop().git).unwrap();
    assert_eq!(asked, [id("absent"), id("ignored"), id("locked"), id("other")]);
    let asked = candidates(&Update::Image(image(&[WEB, "shop:deployment/zzz"], "<all latest>")), &shop().git).unwrap();
    assert_eq!(asked, [id("web")]);
}
