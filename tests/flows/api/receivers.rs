//! Webhooks through `--receivers-config`: of a git host, which causes a sync, and of an image registry, which causes a scan.

use crate::rig::{ControlPlane, DockerRegistry, Fluxd, Image, Repo, eventually, request};
use hmac::{Hmac, Mac};
use serde_json::json;
use sha2::{Digest as _, Sha256};

const GITHUB: &str = "the key of github";
const HARBOR: &str = "the key of harbor";

fn path(key: &str) -> String {
    format!("/hook/{}", hex::encode(Sha256::digest(key)))
}

fn hook(fluxd: &Fluxd, key: &str, headers: &[(&str, &str)], body: &str) -> u16 {
    request(fluxd.port(), "POST", &path(key), headers, body).expect("fluxd answers").status
}

fn start(plane: &ControlPlane, repo: &Repo) -> Fluxd {
    let builder = Fluxd::against(plane).git(repo);
    let home = builder.home().to_owned();
    let config = "fluxRecvVersion: 1\nendpoints:\n- {source: GitHub, keyPath: github.key}\n- {source: Harbor, keyPath: harbor.key}\n";
    for (name, text) in [("receivers.yaml", config), ("github.key", GITHUB), ("harbor.key", HARBOR)] {
        std::fs::write(home.join(name), text).expect("it is writable");
    }
    let mut fluxd = builder
        .arg(&format!("--receivers-config={}", home.join("receivers.yaml").display()))
        .args(&["--api-auth=kubernetes", "--registry-insecure-host=127.0.0.1", "--automation-interval=1s"])
        .args(&["--sync-interval=1h", "--git-poll-interval=1h", "--registry-poll-interval=1h"])
        .start();
    fluxd.wait_until_up();
    fluxd
}

#[test]
fn a_push_told_by_a_signed_webhook_is_synced_and_one_of_a_forger_is_not() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("hooks");
    let repo = Repo::new();
    let config = |name: &str| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}}}}}\n")
    };
    repo.write("a.yaml", &config("a"));
    repo.push("first");
    let fluxd = start(plane, &repo);
    eventually("the first commit is synced", || {
        (repo.remote_ref("flux-sync") == repo.remote_ref("master")).then_some(())
    });
    repo.write("b.yaml", &config("b"));
    repo.push("second");

    let body =
        json!({"ref": format!("refs/heads/{}", repo.branch()), "repository": {"ssh_url": repo.url()}}).to_string();
    let signature = |key: &str| {
        let mac = <Hmac<Sha256> as Mac>::new_from_slice(key.as_bytes()).expect("keys of any length will do");
        format!("sha256={}", hex::encode(mac.chain_update(&body).finalize().into_bytes()))
    };
    let (forged, genuine) = (signature("a guess"), signature(GITHUB));
    let headers = |signature: &'static str| [("X-GitHub-Event", "push"), ("X-Hub-Signature-256", signature)];
    assert_eq!(hook(&fluxd, GITHUB, &headers(forged.leak()), &body), 401);
    assert_eq!(hook(&fluxd, GITHUB, &[("X-GitHub-Event", "push")], &body), 401);
    assert_eq!(hook(&fluxd, "another", &headers(genuine.clone().leak()), &body), 404);
    assert_eq!(hook(&fluxd, GITHUB, &headers(genuine.leak()), &body), 200);
    eventually("the second commit is live", || plane.get(&namespace, "configmap", "b"));
    let log = fluxd.log().join("\n");
    assert!(!log.contains(GITHUB) && !log.contains(HARBOR), "a key is in the log");
}

#[test]
fn an_image_told_by_a_registrys_webhook_is_scanned_at_once_and_released() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("hooks");
    let registry = DockerRegistry::start();
    registry.push("shop/web", "1.0.0", &Image::made("2026-01-01T00:00:00Z"));
    let repo = Repo::new();
    repo.write(
        "web.yaml",
        &format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: {namespace}\n  annotations:\n    \
             fluxcd.io/automated: 'true'\n    fluxcd.io/tag.main: semver:*\nspec:\n  replicas: 0\n  selector: {{matchLabels: \
             {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - name: main\n        \
             image: {}/shop/web:1.0.0\n",
            registry.host()
        ),
    );
    repo.push("first");
    let fluxd = start(plane, &repo);
    fluxd.wait_for_log(&["component=warmer", "shop/web"]);
    registry.push("shop/web", "1.1.0", &Image::made("2026-01-02T00:00:00Z"));
    let resource = format!("{}/shop/web:1.1.0", registry.host());
    let body = json!({"type": "PUSH_ARTIFACT", "event_data": {"resources": [{"resource_url": resource}]}}).to_string();
    assert_eq!(hook(&fluxd, HARBOR, &[("Authorization", "a guess")], &body), 401);
    assert_eq!(hook(&fluxd, HARBOR, &[("Authorization", HARBOR)], &body), 200);
    eventually("the new image is live", || {
        let live = plane.get(&namespace, "deployment", "web")?;
        (live["spec"]["template"]["spec"]["containers"][0]["image"] == *resource).then_some(())
    });
}
