//! The API server refuses, or what it takes does not come to life: webhooks, namespaces on their way out, fields that
//! cannot change, Pods that crash.

use super::{config_map, daemon, told, uid, until_error, until_gone, until_synced, until_value, value};
use crate::rig::{ControlPlane, Repo, Verdict, Webhook, configuration, eventually, free_port, fresh_name};

#[test]
fn an_object_that_a_webhook_denies_fails_alone_and_follows_once_it_is_allowed() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("denied");
    let webhook = Webhook::start(plane, &ns);
    webhook.set(|_, name| if name == "refused" { Verdict::Deny } else { Verdict::Allow });
    let repo = Repo::new();
    let both = format!("{}---\n{}", config_map(&ns, "fine", "one"), config_map(&ns, "refused", "one"));
    let head = repo.write("both.yaml", &both).push("both");
    let mut fluxd = daemon(plane, &repo).start();
    fluxd.wait_until_up();
    until_synced(&repo, &head);
    until_value(plane, &ns, "fine", "one");
    assert_eq!(value(plane, &ns, "refused"), None);
    let error = until_error(&fluxd, ":configmap/refused");
    assert!(error.contains("both.yaml:6") && error.contains("the webhook of the test says no"), "{error}");
    fluxd.wait_for_log(&["both.yaml:6", "the webhook of the test says no"]);
    assert_eq!(told(&fluxd, ":configmap/fine").expect("it was applied")["error"], serde_json::Value::Null);

    webhook.set(|_, _| Verdict::Allow);
    until_value(plane, &ns, "refused", "one");
}

#[test]
fn a_delete_that_a_webhook_denies_fails_alone_and_follows_once_it_is_allowed() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("undeletable");
    let webhook = Webhook::start(plane, &ns);
    let repo = Repo::new();
    for name in ["stays", "goes", "guarded"] {
        repo.write(&format!("{name}.yaml"), &config_map(&ns, name, "one"));
    }
    let first = repo.push("the first");
    let mut fluxd = daemon(plane, &repo).start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);

    webhook.set(|operation, name| match (operation, name) {
        ("DELETE", "guarded") => Verdict::Deny,
        _ => Verdict::Allow,
    });
    let head = repo.remove("goes.yaml").remove("guarded.yaml").push("two less");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &head);
    until_gone(plane, &ns, "configmap", "goes");
    let error = until_error(&fluxd, ":configmap/guarded");
    assert!(error.contains("the webhook of the test says no"), "{error}");
    assert!(value(plane, &ns, "guarded").is_some());

    webhook.set(|_, _| Verdict::Allow);
    until_gone(plane, &ns, "configmap", "guarded");
    assert_eq!(value(plane, &ns, "stays").as_deref(), Some("one"));
}

#[test]
fn a_webhook_that_nobody_serves_fails_only_what_it_watches_over() {
    let plane = ControlPlane::shared();
    let (ns, watched) = (plane.namespace("fine"), plane.namespace("watched"));
    let name = fresh_name("dead-webhook");
    plane.apply(&configuration(&name, &watched, free_port(), b"").to_string(), &[]);
    let probe = ["-n", watched.as_str(), "create", "configmap", "probe", "--dry-run=server"];
    eventually("the webhook is asked for", || plane.try_kubectl(&probe).is_err().then_some(()));
    let repo = Repo::new();
    repo.write("fine.yaml", &config_map(&ns, "fine", "one"));
    let head = repo.write("stuck.yaml", &config_map(&watched, "stuck", "one")).push("both");
    let mut fluxd = daemon(plane, &repo).start();
    fluxd.wait_until_up();
    until_synced(&repo, &head);
    until_value(plane, &ns, "fine", "one");
    let error = until_error(&fluxd, ":configmap/stuck");
    assert!(error.contains("stuck.yaml:1") && error.contains("failed calling webhook"), "{error}");

    plane.kubectl(&["delete", "validatingwebhookconfiguration", &name]);
    until_value(plane, &watched, "stuck", "one");
}

