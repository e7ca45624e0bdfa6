//! Applying: two requests for what is new, none for what is unchanged, and drift is put right.

use fluxd::operator::sets::ChangeAction::{Configured, Created, Skipped, Unchanged};

use super::*;
use crate::rig::eventually_async;

#[tokio::test(flavor = "multi_thread")]
async fn a_new_object_takes_two_requests_and_an_unchanged_one_none() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "two").await;
    // The kinds are asked for, and read once each, before the first object.
    let warm = [fixture.config_map("warm", json!({})), fixture.deployment("warm", "example.org/a:1")];
    fixture.apply(&warm).await;
    fixture.take_requests();
    let mut objects = warm.to_vec();
    objects.extend((0..5).map(|n| fixture.config_map(&format!("new-{n}"), json!({"n": n.to_string()}))));
    let outcome = fixture.apply(&objects).await;
    assert_eq!(outcome.error, None);
    assert_eq!(actions(&outcome).iter().filter(|a| **a == Created).count(), 5, "{outcome:?}");
    assert_eq!(outcome.inventory.len(), 7);
    let requests = fixture.take_requests();
    let patches = requests.iter().filter(|r| **r == ("patch", 201)).count();
    assert_eq!((patches, requests.len()), (10, 10), "{requests:?}");
    for _ in 0..3 {
        let outcome = fixture.apply(&objects).await;
        assert!(actions(&outcome).iter().all(|action| *action == Unchanged), "{outcome:?}");
        assert_eq!(outcome.inventory.len(), 7);
    }
    assert_eq!(fixture.take_requests(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_changed_object_of_many_is_the_only_one_that_is_written() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "one").await;
    let mut objects: Vec<_> = (0..20).map(|n| fixture.config_map(&format!("cm-{n:02}"), json!({"a": "1"}))).collect();
    fixture.apply(&objects).await;
    let before = plane.get(&fixture.namespace, "configmap", "cm-08").unwrap();
    fixture.take_requests();
    objects[7] = fixture.config_map("cm-07", json!({"a": "2"}));
    let outcome = fixture.apply(&objects).await;
    let changed: Vec<_> = outcome.changes.iter().filter(|c| c.action != Unchanged).map(ToString::to_string).collect();
    assert_eq!(changed, [format!("ConfigMap/{}/cm-07 configured", fixture.namespace)]);
    let requests = fixture.take_requests();
    assert_eq!(requests, [("patch", 200), ("get", 200), ("patch", 200)], "a dry run, a look, and the write");
    assert_eq!(plane.get(&fixture.namespace, "configmap", "cm-08").unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_change_is_put_right_at_the_next_apply_and_their_own_fields_stay() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "drift").await;
    let objects = [fixture.config_map("a", json!({"a": "1"})), fixture.deployment("web", "example.org/a:1")];
    fixture.apply(&objects).await;
    let patch = |what: &str, patch: Value| {
        let args = ["patch", what, "--type=merge", "--field-manager=someone", "-p"];
        let text = patch.to_string();
        plane.kubectl(&[&["-n", &fixture.namespace], args.as_slice(), &[&text]].concat());
    };
    patch("configmap/a", json!({"data": {"a": "2", "theirs": "x"}}));
    patch("deployment/web", json!({"spec": {"replicas": 3}}));
    eventually_async("the drift is seen and put right", || async {
        let outcome = fixture.apply(&objects).await;
        assert_eq!(outcome.error, None);
        (actions(&outcome).contains(&Configured)).then_some(())
    })
    .await;
    let live = plane.get(&fixture.namespace, "configmap", "a").unwrap();
    assert_eq!(live["data"], json!({"a": "1", "theirs": "x"}));
    assert_eq!(plane.get(&fixture.namespace, "deployment", "web").unwrap()["spec"]["replicas"], 3);
    plane.kubectl(&["-n", &fixture.namespace, "delete", "configmap", "a"]);
    eventually_async("the deleted one is made again", || async {
        actions(&fixture.apply(&objects).await).contains(&Created).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_without_memory_looks_and_writes_nothing() {
    let plane = ControlPlane::shared();
    let first = Fixture::new(plane, "again").await;
    let objects = [first.config_map("a", json!({"a": "1"})), first.deployment("web", "example.org/a:1")];
    first.apply(&objects).await;
    let versions = || {
        let of = |kind: &str, name: &str| {
            plane.get(&first.namespace, kind, name).unwrap()["metadata"]["managedFields"].clone()
        };
        (of("configmap", "a"), of("deployment", "web")[0]["time"].clone())
    };
    let before = versions();
    let mut second = Fixture::within(plane, &first.namespace, SetSettings::resource_set()).await;
    second.owner = first.owner.clone();
    for _ in 0..2 {
        let outcome = second.apply(&objects).await;
        assert_eq!(actions(&outcome), [Unchanged, Unchanged], "{outcome:?}");
    }
    second.take_requests();
    second.apply(&objects).await;
    assert_eq!(second.take_requests(), []);
    assert_eq!(versions(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_and_a_definition_come_before_what_needs_them_in_one_pass() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "stages").await;
    let (namespace, group) = (fresh_name("staged"), fresh_name("g"));
    let objects = [
        fixture.object(json!({"apiVersion": format!("{group}.example.org/v1"), "kind": "Thing",
            "metadata": {"name": "a", "namespace": namespace}, "spec": {"any": "thing"}})),
        fixture.object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}})),
        fixture.object(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("things.{group}.example.org")}, "spec": {"group": format!("{group}.example.org"),
            "names": {"kind": "Thing", "plural": "things"}, "scope": "Namespaced", "versions": [{"name": "v1",
            "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
            "x-kubernetes-preserve-unknown-fields": true}}}]}})),
        fixture.object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "namespace": "odd"}})),
    ];
    let intended = fixture.set().entries(&objects).await;
    let outcome = fixture.apply(&objects).await;
    assert_eq!(
        Fixture::lines(&outcome),
        [
            format!("CustomResourceDefinition/things.{group}.example.org created"),
            format!("Namespace/{namespace} created"),
            format!("ConfigMap/{namespace}/a created"),
            format!("Thing/{namespace}/a created"),
        ]
    );
    assert_eq!(outcome.inventory, intended, "the namespace of a cluster-scoped object is left out");
    let again = fixture.apply(&objects).await;
    assert!(actions(&again).iter().all(|action| *action == Unchanged), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_of_built_in_kinds_are_dropped_and_odd_labels_vanish() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "fields").await;
    let service = fixture.object(json!({"apiVersion": "v1", "kind": "Service", "extra": true,
        "metadata": {"name": "a", "namespace": fixture.namespace, "labels": {"app": "a", "n": 1}},
        "spec": {"ports": [{"port": 80, "prot": "TCP"}], "selektor": {"a": "b"}}}));
    assert_eq!(actions(&fixture.apply(&[Arc::clone(&service)]).await), [Created]);
    let labels = plane.get(&fixture.namespace, "service", "a").unwrap()["metadata"]["labels"].clone();
    assert_eq!(labels.as_object().unwrap().len(), 2, "{labels}");
    assert_eq!(actions(&fixture.apply(std::slice::from_ref(&service)).await), [Unchanged]);
    fixture.take_requests();
    assert_eq!(actions(&fixture.apply(&[service]).await), [Unchanged]);
    assert_eq!(fixture.take_requests(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switched_off_object_is_recorded_and_not_applied_and_of_twins_the_later_wins() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "twins").await;
    let off = fixture.object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "off",
        "namespace": fixture.namespace, "annotations": {"fluxcd.controlplane.io/reconcile": "Disabled"}}}));
    let (first, second) = (fixture.config_map("a", json!({"a": "1"})), fixture.config_map("a", json!({"a": "2"})));
    let outcome = fixture.apply(&[first, second, off]).await;
    assert_eq!(actions(&outcome), [Created, Skipped], "{outcome:?}");
    let names: Vec<_> = outcome.inventory.iter().map(|entry| entry.key.name.as_str()).collect();
    assert_eq!(names, ["a", "a", "off"]);
    assert_eq!(plane.get(&fixture.namespace, "configmap", "a").unwrap()["data"]["a"], "2");
    assert_eq!(plane.get(&fixture.namespace, "configmap", "off"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_says_what_an_apply_then_does_and_changes_nothing() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "plan").await;
    let (a, b) = (fixture.config_map("a", json!({"a": "1"})), fixture.config_map("b", json!({"a": "1"})));
    let gone = fixture.config_map("gone", json!({}));
    let before = fixture.apply(&[a.clone(), b.clone(), gone.clone()]).await;
    let b2 = fixture.config_map("b", json!({"a": "2"}));
    let fresh = fixture.config_map("fresh", json!({}));
    let wanted = [a, b2, fresh];
    let plan = fixture.set().plan(&wanted, &before.inventory, &how()).await.unwrap().to_string();
    let ns = &fixture.namespace;
    let lines = [
        format!("apply  {ns}:configmap/b (changed) [set:1]"),
        format!("apply  {ns}:configmap/fresh (new) [set:1]"),
        format!("delete {ns}:configmap/gone"),
        "1 unchanged\n".to_owned(),
    ];
    assert_eq!(plan, lines.join("\n"));
    assert_eq!(plane.get(ns, "configmap", "b").unwrap()["data"]["a"], "1");
    assert_eq!(actions(&fixture.apply(&wanted).await), [Unchanged, Configured, Created]);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_cut_off_apply_wrote_is_among_the_entries_that_were_intended() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "cut").await;
    let objects: Vec<_> = (0..60).map(|n| fixture.config_map(&format!("cm-{n:02}"), json!({}))).collect();
    let intended = fixture.set().entries(&objects).await;
    let (set, all, requests) = (fixture.set(), objects.clone(), Arc::clone(&fixture.requests));
    let run = tokio::spawn(async move { set.apply(&all, &how()).await });
    eventually_async("some writes have been sent", || async {
        (requests.lock().unwrap().iter().filter(|r| r.0 == "patch").count() > 70).then_some(())
    })
    .await;
    run.abort();
    assert!(run.await.is_err() || intended.len() == 60);
    let pruned = fixture.set().prune(&intended, &how()).await;
    assert_eq!((pruned.error, pruned.left.len()), (None, 0));
    eventually_async("nothing is left", || async {
        let left = plane.kubectl(&["-n", &fixture.namespace, "get", "configmaps", "-o", "name"]);
        (left.trim() == "configmap/kube-root-ca.crt").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_apply_lists_what_it_wrote_and_begins_nothing_new() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "stopped").await;
    let stop = Stop::new();
    stop.stop();
    let objects = [fixture.config_map("a", json!({}))];
    let outcome = fixture.set().apply(&objects, &ApplyHow::within(Duration::from_secs(60), &stop)).await;
    assert!(outcome.error.is_some() && outcome.inventory.is_empty(), "{outcome:?}");
    assert_eq!(plane.get(&fixture.namespace, "configmap", "a"), None);
}
