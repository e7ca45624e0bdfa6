//! Steadiness: what defaulting, status writers, autoscalers and other sets do makes no write of ours, and kinds may come and
//! go.

use fluxd::operator::sets::ChangeAction::{Created, Unchanged};

use super::*;
use crate::rig::{eventually, eventually_async};

/// The objects of `tests/data/sets/corpus.yaml`, and a definition.
fn corpus(fixture: &Fixture) -> Vec<Arc<Object>> {
    let (namespace, name) = (fixture.namespace.as_str(), fresh_name("corpus"));
    let text = include_str!("../../data/sets/corpus.yaml").replace("NAMESPACE", namespace).replace("NAME", &name);
    let cases: Vec<Value> = serde_saphyr::from_str(&text).unwrap();
    let mut objects: Vec<_> = cases
        .into_iter()
        .map(|case| {
            let mut value = case["object"].clone();
            value["apiVersion"] = case["apiVersion"].clone();
            value["kind"] = case["kind"].clone();
            value["metadata"] = json!({"name": name, "namespace": namespace});
            fixture.object(value)
        })
        .collect();
    objects.push(fixture.object(crd(&format!("{name}.example.org"))));
    objects
}

/// A definition of a kind whose objects have a field with a default.
fn crd(group: &str) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")}, "spec": {"group": group,
        "names": {"kind": "Thing", "plural": "things"}, "scope": "Namespaced",
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}}}}}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_applies_of_a_corpus_write_nothing_whatever_controllers_do_to_it() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "steady").await;
    let objects = corpus(&fixture);
    let outcome = fixture.apply(&objects).await;
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.changes.len(), objects.len());
    let name = objects[0].name().to_owned();
    eventually("the deployment is rolled out", || {
        (plane.get(&fixture.namespace, "deployment", &name)?["status"]["availableReplicas"] == 1).then_some(())
    });
    plane.kubectl(&["-n", &fixture.namespace, "scale", "deployment", &name, "--replicas=2"]);
    for round in 0..100 {
        let outcome = fixture.apply(&objects).await;
        assert_eq!(outcome.error, None);
        let changed: Vec<_> = outcome.changes.iter().filter(|c| c.action != Unchanged).collect();
        assert!(changed.is_empty(), "round {round}: {changed:?}");
    }
    // Without any memory, by looks and dry runs.
    for round in 0..3 {
        let mut fresh = Fixture::within(plane, &fixture.namespace, SetSettings::resource_set()).await;
        fresh.owner = fixture.owner.clone();
        let outcome = fresh.apply(&objects).await;
        assert_eq!(outcome.error, None);
        let changed: Vec<_> = outcome.changes.iter().filter(|c| c.action != Unchanged).collect();
        assert!(changed.is_empty(), "round {round} without memory: {changed:?}");
    }
    let pruned = fixture.set().prune(&outcome.inventory, &how()).await;
    assert_eq!((pruned.error, pruned.left.len()), (None, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_removed_under_its_objects_takes_them_along_and_comes_back_with_them() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "removed").await;
    let group = format!("{}.example.org", fresh_name("g"));
    let crd = fixture.object(crd(&group));
    let thing = fixture.object(json!({"apiVersion": format!("{group}/v1"), "kind": "Thing",
        "metadata": {"name": "a", "namespace": fixture.namespace}, "spec": {}}));
    let both = [crd.clone(), thing.clone()];
    assert_eq!(actions(&fixture.apply(&both).await), [Created, Created]);
    assert_eq!(actions(&fixture.apply(&both).await), [Unchanged, Unchanged]);
    plane.kubectl(&["delete", "crd", &format!("things.{group}")]);
    let pruned = fixture.set().prune(&[entry(&thing)], &how()).await;
    assert_eq!((pruned.error, pruned.left.len()), (None, 0), "objects without a kind are gone");
    eventually_async("an object alone is told to have no kind", || async {
        let error = fixture.apply(std::slice::from_ref(&thing)).await.error?;
        let text = format!(
            "Thing/{}/a dry-run failed: no matches for kind \"Thing\" in version \"{group}/v1\"",
            fixture.namespace
        );
        (error == text).then_some(())
    })
    .await;
    eventually_async("both come back in one pass", || async {
        let outcome = fixture.apply(&both).await;
        (outcome.error.is_none() && actions(&outcome).contains(&Created)).then_some(())
    })
    .await;
    assert!(plane.get(&fixture.namespace, &format!("things.{group}"), "a").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sets_share_what_is_known_and_keep_their_requests_bounded() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "many").await;
    fixture.apply(&[fixture.config_map("warm", json!({}))]).await;
    fixture.take_requests();
    let passes = (0..40).map(|n| {
        let owner = Owner { name: format!("{}-{n}", fixture.owner.name), ..fixture.owner.clone() };
        let set = fixture.sets.set(owner, Identity::Own);
        let objects: Vec<_> = (0..4).map(|i| fixture.config_map(&format!("cm-{n}-{i}"), json!({}))).collect();
        async move { set.apply(&objects, &how()).await }
    });
    let outcomes = futures::future::join_all(passes).await;
    assert!(outcomes.iter().all(|o| o.error.is_none() && o.changes.len() == 4));
    let requests = fixture.take_requests();
    assert_eq!(requests.len(), 320, "two per object, and none per set: {:?}", &requests[..5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_being_deleted_refuses_its_objects_in_words() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "dying").await;
    let dying = plane.namespace("dying");
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "namespace": dying,
        "finalizers": ["example.org/hold"]}});
    plane.apply(&held.to_string(), &[]);
    plane.kubectl(&["delete", "namespace", &dying, "--wait=false"]);
    eventually("it is being deleted", || {
        plane.get("", "namespace", &dying)?["metadata"]["deletionTimestamp"].as_str().map(drop)
    });
    let map =
        fixture.object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": dying}}));
    let error = fixture.apply(&[map]).await.error.unwrap();
    plane.kubectl(&[
        "-n",
        &dying,
        "patch",
        "configmap",
        "held",
        "--type=merge",
        "-p",
        "{\"metadata\":{\"finalizers\":null}}",
    ]);
    assert!(error.starts_with(&format!("ConfigMap/{dying}/a dry-run failed (Forbidden): ")), "{error}");
    assert!(error.contains("because it is being terminated"), "{error}");
}
