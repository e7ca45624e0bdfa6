//! Jobs against the world: others who push, a killed daemon, a sync that does not end (fluxd-v1 §6.7).

use super::{Shop, containers_release, deployment, job_status, start};
use crate::rig::{Verdict, Webhook, eventually};
use serde_json::json;

fn files() -> Vec<(&'static str, String)> {
    vec![("web.yaml", deployment("NS", "web", "example.org/web:1"))]
}

fn to(shop: &Shop<'_>, tag: u32) -> serde_json::Value {
    let target = format!("example.org/web:{tag}");
    let mut spec = containers_release("execute", &shop.id("web"), "main", ("", &target));
    spec["spec"]["ContainerSpecs"][shop.id("web")][0].as_object_mut().unwrap().remove("Current");
    spec
}

#[test]
fn a_release_lands_on_top_of_what_somebody_else_pushed_meanwhile() {
    let shop = Shop::open(&files(), &["--registry-disable-scanning"]);
    for round in 2..8 {
        // The daemon is not told of this commit: it finds out when it pushes.
        shop.repo.git(&["pull", "-q", "--rebase", "origin", "master"]);
        shop.repo.write("notes.txt", &format!("round {round}\n")).push("somebody else's");
        let status = shop.job(&to(&shop, round));
        assert_eq!((&status["StatusString"], &status["Err"]), (&json!("succeeded"), &json!("")), "{status}");
        assert_eq!(shop.file("notes.txt"), format!("round {round}\n"));
        assert!(shop.file("web.yaml").contains(&format!("example.org/web:{round} ")), "{}", shop.file("web.yaml"));
        shop.is_synced();
    }
    assert_eq!(shop.commits(), 1 + 2 * 6);
}

#[test]
fn after_a_kill_a_job_is_known_by_its_commit_and_not_made_again() {
    let shop = Shop::open(&files(), &["--registry-disable-scanning"]);
    let job = shop.update(&to(&shop, 2));
    let pushed =
        eventually("the commit is pushed", || (shop.commits() == 2).then(|| shop.repo.remote_ref("master"))?);
    let Shop { fluxd, repo, .. } = shop;
    let fluxd = start(fluxd.kill(), &[]);
    let status = eventually("the job is known again", || {
        fluxd.get(&format!("/api/flux/v6/jobs?id={job}")).filter(|reply| reply.status == 200)
    });
    let status = status.json();
    assert_eq!(status["StatusString"], "succeeded", "{status}");
    assert_eq!(
        (status["Result"]["revision"].as_str(), &status["Result"]["spec"]["type"]),
        (Some(pushed.as_str()), &json!("containers"))
    );
    assert_eq!(repo.remote_git(&["rev-list", "--count", "master"]).trim(), "2");
}

#[test]
fn a_release_does_not_wait_for_a_sync_that_does_not_end() {
    let shop = Shop::open(&files(), &["--registry-disable-scanning", "--sync-timeout=5m"]);
    let webhook = Webhook::start(shop.plane, &shop.namespace);
    webhook.set(|_, name| if name == "slow" { Verdict::Hold } else { Verdict::Allow });
    let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: slow, namespace: {}}}\n", shop.namespace);
    shop.repo.write("slow.yaml", &map).push("a map that hangs");
    shop.fluxd.notify(&shop.repo, &shop.repo.url());
    webhook.wait_until_held(1);

    let job = shop.update(&to(&shop, 2));
    let status = job_status(&shop.fluxd, &job);
    assert_eq!((&status["StatusString"], &status["Err"]), (&json!("succeeded"), &json!("")), "{status}");
    assert!(shop.file("web.yaml").contains("example.org/web:2 "), "{}", shop.file("web.yaml"));
    assert_ne!(shop.repo.remote_ref("flux-sync"), shop.repo.remote_ref("master~1"), "the sync hangs still");
    webhook.set(|_, _| Verdict::Allow);
    shop.is_synced();
    assert_eq!(shop.live_image("web"), "example.org/web:2");
}
