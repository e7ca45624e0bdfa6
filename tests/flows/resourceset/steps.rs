//! Steps (resourceset §11, S1-S9, S13).

use serde_json::{Value, json};

use super::{config_map, ids, start};
use crate::rig::eventually;

fn step(name: &str, resources: Value) -> Value {
    json!({ "name": name, "resources": resources })
}

fn spec(steps: Value) -> Value {
    json!({ "inputs": [{ "a": "1" }], "steps": steps })
}

/// S1
#[tokio::test(flavor = "multi_thread")]
async fn steps_are_applied_in_order_and_told_of_one_by_one() {
    let running = start("steps").await;
    let ns = running.namespace.clone();
    let steps = |last: &str| {
        spec(json!([
            step("first", json!([config_map("a", json!({}))])),
            step("second", json!([config_map("b", json!({}))])),
            step("third", json!([config_map(last, json!({}))])),
        ]))
    };
    running.set("test", steps("c"));
    let status = running.until_ready("test");
    assert_eq!(ids(&status), ["a", "b", "c"].map(|n| format!("{ns}_{n}__ConfigMap")));
    assert_eq!(status["history"][0]["metadata"], json!({ "inputs": "1", "resources": "3", "steps": "3" }));
    assert!(running.condition("test", "Reconciling").is_none());
    running.until_event("test", "ReconciliationSucceeded", "finished");
    let messages: Vec<String> = running.events("test").into_iter().map(|(_, message)| message).take(3).collect();
    assert_eq!(
        messages,
        [
            format!("step \"first\": ConfigMap/{ns}/a created"),
            format!("step \"second\": ConfigMap/{ns}/b created"),
            format!("ConfigMap/{ns}/c created"),
        ]
    );
    running.set("test", steps("d"));
    running.until_gone("configmap", "c");
    running.until_ready("test");
    let wanted = format!("ConfigMap/{ns}/d created\nConfigMap/{ns}/c deleted");
    assert_eq!(running.until_event("test", "ApplySucceeded", "/d created"), wanted);
    running.delete("resourceset", "test");
    running.until_gone("resourceset", "test");
    assert!(["a", "b", "d"].iter().all(|name| running.get("configmap", name).is_none()));
}

fn job(name: &str, command: &str) -> Value {
    json!({ "apiVersion": "batch/v1", "kind": "Job",
        "metadata": { "name": name, "namespace": "<< inputs.provider.namespace >>" },
        "spec": { "template": { "spec": { "restartPolicy": "Never", "nodeSelector": { "no": "node" },
            "containers": [{ "name": "a", "image": "none.test/a", "command": [command] }] } } } })
}

/// S2, S3
#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_does_not_become_healthy_holds_the_rest_and_deletes_nothing() {
    let running = start("unhealthy").await;
    let ns = running.namespace.clone();
    running.set("test", spec(json!([step("old", json!([config_map("x", json!({})), config_map("y", json!({}))]))])));
    running.until_ready("test");
    let mut migration = step("db-migration", json!([job("migrate", "a")]));
    migration["timeout"] = json!("1s");
    running.set("test", spec(json!([migration, step("app", json!([config_map("app", json!({}))]))])));
    let message = running.until("test", "ReconciliationFailed");
    assert!(
        message.starts_with("reconciliation failed: step \"db-migration\" health check failed: timeout waiting for: ["),
        "{message}"
    );
    assert_eq!(running.condition("test", "Reconciling").unwrap()["message"], "Applying step 1/2 \"db-migration\"");
    assert!(running.get("configmap", "app").is_none());
    assert!(running.get("configmap", "x").is_some() && running.get("configmap", "y").is_some());
    let status = running.get("resourceset", "test").unwrap()["status"].clone();
    assert_eq!(
        ids(&status),
        [format!("{ns}_migrate_batch_Job"), format!("{ns}_x__ConfigMap"), format!("{ns}_y__ConfigMap")]
    );
    running.set("test", spec(json!([step("app", json!([config_map("app", json!({}))]))])));
    running.until_gone("configmap", "x");
    eventually("the old ones are gone", || {
        (ids(&running.until_ready("test")) == [format!("{ns}_app__ConfigMap")]).then_some(())
    });
}

