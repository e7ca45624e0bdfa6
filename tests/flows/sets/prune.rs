//! Deleting by an inventory: only what carries both owner labels, never what asks to stay, and nothing on half knowledge.

use fluxd::object::Key;
use fluxd::operator::sets::ChangeAction::{Deleted, Skipped};
use fluxd::operator::sets::Pruned;

use super::*;
use crate::rig::eventually;

async fn prune(fixture: &Fixture, objects: &[Arc<Object>]) -> Pruned {
    let entries: Vec<Entry> = objects.iter().map(|object| entry(object)).collect();
    fixture.set().prune(&entries, &how()).await
}

/// Names with what was done, sorted.
fn done(pruned: &Pruned) -> Vec<String> {
    let mut all: Vec<_> =
        pruned.changes.iter().map(|c| format!("{} {}", c.entry.key.name, c.action.as_str())).collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn only_objects_with_both_owner_labels_go_and_those_that_ask_to_stay_do_not() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "prune").await;
    let names = ["goes", "gone", "labelled", "annotated", "foreign", "half"];
    let objects: Vec<_> = names.iter().map(|name| fixture.config_map(name, json!({}))).collect();
    assert_eq!(fixture.apply(&objects).await.error, None);
    let kubectl = |args: &[&str]| plane.kubectl(&[&["-n", fixture.namespace.as_str()], args].concat());
    kubectl(&["delete", "configmap", "gone"]);
    kubectl(&["label", "configmap", "labelled", "fluxcd.controlplane.io/prune=Disabled"]);
    kubectl(&["annotate", "configmap", "annotated", "fluxcd.controlplane.io/prune=disabled"]);
    kubectl(&["label", "--overwrite", "configmap", "foreign", "resourceset.fluxcd.controlplane.io/name=another"]);
    kubectl(&["label", "configmap", "half", "resourceset.fluxcd.controlplane.io/namespace-"]);
    let pruned = prune(&fixture, &objects).await;
    assert_eq!(pruned.error, None);
    assert!(pruned.left.is_empty());
    assert_eq!(
        done(&pruned),
        ["annotated skipped", "foreign skipped", "goes deleted", "gone deleted", "half skipped", "labelled skipped"]
    );
    assert_eq!(plane.get(&fixture.namespace, "configmap", "goes"), None);
    assert!(plane.get(&fixture.namespace, "configmap", "labelled").is_some());
    let line = pruned.changes.iter().find(|c| c.action == Deleted).unwrap().to_string();
    assert!(line.starts_with(&format!("ConfigMap/{}/go", fixture.namespace)) && line.ends_with(" deleted"), "{line}");
    assert!(pruned.changes.iter().any(|c| c.action == Skipped));
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_kind_that_is_certainly_gone_count_as_deleted() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "kindless").await;
    let key =
        Key { group: "never.example.org".into(), kind: "Thing".into(), namespace: Some("a".into()), name: "b".into() };
    let pruned = fixture.set().prune(&[Entry { key, version: "v1".into() }], &how()).await;
    assert_eq!((done(&pruned), pruned.error), (vec!["b deleted".to_owned()], None));
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_group_whose_server_does_not_answer_are_kept() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "silent").await;
    let group = format!("{}.example.org", fresh_name("g"));
    let service = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("v1.{group}")}, "spec": {"group": group, "version": "v1", "groupPriorityMinimum": 100,
        "versionPriority": 100, "insecureSkipTLSVerify": true, "service": {"name": "nobody", "namespace": fixture.namespace}}});
    plane.apply(&service.to_string(), &[]);
    eventually("the group is known, and does not answer", || {
        let served = plane.kubectl(&["get", "--raw", "/apis"]);
        served.contains(&group).then_some(())
    });
    let key = Key { group: group.clone(), kind: "Thing".into(), namespace: Some("a".into()), name: "b".into() };
    let entry = Entry { key, version: "v1".into() };
    let pruned = fixture.set().prune(std::slice::from_ref(&entry), &how()).await;
    plane.kubectl(&["delete", "apiservice", &format!("v1.{group}")]);
    assert_eq!(pruned.left, [entry], "{pruned:?}");
    let error = pruned.error.unwrap();
    assert!(error.starts_with("delete failed, errors: Thing/a/b delete failed: discovery of API "), "{error}");
}
