//! Policies by the original fluxctl: automate, deautomate, lock, unlock, policy (fluxd-v1 §2.7, §6.5, §11).

use super::{Shop, deployment};
use serde_json::json;

fn shop<'a>(flags: &[&str]) -> Shop<'a> {
    let flags = [&["--registry-disable-scanning"], flags].concat();
    Shop::open(&[("web.yaml", deployment("NS", "web", "example.org/web:2.0"))], &flags)
}

#[test]
fn automate_and_deautomate_write_one_annotation_and_take_all_of_it_away() {
    let shop = shop(&[]);
    let (id, before) = (shop.id("web"), shop.file("web.yaml"));

    let printed = shop.done(&["automate", "-n", &shop.namespace, "-w", "deployment/web", "--user=Ann"]);
    assert!(printed.contains("Commit pushed:") && printed.contains(&format!("{id}  success")), "{printed}");
    let after = shop.file("web.yaml");
    assert!(after.contains("fluxcd.io/automated: 'true'\n"), "{after}");
    assert!(after.contains("image: example.org/web:2.0   # by hand\n"), "{after}");
    assert_eq!(shop.message(), format!("Automated: {id}\n\n"));
    let note = shop.note();
    let spec = json!({"type": "policy", "cause": {"Message": "", "User": "Ann"}, "spec": {&id: {"add": {"automated": "true"}, "remove": {}}}});
    assert_eq!((&note["spec"], &note["result"]), (&spec, &json!(null)), "{note}");
    shop.is_synced();
    let listed = shop.done(&["list-workloads", "-n", &shop.namespace]);
    assert!(listed.contains("automated"), "{listed}");

    shop.done(&["deautomate", "-n", &shop.namespace, "-w", "deployment/web"]);
    assert_eq!(shop.file("web.yaml"), before);
    assert_eq!(shop.message(), format!("Deautomated: {id}\n\n"));

    // What is so already makes no commit.
    let commits = shop.commits();
    let printed = shop.done(&["deautomate", "-n", &shop.namespace, "-w", "deployment/web"]);
    assert!(!printed.contains("Commit pushed") && shop.commits() == commits, "{printed}");
}

#[test]
fn lock_and_unlock_tell_who_and_why() {
    let shop = shop(&["--git-ci-skip"]);
    let id = shop.id("web");
    shop.done(&["lock", "-n", &shop.namespace, "-w", "deployment/web", "--user=Ann", "-m", "wait for Bob"]);
    let after = shop.file("web.yaml");
    for line in ["fluxcd.io/locked: 'true'", "fluxcd.io/locked_user: Ann", "fluxcd.io/locked_msg: wait for Bob"] {
        assert!(after.contains(line), "{line} is not in {after}");
    }
    assert_eq!(shop.message(), format!("wait for Bob\n\n- Locked: {id}\n- Updated policies: {id}\n\n[ci skip]\n\n"));

    let refused = super::containers_release("execute", &id, "main", ("example.org/web:2.0", "example.org/web:2.1"));
    let status = shop.job(&refused);
    assert_eq!((&status["StatusString"], &status["Err"]), (&json!("failed"), &json!("no changes found")), "{status}");

    shop.done(&["unlock", "-n", &shop.namespace, "-w", "deployment/web"]);
    assert!(!shop.file("web.yaml").contains("locked"), "{}", shop.file("web.yaml"));
    let message = format!("Updated workload policies\n\n- Unlocked: {id}\n- Updated policies: {id}\n\n[ci skip]\n\n");
    assert_eq!(shop.message(), message);
}

#[test]
fn tag_filters_are_set_for_one_and_for_all_containers_and_removed() {
    let shop = shop(&[]);
    let policy =
        |args: &[&str]| shop.done(&[&["policy", "-n", &shop.namespace, "-w", "deployment/web"], args].concat());
    policy(&["--tag-all=semver:~1.0"]);
    let after = shop.file("web.yaml");
    for line in ["fluxcd.io/tag.main: semver:~1.0\n", "fluxcd.io/tag.side: semver:~1.0\n"] {
        assert!(after.contains(line), "{line} is not in {after}");
    }
    policy(&["--tag=main=regexp:^v(\\d+)$"]);
    assert!(shop.file("web.yaml").contains("fluxcd.io/tag.main: regexp:^v(\\d+)$\n"), "{}", shop.file("web.yaml"));
    policy(&["--tag-all=*"]);
    assert!(!shop.file("web.yaml").contains("annotations"), "{}", shop.file("web.yaml"));

    let refused = shop.refused(&["policy", "-n", &shop.namespace, "-w", "deployment/web", "--tag=main=semver:x.y.z.w"]);
    assert!(refused.contains("invalid tag pattern: \"semver:x.y.z.w\""), "{refused}");
}

#[test]
fn a_workload_that_is_not_in_git_is_skipped_and_the_reason_told() {
    let shop = shop(&[]);
    let commits = shop.commits();
    let id = shop.id("nowhere");
    let status = shop.job(&json!({"type": "policy", "cause": {}, "spec": {&id: {"add": ["automated"], "remove": {}}}}));
    assert_eq!(status["StatusString"], "succeeded", "{status}");
    assert_eq!(status["Result"]["result"][&id]["Status"], "skipped", "{status}");
    assert!(status["Result"]["result"][&id]["Error"].as_str().is_some_and(|e| !e.is_empty()), "{status}");
    assert_eq!((&status["Result"]["revision"], shop.commits()), (&json!(null), commits));
}
