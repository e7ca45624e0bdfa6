//! What one pass does to conditions, exports and events; suspension and deletion.

use super::*;
use fluxd::provider::id_of;

#[tokio::test(flavor = "multi_thread")]
async fn a_static_provider_exports_its_defaults_with_an_id() {
    let running = Running::start().await;
    let spec = json!({"type": "Static", "defaultValues": {"env": "prod", "replicas": 3, "nested": {"a": [1, "x"]}, "none": null}});
    running.apply("p", json!({}), spec);
    let object = running.ready("p");
    let id = id_of(object["metadata"]["uid"].as_str().unwrap());
    assert_eq!(exported(&object), json!([{"id": id, "env": "prod", "replicas": 3, "nested": {"a": [1, "x"]}}]));
    assert_eq!(object["metadata"]["finalizers"], json!(["fluxcd.controlplane.io/finalizer"]));
    let message = condition(&object, "Ready")["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("Reconciliation finished in "), "{message}");
    let revision = object["status"]["lastExportedRevision"].as_str().unwrap();
    assert!(revision.starts_with("sha256:") && revision.len() == 71, "{revision}");
    running.event("p", "Normal", "ReconciliationSucceeded", &format!(", revision {revision}"));
    let again = running.request("p", "now");
    assert_eq!(again["status"]["lastExportedRevision"], revision);
    assert!(condition(&again, "Stalled").is_null() && object["status"]["nextSchedule"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_switched_off_says_so_and_begins_when_it_is_switched_on() {
    let running = Running::start().await;
    let spec = json!({"type": "Static", "defaultValues": {"a": "b"}});
    running.apply("p", json!({"fluxcd.controlplane.io/reconcile": "Disabled"}), spec.clone());
    let object = running.wait("p", "it is initialised", |o| condition(o, "Ready")["status"] == "True");
    let ready = condition(&object, "Ready");
    assert_eq!(
        (ready["reason"].as_str(), ready["message"].as_str()),
        (Some("ReconciliationDisabled"), Some("Initialized with reconciliation suspended"))
    );
    assert!(exported(&object).is_null() && condition(&object, "Reconciling").is_null());
    running.event("p", "Warning", "ReconciliationDisabled", "Reconciliation is disabled");
    let object = running.request("p", "while-off");
    assert!(exported(&object).is_null());
    running.apply("p", json!({"fluxcd.controlplane.io/reconcile": "enabled"}), spec.clone());
    assert_eq!(running.ready("p")["status"]["exportedInputs"][0]["a"], "b");
    // switched off again: what was exported stays as it is
    let spec = json!({"type": "Static", "defaultValues": {"a": "c"}});
    running.apply("p", json!({"fluxcd.controlplane.io/reconcile": "disabled"}), spec);
    let object = running.request("p", "off-again");
    assert_eq!((&exported(&object)[0]["a"], &condition(&object, "Ready")["status"]), (&json!("b"), &json!("True")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_provider_goes() {
    let running = Running::start().await;
    running.apply("p", json!({}), json!({"type": "Static", "defaultValues": {"a": "b"}}));
    running.ready("p");
    running.plane.kubectl(&["-n", &running.namespace, "delete", "rsip", "p", "--timeout=60s"]);
    assert!(running.get("p").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_finds_nothing_new_writes_only_its_message() {
    let running = Running::start().await;
    running.apply("p", json!({}), json!({"type": "Static", "defaultValues": {"a": "b"}}));
    let before = running.ready("p");
    let after = running.request("p", "again");
    assert_eq!(before["status"]["exportedInputs"], after["status"]["exportedInputs"]);
    assert_eq!(condition(&after, "Ready")["reason"], "ReconciliationSucceeded");
}
