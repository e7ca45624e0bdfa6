//! Cases of what happens to objects between building and applying (resourceset §5 and §11, C1-C9).

use std::collections::HashMap;

use serde_json::json;

use super::kubeconfig::extract;
use super::*;

/// The name that annotations of resourceset §2.5 begin with.
const PREFIX: &str = "fluxcd.controlplane.io/";

/// What is live, by `Kind/namespace/name`.
#[derive(Default)]
struct Live(HashMap<String, Value>);

impl Live {
    fn with(mut self, kind: &str, name: &str, fields: Value) -> Self {
        self.0.insert(format!("{kind}/ns/{name}"), fields);
        self
    }
}

impl Read for Live {
    async fn get(&self, kind: SourceKind, namespace: &str, name: &str) -> Result<Value, String> {
        let missing = || format!("{}s {name:?} not found", kind.as_str().to_lowercase());
        self.0.get(&format!("{}/{namespace}/{name}", kind.as_str())).cloned().ok_or_else(missing)
    }
}

fn object(kind: &str, name: &str, annotations: &[(&str, &str)], fields: Value) -> Value {
    let annotations: serde_json::Map<String, Value> =
        annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), json!(value))).collect();
    let mut object = json!({ "apiVersion": "v1", "kind": kind,
        "metadata": { "name": name, "namespace": "ns", "annotations": annotations } });
    for (key, value) in fields.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

fn step(name: Option<&str>, objects: &[Value]) -> Step {
    let made = |value: &Value| {
        let origin = crate::object::Origin { file: "test".into(), line: 1, generated: true };
        Arc::new(Object::new(value, origin).unwrap())
    };
    Step { name: name.map(str::to_owned), timeout: None, objects: objects.iter().map(made).collect() }
}

fn marks() -> Marks {
    Marks { namespace: "team".into(), name: "apps".into(), common: CommonMetadata::default() }
}

async fn transformed(objects: &[Value], live: &Live) -> Result<(Vec<Value>, Transformed), String> {
    let done = prepare(vec![step(None, objects)], &marks(), &mut Memo::default()).complete(live).await?;
    Ok((done.steps[0].objects.iter().map(|o| o.value()).collect(), done))
}

async fn one(object: Value, live: &Live) -> Result<Value, String> {
    Ok(transformed(&[object], live).await?.0.remove(0))
}

const COPY: (&str, &str) = ("copyFrom", "ns/source");

/// C1
#[tokio::test]
async fn copies_take_data_and_type_and_nothing_else() {
    let labels = json!({ "labels": { "x": "y" } });
    let live = Live::default().with("ConfigMap", "source", json!({ "data": { "a": "1" }, "metadata": labels })).with(
        "Secret",
        "source",
        json!({ "type": "kubernetes.io/dockerconfigjson", "metadata": labels,
            "data": { ".dockerconfigjson": "e30=" } }),
    );
    let copy = one(object("ConfigMap", "copy", &[COPY], json!({ "data": { "old": "0" } })), &live).await.unwrap();
    assert_eq!(copy["data"], json!({ "a": "1" }));
    assert!(copy.get("binaryData").is_none() && copy["metadata"]["labels"].get("x").is_none());

    let copy = one(object("Secret", "copy", &[COPY], json!({ "data": { "own": "MQ==" } })), &live).await.unwrap();
    assert_eq!(copy["type"], "kubernetes.io/dockerconfigjson");
    assert_eq!(copy["data"], json!({ ".dockerconfigjson": "e30=", "own": "MQ==" }), "the template's own data stays");
    assert!(copy.get("stringData").is_none() && copy["metadata"]["labels"].get("x").is_none());

    let copy = one(object("Secret", "copy", &[COPY], json!({ "type": "example.com/own" })), &live).await.unwrap();
    assert_eq!(copy["type"], "example.com/own");
    let plain = Live::default().with("Secret", "source", json!({ "data": { "a": "//4=" } }));
    let copy = one(object("Secret", "copy", &[COPY], json!({})), &plain).await.unwrap();
    assert_eq!(
        (&copy["type"], &copy["data"]["a"]),
        (&json!("Opaque"), &json!("//4=")),
        "bytes that are no text survive"
    );
    let other = one(object("ServiceAccount", "copy", &[COPY], json!({})), &live).await.unwrap();
    assert!(other.get("data").is_none(), "other kinds copy nothing");
}

