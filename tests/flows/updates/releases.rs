//! Releases of given images for given containers: what is written, what is told, what is refused (fluxd-v1 §6.3).

use super::{Shop, containers_release, deployment};
use serde_json::json;

fn shop<'a>(flags: &[&str]) -> Shop<'a> {
    let flags = [&["--registry-disable-scanning"], flags].concat();
    Shop::open(&[("web.yaml", deployment("NS", "web", "example.org/web:2.0"))], &flags)
}

const CHANGE: (&str, &str) = ("example.org/web:2.0", "example.org/web:2.1");

#[test]
fn a_release_changes_one_value_is_pushed_and_becomes_live() {
    let shop = shop(&["--git-set-author"]);
    let (id, before) = (shop.id("web"), shop.file("web.yaml"));
    let status = shop.job(&containers_release("execute", &id, "main", CHANGE));
    assert_eq!((&status["StatusString"], &status["Err"]), (&json!("succeeded"), &json!("")), "{status}");
    assert_eq!(status["Result"]["revision"].as_str(), shop.repo.remote_ref("master").as_deref());
    let updated = json!({"Container": "main", "Current": CHANGE.0, "Target": CHANGE.1});
    let result = json!({&id: {"Status": "success", "PerContainer": [updated]}});
    assert_eq!(status["Result"]["result"], result);

    assert_eq!(shop.file("web.yaml"), before.replace(CHANGE.0, CHANGE.1), "only the value changes");
    let author = shop.repo.remote_git(&["log", "-1", "--format=%an <%ae>, %cn <%ce>", "master"]);
    assert_eq!(author, "Ann <ann@example.com>, Weave Flux <support@weave.works>\n");
    assert_eq!(shop.message(), format!("Update image refs in {id}\n\n{id}\n- {}\n\n", CHANGE.1));
    assert_eq!(shop.note()["result"], result);
    shop.is_synced();
    assert_eq!(shop.live_image("web"), CHANGE.1);
    let told = shop.fluxd.wait_for_log(&["event=\"Released: "]);
    assert!(told.contains(&format!("Released: {} to {id}, by Ann <ann@example.com>", CHANGE.1)), "{told}");
    shop.fluxd.wait_for_log(&["event=\"Commit: ", &id]);
    let metrics = shop.fluxd.metrics();
    let labels = ["release_type=\"containers\"", "release_kind=\"execute\"", "success=\"true\""];
    assert_eq!(metrics.sum("flux_fluxsvc_release_duration_seconds_count", &labels), 1.0);
    assert!(metrics.sum("flux_daemon_job_duration_seconds_count", &["success=\"true\""]) >= 1.0);
}

#[test]
fn a_plan_tells_the_same_and_changes_nothing() {
    let shop = shop(&[]);
    let (id, commits) = (shop.id("web"), shop.commits());
    let status = shop.job(&containers_release("plan", &id, "main", CHANGE));
    assert_eq!(status["Result"]["result"][&id]["Status"], "success", "{status}");
    assert_eq!((&status["Result"]["revision"], shop.commits()), (&json!(null), commits));
}

#[test]
fn what_cannot_be_satisfied_fails_as_a_whole_with_the_reason() {
    let shop = shop(&[]);
    let id = shop.id("web");
    for (container, current, error, reason) in [
        ("other", CHANGE.0, "cannot satisfy specs", "container(s) not found: other"),
        ("main", "example.org/web:1.0", "cannot satisfy specs", "container(s) tag mismatch: main"),
    ] {
        let status = shop.job(&containers_release("execute", &id, container, (current, CHANGE.1)));
        assert_eq!((&status["StatusString"], &status["Err"]), (&json!("failed"), &json!(error)), "{reason}: {status}");
        assert_eq!(status["Result"]["result"][&id]["Error"], reason);
    }
    let same = containers_release("execute", &id, "main", (CHANGE.0, CHANGE.0));
    assert_eq!(shop.job(&same)["Err"], "no changes found");
}

#[test]
fn a_readonly_repository_and_automation_over_the_api_are_refused() {
    let shop = shop(&[]);
    let auto = json!({"type": "auto", "cause": {}, "spec": {"Changes": []}});
    let reply = shop.fluxd.post("/api/flux/v9/update-manifests", &auto.to_string()).unwrap();
    assert_eq!((reply.status, reply.json()["error"].as_str()), (422, Some("unknown update type \"auto\"")));
}
