//! The engine on a real API server, through the public library: what is applied, left alone, put right, held and deleted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fluxd::object::{Object, Origin};
use fluxd::operator::{
    Component, Context, Desired, Done, Error, FailureKind, Gc, Handle, HoldReason, Identity, Operator, Outcome,
    Settings, SkipReason,
};
use fluxd::runtime::{Scoped, Stop, scoped};
use serde_json::{Value, json};

use crate::rig::{ControlPlane, eventually, eventually_async};

#[path = "../../examples/config_set.rs"]
mod config_set;

/// A component whose wishes the test changes.
#[derive(Clone, Default)]
struct Wishes(Arc<Mutex<Vec<Arc<Object>>>>);

impl Component for Wishes {
    async fn desired(&self, _: &Context) -> Result<Desired, Error> {
        let objects = self.0.lock().unwrap().clone();
        Ok(Desired { objects, revision: "test".into(), complete: true, ..Desired::default() })
    }
}

/// A running operator.
struct Running {
    wishes: Wishes,
    handle: Handle,
    stop: Stop,
    task: Scoped<Result<(), Error>>,
}

fn settings(owner: &str) -> Settings {
    Settings {
        gc: Gc::On,
        interval: Duration::from_secs(3600),
        deadline: Duration::from_secs(60),
        ..Settings::new(Identity::Owner(owner.to_owned()))
    }
}

async fn start(plane: &ControlPlane, settings: Settings, wishes: &[Value]) -> Running {
    let component = Wishes::default();
    component.set(wishes);
    let operator = Operator::new(component.clone(), settings, plane.client().await);
    let (handle, stop) = (operator.handle(), Stop::new());
    let task = scoped(operator.run(stop.clone()));
    let running = Running { wishes: component, handle, stop, task };
    eventually_async("the first pass", || async { running.handle.last_outcome() }).await;
    running
}

impl Wishes {
    fn set(&self, values: &[Value]) {
        let object = |(line, value): (usize, &Value)| {
            let origin = Origin { file: "wishes.yaml".into(), line: line as u32 + 1, generated: false };
            Arc::new(Object::new(value, origin).unwrap())
        };
        *self.0.lock().unwrap() = values.iter().enumerate().map(object).collect();
    }
}

impl Running {
    fn outcome(&self) -> Arc<Outcome> {
        self.handle.last_outcome().unwrap()
    }

    async fn sync(&self) -> Arc<Outcome> {
        let before = self.outcome();
        self.handle.request();
        let fresh = || async { self.handle.last_outcome().filter(|now| !Arc::ptr_eq(now, &before)) };
        eventually_async("a pass", fresh).await
    }

    async fn want(&self, wishes: &[Value]) -> Arc<Outcome> {
        self.wishes.set(wishes);
        self.sync().await
    }

    async fn end(self) {
        self.stop.stop();
        self.task.await.unwrap().unwrap();
    }
}

fn config_map(namespace: &str, name: &str, data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": namespace }, "data": data })
}

fn done(outcome: &Outcome) -> BTreeMap<String, Done> {
    outcome.results.iter().map(|r| (r.id().name().to_owned(), r.done.clone())).collect()
}

