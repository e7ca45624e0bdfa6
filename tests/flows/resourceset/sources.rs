//! Data of ConfigMaps and Secrets in generated objects (resourceset §11, C1, C2, C4, C5, C8, S12, W2).

use serde_json::{Value, json};

use super::{config_map, start};
use crate::rig::eventually;

fn source(running: &super::Running, kind: &str, data: Value) {
    let encoded = |text: &Value| {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(text.as_str().unwrap())
    };
    let data: serde_json::Map<String, Value> = match kind {
        "Secret" => data.as_object().unwrap().iter().map(|(k, v)| (k.clone(), json!(encoded(v)))).collect(),
        _ => data.as_object().unwrap().clone(),
    };
    running.apply(json!({ "apiVersion": "v1", "kind": kind, "data": data,
        "metadata": { "name": "source", "labels": { "reconcile.fluxcd.io/watch": "Enabled", "own": "x" } } }));
}

fn copy(kind: &str, from: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": "copy", "namespace": "<< inputs.provider.namespace >>",
        "annotations": { "fluxcd.controlplane.io/copyFrom": from } } })
}

/// C1, C2, W2
#[tokio::test(flavor = "multi_thread")]
async fn copies_follow_their_sources() {
    let running = start("copies").await;
    let from = format!("{}/source", running.namespace);
    for kind in ["ConfigMap", "Secret"] {
        source(&running, kind, json!({ "a": "1", "b": "2" }));
    }
    running.set(
        "test",
        json!({ "inputs": [{ "a": "1" }], "resources": [copy("ConfigMap", &from), copy("Secret", &from)] }),
    );
    running.until_ready("test");
    assert_eq!(running.get("configmap", "copy").unwrap()["data"], json!({ "a": "1", "b": "2" }));
    let secret = running.get("secret", "copy").unwrap();
    assert_eq!(secret["data"], json!({ "a": "MQ==", "b": "Mg==" }));
    assert!(secret["metadata"]["labels"].get("own").is_none());
    for kind in ["ConfigMap", "Secret"] {
        source(&running, kind, json!({ "a": "3" }));
    }
    for (kind, data) in [("configmap", json!({ "a": "3" })), ("secret", json!({ "a": "Mw==" }))] {
        eventually("the copy has followed", || (running.get(kind, "copy")?["data"] == data).then_some(()));
    }
    running.delete("configmap", "source");
    let message = running.until("test", "ReconciliationFailed");
    let ns = &running.namespace;
    assert!(
        message.starts_with(&format!("reconciliation failed: failed to copy data from ConfigMap/{ns}/source: ")),
        "{message}"
    );
    assert!(running.get("configmap", "copy").is_some());
}

/// C4, C5, S12, W2
#[tokio::test(flavor = "multi_thread")]
async fn checksums_follow_what_they_are_made_of() {
    let running = start("sums").await;
    let ns = running.namespace.clone();
    source(&running, "Secret", json!({ "a": "1" }));
    let mut summed = config_map("sum", json!({}));
    summed["metadata"]["annotations"] = json!({ "fluxcd.controlplane.io/checksumFrom": format!("Secret/{ns}/source, ConfigMap/{ns}/own,"), "kept": "x" });
    let steps = json!([
        { "name": "one", "resources": [config_map("own", json!({ "k": "v" }))] },
        { "name": "two", "resources": [summed] },
    ]);
    running.set("test", json!({ "inputs": [{ "a": "1" }], "steps": steps }));
    let status = running.until_ready("test");
    assert_eq!(status["externalChecksumRefs"], json!([format!("Secret/{ns}/source")]));
    let sum = || {
        let annotations = running.get("configmap", "sum").unwrap()["metadata"]["annotations"].clone();
        assert_eq!(annotations["kept"], "x");
        annotations["fluxcd.controlplane.io/checksum"].as_str().unwrap().to_owned()
    };
    let first = sum();
    assert!(first.starts_with("sha256:") && first.len() == 71, "{first}");
    running.reconcile("test");
    assert_eq!(sum(), first);
    source(&running, "Secret", json!({ "a": "2" }));
    eventually("the checksum has followed", || (sum() != first).then_some(()));
}

/// C8
#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_gives_address_and_certificate() {
    let running = start("kubeconfig").await;
    let ns = running.namespace.clone();
    let kubeconfig = "apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster:\n    server: https://a.test\n    \
                      certificate-authority-data: UEVN\n";
    source(&running, "Secret", json!({ "value": kubeconfig }));
    let converted = |from: String| {
        let mut object = config_map("converted", json!({ "more": "x" }));
        object["metadata"]["annotations"] = json!({ "fluxcd.controlplane.io/convertKubeConfigFrom": from });
        json!({ "inputs": [{ "a": "1" }], "resources": [object] })
    };
    running.set("test", converted(format!("{ns}/source")));
    running.until_ready("test");
    let made = running.get("configmap", "converted").unwrap();
    assert_eq!(made["data"], json!({ "address": "https://a.test", "ca.crt": "PEM", "more": "x" }));
    running.set("test", converted(format!("{ns}/source:other")));
    let wanted = format!("reconciliation failed: kubeconfig Secret/{ns}/source does not have 'other' field");
    assert_eq!(running.until("test", "ReconciliationFailed"), wanted);
}
