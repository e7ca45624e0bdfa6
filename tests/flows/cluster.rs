//! The cluster room against a real API server: what it rests on is seen here, not believed.

use crate::rig::{ControlPlane, eventually_async};
use fluxd::cluster::{ApplyOptions, Cluster, Deleted, ErrorKind, Foreign, KindInfo, Settings, Uid};
use fluxd::object::{GC_MARK_LABEL, Gvk, Key};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const OURS: &str = "sha256.ours";

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn options() -> ApplyOptions {
    ApplyOptions { dry_run: false, until: soon(), sealed: false, whole: false }
}

fn settings() -> Settings {
    Settings::new("fluxd", GC_MARK_LABEL, Arc::new(|_, mark| mark == OURS))
}

async fn connect(plane: &ControlPlane, settings: Settings) -> Cluster {
    let cluster = Cluster::new(plane.client().await, settings);
    cluster.refresh_kinds(soon()).await.unwrap();
    cluster
}

fn kind(cluster: &Cluster, api_version: &str, kind: &str) -> Arc<KindInfo> {
    cluster.kinds().resolve(&Gvk::new(api_version, kind)).unwrap().clone()
}

fn key(kind: &KindInfo, namespace: &str, name: &str) -> Key {
    let namespace = kind.namespaced.then(|| namespace.to_owned());
    Key { group: kind.gvk.group.clone(), kind: kind.gvk.kind.clone(), namespace, name: name.to_owned() }
}

/// An object with our mark and some content.
fn marked(key: &Key, api_version: &str, content: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": key.kind,
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": {GC_MARK_LABEL: OURS}}});
    for (field, value) in content.as_object().unwrap() {
        object[field] = value.clone();
    }
    object
}