/// C1, C2
#[tokio::test]
async fn copies_follow_their_source_and_lose_what_it_loses() {
    for kind in ["ConfigMap", "Secret"] {
        let copy = || object(kind, "copy", &[COPY], json!({}));
        let data = |fields: Value| Live::default().with(kind, "source", json!({ "data": fields }));
        let (first, before) = transformed(&[copy()], &data(json!({ "a": "MQ==", "b": "Mg==" }))).await.unwrap();
        let (second, after) = transformed(&[copy()], &data(json!({ "a": "Mw==" }))).await.unwrap();
        assert_eq!(first[0]["data"], json!({ "a": "MQ==", "b": "Mg==" }));
        assert_eq!(second[0]["data"], json!({ "a": "Mw==" }));
        assert_ne!(before.revision, after.revision);
    }
}

/// C3
#[tokio::test]
async fn binary_data_is_copied_when_there_is_some() {
    let live = Live::default().with("ConfigMap", "source", json!({ "binaryData": { "b": "//4=" } }));
    let copy = one(object("ConfigMap", "copy", &[COPY], json!({})), &live).await.unwrap();
    assert_eq!((&copy["data"], &copy["binaryData"]), (&json!({}), &json!({ "b": "//4=" })));
}

fn deployment(references: &str) -> Value {
    json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "app", "namespace": "ns" },
        "spec": { "template": { "metadata": { "annotations": {
            format!("{PREFIX}checksumFrom"): references, "kept": "yes" } } } } })
}

fn checksum_in(object: &Value) -> Option<String> {
    let annotations = &object["spec"]["template"]["metadata"]["annotations"];
    annotations[format!("{PREFIX}checksum")].as_str().map(str::to_owned)
}

fn sources(config: &str, secret: &str) -> Live {
    Live::default().with("ConfigMap", "c", json!({ "data": { "k": config } })).with(
        "Secret",
        "s",
        json!({ "data": { "k": secret } }),
    )
}

/// C4
#[tokio::test]
async fn a_checksum_is_written_beside_its_annotation_and_follows_each_source() {
    let references = "ConfigMap/ns/c,Secret/ns/s";
    let sum = |config: &'static str, secret: &'static str, references: &'static str| async move {
        let (objects, done) = transformed(&[deployment(references)], &sources(config, secret)).await.unwrap();
        assert_eq!(done.external_refs, ["ConfigMap/ns/c", "Secret/ns/s"]);
        assert_eq!(objects[0]["spec"]["template"]["metadata"]["annotations"]["kept"], "yes");
        checksum_in(&objects[0]).unwrap()
    };
    let first = sum("1", "MQ==", references).await;
    let expected = Digest::of(b"ConfigMap/ns/c\0k\x001\0Secret/ns/s\0k\x001\0");
    assert_eq!(first, format!("sha256:{expected}"));
    assert_eq!(first, sum("1", "MQ==", references).await, "it is stable");
    assert_eq!(first, sum("1", "MQ==", "ConfigMap/ns/c,\nSecret/ns/s\n").await, "line breaks do not count");
    assert_ne!(first, sum("2", "MQ==", references).await);
    assert_ne!(first, sum("1", "Mg==", references).await);
    assert_ne!(first, sum("1", "MQ==", "Secret/ns/s,ConfigMap/ns/c").await, "the order of references counts");
}

