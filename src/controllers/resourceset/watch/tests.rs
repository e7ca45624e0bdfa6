//! Cases of the mapping of watches (resourceset §11, W1, W2).

use serde_json::json;

use super::*;

fn set(namespace: &str, name: &str, sources: Value) -> ResourceSet {
    serde_json::from_value(json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
        "metadata": { "namespace": namespace, "name": name },
        "spec": { "inputsFrom": sources, "resources": [{}] },
    }))
    .unwrap()
}

fn provider(revision: Option<&str>) -> ResourceSetInputProvider {
    serde_json::from_value(json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
        "metadata": { "namespace": "ns", "name": "p", "labels": { "team": "a", "tier": "web" } },
        "spec": { "type": "Static" },
        "status": { "lastExportedRevision": revision },
    }))
    .unwrap()
}

fn names(found: &[ObjectRef<ResourceSet>]) -> Vec<String> {
    found.iter().map(|f| format!("{}/{}", f.namespace.as_deref().unwrap_or_default(), f.name)).collect()
}

/// W1
#[test]
fn a_provider_concerns_the_resource_sets_of_its_namespace_that_name_or_select_it() {
    let selector = |labels: Value| json!([{ "selector": { "matchLabels": labels } }]);
    let sets = [
        set("ns", "by-name", json!([{ "name": "x" }, { "name": "p" }])),
        set("ns", "by-labels", selector(json!({ "team": "a" }))),
        set("ns", "by-both", json!([{ "name": "p" }, { "selector": { "matchLabels": { "team": "a" } } }])),
        set("ns", "by-all", json!([{ "selector": {} }])),
        set(
            "ns",
            "by-expression",
            json!([{ "selector": { "matchExpressions":
            [{ "key": "tier", "operator": "In", "values": ["web", "db"] }] } }]),
        ),
        set("ns", "other-name", json!([{ "name": "q" }])),
        set("ns", "other-labels", selector(json!({ "team": "b" }))),
        set(
            "ns",
            "wrong-operator",
            json!([{ "selector": { "matchExpressions": [{ "key": "tier", "operator": "Like" }] } }]),
        ),
        set("ns", "none", json!([])),
        set("elsewhere", "by-name", json!([{ "name": "p" }])),
    ];
    let found = of_provider(&provider(None), &sets);
    assert_eq!(names(&found), ["ns/by-name", "ns/by-labels", "ns/by-both", "ns/by-all", "ns/by-expression"]);
}

/// W1
#[test]
fn a_provider_that_changes_counts_only_when_its_exports_do() {
    let (old, new) = (provider(Some("sha256:1")), provider(Some("sha256:2")));
    assert!(provider_counts(None, Some(&old)) && provider_counts(Some(&old), None));
    assert!(provider_counts(Some(&old), Some(&new)) && provider_counts(Some(&provider(None)), Some(&old)));
    assert!(!provider_counts(Some(&old), Some(&old)));
}

fn object(kind: &str, annotation: &str, value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": kind, "metadata": { "annotations": { annotation: value } } })
}

/// W2
#[test]
fn objects_tell_which_config_maps_and_secrets_they_take_data_from() {
    let convert = CONVERT_KUBECONFIG_FROM;
    for (object, wanted) in [
        (object("ConfigMap", COPY_FROM, "ns/a"), vec!["ConfigMap/ns/a"]),
        (object("Secret", COPY_FROM, "ns/a"), vec!["Secret/ns/a"]),
        (object("ServiceAccount", COPY_FROM, "ns/a"), vec![]),
        (object("ConfigMap", convert, "ns/a"), vec!["Secret/ns/a"]),
        (object("ConfigMap", convert, "ns/a:key"), vec!["Secret/ns/a"]),
        (object("ConfigMap", convert, "ns/a:"), vec!["Secret/ns/a"]),
        (object("Secret", convert, "ns/a"), vec![]),
        (object("Service", CHECKSUM_FROM, "Secret/ns/a,\n ConfigMap/ns/b,,"), vec!["ConfigMap/ns/b", "Secret/ns/a"]),
        (object("ConfigMap", "unrelated", "ns/a"), vec![]),
    ] {
        let wanted: BTreeSet<Source> = wanted.into_iter().map(|w| Source(w.to_owned())).collect();
        assert_eq!(sources_of(&object), wanted, "{object}");
    }
    let deployment = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "spec": { "template": {
        "metadata": { "annotations": { CHECKSUM_FROM: "ConfigMap/ns/c" } } } } });
    assert_eq!(sources_of(&deployment), BTreeSet::from([Source::new(SourceKind::ConfigMap, "ns", "c")]));
}

/// W2
#[test]
fn a_changed_source_concerns_whoever_takes_from_it_and_its_kind_matters() {
    let index = SourceIndex::default();
    index.set("team", "copies", sources_of(&object("ConfigMap", COPY_FROM, "ns/a")));
    index.set("team", "converts", sources_of(&object("ConfigMap", CONVERT_KUBECONFIG_FROM, "ns/a:key")));
    index.set("team", "sums", sources_of(&object("Pod", CHECKSUM_FROM, "ConfigMap/ns/a,Secret/ns/a")));
    assert_eq!(names(&index.of_source(SourceKind::ConfigMap, "ns", "a")), ["team/copies", "team/sums"]);
    assert_eq!(names(&index.of_source(SourceKind::Secret, "ns", "a")), ["team/converts", "team/sums"]);
    assert!(index.of_source(SourceKind::Secret, "other", "a").is_empty());
    index.set("team", "sums", BTreeSet::new());
    assert_eq!(
        names(&index.of_source(SourceKind::Secret, "ns", "a")),
        ["team/converts"],
        "one that is gone is forgotten"
    );
}
