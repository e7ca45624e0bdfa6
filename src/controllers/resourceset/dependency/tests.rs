//! Cases of dependencies (resourceset §11, R2, R4, R5, and the table of §6).

use serde_json::json;

use super::*;

fn dependency(fields: Value) -> Dependency {
    let mut all = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "test", "namespace": "ns" });
    for (key, value) in fields.as_object().unwrap() {
        all[key] = value.clone();
    }
    serde_json::from_value(all).unwrap()
}

async fn verdict(fields: Value, live: Result<Value, &'static str>) -> Result<(), String> {
    let checks = parse(&[dependency(fields)]).map_err(|e| e.to_string())?;
    check(&checks, "ns", |_, _, _| std::future::ready(live.clone())).await.map_err(|e| e.to_string())
}

/// R2
#[tokio::test]
async fn a_missing_dependency_is_named_with_the_words_of_the_api_server() {
    let missing = Err(r#"configmaps "test" not found"#);
    let wanted = r#"dependency v1/ConfigMap/ns/test not found: configmaps "test" not found"#;
    assert_eq!(verdict(json!({}), missing.clone()).await, Err(wanted.to_owned()));
    assert_eq!(verdict(json!({ "ready": true, "readyExpr": "true" }), missing).await, Err(wanted.to_owned()));
    let definition = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "name": "tests.example.com", "namespace": "" });
    let error = verdict(definition, Err("no")).await.unwrap_err();
    assert_eq!(
        error, "dependency apiextensions.k8s.io/v1/CustomResourceDefinition/tests.example.com not found: no",
        "cluster-scoped ones have no namespace"
    );
}

/// R2
#[tokio::test]
async fn a_definition_is_ready_by_an_expression_over_its_conditions_and_stored_versions() {
    let fields = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "namespace": null, "ready": true,
        "readyExpr": "status.conditions.filter(e, e.type == 'Established').all(e, e.status == 'True') && \
                      status.storedVersions.exists(e, e == 'v1')",
    });
    let live = |status: &str| {
        json!({ "metadata": { "name": "test" }, "status": {
            "conditions": [{ "type": "Established", "status": status }], "storedVersions": ["v1beta1", "v1"] } })
    };
    assert_eq!(verdict(fields.clone(), Ok(live("True"))).await, Ok(()));
    let error = verdict(fields, Ok(live("False"))).await.unwrap_err();
    assert!(
        error.starts_with("dependency apiextensions.k8s.io/v1/CustomResourceDefinition/test not ready: expression '")
    );
}

#[tokio::test]
async fn existence_is_enough_unless_ready_is_asked_for() {
    let live = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "test" } });
    assert_eq!(verdict(json!({}), Ok(live.clone())).await, Ok(()));
    assert_eq!(verdict(json!({ "ready": false, "readyExpr": "1 +" }), Ok(live.clone())).await, Ok(()));
    assert_eq!(verdict(json!({ "ready": true }), Ok(live)).await, Ok(()));
}

#[tokio::test]
async fn other_kinds_are_judged_by_their_status() {
    let fields = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "ready": true });
    let live = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "test", "generation": 2 },
        "spec": { "replicas": 1 }, "status": { "observedGeneration": 1 },
    });
    let error = verdict(fields, Ok(live)).await.unwrap_err();
    assert_eq!(error, "dependency apps/v1/Deployment/ns/test not ready: status InProgress");
}

#[tokio::test]
async fn our_own_kinds_are_judged_by_their_ready_condition_in_any_group() {
    for kind in ["ResourceSet", "ResourceSetInputProvider"] {
        let fields = json!({ "apiVersion": "example.com/v1", "kind": kind, "ready": true });
        let live = |status: &str| {
            json!({ "metadata": { "generation": 1 },
                "status": { "conditions": [{ "type": "Ready", "status": status, "observedGeneration": 1 }] } })
        };
        assert_eq!(verdict(fields.clone(), Ok(live("True"))).await, Ok(()));
        let error = verdict(fields.clone(), Ok(live("False"))).await.unwrap_err();
        assert_eq!(error, format!("dependency example.com/v1/{kind}/ns/test not ready"));
        let error = verdict(fields, Ok(json!({ "metadata": {} }))).await.unwrap_err();
        assert!(error.starts_with("failed to evaluate the CEL expression '"), "{error}");
    }
}

/// R4
#[tokio::test]
async fn a_secret_elsewhere_has_no_data_for_expressions() {
    let fields = json!({ "kind": "Secret", "ready": true, "readyExpr": "data.gate == 'b3Blbg=='" });
    let live = |namespace: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "namespace": namespace }, "data": { "gate": "b3Blbg==" } });
    assert_eq!(verdict(fields.clone(), Ok(live("ns"))).await, Ok(()));
    let error = verdict(fields, Ok(live("other"))).await.unwrap_err();
    assert!(error.contains("no such attribute(s): data"), "{error}");
}

/// R5
#[test]
fn a_wrong_expression_is_found_before_anything_is_read() {
    let error = |expression: &str| {
        parse(&[dependency(json!({ "ready": true, "readyExpr": expression }))]).unwrap_err().to_string()
    };
    let start = "failed to parse expression for dependency v1/ConfigMap/ns/test: failed to parse the CEL expression \
                 'status.foo ==': ERROR: <input>:1:14: Syntax error: ";
    let text = error("status.foo ==");
    assert!(text.starts_with(start), "{text}");
    assert_eq!(
        error("int('x') == 1"),
        "failed to parse expression for dependency v1/ConfigMap/ns/test: failed to create CEL program: type conversion error \
         from 'string' to 'int'"
    );
}

#[tokio::test]
async fn dependencies_are_read_in_their_order_until_one_fails() {
    let named = |name: &str| dependency(json!({ "name": name }));
    let checks = parse(&[named("a"), named("b"), named("c")]).unwrap();
    let asked = std::sync::Mutex::new(Vec::new());
    let read = |gvk: Gvk, namespace: Option<String>, name: String| {
        asked.lock().unwrap().push(format!("{gvk} {namespace:?} {name}"));
        std::future::ready(if name == "b" { Err("gone") } else { Ok(json!({})) })
    };
    assert!(check(&checks, "ns", read).await.is_err());
    assert_eq!(*asked.lock().unwrap(), [r#"v1/ConfigMap Some("ns") a"#, r#"v1/ConfigMap Some("ns") b"#]);
}
