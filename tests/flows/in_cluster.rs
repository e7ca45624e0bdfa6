//! The daemon as it runs in a pod: its deploy key lives in its secret, its marker may too, and of two replicas one works.

use crate::rig::{ControlPlane, Fluxd, FluxdBuilder, GitSsh, Repo, eventually};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

fn config_map(namespace: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: {namespace}}}\ndata: {{key: {value}}}\n")
}

fn value(plane: &ControlPlane, namespace: &str) -> Option<String> {
    plane.get(namespace, "configmap", "a")?["data"]["key"].as_str().map(str::to_owned)
}

fn secret(plane: &ControlPlane, namespace: &str) -> serde_json::Value {
    plane.get(namespace, "secret", "flux-git-deploy").expect("the secret exists")
}

fn quick(builder: FluxdBuilder) -> FluxdBuilder {
    builder.args(&["--git-poll-interval=1s", "--sync-garbage-collection"])
}

#[test]
fn without_a_deploy_key_one_is_made_stored_shown_and_used() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("key");
    let repo = Repo::new();
    repo.write("a.yaml", &config_map(&namespace, "one")).push("one object");
    let server = GitSsh::start(&repo);
    let builder = quick(Fluxd::against(plane).in_cluster(plane, &namespace));
    std::fs::create_dir_all(builder.home().join(".ssh")).expect("it is writable");
    std::fs::write(builder.home().join(".ssh/known_hosts"), server.known_hosts()).expect("it is writable");
    let url = format!("--git-url={}", server.url());
    let mut fluxd = builder.args(&[&url, "--git-branch=master", "--ssh-keygen-type=ed25519"]).start();
    fluxd.wait_until_up();

    let line = fluxd.wait_for_log(&["component=cluster", "identity.pub="]);
    let logged =
        line.split("identity.pub=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("quoted").to_owned();
    let stored = eventually("the key is in the secret", || {
        let data = secret(plane, &namespace)["data"]["identity.pub"].as_str().map(str::to_owned)?;
        String::from_utf8(STANDARD.decode(data).ok()?).ok()
    });
    assert_eq!(stored.trim(), logged.trim());
    let shown = fluxd.get("/api/flux/v6/identity.pub").expect("it answers").json();
    assert_eq!(shown["key"].as_str().map(str::trim), Some(logged.trim()));
    assert!(shown["fingerprints"]["md5"]["hash"].as_str().is_some_and(|hash| hash.contains(':')), "{shown}");

    // The forge learns the key, as a person would tell it; nothing else is done.
    server.authorize(&stored);
    eventually("the object is live", || value(plane, &namespace));
    assert!(
        repo.remote_ref("refs/tags/flux-sync").is_some() || {
            eventually("the marker is pushed with the same key", || repo.remote_ref("refs/tags/flux-sync"));
            true
        }
    );
}

#[test]
fn the_marker_can_be_kept_in_the_secret_and_survives_a_restart() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("state");
    let repo = Repo::new();
    let head = repo.write("a.yaml", &config_map(&namespace, "one")).push("one object");
    let builder = quick(Fluxd::against(plane).in_cluster(plane, &namespace)).git(&repo);
    let fluxd = builder.args(&["--sync-state=secret", "--git-readonly"]).start();
    let marker = || secret(plane, &namespace)["metadata"]["annotations"]["flux.weave.works/sync-hwm"].clone();
    eventually("the secret names the commit", || (marker() == head.as_str()).then_some(()));
    assert_eq!(repo.remote_ref("refs/tags/flux-sync"), None, "a read-only repository is not written to");
    let again = fluxd.kill();
    let head = repo.write("a.yaml", &config_map(&namespace, "two")).push("two");
    let _fluxd = again.start();
    eventually("the new commit is synced", || (value(plane, &namespace)? == "two").then_some(()));
    eventually("the marker follows", || (marker() == head.as_str()).then_some(()));
}

/// The daemon's own installation as users keep it in git; `NS` is its namespace.
const INSTALLATION: &str = r#"
{apiVersion: v1, kind: Namespace, metadata: {name: NS}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: flux, namespace: NS}}
---
{apiVersion: v1, kind: Secret, metadata: {name: flux-git-deploy, namespace: NS}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: flux-env, namespace: NS}, data: {key: value}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: flux, namespace: NS}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: flux, namespace: NS}
spec:
  selector: {matchLabels: {name: flux}}
  template:
    metadata: {labels: {name: flux}}
    spec:
      serviceAccountName: flux
      containers: [{name: flux, image: "example.org/fluxd:1", envFrom: [{configMapRef: {name: flux-env}}]}]
"#;

