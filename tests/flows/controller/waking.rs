//! What wakes a pass, and what a pass that waits does to the others: workers, dependencies, other kinds, shards, leadership.

use std::time::Duration;

use fluxd::object::Gvk;
use fluxd::operator::controller::{ControllerSettings, Dependency, Next, ObjectRef, Shard, Store, WatchConfig};
use fluxd::report::Metrics;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use serde_json::json;
use tokio::sync::watch;

use super::{Sample, Scripted, install, settings, start, start_with};
use crate::rig::{ControlPlane, eventually_async};

/// Applies an object if its kind is known already.
fn try_apply(plane: &ControlPlane, object: &serde_json::Value) -> Option<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), object.to_string()).unwrap();
    plane.try_kubectl(&["apply", "-f", file.path().to_str().unwrap()]).ok()
}

fn idle() -> Scripted {
    Scripted::new(|_, _| Box::pin(async { Next::Done }))
}

#[tokio::test]
async fn passes_that_wait_hold_no_worker_and_can_be_interrupted() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let reconciler = Scripted::new(|object, cx| {
        Box::pin(async move {
            let waits = object.name_any().starts_with("sick") && object.annotations().is_empty();
            if !waits {
                return Next::Done;
            }
            let trigger = cx.waiting(cx.interrupted()).await;
            assert_eq!(trigger.name, object.name_any());
            Next::Now
        })
    });
    let journal = reconciler.journal();
    let settings = ControllerSettings { concurrency: 1, ..settings(&namespace) };
    let running = start(plane, reconciler, settings).await;
    for name in ["sick-1", "sick-2", "sick-3"] {
        running.create(name).await;
        journal.lines(name, 1).await;
    }
    running.create("healthy").await;
    journal.lines("healthy", 1).await;
    running.annotate("sick-2", "now").await;
    let lines = journal.lines("sick-2", 2).await;
    assert_eq!(lines, ["pass -".to_owned(), format!("pass Sample/{namespace}/sick-2")]);
    assert_eq!(journal.of("sick-1").len(), 1);
}

#[tokio::test]
async fn a_dependency_wakes_the_object_also_when_its_kind_comes_later() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let kind = format!("Late{}", namespace.replace('-', ""));
    let gvk = Gvk { group: "late.test".into(), version: "v1".into(), kind: kind.clone() };
    let own = Gvk { group: String::new(), version: "v1".into(), kind: "ConfigMap".into() };
    let (inner, late) = (namespace.clone(), gvk.clone());
    let reconciler = Scripted::new(move |object, cx| {
        let gvk = if object.name_any() == "late" { late.clone() } else { own.clone() };
        cx.depends_on([Dependency { gvk, namespace: inner.clone(), name: "dep".into() }]);
        Box::pin(async { Next::Done })
    });
    let running = start(plane, reconciler, settings(&namespace)).await;
    running.create("early").await;
    running.journal.lines("early", 1).await;
    plane.kubectl(&["-n", &namespace, "create", "configmap", "dep"]);
    assert_eq!(running.journal.lines("early", 2).await[1], format!("pass ConfigMap/{namespace}/dep"));
    running.create("late").await;
    running.journal.lines("late", 1).await;
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.late.test") },
        "spec": {
            "group": "late.test", "scope": "Namespaced", "names": { "kind": kind, "plural": plural },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    });
    plane.apply(&crd.to_string(), &[]);
    plane.kubectl(&["wait", "--for=condition=Established", &format!("crd/{plural}.late.test"), "--timeout=60s"]);
    let object =
        json!({ "apiVersion": "late.test/v1", "kind": kind, "metadata": { "name": "dep", "namespace": namespace } });
    eventually_async("an object of the new kind", || async { try_apply(plane, &object) }).await;
    assert_eq!(running.journal.lines("late", 2).await[1], format!("pass {kind}/{namespace}/dep"));
    plane.kubectl(&["delete", "crd", &format!("{plural}.late.test"), "--wait=false"]);
}