/// C5, S12
#[tokio::test]
async fn a_checksum_of_an_object_of_the_same_set_needs_no_read_whatever_its_step() {
    let config = object("ConfigMap", "c", &[], json!({ "data": { "k": "pending" } }));
    let steps = vec![step(Some("first"), &[deployment("ConfigMap/ns/c")]), step(Some("last"), &[config])];
    let live = sources("live", "MQ==");
    let prepared = prepare(steps, &marks(), &mut Memo::default());
    assert!(prepared.sources().is_empty(), "applying it does not wake the set itself");
    let done = prepared.complete(&live).await.unwrap();
    let expected = Digest::of(b"ConfigMap/ns/c\0k\0pending\0");
    assert_eq!(checksum_in(&done.steps[0].objects[0].value()).unwrap(), format!("sha256:{expected}"));
    assert!(done.external_refs.is_empty());
    assert_eq!((done.steps[0].objects.len(), done.steps[1].objects.len()), (1, 1));
}

/// C6
#[tokio::test]
async fn checksums_are_the_same_of_rendered_and_of_live_objects() {
    let config = json!({ "data": { "t": "1" }, "binaryData": { "b": "//4=" } });
    let written = json!({ "data": { "k": "MQ==", "z": "Mg==" }, "stringData": { "k": "3" } });
    let stored = json!({ "data": { "k": "Mw==", "z": "Mg==" } });
    let live = Live::default().with("ConfigMap", "c", config.clone()).with("Secret", "s", stored);
    let outside = transformed(&[deployment(", ConfigMap/ns/c,,Secret/ns/s ,")], &live).await.unwrap().0;
    let all = [
        deployment(", ConfigMap/ns/c,,Secret/ns/s ,"),
        object("ConfigMap", "c", &[], config),
        object("Secret", "s", &[], written),
    ];
    let inside = transformed(&all, &Live::default()).await.unwrap().0;
    assert_eq!(checksum_in(&inside[0]).unwrap(), checksum_in(&outside[0]).unwrap());
}

/// C5
#[tokio::test]
async fn a_checksum_of_a_copy_is_that_of_the_copied_data() {
    let live = Live::default().with("ConfigMap", "source", json!({ "data": { "k": "copied" } }));
    let all = [deployment("ConfigMap/ns/copy"), object("ConfigMap", "copy", &[COPY], json!({}))];
    let (objects, done) = transformed(&all, &live).await.unwrap();
    let expected = Digest::of(b"ConfigMap/ns/copy\0k\0copied\0");
    assert_eq!(checksum_in(&objects[0]).unwrap(), format!("sha256:{expected}"));
    assert!(done.external_refs.is_empty());
}

/// C7, errata 23 and 24
#[tokio::test]
async fn wrong_references_fail_with_their_own_words() {
    let live = sources("1", "MQ==");
    let (copy, sum) = (format!("{PREFIX}copyFrom"), format!("{PREFIX}checksumFrom"));
    for (references, wanted) in [
        ("ConfigMap/c", format!("invalid {sum} reference 'ConfigMap/c' must be in the format 'Kind/namespace/name'")),
        (
            "configmap/ns/c",
            format!(
                "unsupported kind 'configmap' in {sum} reference 'configmap/ns/c', only ConfigMap and Secret are allowed"
            ),
        ),
        (
            "ConfigMap/ns/none",
            format!("failed to resolve {sum} reference ConfigMap/ns/none: configmaps \"none\" not found"),
        ),
    ] {
        assert_eq!(transformed(&[deployment(references)], &live).await.unwrap_err(), wanted);
    }
    for empty in ["", ",", " ,\n, "] {
        assert_eq!(checksum_in(&one(deployment(empty), &live).await.unwrap()), None, "{empty:?}");
    }
    for (value, wanted) in [
        ("", format!("invalid {copy} annotation value '' must be in the format 'namespace/name'")),
        ("a", format!("invalid {copy} annotation value 'a' must be in the format 'namespace/name'")),
        ("a/b/c", format!("invalid {copy} annotation value 'a/b/c' must be in the format 'namespace/name'")),
        ("/", "failed to copy data from ConfigMap//: resource name may not be empty".to_owned()),
        ("ns/none", "failed to copy data from ConfigMap/ns/none: configmaps \"none\" not found".to_owned()),
    ] {
        let copy = object("ConfigMap", "copy", &[("copyFrom", value)], json!({}));
        assert_eq!(one(copy, &live).await.unwrap_err(), wanted);
    }
}

