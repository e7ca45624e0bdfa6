//! The life of a ResourceSet (resourceset §11, R1, R10-R14).

use fluxd::controllers::resourceset::Settings;
use serde_json::{Value, json};

use super::{config_map, ids, start, start_with};
use crate::rig::eventually;

fn account(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": { "name": name, "namespace": "<< inputs.provider.namespace >>" } })
}

fn tenants(resources: Value) -> Value {
    json!({
        "commonMetadata": { "annotations": { "owner": "platform" } },
        "inputs": [{ "tenant": "team1" }, { "tenant": "team2" }],
        "resources": resources,
    })
}

/// R1
#[tokio::test(flavor = "multi_thread")]
async fn objects_come_change_and_go_with_their_set() {
    let running = start("life").await;
    let namespace = running.namespace.clone();
    let every = json!({ "fluxcd.controlplane.io/reconcileEvery": "1m" });
    let both = json!([account("<< inputs.tenant >>-readonly"), account("<< inputs.tenant >>-readwrite")]);
    running.annotated("test", every.clone(), tenants(both));
    let first = running.until_ready("test");
    let wanted = |suffixes: &[&str]| -> Vec<String> {
        let names = suffixes.iter().flat_map(|s| [format!("team1-{s}"), format!("team2-{s}")]);
        let mut ids: Vec<String> = names.map(|n| format!("{namespace}_{n}__ServiceAccount")).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&first), wanted(&["readonly", "readwrite"]));
    let made = running.get("serviceaccount", "team1-readonly").unwrap();
    assert_eq!(made["metadata"]["annotations"]["owner"], "platform");
    let labels = &made["metadata"]["labels"];
    assert_eq!(labels["resourceset.fluxcd.controlplane.io/name"], "test");
    assert_eq!(labels["resourceset.fluxcd.controlplane.io/namespace"], namespace.as_str());
    let history = &first["history"][0];
    assert_eq!(history["metadata"], json!({ "inputs": "2", "resources": "4" }));
    assert_eq!(history["digest"], first["lastAppliedRevision"]);
    assert_eq!(history["lastReconciledStatus"], "ReconciliationSucceeded");
    let object = running.get("resourceset", "test").unwrap();
    assert_eq!(object["metadata"]["finalizers"], json!(["fluxcd.controlplane.io/finalizer"]));
    running.until_event("test", "ReconciliationSucceeded", "Reconciliation finished in ");
    let events = running.events("test");
    let reasons: Vec<&str> = events.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["ApplySucceeded", "ReconciliationSucceeded"], "{events:?}");
    let lines: Vec<&str> = events[0].1.lines().collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0], format!("ServiceAccount/{namespace}/team1-readonly created"));

    running.annotated("test", every, tenants(json!([account("<< inputs.tenant >>-readonly")])));
    running.until_gone("serviceaccount", "team1-readwrite");
    running.until_gone("serviceaccount", "team2-readwrite");
    let second = running.until_ready("test");
    assert_eq!(ids(&second), wanted(&["readonly"]));
    assert_ne!(second["lastAppliedRevision"], first["lastAppliedRevision"]);
    assert_eq!(second["history"].as_array().unwrap().len(), 2);
    running.until_event("test", "ApplySucceeded", "team2-readwrite deleted");

    running.delete("resourceset", "test");
    running.until_gone("resourceset", "test");
    assert!(running.get("serviceaccount", "team1-readonly").is_none());
    let gone = running.until_event("test", "GarbageCollectionSucceeded", "team1-readonly deleted");
    assert!(gone.lines().last().unwrap().starts_with("Uninstallation completed in "), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_without_changes_writes_no_object_and_drift_is_put_right_by_the_next() {
    let running = start("quiet").await;
    running.set("test", json!({ "inputs": [{ "a": "1" }], "resources": [config_map("kept", json!({ "a": "<< inputs.a | quote >>" }))] }));
    running.until_ready("test");
    let version =
        |running: &super::Running| running.get("configmap", "kept").unwrap()["metadata"]["resourceVersion"].clone();
    let before = version(&running);
    running.reconcile("test");
    assert_eq!(version(&running), before);
    running.plane.kubectl(&[
        "patch",
        "configmap",
        "kept",
        "-n",
        &running.namespace,
        "--type=merge",
        "-p",
        r#"{"data":{"a":"2"}}"#,
    ]);
    let status = running.reconcile("test");
    assert_eq!(running.get("configmap", "kept").unwrap()["data"]["a"], "1");
    assert_eq!(status["history"].as_array().unwrap().len(), 1);
    assert_eq!(status["history"][0]["totalReconciliations"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_created_suspended_waits_for_its_resumption_and_keeps_its_objects_when_it_goes_suspended() {
    let running = start("pause").await;
    let spec = json!({ "inputs": [{ "a": "1" }], "resources": [config_map("made", json!({}))] });
    running.annotated("test", json!({ "fluxcd.controlplane.io/reconcile": "Disabled" }), spec.clone());
    assert_eq!(running.until("test", "ReconciliationDisabled"), "Initialized with reconciliation suspended");
    assert_eq!(running.condition("test", "Ready").unwrap()["status"], "True");
    running.until_event("test", "ReconciliationDisabled", "Reconciliation is disabled");
    assert!(running.get("configmap", "made").is_none());
    running.annotated("test", json!({ "fluxcd.controlplane.io/reconcile": "enabled" }), spec.clone());
    running.until_ready("test");
    running.annotated("test", json!({ "fluxcd.controlplane.io/reconcile": "disabled" }), spec);
    running.delete("resourceset", "test");
    running.until_gone("resourceset", "test");
    assert!(running.get("configmap", "made").is_some());
}

/// R11
#[tokio::test(flavor = "multi_thread")]
async fn a_set_has_the_rights_of_its_service_account_and_no_others() {
    let settings = Settings { default_service_account: Some("tenant".to_owned()), ..Settings::default() };
    let running = start_with("rights", settings).await;
    let spec = json!({ "inputs": [{ "a": "1" }], "resources": [config_map("made", json!({}))] });
    running.set("test", spec.clone());
    let mut unnamed = spec;
    unnamed["serviceAccountName"] = json!("");
    running.set("unnamed", unnamed);
    let message = running.until("unnamed", "ReconciliationFailed");
    assert!(message.contains("dry-run failed (Forbidden)"), "an empty name stands for the default account: {message}");
    let message = running.until("test", "ReconciliationFailed");
    assert!(message.starts_with("reconciliation failed: ConfigMap/"), "{message}");
    assert!(message.contains("dry-run failed (Forbidden)"), "{message}");
    let account = format!("system:serviceaccount:{}:tenant", running.namespace);
    assert!(message.contains(&account), "{message}");
    assert_eq!(running.condition("test", "Reconciling").unwrap()["reason"], "ProgressingWithRetry");
    let binding = format!("--serviceaccount={}:tenant", running.namespace);
    running.plane.kubectl(&["create", "serviceaccount", "tenant", "-n", &running.namespace]);
    running.plane.kubectl(&[
        "create",
        "rolebinding",
        "tenant",
        "-n",
        &running.namespace,
        "--clusterrole=admin",
        &binding,
    ]);
    running.reconcile("test");
    running.until_ready("test");
    assert!(running.get("configmap", "made").is_some());
}

/// R12
#[tokio::test(flavor = "multi_thread")]
async fn the_history_tells_outcomes_apart_and_counts_them() {
    let running = start("history").await;
    let spec = |resource: Value| json!({ "inputs": [{ "a": "1" }], "resources": [resource] });
    let good = spec(config_map("made", json!({})));
    running.set("test", good.clone());
    let first = running.until_ready("test");
    running.set("test", spec(config_map("made", json!({ "a": "<< inputs.missing >>" }))));
    let message = running.until("test", "BuildFailed");
    assert!(
        message.starts_with("build failed: failed to build resources[0]: failed to execute template: "),
        "{message}"
    );
    assert!(message.contains("map has no entry for key \"missing\""), "{message}");
    let stalled = running.condition("test", "Stalled").unwrap();
    assert_eq!((&stalled["status"], &stalled["message"]), (&json!("True"), &json!(message)));
    assert!(running.condition("test", "Reconciling").is_none());
    assert!(running.get("configmap", "made").is_some(), "nothing is deleted by a spec that cannot be built");
    running.until_event("test", "BuildFailed", "missing");

    let unknown = json!({ "apiVersion": "nope.test/v1", "kind": "Nope",
        "metadata": { "name": "a", "namespace": running.namespace } });
    running.set("test", spec(unknown));
    let message = running.until("test", "ReconciliationFailed");
    let ns = &running.namespace;
    let wanted = format!(
        "reconciliation failed: Nope/{ns}/a dry-run failed: no matches for kind \"Nope\" in version \"nope.test/v1\""
    );
    assert_eq!(message, wanted);
    assert!(running.condition("test", "Stalled").is_none());

    running.set("test", good);
    let last = running.until_ready("test");
    let history = last["history"].as_array().unwrap();
    let statuses: Vec<&str> = history.iter().map(|h| h["lastReconciledStatus"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["ReconciliationSucceeded", "ReconciliationFailed", "BuildFailed"]);
    assert_eq!(history[0]["totalReconciliations"], 2);
    assert_eq!(history[0]["digest"], first["lastAppliedRevision"]);
    assert!(history[2].get("metadata").is_none());
}

fn deployment(name: &str) -> Value {
    json!({ "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "namespace": "<< inputs.provider.namespace >>" },
        "spec": { "selector": { "matchLabels": { "app": name } }, "template": {
            "metadata": { "labels": { "app": name } },
            "spec": { "nodeSelector": { "no": "node" },
                "containers": [{ "name": "a", "image": "none.test/<< inputs.image >>" }] } } } })
}

/// R14
#[tokio::test(flavor = "multi_thread")]
async fn a_change_ends_the_wait_for_health_and_nothing_is_forgotten() {
    let running = start("cancel").await;
    let spec = |name: &str| json!({ "inputs": [{ "image": "a" }], "wait": true, "resources": [deployment(name)] });
    running.set("test", spec("first"));
    running.until_there("deployment", "first");
    eventually("the pass waits", || {
        let object = running.get("resourceset", "test")?;
        let waits = running.condition("test", "Ready")?["status"] == "Unknown";
        (waits && ids(&object["status"]).len() == 1).then_some(())
    });
    running.set("test", spec("second"));
    running.until_there("deployment", "second");
    let trigger = format!("ResourceSet/{}/test", running.namespace);
    let wanted = format!("Health checks canceled due to new reconciliation triggered by {trigger}");
    assert_eq!(running.until_event("test", "HealthCheckCanceled", "Health checks"), wanted);
    running.until_gone("deployment", "first");
    let timeout = json!({ "fluxcd.controlplane.io/reconcileTimeout": "1s" });
    running.annotated("test", timeout, spec("second"));
    let message = running.until("test", "ReconciliationFailed");
    let ns = &running.namespace;
    let failed = format!("reconciliation failed: timeout waiting for: [Deployment/{ns}/second status: 'InProgress']");
    assert_eq!(message.lines().next().unwrap(), failed);
    let status = running.get("resourceset", "test").unwrap()["status"].clone();
    assert_eq!(ids(&status), [format!("{ns}_second_apps_Deployment")]);
}