#[test]
fn what_belongs_into_a_namespace_that_is_going_follows_when_it_is_made_anew() {
    let plane = ControlPlane::shared();
    let (ns, going) = (plane.namespace("stays"), plane.namespace("going"));
    let repo = Repo::new();
    repo.write("ns.yaml", &format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {going}}}\n"));
    repo.write("a.yaml", &config_map(&going, "a", "one")).write("b.yaml", &config_map(&ns, "b", "one"));
    let first = repo.push("the first");
    let mut fluxd = daemon(plane, &repo).start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);
    let life = uid(plane, "default", "namespace", &going);

    let finalizers = r#"{"metadata":{"finalizers":["fluxd.test/wait"]}}"#;
    plane.kubectl(&["-n", &going, "patch", "configmap", "a", "--type=merge", "-p", finalizers]);
    plane.kubectl(&["delete", "namespace", &going, "--wait=false"]);
    repo.write("b.yaml", &config_map(&ns, "b", "two")).write("c.yaml", &config_map(&going, "c", "two"));
    repo.push("the second");
    fluxd.notify(&repo, &repo.url());
    until_value(plane, &ns, "b", "two");
    let error = until_error(&fluxd, ":configmap/c");
    assert!(error.contains("c.yaml:1") && error.contains("being terminated"), "{error}");

    plane.kubectl(&[
        "-n",
        &going,
        "patch",
        "configmap",
        "a",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":[]}}"#,
    ]);
    until_value(plane, &going, "c", "two");
    until_value(plane, &going, "a", "one");
    assert_ne!(uid(plane, "default", "namespace", &going), life);
}

fn deployment(namespace: &str, app: &str, annotations: &str, fate: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: {namespace}, annotations: \
         {{{annotations}}}}}\nspec:\n  replicas: 2\n  selector: {{matchLabels: {{app: {app}}}}}\n  template:\n    \
         metadata: {{labels: {{app: {app}}}, annotations: {{{fate}}}}}\n    spec: {{containers: [{{name: web, image: \
         'example.org/web:1'}}]}}\n"
    )
}

#[test]
fn a_field_that_cannot_change_is_told_and_the_object_is_made_anew_only_where_it_asks_for_that() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("fixed");
    let repo = Repo::new();
    repo.write("web.yaml", &deployment(&ns, "a", "", "")).write("b.yaml", &config_map(&ns, "b", "one"));
    let first = repo.push("the first");
    let mut fluxd = daemon(plane, &repo).start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);
    let life = uid(plane, &ns, "deployment", "web");

    repo.write("web.yaml", &deployment(&ns, "b", "", "")).write("b.yaml", &config_map(&ns, "b", "two"));
    let second = repo.push("another selector");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &second);
    assert_eq!(value(plane, &ns, "b").as_deref(), Some("two"));
    let error = until_error(&fluxd, ":deployment/web");
    for part in ["web.yaml:1", "spec.selector", "fluxd.io/recreate: \"true\""] {
        assert!(error.contains(part), "{part} is not in {error}");
    }
    assert_eq!(uid(plane, &ns, "deployment", "web"), life);

    repo.write("web.yaml", &deployment(&ns, "b", "fluxd.io/recreate: 'true'", ""));
    let third = repo.push("make it anew");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &third);
    assert_ne!(uid(plane, &ns, "deployment", "web"), life);
    assert_eq!(plane.get(&ns, "deployment", "web").expect("it is live")["spec"]["selector"]["matchLabels"]["app"], "b");
}

#[test]
fn a_sync_is_complete_although_pods_crash_and_never_become_ready() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("crash");
    let repo = Repo::new();
    repo.write("web.yaml", &deployment(&ns, "a", "", "fluxd.test/fate: crash-loop"));
    repo.write("goes.yaml", &config_map(&ns, "goes", "one"));
    let first = repo.push("the first");
    let mut fluxd = daemon(plane, &repo).start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);
    let reason = [
        "-n",
        ns.as_str(),
        "get",
        "pods",
        "-o",
        "jsonpath={.items[*].status.containerStatuses[*].state.waiting.reason}",
    ];
    eventually("the Pods crash", || plane.kubectl(&reason).contains("CrashLoopBackOff").then_some(()));

    let head = repo.remove("goes.yaml").write("comes.yaml", &config_map(&ns, "comes", "two")).push("the second");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &head);
    until_value(plane, &ns, "comes", "two");
    until_gone(plane, &ns, "configmap", "goes");
    let last = fluxd.get("/api/fluxd/v1/status").expect("it answers").json()["lastSync"].clone();
    assert_eq!(last["success"], true, "{last}");
}