fn kubeconfig(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: one\n  cluster:\n    server: {server}\n    \
         certificate-authority-data: LS0tQS0tLQ==\n- name: two\n  cluster: {{server: https://two, \
         certificate-authority-data: LS0tQi0tLQ==}}\n"
    )
}

async fn converted(reference: &str, secret: Value, fields: Value) -> Result<Value, String> {
    use base64::Engine as _;
    let encode = |v: &Value| json!(base64::engine::general_purpose::STANDARD.encode(v.as_str().unwrap()));
    let data: serde_json::Map<String, Value> =
        secret.as_object().unwrap().iter().map(|(key, value)| (key.clone(), encode(value))).collect();
    let live = Live::default().with("Secret", "kc", json!({ "data": data }));
    let map = object("ConfigMap", "cluster", &[("convertKubeConfigFrom", reference)], fields);
    one(map, &live).await.map(|object| object["data"].clone())
}

/// C8
#[tokio::test]
async fn a_kubeconfig_gives_address_and_authority_unless_they_are_there() {
    let (a, b) = (kubeconfig("https://a"), kubeconfig("https://b"));
    let both = json!({ "kubeconfig": a, "value": b, "own": b });
    let data = converted("ns/kc", both.clone(), json!({})).await.unwrap();
    assert_eq!(data, json!({ "address": "https://a", "ca.crt": "---A---" }), "kubeconfig goes before value");
    assert_eq!(converted("ns/kc", json!({ "value": b }), json!({})).await.unwrap()["address"], "https://b");
    assert_eq!(converted("ns/kc:own", both.clone(), json!({})).await.unwrap()["address"], "https://b");
    assert_eq!(converted("ns/kc:", both.clone(), json!({})).await.unwrap()["address"], "https://a");
    let kept = json!({ "data": { "address": "https://mine", "provider": "generic" } });
    let data = converted("ns/kc", both, kept).await.unwrap();
    assert_eq!(data, json!({ "address": "https://mine", "provider": "generic", "ca.crt": "---A---" }));
}

/// C8
#[tokio::test]
async fn a_kubeconfig_that_is_not_there_is_named() {
    let annotation = format!("{PREFIX}convertKubeConfigFrom");
    for (reference, wanted) in [
        ("kc", format!("invalid {annotation} annotation value 'kc' must be in the format ")),
        ("ns/none", "failed to get kubeconfig Secret/ns/none: secrets \"none\" not found".to_owned()),
        ("ns/kc", "kubeconfig Secret/ns/kc does not have 'kubeconfig' or 'value' field".to_owned()),
        ("ns/kc:own", "kubeconfig Secret/ns/kc does not have 'own' field".to_owned()),
    ] {
        let error = converted(reference, json!({ "other": "x" }), json!({})).await.unwrap_err();
        assert!(error.starts_with(&wanted), "{error}");
    }
    let error = converted("ns/kc", json!({ "value": "clusters: [" }), json!({})).await.unwrap_err();
    assert!(error.starts_with("failed to extract fields from kubeconfig Secret/ns/kc: "), "{error}");
}