fn deployment(image: &str, replicas: Option<u32>) -> Value {
    let mut spec = json!({"selector": {"matchLabels": {"app": "a"}}, "template": {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": image, "env": [{"name": "A", "value": "1"}]}]}}});
    if let Some(replicas) = replicas {
        spec["replicas"] = json!(replicas);
    }
    json!({ "spec": spec })
}

/// Starts the watches of these kinds and waits until they have begun: an object made now is seen.
async fn watch(cluster: &Cluster, kinds: &[&KindInfo]) -> tokio::task::JoinHandle<()> {
    let watching = cluster.clone();
    cluster.watch_kinds(kinds.iter().map(|k| k.gvk.clone()).collect());
    tokio::spawn(async move { watching.run_watches().await })
}

async fn until_changed(cluster: &Cluster, wanted: &Key) {
    eventually_async("the change is told", || async {
        let changed = tokio::time::timeout(Duration::from_secs(5), cluster.live().changed()).await.ok()?;
        changed.keys.contains(wanted).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_entry_tells_drift_and_applying_again_brings_it_back() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("entry");
    let cluster = connect(plane, settings()).await;
    let kind = kind(&cluster, "apps/v1", "Deployment");
    let key = key(&kind, &namespace, "web");
    let body = marked(&key, "apps/v1", deployment("example.org/a:1", Some(2)));
    let first = cluster.apply(&kind, &key, &body, options()).await.unwrap();
    assert!(first.created && !first.unchanged && first.entry.is_some());
    let _watch = watch(&cluster, &[&kind]).await;
    plane.kubectl(&["-n", &namespace, "rollout", "status", "deployment/web", "--timeout=60s"]);
    plane.kubectl(&["-n", &namespace, "annotate", "deployment/web", "a=b"]);

    for drift in [
        vec!["scale", "deployment/web", "--replicas=3"],
        vec!["set", "image", "deployment/web", "c=example.org/a:2"],
        vec!["set", "env", "deployment/web", "A-"],
        vec!["label", "deployment/web", "extra=1"],
    ] {
        let ours = drift[0] != "label";
        cluster.live().take_changed();
        plane.kubectl(&[&["-n", namespace.as_str()], drift.as_slice()].concat());
        if ours {
            until_changed(&cluster, &key).await;
            assert_ne!(cluster.live().get(&key).unwrap().entry, first.entry, "{drift:?}");
        }
        let again = cluster.apply(&kind, &key, &body, options()).await.unwrap();
        assert_eq!(again.entry, first.entry, "the same hash comes back after {drift:?}");
        assert_eq!(cluster.live().get(&key).unwrap().entry, first.entry);
    }

    let known = cluster.read_meta(&kind, &key, soon()).await.unwrap().unwrap();
    let again = cluster.apply(&kind, &key, &body, options()).await.unwrap();
    assert_eq!((again.version, again.entry), (known.version, first.entry), "nothing happened");
    assert!(again.unchanged && !again.created);
    let read = cluster.read_marked(soon()).await;
    assert!(read.complete, "{:?}", read.failures);
    assert!(read.kinds_in_use.contains(&kind.gvk));
    assert_eq!(cluster.live().get(&key).unwrap().entry, first.entry, "a list hashes to the same as an apply");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kubectl_applied_and_git_drops_leaves_the_cluster_after_the_take_over() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("takeover");
    let cluster = connect(plane, settings()).await;
    let kind = kind(&cluster, "v1", "ConfigMap");
    let key = key(&kind, &namespace, "settings");
    let old = format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings, namespace: {namespace}}}, data: {{a: '1', b: '2'}}}}"
    );
    plane.apply(&old, &[]);
    assert!(cluster.read_meta(&kind, &key, soon()).await.unwrap().unwrap().take_over);
    assert!(cluster.take_over(&kind, &key, &Value::Null, soon()).await.unwrap());
    assert!(!cluster.take_over(&kind, &key, &Value::Null, soon()).await.unwrap(), "once is enough");
    let applied =
        cluster.apply(&kind, &key, &marked(&key, "v1", json!({"data": {"a": "1"}})), options()).await.unwrap();
    assert!(!applied.take_over && !applied.created);
    let live = plane.get(&namespace, "configmap", "settings").unwrap();
    assert_eq!(live["data"], json!({"a": "1"}));
    assert_eq!(live["metadata"].get("annotations"), None, "kubectl's record is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_kubectl_never_set_stay_with_others_when_managers_were_wiped() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("wiped");
    let cluster = connect(plane, settings()).await;
    let kind = kind(&cluster, "apps/v1", "Deployment");
    let key = key(&kind, &namespace, "web");
    let mut body = marked(&key, "apps/v1", deployment("example.org/a:1", None));
    body["metadata"]["labels"]["gone"] = json!("1");
    plane.apply(&body.to_string(), &[]);
    plane.kubectl(&["-n", &namespace, "scale", "deployment/web", "--replicas=3"]);
    let wipe = r#"[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]"#;
    plane.kubectl(&["-n", &namespace, "patch", "deployment/web", "--type=json", "-p", wipe]);

    let body = marked(&key, "apps/v1", deployment("example.org/a:1", None));
    let applied = cluster.apply(&kind, &key, &body, options()).await.unwrap();
    assert!(applied.take_over, "the API server invented before-first-apply");
    assert!(cluster.take_over(&kind, &key, &Value::Null, soon()).await.unwrap());
    cluster.apply(&kind, &key, &body, options()).await.unwrap();
    let live = plane.get(&namespace, "deployment", "web").unwrap();
    assert_eq!(live["spec"]["replicas"], 3, "the autoscaler's number is not ours");
    assert_eq!(live["metadata"]["labels"].get("gone"), None);
    assert!(!cluster.read_meta(&kind, &key, soon()).await.unwrap().unwrap().take_over);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_ours_as_it_was_seen_is_deleted() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("delete");
    let cluster = connect(plane, settings()).await;
    let kind = kind(&cluster, "v1", "ConfigMap");
    let content = || json!({"data": {"a": "1"}});
    let make = async |name: &str| {
        let key = key(&kind, &namespace, name);
        let applied = cluster.apply(&kind, &key, &marked(&key, "v1", content()), options()).await.unwrap();
        (key, applied.uid)
    };
    let delete = async |key: &Key, uid: Uid| cluster.delete(&kind, key, uid, soon()).await.unwrap();

    let (plain, uid) = make("plain").await;
    assert_eq!(delete(&plain, Uid::new("00000000-0000-0000-0000-000000000000")).await, Deleted::NotOurs);
    assert_eq!(delete(&plain, uid).await, Deleted::Done);
    assert_eq!(delete(&plain, uid).await, Deleted::AlreadyGone);
    assert!(cluster.live().get(&plain).is_none());

    for (name, change) in [
        ("stripped", vec!["label", "configmap/stripped", "fluxcd.io/sync-gc-mark-"]),
        ("foreign", vec!["label", "configmap/foreign", "fluxcd.io/sync-gc-mark=sha256.theirs", "--overwrite"]),
        ("ignored", vec!["annotate", "configmap/ignored", "fluxcd.io/ignore=sync_only"]),
    ] {
        let (key, uid) = make(name).await;
        plane.kubectl(&[&["-n", namespace.as_str()], change.as_slice()].concat());
        assert_eq!(delete(&key, uid).await, Deleted::NotOurs, "{name}");
        assert!(plane.get(&namespace, "configmap", name).is_some());
    }

    let (held, uid) = make("held").await;
    let patch = r#"{"metadata":{"finalizers":["example.org/wait"]}}"#;
    plane.kubectl(&["-n", &namespace, "patch", "configmap/held", "--type=merge", "-p", patch]);
    assert_eq!(delete(&held, uid).await, Deleted::Terminating);
    assert_eq!(delete(&held, uid).await, Deleted::Terminating);
    plane.kubectl(&[
        "-n",
        &namespace,
        "patch",
        "configmap/held",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_tell_of_what_vanished_or_lost_its_label_and_store_nothing_of_others() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("watch");
    let cluster = connect(plane, settings()).await;
    let kind = kind(&cluster, "v1", "ConfigMap");
    let (one, two) = (key(&kind, &namespace, "one"), key(&kind, &namespace, "two"));
    for key in [&one, &two] {
        cluster.apply(&kind, key, &marked(key, "v1", json!({"data": {}})), options()).await.unwrap();
    }
    let _watch = watch(&cluster, &[&kind]).await;
    plane.kubectl(&["-n", &namespace, "delete", "configmap/one"]);
    until_changed(&cluster, &one).await;
    assert!(cluster.live().get(&one).is_none());
    plane.kubectl(&["-n", &namespace, "label", "configmap/two", "fluxcd.io/sync-gc-mark-"]);
    until_changed(&cluster, &two).await;
    assert!(cluster.live().get(&two).is_none());
    plane.kubectl(&["-n", &namespace, "label", "configmap/two", "fluxcd.io/sync-gc-mark=sha256.theirs"]);
    plane.kubectl(&["-n", &namespace, "create", "configmap", "three"]);
    plane.kubectl(&["-n", &namespace, "label", "configmap/three", &format!("fluxcd.io/sync-gc-mark={OURS}")]);
    let three = key(&kind, &namespace, "three");
    until_changed(&cluster, &three).await;
    assert!(cluster.live().get(&two).is_none(), "another's object is not stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_definition_is_waited_for_and_its_kind_is_served_at_once() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("crd");
    let cluster = connect(plane, settings()).await;
    let (group, plural) = (format!("{namespace}.example.org"), "things");
    let name = format!("{plural}.{group}");
    let definitions = kind(&cluster, "apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let definition = key(&definitions, "", &name);
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let body = marked(
        &definition,
        "apiextensions.k8s.io/v1",
        json!({"spec": {
        "group": group, "scope": "Namespaced", "names": {"kind": "Thing", "plural": plural},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}}),
    );
    let made = cluster.apply(&definitions, &definition, &body, options()).await.unwrap();
    let kinds = cluster.wait_established(&name, soon()).await.unwrap();
    let things = kinds.resolve(&Gvk::new(&format!("{group}/v1"), "Thing")).unwrap().clone();
    let thing = key(&things, &namespace, "first");
    let body = marked(&thing, &format!("{group}/v1"), json!({"spec": {"a": 1}}));
    assert!(cluster.apply(&things, &thing, &body, options()).await.unwrap().created);

    let held = async |deletes: &[&Key]| {
        let deletes: HashSet<Key> = deletes.iter().map(|k| (*k).clone()).collect();
        cluster.holds_foreign_objects(&definition, &deletes, soon()).await.unwrap()
    };
    assert_eq!(held(&[]).await, Some(Foreign::Object(thing.clone())));
    assert_eq!(held(&[&thing]).await, None);

    let space = Key { group: String::new(), kind: "Namespace".into(), namespace: None, name: namespace.clone() };
    let none = HashSet::new();
    let found = cluster.holds_foreign_objects(&space, &none, soon()).await.unwrap();
    assert_eq!(found, Some(Foreign::Object(thing.clone())));
    let found = cluster.holds_foreign_objects(&space, &HashSet::from([thing]), soon()).await.unwrap();
    assert_eq!(found, None, "the service account and the root CA do not count");
    assert!(matches!(cluster.delete(&definitions, &definition, made.uid, soon()).await.unwrap(), Deleted::Terminating));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_told_apart() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("errors");
    let cluster = connect(plane, settings()).await;
    let apply = async |api_version: &str, kind_name: &str, namespace: &str, content: Value| {
        let kind = kind(&cluster, api_version, kind_name);
        let key = key(&kind, namespace, "a");
        let until = Instant::now() + Duration::from_secs(20);
        let options = ApplyOptions { dry_run: false, until, sealed: false, whole: false };
        cluster.apply(&kind, &key, &marked(&key, api_version, content), options).await
    };
    let kind_of = |e: Result<_, fluxd::cluster::RequestError>| e.map(|_: fluxd::cluster::Applied| ()).unwrap_err();

    let error = kind_of(apply("v1", "ConfigMap", "no-such-place", json!({})).await);
    assert_eq!(error.kind(), ErrorKind::NamespaceMissing);
    assert_eq!(error.to_string(), "Error from server (NotFound): namespaces \"no-such-place\" not found");
    let error = kind_of(apply("v1", "ConfigMap", &namespace, json!({"dta": {}})).await);
    assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
    let error = kind_of(apply("v1", "Service", &namespace, json!({"spec": {"ports": [{"port": 99999}]}})).await);
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.causes().iter().any(|c| c.field == "spec.ports[0].port"), "{error:?}");
    apply("apps/v1", "Deployment", &namespace, deployment("a", None)).await.unwrap();
    let mut other = deployment("a", None);
    other["spec"]["selector"]["matchLabels"]["app"] = json!("b");
    other["spec"]["template"]["metadata"]["labels"]["app"] = json!("b");
    assert_eq!(kind_of(apply("apps/v1", "Deployment", &namespace, other).await).kind(), ErrorKind::Immutable);
    plane.kubectl(&["-n", &namespace, "create", "configmap", "wait"]);
    let patch = r#"{"metadata":{"finalizers":["example.org/wait"]}}"#;
    plane.kubectl(&["-n", &namespace, "patch", "configmap/wait", "--type=merge", "-p", patch]);
    plane.kubectl(&["delete", "namespace", &namespace, "--wait=false"]);
    let error = kind_of(apply("v1", "Secret", &namespace, json!({})).await);
    assert_eq!(error.kind(), ErrorKind::NamespaceTerminating, "{error}");
    plane.kubectl(&[
        "-n",
        &namespace,
        "patch",
        "configmap/wait",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_of_admission_is_told_as_a_denial() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("denied");
    let cluster = connect(plane, settings()).await;
    plane.apply(
        &format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: {namespace}}}\nspec:\n  \
             matchConstraints:\n    resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]\n  \
             validations: [{{expression: 'object.metadata.name != \"bad\"', message: not this one}}]\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: {namespace}}}\nspec:\n  \
             policyName: {namespace}\n  validationActions: [Deny]\n  matchResources:\n    namespaceSelector: \
             {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}\n"
        ),
        &[],
    );
    let kind = kind(&cluster, "v1", "ConfigMap");
    let key = key(&kind, &namespace, "bad");
    let body = marked(&key, "v1", json!({}));
    // The policy takes hold a moment after it was made.
    let error = eventually_async("the policy takes hold", || async {
        let result = cluster.apply(&kind, &key, &body, options()).await;
        plane.try_kubectl(&["-n", &namespace, "delete", "configmap", "bad"]).ok();
        result.err()
    })
    .await;
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.message().contains("not this one"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_keep_to_the_allowed_namespaces() {
    let plane = ControlPlane::shared();
    let (seen, unseen) = (plane.namespace("allowed"), plane.namespace("other"));
    for namespace in [&seen, &unseen] {
        plane.apply(
            &format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: {namespace}, labels: {{{GC_MARK_LABEL}: {OURS}}}}}}}"),
            &[],
        );
        plane.apply(
            &json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": namespace},
            "spec": deployment("a", None)["spec"]})
            .to_string(),
            &[],
        );
    }
    let allow = vec![seen.clone(), "no-such-place".to_owned()];
    let cluster = connect(plane, Settings { allow_namespaces: allow, ..settings() }).await;
    let read = cluster.read_marked(soon()).await;
    assert!(read.complete, "{:?}", read.failures);
    let places: BTreeSet<_> =
        cluster.live().all().iter().filter_map(|o| o.namespace.as_deref().map(str::to_owned)).collect();
    assert_eq!(places, BTreeSet::from([seen.clone()]));
    assert_eq!(cluster.namespaces(soon()).await.unwrap(), std::slice::from_ref(&seen));
    let workloads = cluster.workloads(None, soon()).await.unwrap();
    let places: BTreeSet<_> = workloads.iter().filter_map(|w| w["metadata"]["namespace"].as_str()).collect();
    assert_eq!(places, BTreeSet::from([seen.as_str()]));
    assert!(workloads.iter().any(|w| w["kind"] == "Deployment" && w["apiVersion"] == "apps/v1"));
    assert!(cluster.workloads(Some(&unseen), soon()).await.unwrap().is_empty());
    assert_eq!(cluster.server_version(soon()).await.unwrap(), "v1.36.3");
}