fn fail(running: &super::Running, name: &str) -> Value {
    let made = running.until_there("job", name);
    let now = "2024-01-01T00:00:00Z";
    let condition = |kind: &str| {
        json!({ "type": kind, "status": "True", "reason": "BackoffLimitExceeded",
        "lastTransitionTime": now, "lastProbeTime": now, "message": "" })
    };
    let status = json!({ "status": { "active": 0, "failed": 1, "conditions": [condition("FailureTarget"), condition("Failed")] } });
    running.plane.kubectl(&[
        "patch",
        "job",
        name,
        "-n",
        &running.namespace,
        "--subresource=status",
        "--type=merge",
        "-p",
        &status.to_string(),
    ]);
    made["metadata"]["uid"].clone()
}

/// S4, S5, S6
#[tokio::test(flavor = "multi_thread")]
async fn failed_jobs_are_made_anew_where_they_ask_for_it() {
    let running = start("jobs").await;
    let mut recreated = job("again", "a");
    recreated["metadata"]["annotations"] = json!({ "fluxcd.controlplane.io/recreateOnFailure": "enabled" });
    running.set("test", json!({ "inputs": [{ "a": "1" }], "resources": [recreated, job("once", "a")] }));
    running.until_ready("test");
    let (again, once) = (fail(&running, "again"), fail(&running, "once"));
    running.reconcile("test");
    let uid = |name: &str| running.get("job", name).map(|j| j["metadata"]["uid"].clone());
    assert_ne!(uid("again").unwrap(), again);
    assert_eq!(uid("once").unwrap(), once);
}

/// S8 (across steps)
#[tokio::test(flavor = "multi_thread")]
async fn two_steps_with_one_object_cannot_be_built() {
    let running = start("twice").await;
    let same = json!([config_map("a", json!({}))]);
    running.set("test", spec(json!([step("one", same.clone()), step("two", same)])));
    let ns = &running.namespace;
    let wanted =
        format!("build failed: duplicate resource ConfigMap/{ns}/a in step \"two\", already defined in step \"one\"");
    assert_eq!(running.until("test", "BuildFailed"), wanted);
}

/// S7, S9, S13
#[tokio::test(flavor = "multi_thread")]
async fn what_rights_forbid_is_told_and_stays_in_the_inventory() {
    let running = start("forbid").await;
    let ns = running.namespace.clone();
    running.plane.kubectl(&["create", "serviceaccount", "tenant", "-n", &ns]);
    let account = format!("--serviceaccount={ns}:tenant");
    running.plane.kubectl(&[
        "create",
        "role",
        "tenant",
        "-n",
        &ns,
        "--verb=get,list,create,patch",
        "--resource=configmaps",
    ]);
    running.plane.kubectl(&["create", "rolebinding", "tenant", "-n", &ns, "--role=tenant", &account]);
    let own = |steps: Value| {
        let mut spec = spec(steps);
        spec["serviceAccountName"] = json!("tenant");
        spec
    };
    let both = json!([
        step("first", json!([config_map("a", json!({}))])),
        step("second", json!([config_map("b", json!({}))]))
    ]);
    running.set("test", own(both));
    running.until_ready("test");
    running.set("test", own(json!([step("first", json!([config_map("a", json!({}))]))])));
    let message = running.until("test", "ReconciliationFailed");
    assert!(message.starts_with("reconciliation failed: delete failed, errors: "), "{message}");
    let status = running.get("resourceset", "test").unwrap()["status"].clone();
    assert_eq!(ids(&status), [format!("{ns}_a__ConfigMap"), format!("{ns}_b__ConfigMap")]);
    running.plane.kubectl(&["delete", "role", "tenant", "-n", &ns]);
    running.plane.kubectl(&[
        "create",
        "role",
        "tenant",
        "-n",
        &ns,
        "--verb=get,list,create,patch,delete",
        "--resource=configmaps",
    ]);
    running.until_gone("configmap", "b");
    eventually("it leaves the inventory", || (ids(&running.until_ready("test")).len() == 1).then_some(()));

    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": ns } });
    running.set("test", own(json!([step("first", json!([config_map("a", json!({})), secret.clone()]))])));
    let message = running.until("test", "ReconciliationFailed");
    assert!(message.starts_with("reconciliation failed: step \"first\" apply failed: Secret/"), "{message}");
    let mut plain = json!({ "inputs": [{ "a": "1" }], "resources": [config_map("a", json!({})), secret] });
    plain["serviceAccountName"] = json!("tenant");
    running.set("test", plain);
    eventually("steps are not mentioned", || {
        (!running.until("test", "ReconciliationFailed").contains("step")).then_some(())
    });
}