/// C9
#[test]
fn of_several_clusters_the_first_counts_and_all_must_be_whole() {
    let first = extract(kubeconfig("https://a").as_bytes()).unwrap();
    assert_eq!((first.address.as_str(), first.ca.as_str()), ("https://a", "---A---"));
    for (text, wanted) in [
        (": : :\n\t-", "invalid YAML"),
        ("kind: Config", "no clusters"),
        ("clusters: []", "no clusters"),
        ("", "no clusters"),
        ("clusters: [{name: a, cluster: {certificate-authority-data: QQ==}}]", "'a' has no server"),
        ("clusters: [{name: a, cluster: {server: '', certificate-authority-data: QQ==}}]", "'a' has no server"),
        ("clusters: [{name: a, cluster: {server: s}}]", "'a' has no certificate-authority-data"),
        ("clusters: [{name: a, cluster: {server: s, certificate-authority-data: '%'}}]", "is not base64"),
        (
            "clusters: [{name: a, cluster: {server: s, certificate-authority-data: QQ==}}, {name: b}]",
            "'b' has no server",
        ),
    ] {
        let error = extract(text.as_bytes()).unwrap_err();
        assert!(error.contains(wanted), "{text}: {error}");
    }
    assert!(extract(&b"a: b\n".repeat(1 << 20)).is_err(), "it has a bound");
}

#[tokio::test]
async fn every_object_gets_owner_labels_then_common_metadata() {
    let common = CommonMetadata {
        labels: [("team".to_owned(), "a".to_owned()), ("app".to_owned(), "over".to_owned())].into(),
        annotations: [("note".to_owned(), "n".to_owned())].into(),
    };
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "a", "namespace": "ns", "labels": { "app": "under", "own": "1" } } });
    let marks = Marks { common, ..marks() };
    let all = vec![step(None, &[map])];
    let done = prepare(all, &marks, &mut Memo::default()).complete(&Live::default()).await.unwrap();
    let metadata = &done.steps[0].objects[0].value()["metadata"];
    let wanted = json!({ "app": "over", "own": "1", "team": "a",
        "resourceset.fluxcd.controlplane.io/name": "apps", "resourceset.fluxcd.controlplane.io/namespace": "team" });
    assert_eq!((&metadata["labels"], &metadata["annotations"]), (&wanted, &json!({ "note": "n" })));
}

/// Errata 16
#[tokio::test]
async fn labels_with_a_number_among_them_vanish_but_for_the_owner() {
    let mut map = object("ConfigMap", "a", &[], json!({}));
    map["metadata"]["labels"] = json!({ "n": 3, "x": "y" });
    let labels = one(map, &Live::default()).await.unwrap()["metadata"]["labels"].clone();
    assert_eq!(labels.as_object().unwrap().len(), 2, "{labels}");
}

#[tokio::test]
async fn nothing_at_a_label_is_an_empty_text_and_takes_no_others_with_it() {
    let mut map = object("ConfigMap", "a", &[], json!({}));
    map["metadata"]["labels"] = json!({ "n": null, "x": "y" });
    let labels = one(map, &Live::default()).await.unwrap()["metadata"]["labels"].clone();
    assert_eq!((labels.as_object().unwrap().len(), &labels["n"], &labels["x"]), (4, &json!(""), &json!("y")));
}

#[tokio::test]
async fn plain_data_of_a_secret_is_never_lost() {
    let secret = |plain: Value| object("Secret", "a", &[], json!({ "data": { "k": "MQ==" }, "stringData": plain }));
    let folded = one(secret(json!({ "e": null, "t": "x" })), &Live::default()).await.unwrap();
    assert_eq!(folded["data"], json!({ "k": "MQ==", "e": "", "t": "eA==" }));
    let wrong = one(secret(json!({ "n": 5, "t": "x" })), &Live::default()).await.unwrap();
    assert_eq!(wrong["stringData"], json!({ "n": 5, "t": "x" }), "the API server refuses it by its name");
}

