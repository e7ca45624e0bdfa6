//! Inputs from providers (resourceset §11, R8-R10, R13, S10, S11, W1).

use serde_json::{Value, json};

use super::{Running, config_map, ids, start};
use crate::rig::eventually;

fn provider(running: &Running, name: &str, labels: Value, values: Value) {
    running.apply(json!({ "apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
        "metadata": { "name": name, "namespace": running.namespace, "labels": labels },
        "spec": { "type": "Static", "defaultValues": values } }));
}

fn selected(labels: Value) -> Value {
    json!({ "inputsFrom": [{ "selector": { "matchLabels": labels } }],
        "resources": [config_map("made-<< inputs.name >>", json!({ "from": "<< inputs.provider.name >>" }))] })
}

/// R9, S10, W1
#[tokio::test(flavor = "multi_thread")]
async fn objects_follow_the_providers_that_a_selector_finds() {
    let running = start("select").await;
    running.set("test", selected(json!({ "team": "a" })));
    let empty = running.until_ready("test");
    assert_eq!(empty["inventory"], json!({ "entries": [] }));
    let nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(empty["lastAppliedRevision"], nothing);
    assert_eq!(empty["history"][0]["metadata"], json!({ "inputs": "0", "resources": "0" }));
    for name in ["one", "two"] {
        provider(&running, name, json!({ "team": "a" }), json!({ "name": name }));
        running.until_there("configmap", &format!("made-{name}"));
    }
    provider(&running, "other", json!({ "team": "b" }), json!({ "name": "other" }));
    for name in ["one", "two"] {
        running.delete("resourcesetinputprovider", name);
        running.until_gone("configmap", &format!("made-{name}"));
    }
    eventually("nothing is left", || {
        let status = running.until_ready("test");
        ids(&status).is_empty().then_some(())
    });
    assert!(running.get("configmap", "made-other").is_none());
}

/// R8
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_named_and_selected_counts_once() {
    let running = start("once").await;
    for (name, labels) in [("a", json!({ "x": "1", "y": "1" })), ("b", json!({ "x": "1" })), ("c", json!({ "y": "1" }))]
    {
        provider(&running, name, labels, json!({ "name": name }));
    }
    provider(&running, "d", json!({}), json!({ "name": "d" }));
    let mut spec = selected(json!({ "x": "1" }));
    spec["inputsFrom"].as_array_mut().unwrap().extend([
        json!({ "selector": { "matchLabels": { "y": "1" } } }),
        json!({ "kind": "ResourceSetInputProvider", "name": "a" }),
        json!({ "kind": "ResourceSetInputsProvider", "name": "d" }),
    ]);
    for name in ["a", "b", "c", "d"] {
        eventually("the provider has exported", || {
            running.get("resourcesetinputprovider", name)?["status"]["lastExportedRevision"].as_str().map(str::to_owned)
        });
    }
    running.set("test", spec);
    let status = running.until_ready("test");
    assert_eq!(ids(&status).len(), 4);
    assert_eq!(status["history"][0]["metadata"], json!({ "inputs": "4", "resources": "4" }));
    for name in ["a", "b", "c", "d"] {
        assert_eq!(running.get("configmap", &format!("made-{name}")).unwrap()["data"]["from"], name);
    }
}

/// R10
#[tokio::test(flavor = "multi_thread")]
async fn permuted_inputs_have_identifiers_of_their_own() {
    let running = start("permute").await;
    provider(&running, "app-0", json!({}), json!({ "app": "x" }));
    running.set("tenants", json!({
        "inputStrategy": { "name": "Permute" }, "inputs": [{ "t": "a" }, { "t": "b" }], "inputsFrom": [{ "name": "app-0" }],
        "resources": [{ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "cm-<< inputs.id >>", "namespace": running.namespace },
            "data": { "pair": "<< inputs.tenants.t >>-<< inputs.app_0.app >>" } }],
    }));
    for (id, pair) in [("964888023", "a-x"), ("965477848", "b-x")] {
        let made = running.until_there("configmap", &format!("cm-{id}"));
        assert_eq!(made["data"]["pair"], pair);
    }
}

/// R13
#[tokio::test(flavor = "multi_thread")]
async fn a_named_provider_that_goes_stalls_the_set_and_deletes_nothing() {
    let running = start("named").await;
    provider(&running, "a", json!({}), json!({ "name": "a" }));
    let mut spec = selected(json!({}));
    spec["inputsFrom"] = json!([{ "name": "a" }]);
    running.set("test", spec);
    running.until_there("configmap", "made-a");
    running.until_ready("test");
    running.delete("resourcesetinputprovider", "a");
    let message = running.until("test", "BuildFailed");
    let ns = &running.namespace;
    assert!(message.starts_with(&format!("failed to compute inputs: failed to get provider {ns}/a: ")), "{message}");
    assert!(message.contains("not found"), "{message}");
    assert!(running.get("configmap", "made-a").is_some());
    provider(&running, "a", json!({}), json!({ "name": "b" }));
    running.until_there("configmap", "made-b");
    running.until_gone("configmap", "made-a");
}

/// What a provider will export is not known before its first answer.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_deleted_for_a_provider_that_has_not_exported_yet() {
    let running = start("hold").await;
    provider(&running, "a", json!({ "team": "a" }), json!({ "name": "a" }));
    running.set("test", selected(json!({ "team": "a" })));
    running.until_there("configmap", "made-a");
    running.until_ready("test");
    // Suspended from the start, it exports nothing.
    running.apply(json!({ "apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
        "metadata": { "name": "b", "namespace": running.namespace, "labels": { "team": "a" },
            "annotations": { "fluxcd.controlplane.io/reconcile": "disabled" } },
        "spec": { "type": "Static", "defaultValues": { "name": "b" } } }));
    running.delete("resourcesetinputprovider", "a");
    let message = running.until("test", "DependencyNotReady");
    let ns = &running.namespace;
    let wanted = format!(
        "Garbage collection is held: ResourceSetInputProvider/{ns}/b has not exported its inputs yet, 1 objects are kept"
    );
    assert_eq!(message, wanted);
    let held = running.get("resourceset", "test").unwrap()["status"].clone();
    assert_eq!(ids(&held), [format!("{ns}_made-a__ConfigMap")]);
    assert!(running.get("configmap", "made-a").is_some());
    running.plane.kubectl(&[
        "annotate",
        "--overwrite",
        "resourcesetinputprovider",
        "b",
        "-n",
        ns,
        "fluxcd.controlplane.io/reconcile=enabled",
    ]);
    running.until_there("configmap", "made-b");
    running.until_gone("configmap", "made-a");
    running.until_ready("test");
}

/// S11
#[tokio::test(flavor = "multi_thread")]
async fn a_spec_that_cannot_be_built_deletes_nothing_even_without_inputs() {
    let running = start("invalid").await;
    provider(&running, "a", json!({ "team": "a" }), json!({ "name": "a" }));
    running.set("test", selected(json!({ "team": "a" })));
    running.until_there("configmap", "made-a");
    running.until_ready("test");
    let mut spec = selected(json!({ "team": "a" }));
    spec["inputStrategy"] = json!({ "name": "Permute" });
    spec["resources"][0]["metadata"]["name"] = json!("<< inputs.name >>");
    running.set("test", spec);
    running.until("test", "BuildFailed");
    assert!(running.get("configmap", "made-a").is_some());
}
