//! Objects that exist already: taken from other tools, and made anew where a field cannot be changed.

use fluxd::operator::sets::ChangeAction::{Configured, Unchanged};

use super::*;

/// A config map as text, for kubectl.
fn text(fixture: &Fixture, metadata: Value, data: Value) -> String {
    let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": fixture.namespace}, "data": data});
    for (key, value) in metadata.as_object().unwrap() {
        map["metadata"][key] = value.clone();
    }
    map.to_string()
}

/// The managers of the live config map, with their operations, sorted.
fn managers(plane: &ControlPlane, fixture: &Fixture) -> Vec<String> {
    let args = ["-n", &fixture.namespace, "get", "configmap", "a", "-o", "json", "--show-managed-fields"];
    let live: Value = serde_json::from_str(&plane.kubectl(&args)).unwrap();
    let entries = live["metadata"]["managedFields"].as_array().unwrap();
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    let mut all: Vec<_> = entries.iter().map(|e| format!("{} {}", word(e, "manager"), word(e, "operation"))).collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_kubectl_becomes_ours_with_its_fields() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "kubectl").await;
    plane.apply(&text(&fixture, json!({}), json!({"a": "1", "theirs": "x"})), &[]);
    let objects = [fixture.config_map("a", json!({"a": "1"}))];
    assert_eq!(actions(&fixture.apply(&objects).await), [Configured]);
    let live = plane.get(&fixture.namespace, "configmap", "a").unwrap();
    assert_eq!(live["data"], json!({"a": "1"}), "what is not wanted left with kubectl's ownership");
    assert_eq!(live["metadata"]["annotations"], Value::Null);
    assert_eq!(managers(plane, &fixture), ["flux-operator Apply"]);
    assert_eq!(actions(&fixture.apply(&objects).await), [Unchanged]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_helm_and_of_kustomize_controller_becomes_ours() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "helm").await;
    let helm = json!({"annotations": {"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "n", "mine": "1"},
        "labels": {"app.kubernetes.io/managed-by": "Helm"}});
    let file = text(&fixture, helm, json!({"a": "1", "helms": "x"}));
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), file).unwrap();
    plane.kubectl(&["create", "--field-manager=helm", "-f", path.path().to_str().unwrap()]);
    let kustomize =
        json!({"labels": {"kustomize.toolkit.fluxcd.io/name": "k", "kustomize.toolkit.fluxcd.io/namespace": "n"}});
    let file = text(&fixture, kustomize, json!({"k": "1"}));
    plane.apply(&file, &["--server-side", "--force-conflicts", "--field-manager=kustomize-controller"]);
    plane.kubectl(&["-n", &fixture.namespace, "annotate", "configmap", "a", "--field-manager=other", "foreign=1"]);
    let objects = [fixture.config_map("a", json!({"a": "1"}))];
    assert_eq!(actions(&fixture.apply(&objects).await), [Configured]);
    let live = plane.get(&fixture.namespace, "configmap", "a").unwrap();
    assert_eq!(live["data"], json!({"a": "1"}));
    assert_eq!(live["metadata"]["annotations"], json!({"foreign": "1"}));
    let labels: Vec<_> = live["metadata"]["labels"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(labels.len(), 2, "only the owner's: {labels:?}");
    assert_eq!(managers(plane, &fixture), ["flux-operator Apply", "other Update"]);
    assert_eq!(actions(&fixture.apply(&objects).await), [Unchanged]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_by_kubectl_is_undone_whole_and_one_by_an_overridden_manager_too() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("edit");
    let settings = SetSettings::resource_set().override_manager("legacy");
    let fixture = Fixture::within(plane, &namespace, settings).await;
    let objects = [fixture.config_map("a", json!({"a": "1"}))];
    fixture.apply(&objects).await;
    for manager in ["kubectl-edit", "legacy"] {
        let patch = json!({"data": {"added": manager}}).to_string();
        let field_manager = format!("--field-manager={manager}");
        plane.kubectl(&["-n", &namespace, "patch", "configmap", "a", "--type=merge", &field_manager, "-p", &patch]);
        crate::rig::eventually_async("the edit is undone", || async {
            let outcome = fixture.apply(&objects).await;
            assert_eq!(outcome.error, None);
            actions(&outcome).contains(&Configured).then_some(())
        })
        .await;
        assert_eq!(plane.get(&namespace, "configmap", "a").unwrap()["data"], json!({"a": "1"}), "{manager}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_cannot_change_fails_and_with_force_the_object_is_made_anew() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "force").await;
    let map = |metadata: Value, text: &str| {
        let mut value = json!({"apiVersion": "v1", "kind": "ConfigMap", "immutable": true, "data": {"a": text},
            "metadata": {"name": "a", "namespace": fixture.namespace}});
        for (key, text) in metadata.as_object().unwrap() {
            value["metadata"][key] = text.clone();
        }
        fixture.object(value)
    };
    let uid = || plane.get(&fixture.namespace, "configmap", "a").unwrap()["metadata"]["uid"].clone();
    assert_eq!(fixture.apply(&[map(json!({}), "1")]).await.error, None);
    let first = uid();
    let refused = fixture.apply(&[map(json!({}), "2")]).await.error.unwrap();
    let begin = format!("ConfigMap/{}/a dry-run failed (Invalid): ConfigMap \"a\" is invalid: ", fixture.namespace);
    assert!(refused.starts_with(&begin) && refused.contains("field is immutable"), "{refused}");
    assert_eq!(uid(), first);
    let force = ApplyHow { force: true, ..how() };
    let outcome = fixture.set().apply(&[map(json!({}), "2")], &force).await;
    assert_eq!(actions(&outcome), [Configured], "{outcome:?}");
    let second = uid();
    assert_ne!(second, first);
    let annotated = map(json!({"annotations": {"fluxcd.controlplane.io/force": "Enabled"}}), "3");
    assert_eq!(actions(&fixture.apply(&[annotated]).await), [Configured]);
    assert_ne!(uid(), second);
    assert_eq!(plane.get(&fixture.namespace, "configmap", "a").unwrap()["data"]["a"], "3");
}
