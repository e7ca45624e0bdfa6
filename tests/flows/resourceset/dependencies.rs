//! What a ResourceSet depends on (resourceset §11, R2-R5).

use serde_json::{Value, json};

use super::{config_map, start};

fn waits_for(dependency: Value) -> Value {
    json!({ "inputs": [{ "a": "1" }], "dependsOn": [dependency], "resources": [config_map("made", json!({}))] })
}

/// R2
#[tokio::test(flavor = "multi_thread")]
async fn a_set_waits_for_what_it_depends_on() {
    let running = start("depends").await;
    let ns = running.namespace.clone();
    let dependency = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "test", "namespace": ns, "ready": true,
        "readyExpr": "data.gate == 'open'" });
    running.set("set", waits_for(dependency));
    let message = running.until("set", "DependencyNotReady");
    assert!(
        message.starts_with(&format!("Retrying dependency check: dependency v1/ConfigMap/{ns}/test not found: ")),
        "{message}"
    );
    assert!(message.contains("\"test\" not found"), "{message}");
    running.until_event("set", "DependencyNotReady", "Retrying dependency check: ");
    running.apply(
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "test" }, "data": { "gate": "shut" } }),
    );
    crate::rig::eventually("the expression is evaluated", || {
        let message = running.until("set", "DependencyNotReady");
        let wanted = format!(
            "Retrying dependency check: dependency v1/ConfigMap/{ns}/test not ready: expression 'data.gate == 'open''"
        );
        (message == wanted).then_some(())
    });
    assert!(running.get("configmap", "made").is_none());
    running.apply(
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "test" }, "data": { "gate": "open" } }),
    );
    running.until_ready("set");
    assert!(running.get("configmap", "made").is_some());
}

/// R2
#[tokio::test(flavor = "multi_thread")]
async fn definitions_are_judged_by_their_conditions_and_versions() {
    let running = start("definitions").await;
    let definition = |extra: Value| {
        let mut all = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "name": "resourcesets.fluxcd.controlplane.io", "ready": true });
        all.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        all
    };
    running.set("plain", waits_for(definition(json!({}))));
    running.until_ready("plain");
    let expression = "status.conditions.filter(e, e.type == 'Established').all(e, e.status == 'True') && 'v1' in status.storedVersions";
    running.set("expression", waits_for(definition(json!({ "readyExpr": expression }))));
    running.until_ready("expression");
}

/// R3
#[tokio::test(flavor = "multi_thread")]
async fn expressions_do_not_see_the_annotation_with_the_last_applied_object() {
    let running = start("hidden").await;
    running.apply(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "dep",
        "annotations": { "kubectl.kubernetes.io/last-applied-configuration": "{}", "other": "x" } } }));
    let expression = "!('kubectl.kubernetes.io/last-applied-configuration' in metadata.annotations) && \
                      metadata.annotations['other'] == 'x'";
    let dependency = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "dep", "namespace": running.namespace,
        "ready": true, "readyExpr": expression });
    running.set("set", waits_for(dependency));
    running.until_ready("set");
}

/// R4
#[tokio::test(flavor = "multi_thread")]
async fn the_data_of_secrets_is_seen_in_the_own_namespace_only() {
    let running = start("secret").await;
    let foreign = running.plane.namespace("foreign");
    for namespace in [&running.namespace, &foreign] {
        running.plane.kubectl(&["create", "secret", "generic", "gate", "-n", namespace, "--from-literal=gate=opened"]);
    }
    let dependency = |namespace: &str| {
        json!({ "apiVersion": "v1", "kind": "Secret", "name": "gate", "namespace": namespace, "ready": true,
            "readyExpr": "string(base64.decode(data.gate)) == 'opened'" })
    };
    running.set("own", waits_for(dependency(&running.namespace)));
    running.until_ready("own");
    running.set("other", waits_for(dependency(&foreign)));
    let message = running.until("other", "DependencyNotReady");
    assert!(message.contains("data"), "{message}");
}

/// R5
#[tokio::test(flavor = "multi_thread")]
async fn an_expression_that_is_none_stalls_the_set() {
    let running = start("expression").await;
    let dependency = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "dep", "namespace": running.namespace,
        "ready": true, "readyExpr": "data.gate ==" });
    running.set("set", waits_for(dependency));
    let message = running.until("set", "InvalidCELExpression");
    let ns = &running.namespace;
    let wanted = format!(
        "Reconciliation failed terminally due to configuration error: failed to parse expression for dependency \
         v1/ConfigMap/{ns}/dep: failed to parse the CEL expression 'data.gate ==': ERROR: <input>:1:"
    );
    assert!(message.starts_with(&wanted), "{message}");
    assert_eq!(running.condition("set", "Stalled").unwrap()["reason"], "InvalidCELExpression");
    running.until_event("set", "InvalidCELExpression", "failed terminally");
}
