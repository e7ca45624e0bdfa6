//! What an upgrade does to a live cluster: the original daemon syncs a repository, ours takes over, the original comes
//! back. Nothing is deleted or made anew on the way, and each of them deletes what leaves git under its watch.

mod guide;
mod node;

use crate::rig::{ControlPlane, Fluxd, FluxdBuilder, Repo, eventually, tool};
use serde_json::Value;

const ARGS: &[&str] = &["--sync-garbage-collection", "--registry-disable-scanning", "--git-poll-interval=2s"];

fn original(plane: &ControlPlane, repo: &Repo) -> FluxdBuilder {
    let builder = Fluxd::against(plane).git(repo).args(ARGS).program(&tool("flux-v1", "fluxd"));
    builder.args(&["--sync-interval=5s", "--memcached-hostname=127.0.0.1", "--memcached-service="])
}

fn deployment(namespace: &str, extra_env: bool) -> String {
    let env = if extra_env { "[{name: KEEP, value: a}, {name: GOES, value: b}]" } else { "[{name: KEEP, value: a}]" };
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: {namespace}\nspec:\n  replicas: 1\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      \
         containers:\n      - name: web\n        image: example.org/web:1\n        env: {env}\n"
    )
}

fn config_map(namespace: &str, name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{key: {value}}}\n"
    )
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().expect("a live object has a uid").to_owned()
}

fn synced_to(repo: &Repo, head: &str) {
    eventually("the sync marker is at the head", || (repo.remote_ref("refs/tags/flux-sync^{}")? == head).then_some(()));
}

fn env_names(deployment: &Value) -> Vec<String> {
    let env = deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array().cloned().unwrap_or_default();
    env.iter().filter_map(|e| e["name"].as_str().map(str::to_owned)).collect()
}

#[test]
fn an_upgrade_from_the_original_and_the_way_back_keep_every_object() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("upgrade");
    let repo = Repo::new();
    repo.write("ns.yaml", &format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {ns}}}\n"));
    repo.write("web.yaml", &deployment(&ns, true));
    for name in ["stays", "leaves-under-ours", "leaves-under-original"] {
        repo.write(&format!("{name}.yaml"), &config_map(&ns, name, "one"));
    }
    let head = repo.push("everything");

    let fluxd = original(plane, &repo).start();
    synced_to(&repo, &head);
    let web = plane.get(&ns, "deployment", "web").expect("the original applied it");
    let mark = web["metadata"]["labels"]["fluxcd.io/sync-gc-mark"].clone();
    assert!(web["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].is_string());
    assert!(fluxd.terminate().success());

    let mut ours = Fluxd::against(plane).git(&repo).args(ARGS).start();
    ours.wait_until_up();
    repo.write("web.yaml", &deployment(&ns, false)).remove("leaves-under-ours.yaml");
    let head = repo.push("one field and one file less");
    ours.notify(&repo, &repo.url());
    synced_to(&repo, &head);
    eventually("what left git is gone", || plane.get(&ns, "configmap", "leaves-under-ours").is_none().then_some(()));
    let after = plane.get(&ns, "deployment", "web").expect("it stays");
    assert_eq!(uid(&after), uid(&web), "the object is the same one");
    assert_eq!(after["metadata"]["labels"]["fluxcd.io/sync-gc-mark"], mark, "marks are the original's");
    assert_eq!(env_names(&after), ["KEEP"], "a field that left git leaves the cluster, although kubectl once wrote it");
    assert!(after["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].is_null());
    assert!(ours.terminate().success());

    let back = original(plane, &repo).start();
    repo.write("stays.yaml", &config_map(&ns, "stays", "two")).remove("leaves-under-original.yaml");
    let head = repo.push("back with the original");
    synced_to(&repo, &head);
    eventually("the original deletes too", || {
        plane.get(&ns, "configmap", "leaves-under-original").is_none().then_some(())
    });
    let stays = plane.get(&ns, "configmap", "stays").expect("it stays");
    assert_eq!(stays["data"]["key"], "two");
    assert_eq!(uid(&plane.get(&ns, "deployment", "web").expect("it stays")), uid(&web));
    drop(back);
}