#[tokio::test]
async fn objects_of_other_kinds_wake_by_what_they_were_and_by_what_they_are() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let target = |map: Option<&ConfigMap>| map.and_then(|map| map.data.as_ref()?.get("wakes").cloned());
    let configs: Store<ConfigMap> = Store::new();
    let (kept, home, gvk) =
        (configs.clone(), namespace.clone(), Gvk { group: String::new(), version: "v1".into(), kind: "Secret".into() });
    let by_metadata = namespace.clone();
    let running = start_with(plane, idle(), settings(&namespace), move |controller| {
        let watched = WatchConfig::default().labels("flows.test/watch=yes");
        controller
            .watches::<ConfigMap>(watched, kept, move |old, new, _| {
                [target(old), target(new)]
                    .into_iter()
                    .flatten()
                    .map(|name| ObjectRef::new(&name).within(&home))
                    .collect()
            })
            .watches_metadata(&gvk, "flows.test/watch=yes", move |_, new, store| {
                assert!(store.is_complete(), "passes and mappings begin with a whole list");
                new.map(|_| ObjectRef::<Sample>::new("a").within(&by_metadata)).into_iter().collect()
            })
    })
    .await;
    for name in ["a", "b"] {
        running.create(name).await;
        running.journal.lines(name, 1).await;
    }
    plane.kubectl(&["-n", &namespace, "create", "configmap", "plain", "--from-literal=wakes=a"]);
    let labelled = |wakes: &str| {
        let metadata = json!({ "name": "c", "namespace": namespace, "labels": { "flows.test/watch": "yes" } });
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "wakes": wakes } }).to_string()
    };
    plane.apply(&labelled("a"), &[]);
    assert_eq!(running.journal.lines("a", 2).await[1], format!("pass ConfigMap/{namespace}/c"));
    plane.apply(&labelled("b"), &[]);
    running.journal.lines("a", 3).await;
    running.journal.lines("b", 2).await;
    assert_eq!((configs.len(), configs.is_complete()), (1, true), "one without the label is not kept");
    plane.kubectl(&["-n", &namespace, "create", "secret", "generic", "s"]);
    plane.kubectl(&["-n", &namespace, "label", "secret", "s", "flows.test/watch=yes"]);
    assert_eq!(running.journal.lines("a", 4).await[3], format!("pass Secret/{namespace}/s"));
}

#[tokio::test]
async fn each_object_has_passes_in_one_shard_only_and_moves_with_its_label() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let shard = |index| Some(Shard { index, of: 2, label: "flows.test/shard".into() });
    let zero = start(plane, idle(), ControllerSettings { shard: shard(0), ..settings(&namespace) }).await;
    let one = start(plane, idle(), ControllerSettings { shard: shard(1), ..settings(&namespace) }).await;
    let names: Vec<String> = (0..12).map(|n| format!("s-{n}")).collect();
    for name in &names {
        zero.create(name).await;
    }
    for name in &names {
        let somewhere = || async { (zero.journal.of(name).len() + one.journal.of(name).len() == 1).then_some(()) };
        eventually_async("a pass in one shard", somewhere).await;
    }
    let of_zero = names.iter().find(|name| !zero.journal.of(name).is_empty()).expect("both shards have objects");
    assert!(names.iter().any(|name| !one.journal.of(name).is_empty()), "both shards have objects");
    zero.patch(of_zero, json!({ "metadata": { "labels": { "flows.test/shard": "1" } } })).await;
    one.journal.lines(of_zero, 1).await;
    one.annotate(of_zero, "1").await;
    one.journal.lines(of_zero, 2).await;
    assert_eq!(zero.journal.of(of_zero).len(), 1);
}

#[tokio::test]
async fn only_a_leader_has_passes_and_losing_the_lead_stops_the_running_one() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let (lead, leads) = watch::channel(false);
    let reconciler = Scripted::new(|object, cx| {
        Box::pin(async move {
            if object.name_any() == "a" {
                cx.stop().stopped().await;
            }
            Next::Done
        })
    });
    let metrics = Metrics::new("test").unwrap();
    let settings = ControllerSettings { metrics: Some(metrics.clone()), ..settings(&namespace) };
    let series = |count: usize| {
        let text = String::from_utf8(metrics.expose().unwrap()).unwrap();
        (text.lines().filter(|line| line.starts_with("fluxd_object_info{")).count() == count).then_some(())
    };
    let running = start_with(plane, reconciler, settings, |c| c.with_leadership(leads)).await;
    running.create("a").await;
    eventually_async("a follower knows the object", || async { running.store.get(&namespace, "a") }).await;
    assert!(running.journal.of("a").is_empty());
    lead.send_replace(true);
    running.journal.lines("a", 1).await;
    lead.send_replace(false);
    lead.send_replace(true);
    running.journal.lines("a", 2).await;
    running.create("b").await;
    eventually_async("a series of the pass that ended", || async { series(1) }).await;
    lead.send_replace(false);
    eventually_async("the next leader tells of the object, and nobody else", || async { series(0) }).await;
    running.stop.stop();
    running.task.await.unwrap();
}

#[tokio::test]
async fn retries_wait_longer_each_time_and_a_panic_is_one_failure_among_others() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let reconciler = Scripted::new(|object, cx| {
        let tried = cx.attempts("test");
        Box::pin(async move {
            assert_ne!(object.spec.word, "panic", "as the test wants");
            match tried {
                3 => Next::Done,
                _ => Next::Retry { cause: "test".into(), error: format!("attempt {tried}") },
            }
        })
    });
    let min_retry_delay = Duration::from_millis(5);
    let running = start(plane, reconciler, ControllerSettings { min_retry_delay, ..settings(&namespace) }).await;
    running.create("a").await;
    running.create("b").await;
    running.patch("b", json!({ "spec": { "word": "panic" } })).await;
    running.journal.lines("b", 4).await;
    running.annotate("b", "x").await;
    running.patch("b", json!({ "spec": { "word": "calm" } })).await;
    assert_eq!(running.journal.lines("a", 4).await.len(), 4);
}