#[test]
fn what_the_daemon_runs_on_stays_when_it_leaves_git_and_its_neighbour_goes() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("own");
    let builder = quick(Fluxd::against(plane).in_cluster(plane, &namespace));
    let installation = INSTALLATION.replace("NS", &namespace);
    plane.apply(&installation, &[]);
    let pod = eventually("the pod", || {
        let name = ["-n", &namespace, "get", "pod", "-l", "name=flux", "-o", "jsonpath={.items[0].metadata.name}"];
        plane.try_kubectl(&name).ok().filter(|name| !name.is_empty())
    });
    let repo = Repo::new();
    let neighbour = config_map(&namespace, "one").replace("name: a", "name: neighbour");
    repo.write("a.yaml", &config_map(&namespace, "one")).write("flux.yaml", &installation);
    let head = repo.write("neighbour.yaml", &neighbour).push("the daemon and its neighbour");
    let fluxd = builder.git(&repo).env("HOSTNAME", &pod).start();
    let synced = |head: &str| (repo.remote_ref("refs/tags/flux-sync")? == head).then_some(());
    eventually("all is synced", || synced(&head));

    let own = [
        ("namespace", namespace.as_str()),
        ("serviceaccount", "flux"),
        ("secret", "flux-git-deploy"),
        ("configmap", "flux-env"),
        ("clusterrolebinding", namespace.as_str()),
        ("deployment", "flux"),
    ];
    let head = repo.remove("flux.yaml").remove("neighbour.yaml").push("neither");
    eventually("the next commit is synced", || synced(&head));
    eventually("the neighbour is gone", || plane.get(&namespace, "configmap", "neighbour").is_none().then_some(()));
    let outcome = fluxd.get("/api/fluxd/v1/outcome?all=true").expect("it answers").json().to_string();
    for (kind, name) in own {
        let live = plane.get(&namespace, kind, name).unwrap_or_else(|| panic!("{kind} {name} was deleted"));
        assert!(live["metadata"]["deletionTimestamp"].is_null(), "{kind} {name} is going");
        assert!(live["metadata"]["labels"].to_string().contains("sync-gc-mark"), "{kind} {name} carries our mark");
        assert!(outcome.contains(&format!("{kind}/{name}")), "it is told of {kind} {name}: {outcome}");
    }
    assert_eq!(outcome.matches("this process runs on it").count(), own.len(), "{outcome}");
}

#[test]
fn of_two_replicas_one_works_and_the_other_takes_over() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("leader");
    let repo = Repo::new();
    repo.write("a.yaml", &config_map(&namespace, "one")).push("one object");
    let lease = format!("--leader-elect-namespace={namespace}");
    let replica = || quick(Fluxd::against(plane)).git(&repo).args(&["--leader-elect", &lease]).start();
    let first = replica();
    eventually("the first one works", || value(plane, &namespace));
    let mut second = replica();
    second.wait_until_up();
    eventually("the second one is ready", || second.get("/readyz").filter(|r| r.status == 200));
    let syncs = |fluxd: &Fluxd| fluxd.metrics().sum("flux_daemon_sync_duration_seconds_count", &[]);
    assert_eq!(syncs(&second), 0.0, "a follower syncs nothing");

    assert!(first.terminate().success());
    repo.write("a.yaml", &config_map(&namespace, "two")).push("two");
    eventually("the second one took over", || (value(plane, &namespace)? == "two").then_some(()));
    // A sync is counted only after its objects are live.
    eventually("its sync is counted", || (syncs(&second) >= 1.0).then_some(()));
}

#[test]
fn a_follower_hands_requests_to_the_leader() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("follower");
    let repo = Repo::new();
    repo.write("a.yaml", &config_map(&namespace, "one")).push("one object");
    let lease = format!("--leader-elect-namespace={namespace}");
    let rarely = ["--git-poll-interval=1h", "--sync-interval=1h"];
    let replica = || Fluxd::against(plane).git(&repo).args(&["--leader-elect", &lease]).args(&rarely).start();
    let leader = replica();
    eventually("the first one works", || value(plane, &namespace));
    let follower = replica();
    let services = "/api/flux/v11/services";
    let answer = |fluxd: &Fluxd| fluxd.get(services).filter(|reply| reply.status == 200).map(|reply| reply.body);
    eventually("both give the same answer", || (answer(&follower)? == answer(&leader)?).then_some(()));

    let head = repo.write("a.yaml", &config_map(&namespace, "two")).push("two");
    follower.notify(&repo, &repo.url());
    eventually("the leader acts on what the follower was told", || (value(plane, &namespace)? == "two").then_some(()));
    let synced = |fluxd: &Fluxd| fluxd.get("/api/fluxd/v1/outcome").map(|reply| reply.json()["revision"].clone());
    eventually("the leader's outcome is told by the follower", || (synced(&follower)? == head.as_str()).then_some(()));
    assert_eq!(follower.metrics().sum("flux_daemon_sync_duration_seconds_count", &[]), 0.0, "a follower syncs nothing");
}
