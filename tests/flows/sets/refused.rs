//! What the API server refuses, in the words of resourceset §7.4.7 and errata 16-18, and what is not written then.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_worded_to_the_letter() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "words").await;
    let ns = fixture.namespace.clone();
    let map = |metadata: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    for (value, want) in [
        (
            json!({"apiVersion": "nope.test/v1", "kind": "Nope", "metadata": {"name": "a", "namespace": ns}}),
            format!("Nope/{ns}/a dry-run failed: no matches for kind \"Nope\" in version \"nope.test/v1\""),
        ),
        (
            map(json!({"name": "a", "namespace": "missing-here"})),
            "ConfigMap/missing-here/a not found: namespaces \"missing-here\" not found".to_owned(),
        ),
        (
            map(json!({"name": "a"})),
            "ConfigMap/a namespace not specified: the server could not find the requested resource".to_owned(),
        ),
        (
            map(json!({"name": 3, "namespace": ns})),
            format!("ConfigMap/{ns}/ dry-run failed: resource name may not be empty"),
        ),
        (
            json!({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": ns}}),
            format!(
                "ConfigMap/{ns}/a dry-run failed: Object 'apiVersion' is missing in 'unstructured object has no version'"
            ),
        ),
    ] {
        let outcome = fixture.apply(&[fixture.object(value.clone())]).await;
        assert_eq!(outcome.error.as_deref(), Some(want.as_str()), "{value}");
        assert!(outcome.inventory.is_empty() && outcome.changes.is_empty(), "{outcome:?}");
    }
    let odd = map(json!({"name": "a", "namespace": ns, "annotations": {"n": 3}}));
    let error = fixture.apply(&[fixture.object(odd)]).await.error.unwrap();
    let text = ".metadata.annotations.n: expected string, got &value.valueUnstructured{Value:3}";
    assert!(error.starts_with(&format!("ConfigMap/{ns}/a dry-run failed: ")) && error.ends_with(text), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_object_keeps_its_whole_stage_from_being_written_and_earlier_stages_stand() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "stage").await;
    let staged = fresh_name("staged");
    let objects = [
        fixture.object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": staged}})),
        fixture.config_map("good", json!({})),
        fixture.config_map("bad", json!({"a": {"b": 1}})),
    ];
    let outcome = fixture.apply(&objects).await;
    let error = outcome.error.clone().unwrap();
    assert!(error.starts_with(&format!("ConfigMap/{}/bad dry-run failed: ", fixture.namespace)), "{error}");
    assert_eq!(plane.get(&fixture.namespace, "configmap", "good"), None);
    let names: Vec<_> = outcome.inventory.iter().map(ToString::to_string).collect();
    assert_eq!(names, [format!("Namespace/{staged}")]);
    let better = [objects[0].clone(), objects[1].clone(), fixture.config_map("bad", json!({"a": "b"}))];
    assert_eq!(fixture.apply(&better).await.error, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_refusal_quotes_a_value_of_a_secret() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "secret").await;
    let secret = fixture.object(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a",
        "namespace": fixture.namespace}, "data": {"password": "canary-not-base64!"}}));
    let error = fixture.apply(&[secret]).await.error.unwrap();
    assert!(!error.contains("canary"), "{error}");
}
