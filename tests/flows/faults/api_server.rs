//! The API server is away, or half of it is.

use super::{config_map, daemon, marker, until_error, until_gone, until_synced, until_value, value};
use crate::rig::{ControlPlane, Repo, Verdict, Webhook, eventually};
use std::time::Duration;

#[test]
fn an_api_server_that_stops_in_the_middle_of_a_sync_or_dies_is_used_again_when_it_answers() {
    let plane = ControlPlane::start();
    let ns = plane.namespace("away");
    let webhook = Webhook::start(&plane, &ns);
    let repo = Repo::new();
    let write = |text: &str| {
        for n in 0..20 {
            repo.write(&format!("c{n}.yaml"), &config_map(&ns, &format!("c{n}"), text));
        }
    };
    write("one");
    repo.write("goes.yaml", &config_map(&ns, "goes", "one"));
    let first = repo.push("the first");
    let mut fluxd = daemon(&plane, &repo).start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);

    webhook.set(|_, name| if name == "c7" { Verdict::Hold } else { Verdict::Allow });
    write("two");
    let head = repo.remove("goes.yaml").push("the second");
    fluxd.notify(&repo, &repo.url());
    webhook.wait_until_held(1);
    plane.pause_api_server();
    // The fault itself: so long nobody answers.
    std::thread::sleep(Duration::from_secs(10));
    assert_eq!(fluxd.get("/healthz").expect("it answers").status, 200, "waiting is no reason to be restarted");
    assert_eq!(fluxd.get("/api/fluxd/v1/progress").expect("it answers").json()["stage"], "apply");
    assert_eq!(marker(&repo), Some(first));
    plane.resume_api_server();
    webhook.set(|_, _| Verdict::Allow);
    until_synced(&repo, &head);
    (0..20).for_each(|n| until_value(&plane, &ns, &format!("c{n}"), "two"));
    until_gone(&plane, &ns, "configmap", "goes");

    plane.restart_api_server();
    plane.kubectl(&["-n", &ns, "patch", "configmap", "c1", "--type=merge", "-p", r#"{"data":{"key":"theirs"}}"#]);
    plane.kubectl(&["-n", &ns, "delete", "configmap", "c2"]);
    until_value(&plane, &ns, "c1", "two");
    until_value(&plane, &ns, "c2", "two");
    assert_eq!(value(&plane, &ns, "c3").as_deref(), Some("two"));
}

#[test]
fn a_sync_that_does_not_end_in_its_time_is_given_up_and_done_again_without_help() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("late");
    let webhook = Webhook::start(plane, &ns);
    let repo = Repo::new();
    for name in ["slow", "quick", "goes"] {
        repo.write(&format!("{name}.yaml"), &config_map(&ns, name, "one"));
    }
    let first = repo.push("the first");
    let mut fluxd = daemon(plane, &repo).arg("--sync-timeout=8s").start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);

    webhook.set(|_, name| if name == "slow" { Verdict::Hold } else { Verdict::Allow });
    repo.write("slow.yaml", &config_map(&ns, "slow", "two")).write("quick.yaml", &config_map(&ns, "quick", "two"));
    let head = repo.remove("goes.yaml").push("the second");
    fluxd.notify(&repo, &repo.url());
    let error = until_error(&fluxd, ":configmap/slow");
    assert!(error.contains("slow.yaml:1") && error.contains("no answer from the API server"), "{error}");
    assert_eq!(value(plane, &ns, "quick").as_deref(), Some("two"), "the others are not held up");
    assert_eq!(value(plane, &ns, "goes").as_deref(), Some("one"), "no time was left for deletes");
    assert_eq!(marker(&repo), Some(first), "the marker never names a sync that ended early");
    let status = fluxd.get("/api/fluxd/v1/status").expect("it answers").json();
    assert!(status.to_string().contains("--sync-timeout"), "{status}");

    webhook.set(|_, _| Verdict::Allow);
    until_synced(&repo, &head);
    until_value(plane, &ns, "slow", "two");
    until_gone(plane, &ns, "configmap", "goes");
}

fn toys() -> String {
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: toys.faults.example.org}\n\
     spec:\n  group: faults.example.org\n  scope: Namespaced\n  names: {kind: Toy, plural: toys}\n  versions:\n  \
     - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object, \
     x-kubernetes-preserve-unknown-fields: true}}\n"
        .to_owned()
}

fn toy(namespace: &str, name: &str, size: u32) -> String {
    format!(
        "apiVersion: faults.example.org/v1\nkind: Toy\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
         spec: {{size: {size}}}\n"
    )
}

fn size(plane: &ControlPlane, namespace: &str, name: &str) -> Option<u64> {
    plane.get(namespace, "toys.faults.example.org", name)?["spec"]["size"].as_u64()
}