#[tokio::test]
async fn objects_are_brought_into_the_form_that_is_applied() {
    let ports = json!([{ "containerPort": 80 }, { "containerPort": 53, "protocol": "UDP" }]);
    let pod = json!({ "spec": { "containers": [{ "ports": ports }] }, "status": { "phase": "x" } });
    let pod = one(object("Pod", "a", &[], pod), &Live::default()).await.unwrap();
    let protocols = |object: &Value, at: &str| -> Vec<String> {
        let ports = object.pointer(at).unwrap().as_array().unwrap();
        ports.iter().map(|p| p["protocol"].as_str().unwrap_or("none").to_owned()).collect()
    };
    assert_eq!(protocols(&pod, "/spec/containers/0/ports"), ["TCP", "UDP"]);
    assert!(pod.get("status").is_none());
    let service = object("Service", "a", &[], json!({ "spec": { "ports": [{ "port": 80 }] } }));
    assert_eq!(protocols(&one(service, &Live::default()).await.unwrap(), "/spec/ports"), ["TCP"]);
    let mut job = object(
        "CronJob",
        "a",
        &[],
        json!({ "spec": { "jobTemplate": { "spec": { "template": { "spec":
        { "containers": [{ "ports": [{ "containerPort": 1 }] }] } } } } } }),
    );
    job["apiVersion"] = json!("batch/v1");
    let at = "/spec/jobTemplate/spec/template/spec/containers/0/ports";
    assert_eq!(protocols(&one(job, &Live::default()).await.unwrap(), at), ["TCP"]);

    let secret = json!({ "data": { "a": "MQ==", "b": "Mg==" }, "stringData": { "a": "3" } });
    let mut secret = object("Secret", "a", &[], secret);
    secret["metadata"]["creationTimestamp"] = Value::Null;
    let secret = one(secret, &Live::default()).await.unwrap();
    assert_eq!(secret["data"], json!({ "a": "Mw==", "b": "Mg==" }));
    assert!(secret.get("stringData").is_none() && secret["metadata"].get("creationTimestamp").is_none());

    let mut definition = object(
        "CustomResourceDefinition",
        "a",
        &[],
        json!({ "status": { "x": 1 }, "spec": {
        "conversion": { "webhook": { "clientConfig": { "caBundle": "Cg==", "url": "https://x" } } } } }),
    );
    definition["apiVersion"] = json!("apiextensions.k8s.io/v1");
    let definition = one(definition, &Live::default()).await.unwrap();
    assert_eq!(definition["status"], json!({ "x": 1 }));
    assert_eq!(definition["spec"]["conversion"]["webhook"]["clientConfig"], json!({ "url": "https://x" }));
}

#[tokio::test]
async fn the_revision_is_that_of_all_objects_in_their_order() {
    let (a, b) = (object("ConfigMap", "a", &[], json!({})), object("ConfigMap", "b", &[], json!({})));
    let revision = |all: Vec<Value>| async move { transformed(&all, &Live::default()).await.unwrap().1.revision };
    let first = revision(vec![a.clone(), b.clone()]).await;
    assert_eq!(first, revision(vec![a.clone(), b.clone()]).await);
    assert_ne!(first, revision(vec![b.clone(), a.clone()]).await);
    let none = revision(vec![]).await;
    assert_eq!(
        none, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "of nothing (errata 20)"
    );
}

#[tokio::test]
async fn what_is_remembered_gives_what_a_first_pass_gives() {
    let mut memo = Memo::default();
    let live = sources("1", "MQ==");
    let all = || vec![step(None, &[object("ConfigMap", "a", &[], json!({})), deployment("ConfigMap/ns/c")])];
    let first = prepare(all(), &marks(), &mut memo).complete(&live).await.unwrap();
    let second = prepare(all(), &marks(), &mut memo).complete(&live).await.unwrap();
    assert_eq!(first.revision, second.revision);
    let changed = prepare(all(), &marks(), &mut memo).complete(&sources("2", "MQ==")).await.unwrap();
    assert_ne!(first.revision, changed.revision, "what refers to others is not remembered");
    let other = Marks { name: "other".into(), ..marks() };
    let renamed = prepare(all(), &other, &mut memo).complete(&live).await.unwrap();
    let label = &renamed.steps[0].objects[0].value()["metadata"]["labels"][crate::api::OWNER_NAME_LABEL];
    assert_eq!(label, "other", "nor is what was marked as another owner's");
}