fn data(plane: &ControlPlane, namespace: &str, name: &str) -> Option<Value> {
    plane.get(namespace, "configmap", name).map(|o| o["data"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_and_its_objects_go_in_one_pass_and_the_next_pass_sends_nothing() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("engine");
    let group = format!("{ns}.example.org");
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("toys.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": "Toy", "plural": "toys", "singular": "toy", "listKind": "ToyList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": { "size": { "type": "integer" } } } }
            } } }]
        }
    });
    let toy = json!({ "apiVersion": format!("{group}/v1"), "kind": "Toy", "metadata": { "name": "ball", "namespace": ns },
                      "spec": { "size": 3 } });
    let running = start(plane, settings(&ns), &[toy, crd, config_map(&ns, "a", &json!({ "k": "v" }))]).await;
    let first = running.outcome();
    assert!(first.results.iter().all(|r| r.done == Done::Created), "{:?}", done(&first));

    // The watch of the new kind begins with a list of its own, beside the next pass and counted with it. A pass that sent
    // something by itself would do so every time.
    let quiet = || async {
        let next = running.sync().await;
        assert!(next.results.iter().all(|r| r.done == Done::Unchanged), "{:?}", done(&next));
        assert!(next.requests.keys().all(|verb| *verb == "list"), "nothing is written: {:?}", next.requests);
        next.requests.is_empty().then_some(())
    };
    eventually_async("a pass without changes sends nothing", quiet).await;
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_change_or_delete_is_put_right_without_a_sync() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("engine");
    let running = start(plane, settings(&ns), &[config_map(&ns, "a", &json!({ "k": "v" }))]).await;
    running.sync().await;
    plane.kubectl(&["-n", &ns, "patch", "configmap", "a", "--type=merge", "-p", r#"{"data":{"k":"theirs"}}"#]);
    eventually("the field is ours again", || data(plane, &ns, "a").filter(|d| d["k"] == "v"));
    plane.kubectl(&["-n", &ns, "delete", "configmap", "a"]);
    eventually("the object is back", || data(plane, &ns, "a"));

    plane.kubectl(&["-n", &ns, "patch", "configmap", "a", "--type=merge", "-p", r#"{"data":{"other":"theirs"}}"#]);
    let outcome = running.sync().await;
    assert!(outcome.requests.is_empty(), "a field that git does not set is no drift: {:?}", outcome.requests);

    running.handle.pause();
    plane.kubectl(&["-n", &ns, "patch", "configmap", "a", "--type=merge", "-p", r#"{"data":{"k":"incident"}}"#]);
    assert_eq!(data(plane, &ns, "a").unwrap()["k"], "incident");
    running.handle.resume();
    eventually("after the pause it is put right", || data(plane, &ns, "a").filter(|d| d["k"] == "v"));
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletes_over_the_budget_wait_for_an_approval() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("engine");
    let all: Vec<Value> = (0..13).map(|n| config_map(&ns, &format!("c{n}"), &json!({}))).collect();
    let running = start(plane, settings(&ns), &all).await;
    running.sync().await;

    let outcome = running.want(&all[..12]).await;
    assert_eq!(done(&outcome)["c12"], Done::Deleted, "one delete is within the budget");
    assert!(plane.get(&ns, "configmap", "c12").is_none());

    let outcome = running.want(&all[..1]).await;
    let held = outcome.held.clone().expect("eleven deletes are over the budget of ten");
    assert_eq!((held.deletes.len(), held.deletes[0].reason), (11, HoldReason::Budget));
    assert!(plane.get(&ns, "configmap", "c5").is_some());
    assert!(running.handle.approve("0000").is_err());
    running.handle.approve(&held.digest).unwrap();
    eventually("approved deletes are made", || plane.get(&ns, "configmap", "c5").is_none().then_some(()));
    eventually("nothing is held any more", || running.handle.held().is_empty().then_some(()));

    let outcome = running.want(&[]).await;
    let held = outcome.held.clone().expect("the step to nothing is held");
    assert_eq!(held.deletes[0].reason, HoldReason::EmptySet);
    assert!(plane.get(&ns, "configmap", "c0").is_some());
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_object_that_says_ignore_is_left_alone_and_sync_only_is_never_deleted() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("engine");
    plane.kubectl(&["-n", &ns, "create", "configmap", "theirs", "--from-literal=k=theirs"]);
    plane.kubectl(&["-n", &ns, "annotate", "configmap", "theirs", "fluxcd.io/ignore=true"]);
    let wishes = [
        config_map(&ns, "theirs", &json!({ "k": "ours" })),
        config_map(&ns, "kept", &json!({ "k": "v" })),
        config_map(&ns, "rest", &json!({ "k": "v" })),
    ];
    let running = start(plane, settings(&ns), &wishes).await;
    assert_eq!(done(&running.outcome())["theirs"], Done::Skipped(SkipReason::IgnoredLive));
    assert_eq!(data(plane, &ns, "theirs").unwrap()["k"], "theirs");

    plane.kubectl(&["-n", &ns, "annotate", "configmap", "kept", "fluxcd.io/ignore=sync_only"]);
    let asked = || async {
        let outcome = running.want(&wishes[2..]).await;
        (done(&outcome).get("kept") == Some(&Done::Skipped(SkipReason::SyncOnly))).then_some(())
    };
    // The annotation reaches us by a watch; until then garbage collection's own fresh look keeps the object.
    eventually_async("sync_only is seen", asked).await;
    assert!(plane.get(&ns, "configmap", "kept").is_some());
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_leaves_a_manifest_that_kubectl_applied_before_leaves_the_cluster() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("engine");
    plane.apply(&config_map(&ns, "a", &json!({ "stays": "1", "goes": "2" })).to_string(), &[]);
    let running = start(plane, settings(&ns), &[config_map(&ns, "a", &json!({ "stays": "1" }))]).await;
    assert_eq!(done(&running.outcome())["a"], Done::Configured);
    assert_eq!(data(plane, &ns, "a"), Some(json!({ "stays": "1" })));
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_object_fails_alone_with_its_place_and_only_allowed_namespaces_are_touched() {
    let plane = ControlPlane::shared();
    let (ns, other) = (plane.namespace("engine"), plane.namespace("engine"));
    let bad = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "bad", "namespace": ns },
                      "spec": { "replica": 1 } });
    let wishes = [config_map(&other, "elsewhere", &json!({})), bad, config_map(&ns, "good", &json!({}))];
    let limited = Settings { allow_namespaces: vec![ns.clone()], ..settings(&ns) };
    let running = start(plane, limited, &wishes).await;
    let outcome = running.outcome();
    assert_eq!(done(&outcome)["elsewhere"], Done::Skipped(SkipReason::NamespaceNotAllowed));
    assert_eq!(done(&outcome)["good"], Done::Created);
    let (result, failure) = outcome.failures().next().unwrap();
    assert_eq!((result.id().name(), failure.kind), ("bad", FailureKind::Invalid));
    assert!(failure.message.contains("wishes.yaml:2"), "{failure}");
    assert!(failure.message.contains("replica"), "{failure}");
    assert_eq!(running.handle.sync_error(result.id()).as_ref(), Some(&failure.message));
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_cannot_be_changed_is_recreated_only_where_it_asks_for_it() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("engine");
    let fixed = |text: &str, recreate: Option<&str>| {
        let mut map = config_map(&ns, "fixed", &json!({ "k": text }));
        map["immutable"] = true.into();
        map["metadata"]["annotations"] = recreate.map_or(json!({}), |r| json!({ "fluxd.io/recreate": r }));
        map
    };
    let running = start(plane, settings(&ns), &[fixed("1", None)]).await;
    let outcome = running.want(&[fixed("2", None)]).await;
    let (_, failure) = outcome.failures().next().expect("the change is refused");
    assert_eq!(failure.kind, FailureKind::Immutable);
    assert!(failure.message.contains("data") && failure.message.contains("fluxd.io/recreate"), "{failure}");

    let outcome = running.want(&[fixed("2", Some("true"))]).await;
    assert_eq!(done(&outcome)["fixed"], Done::Recreated);
    assert_eq!(data(plane, &ns, "fixed").unwrap()["k"], "2");
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_writes_nothing_with_or_without_its_cache() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("engine");
    let folder = tempfile::tempdir().unwrap();
    let wishes: Vec<Value> = (0..5).map(|n| config_map(&ns, &format!("c{n}"), &json!({ "k": "v" }))).collect();
    for cache in [None, Some(folder.path().join("cache")), Some(folder.path().join("cache"))] {
        let first = plane.get(&ns, "configmap", "c0").is_none();
        let running = start(plane, Settings { cache: cache.clone(), ..settings(&ns) }, &wishes).await;
        let outcome = running.outcome();
        let expected = if first { Done::Created } else { Done::Unchanged };
        assert!(outcome.results.iter().all(|r| r.done == expected), "{cache:?}: {:?}", done(&outcome));
        assert!(first || !outcome.requests.contains_key("patch"), "{cache:?}: {:?}", outcome.requests);
        running.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_written_outside_keeps_config_maps_equal_to_a_directory() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("engine");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("motd"), "hello").unwrap();
    std::fs::write(folder.path().join("old"), "bye").unwrap();
    let set = config_set::ConfigSet { directory: folder.path().to_path_buf(), namespace: ns.clone() };
    let operator = config_set::operator(set, plane.client().await);
    let (handle, stop) = (operator.handle(), Stop::new());
    let task = scoped(operator.run(stop.clone()));
    eventually("both files are live", || data(plane, &ns, "motd").and(data(plane, &ns, "old")));
    std::fs::remove_file(folder.path().join("old")).unwrap();
    handle.request();
    eventually("the file's object went with it", || data(plane, &ns, "old").is_none().then_some(()));
    assert_eq!(data(plane, &ns, "motd").unwrap()["text"], "hello");
    stop.stop();
    task.await.unwrap().unwrap();
}
