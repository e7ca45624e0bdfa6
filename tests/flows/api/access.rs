//! `--api-auth=kubernetes` with a real API server that runs with RBAC.

use super::News;
use crate::rig::{ControlPlane, Fluxd, Reply, Repo, eventually, free_port, fresh_name, request, tool};
use std::process::Command;

/// A service account's token; with a role for paths if any are given.
fn token(plane: &ControlPlane, namespace: &str, account: &str, rules: &str) -> String {
    plane.kubectl(&["-n", namespace, "create", "serviceaccount", account]);
    if !rules.is_empty() {
        let role = fresh_name(account);
        let api = "rbac.authorization.k8s.io";
        plane.apply(
            &format!(
                "apiVersion: {api}/v1\nkind: ClusterRole\nmetadata: {{name: {role}}}\nrules: {rules}\n---\n\
                 apiVersion: {api}/v1\nkind: ClusterRoleBinding\nmetadata: {{name: {role}}}\n\
                 roleRef: {{apiGroup: {api}, kind: ClusterRole, name: {role}}}\n\
                 subjects: [{{kind: ServiceAccount, name: {account}, namespace: {namespace}}}]\n"
            ),
            &[],
        );
    }
    plane.kubectl(&["-n", namespace, "create", "token", account]).trim().to_owned()
}

fn ask(fluxd: &Fluxd, token: &str, method: &str, path: &str) -> Reply {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![("Accept", "application/json")];
    if !token.is_empty() {
        headers.push(("Authorization", &bearer));
    }
    request(fluxd.port(), method, path, &headers, "").expect("fluxd answers")
}

#[test]
fn the_cluster_says_who_may_do_what_and_no_other_spelling_of_a_path_gets_around_it() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("access");
    let rules = "[{nonResourceURLs: ['/flux/*', '/fluxd/v1/events'], verbs: [get]}]";
    let (reader, nobody) = (token(plane, &namespace, "reader", rules), token(plane, &namespace, "nobody", ""));
    let repo = Repo::new();
    repo.write(
        "cm.yaml",
        &format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: {namespace}}}}}\n"),
    );
    repo.push("the shop");
    let metrics = free_port();
    let flags = ["--api-auth=kubernetes", "--log-level=trace", &format!("--listen-metrics=127.0.0.1:{metrics}")];
    let mut fluxd = Fluxd::against(plane).git(&repo).args(&flags).start();
    fluxd.wait_until_up();
    eventually("the config map is live", || plane.get(&namespace, "configmap", "a"));

    let version = "/api/flux/v11/version";
    // What the cluster has just been told may not have come to its authorizer yet.
    eventually("the reader is let in", || (ask(&fluxd, &reader, "GET", version).status == 200).then_some(()));
    for (token, method, path, status) in [
        ("", "GET", version, 401),
        ("mistyped", "GET", version, 401),
        (&nobody, "GET", version, 403),
        (&reader, "POST", "/api/fluxd/v1/pause", 403),
        (&reader, "POST", "/api/flux/v9/update-manifests", 403),
        (&reader, "GET", "/api/fluxd/v1/status", 403),
        ("", "HEAD", "/api/flux/v6/export", 401),
        ("", "GET", "/api/flux/v6/images", 401),
        ("", "POST", "/api/flux/v6/identity.pub", 401),
        ("", "GET", "/api/fluxd/v1/events", 401),
        ("", "GET", "/api/fluxd/v1/jobs/x/events", 401),
        ("", "GET", "/api/fluxd/v1/openapi.json", 401),
        ("", "GET", "/api/flux/v11/version/", 404),
        ("", "GET", "/api/flux//v11/version", 307),
        ("", "GET", "/api/flux/v6/identity.pub/../../v11/version", 307),
        ("", "GET", "/api/flux/v11/%76ersion", 404),
        ("", "GET", "/healthz", 200),
        ("", "GET", "/api/flux/v6/identity.pub", 200),
    ] {
        let reply = ask(&fluxd, token, method, path);
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
    }
    let refused = ask(&fluxd, &nobody, "GET", version).json();
    assert_eq!(refused["error"], format!("system:serviceaccount:{namespace}:nobody may not get /flux/v11/version"));
    let mut news = News::open(&fluxd, "/api/fluxd/v1/events", &format!("Authorization: Bearer {reader}\r\n"));
    news.until("text/event-stream");
    assert_eq!(request(metrics, "GET", "/metrics", &[], "").expect("metrics are served").status, 200);

    let mut fluxctl = Command::new(tool("flux-v1", "fluxctl"));
    fluxctl.env_clear().env("HOME", fluxd.home()).arg(format!("--url=http://127.0.0.1:{}/api/flux", fluxd.port()));
    let listed = fluxctl.args(["--token", &reader, "list-workloads", "-n", &namespace]).output().expect("fluxctl runs");
    assert!(listed.status.success(), "{listed:?}");
    let log = fluxd.log().join("\n");
    for token in [&reader, &nobody] {
        let signature = token.rsplit('.').next().expect("a token has a signature");
        assert!(!log.contains(signature), "a token is in the log");
    }
}