/// Whether the API server says for certain that there is no such toy.
fn is_gone(plane: &ControlPlane, namespace: &str, name: &str) -> bool {
    let args = ["-n", namespace, "get", "toys.faults.example.org", name, "-o", "name", "--ignore-not-found"];
    plane.try_kubectl(&args).is_ok_and(|text| text.trim().is_empty())
}

#[test]
fn while_an_api_group_is_broken_only_its_own_kinds_wait() {
    let plane = ControlPlane::start();
    let ns = plane.namespace("broken");
    plane.apply(&toys(), &[]);
    plane.kubectl(&["wait", "--for=condition=Established", "crd/toys.faults.example.org", "--timeout=60s"]);
    let repo = Repo::new();
    repo.write("ball.yaml", &toy(&ns, "ball", 1)).write("doll.yaml", &toy(&ns, "doll", 1));
    repo.write("keep.yaml", &config_map(&ns, "keep", "one")).write("goes.yaml", &config_map(&ns, "goes", "one"));
    let first = repo.push("the first");
    let fluxd = daemon(&plane, &repo).start();
    until_synced(&repo, &first);
    let again = fluxd.kill();

    break_group(&plane);
    repo.write("ball.yaml", &toy(&ns, "ball", 2)).write("keep.yaml", &config_map(&ns, "keep", "two"));
    repo.remove("doll.yaml").remove("goes.yaml").push("the second");
    let fluxd = again.arg("--sync-interval=5s").start();
    until_value(&plane, &ns, "keep", "two");
    let error = until_error(&fluxd, ":toy/ball");
    assert!(error.contains("ball.yaml:1"), "{error}");
    until_gone(&plane, &ns, "configmap", "goes");

    mend_group(&plane);
    eventually("the ball grew", || (size(&plane, &ns, "ball")? == 2).then_some(()));
    eventually("the doll goes", || is_gone(&plane, &ns, "doll").then_some(()));

    // The same under a daemon that knows the group.
    break_group(&plane);
    repo.write("keep.yaml", &config_map(&ns, "keep", "three")).write("late.yaml", &config_map(&ns, "late", "three"));
    let third = repo.remove("ball.yaml").push("the third");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &third);
    until_value(&plane, &ns, "keep", "three");
    let error = until_error(&fluxd, ":toy/ball");
    mend_group(&plane);
    eventually("the ball goes", || is_gone(&plane, &ns, "ball").then_some(()));
    assert!(error.contains("toy/ball"), "{error}");
    assert_eq!(value(&plane, &ns, "late").as_deref(), Some("three"));
}

/// Lets an aggregated API server that does not exist answer for the group of the toys.
fn break_group(plane: &ControlPlane) {
    let nowhere = r#"{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":null}},"spec":{"service":
        {"namespace":"default","name":"nobody","port":443},"insecureSkipTLSVerify":true}}"#;
    plane.kubectl(&["patch", "apiservice", "v1.faults.example.org", "--type=merge", "-p", nowhere]);
    eventually("the group does not answer", || {
        plane.try_kubectl(&["get", "--raw", "/apis/faults.example.org/v1"]).is_err().then_some(())
    });
}

/// The API server makes the registration of a definition's group anew when it is gone.
fn mend_group(plane: &ControlPlane) {
    plane.kubectl(&["delete", "apiservice", "v1.faults.example.org"]);
    eventually("the group answers", || plane.try_kubectl(&["get", "--raw", "/apis/faults.example.org/v1"]).ok());
}

#[test]
fn objects_whose_definition_vanished_are_told_and_come_back_with_it() {
    let plane = ControlPlane::start();
    let ns = plane.namespace("vanished");
    plane.apply(&toys(), &[]);
    plane.kubectl(&["wait", "--for=condition=Established", "crd/toys.faults.example.org", "--timeout=60s"]);
    let repo = Repo::new();
    repo.write("ball.yaml", &toy(&ns, "ball", 1));
    repo.write("keep.yaml", &config_map(&ns, "keep", "one")).write("goes.yaml", &config_map(&ns, "goes", "one"));
    let first = repo.push("the first");
    let mut fluxd = daemon(&plane, &repo).start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);
    eventually("the ball is live", || size(&plane, &ns, "ball"));

    plane.kubectl(&["delete", "crd", "toys.faults.example.org"]);
    repo.write("keep.yaml", &config_map(&ns, "keep", "two"));
    let head = repo.remove("goes.yaml").push("the second");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &head);
    until_value(&plane, &ns, "keep", "two");
    until_gone(&plane, &ns, "configmap", "goes");
    fluxd.wait_for_log(&["toy/ball", "excluded until its scope is available"]);

    plane.apply(&toys(), &[]);
    eventually("the ball is back", || size(&plane, &ns, "ball"));
}
