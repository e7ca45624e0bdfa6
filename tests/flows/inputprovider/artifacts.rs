//! ExternalArtifacts of the cluster as inputs (case P17).

use super::*;
use fluxd::provider::id_of;
use std::sync::OnceLock;

/// The shared control plane, knowing the kind.
fn define(plane: &ControlPlane) {
    static KNOWS: OnceLock<()> = OnceLock::new();
    KNOWS.get_or_init(|| {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "externalartifacts.source.toolkit.fluxcd.io"},
            "spec": {"group": "source.toolkit.fluxcd.io", "scope": "Namespaced",
                     "names": {"kind": "ExternalArtifact", "plural": "externalartifacts", "singular": "externalartifact"},
                     "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]},
        });
        plane.apply(&definition.to_string(), &["--server-side", "--force-conflicts"]);
        plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "externalartifacts.source.toolkit.fluxcd.io"]);
    });
}

fn artifact(plane: &ControlPlane, namespace: &str, name: &str, labels: Value, revision: Option<&str>) {
    let mut object = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "ExternalArtifact",
                            "metadata": {"name": name, "namespace": namespace, "labels": labels}});
    if let Some(revision) = revision {
        object["status"] = json!({"artifact": {"revision": revision}});
    }
    plane.apply(&object.to_string(), &["--server-side", "--force-conflicts"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_are_exported_and_followed_by_their_labels() {
    define(plane());
    let (own, other) = (plane().namespace("rsip"), plane().namespace("rsip"));
    let running = Running::over(&[&own, &other], |_| {}).await;
    let team = json!({"team": "x"});
    artifact(plane(), &own, "b", team.clone(), Some("main@sha1:c0ffee"));
    artifact(plane(), &own, "a", team.clone(), None);
    artifact(plane(), &other, "c", team.clone(), None);
    let selector = json!({"matchLabels": {"team": "x"}});
    running.apply("p", json!({}), json!({"type": "ExternalArtifact", "selectors": [selector.clone(), {"name": "a"}], "defaultValues": {"env": "dev"}}));
    let set = |namespace: &str, name: &str, revision: Option<&str>| {
        let mut set = json!({"team": "x", "id": id_of(&format!("{namespace}/{name}")), "name": name, "namespace": namespace, "env": "dev"});
        if let Some(revision) = revision {
            set["revision"] = json!(revision);
        }
        set
    };
    let want = json!([set(&own, "a", None), set(&own, "b", Some("main@sha1:c0ffee"))]);
    assert_eq!(exported(&running.ready("p")), want);
    // a new revision wakes it, and a label that goes
    artifact(plane(), &own, "b", team, Some("main@sha1:beef"));
    running.wait("p", "the new revision", |o| exported(o)[1]["revision"] == "main@sha1:beef");
    artifact(plane(), &own, "b", json!({}), Some("main@sha1:beef"));
    running.wait("p", "one is left", |o| exported(o).as_array().is_some_and(|sets| sets.len() == 1));
    // by name or labels in another namespace, each once
    let everywhere = json!([{"name": "c", "namespace": other}, {"matchLabels": {"team": "x"}, "namespace": other}, {"name": "gone"}]);
    running.apply("q", json!({}), json!({"type": "ExternalArtifact", "selectors": everywhere}));
    let object = running.ready("q");
    assert_eq!(exported(&object)[0]["namespace"], json!(other));
    assert_eq!(exported(&object).as_array().unwrap().len(), 1);
    running.apply("q", json!({}), json!({"type": "ExternalArtifact", "selectors": [{"name": "gone"}]}));
    running.wait("q", "none are left", |o| exported(o).is_null() && condition(o, "Ready")["status"] == "True");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accounts_own_rights_count() {
    define(plane());
    let running = Running::start().await;
    let namespace = running.namespace.clone();
    artifact(plane(), &namespace, "a", json!({}), None);
    running.apply(
        "p",
        json!({}),
        json!({"type": "ExternalArtifact", "selectors": [{}], "serviceAccountName": "reader"}),
    );
    let said = format!(
        "failed to call ExternalArtifact provider: impersonated service account 'reader' lacks permissions to list \
         ExternalArtifacts in namespace '{namespace}': "
    );
    running.refused("p", "ReconciliationFailed", &said);
    let may = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader", "namespace": namespace},
                     "rules": [{"apiGroups": ["source.toolkit.fluxcd.io"], "resources": ["externalartifacts"], "verbs": ["get", "list"]}]});
    plane().apply(&may.to_string(), &[]);
    let account = format!("--serviceaccount={namespace}:reader");
    plane().kubectl(&["-n", &namespace, "create", "rolebinding", "reader", "--role=reader", &account]);
    assert_eq!(exported(&running.ready("p"))[0]["name"], "a");
}
