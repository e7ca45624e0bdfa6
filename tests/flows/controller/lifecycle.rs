//! One object from its creation to its end: finalizer, status, events, metrics, deletion, restarts.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fluxd::operator::controller::{Event, Finalize, Forward, Next, Series, SeriesDetails};
use fluxd::report::Metrics;
use k8s_openapi::api::core::v1::Event as KubeEvent;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};

use super::{SampleStatus, Scripted, install, settings, start};
use crate::rig::{ControlPlane, eventually_async};

#[tokio::test]
async fn a_new_object_gets_its_finalizer_first_and_a_status_that_is_written_once() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let reconciler = Scripted::new(move |object, cx| {
        let sees = Arc::clone(&sees);
        Box::pin(async move {
            sees.lock().unwrap().push((cx.is_new(), object.finalizers().to_vec()));
            let status = SampleStatus { seen: Some(object.spec.word.clone()), passes: 1 };
            let written = cx.patch_status(&object, &status).await.unwrap();
            let again = cx.patch_status(&written, &status).await.unwrap();
            assert_eq!(written.resource_version(), again.resource_version(), "nothing differs, nothing is written");
            Next::Done
        })
    });
    let running = start(plane, reconciler, settings(&namespace)).await;
    running.create("a").await;
    running.journal.lines("a", 1).await;
    let with_status = || async { running.api.get("a").await.unwrap().status };
    assert_eq!(eventually_async("a status", with_status).await.passes, 1);
    running.annotate("a", "1").await;
    let lines = running.journal.lines("a", 2).await;
    assert_eq!(lines[1], format!("pass Sample/{namespace}/a"));
    let finalizers = vec!["flows.test/finalizer".to_owned()];
    assert_eq!(*seen.lock().unwrap(), [(true, finalizers.clone()), (false, finalizers)]);
    assert_eq!(lines.len(), 2, "own writes trigger nothing");
}

#[tokio::test]
async fn a_pass_never_sees_an_object_older_than_its_own_last_write() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let reconciler = Scripted::new(|object, cx| {
        Box::pin(async move {
            let passes = object.status.as_ref().map_or(0, |status| status.passes) + 1;
            cx.patch_status(&object, &SampleStatus { seen: None, passes }).await.unwrap();
            if passes < 50 { Next::Now } else { Next::Done }
        })
    });
    let running = start(plane, reconciler, settings(&namespace)).await;
    running.create("a").await;
    running.journal.lines("a", 50).await;
    let counted = || async { Some(running.api.get("a").await.unwrap().status?.passes).filter(|n| *n >= 50) };
    assert_eq!(eventually_async("fifty passes", counted).await, 50, "each counted on from the one before");
}

#[tokio::test]
async fn a_status_written_while_others_write_ends_as_wanted_and_keeps_what_is_theirs() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let api: Api<super::Sample> = Api::namespaced(plane.client().await, &namespace);
    let reconciler = Scripted::new(move |object, cx| {
        let api = api.clone();
        Box::pin(async move {
            let patch = json!({ "metadata": { "labels": { "foreign": "yes" } } });
            api.patch("a", &Default::default(), &kube::api::Patch::Merge(patch)).await.unwrap();
            cx.patch_status(&object, &SampleStatus { seen: Some("x".into()), passes: 1 }).await.unwrap();
            Next::Done
        })
    });
    let running = start(plane, reconciler, settings(&namespace)).await;
    running.create("a").await;
    let done = || async { Some(running.api.get("a").await.unwrap()).filter(|a| a.status.is_some()) };
    let a = eventually_async("a status", done).await;
    assert_eq!((a.labels()["foreign"].as_str(), a.status.as_ref().unwrap().passes), ("yes", 1));
}

#[tokio::test]
async fn a_deleted_object_stays_until_its_finalizing_is_done_and_takes_its_series_along() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let reconciler = Scripted::new(|_, _| Box::pin(async { Next::Done })).finalizing(move |_, _| {
        let tried = counted.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            match tried {
                0 | 1 => Finalize::Keep(Next::After(Duration::from_millis(10))),
                2 => Finalize::Keep(Next::Retry { cause: "gc".into(), error: "not yet".into() }),
                _ => Finalize::Done,
            }
        })
    });
    let metrics = Metrics::new("test").unwrap();
    let settings = super::ControllerSettings { metrics: Some(metrics.clone()), ..settings(&namespace) };
    let running = start(plane, reconciler, settings).await;
    running.create("a").await;
    running.journal.lines("a", 1).await;
    running.api.delete("a", &DeleteParams::default()).await.unwrap();
    running.gone("a").await;
    assert_eq!(tries.load(Ordering::SeqCst), 4);
    let forgotten = || async { running.store.is_empty().then_some(()) };
    eventually_async("the store is empty", forgotten).await;
    let text = String::from_utf8(metrics.expose().unwrap()).unwrap();
    for line in [
        r#"controller_runtime_reconcile_errors_total{controller="sample"} 1"#,
        r#"workqueue_retries_total{controller="sample",name="sample"} 1"#,
        r#"controller_runtime_max_concurrent_reconciles{controller="sample"} 10"#,
    ] {
        assert!(text.lines().any(|l| l == line), "{line} in:\n{text}");
    }
}

#[tokio::test]
async fn a_controller_that_was_killed_midway_goes_on_where_the_cluster_stands() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let stuck = Scripted::new(|_, _| Box::pin(std::future::pending()));
    let first = start(plane, stuck, settings(&namespace)).await;
    first.create("live").await;
    first.create("dying").await;
    first.journal.lines("dying", 1).await;
    first.journal.lines("live", 1).await;
    first.api.delete("dying", &DeleteParams::default()).await.unwrap();
    let api = first.api.clone();
    drop(first);
    assert!(api.get("dying").await.unwrap().metadata.deletion_timestamp.is_some(), "nobody has cleared up");
    let second = start(plane, Scripted::new(|_, _| Box::pin(async { Next::Done })), settings(&namespace)).await;
    second.gone("dying").await;
    second.journal.lines("live", 1).await;
}

#[tokio::test]
async fn an_event_told_again_raises_its_count_and_is_forwarded_with_its_metadata() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let posts: Arc<Mutex<Vec<Value>>> = Arc::default();
    let address = notification_controller(Arc::clone(&posts)).await;
    let long = "ConfigMap/apps/some-name created\n".repeat(200);
    let message = long.clone();
    let reconciler = Scripted::new(move |object, cx| {
        let metadata = [("fluxcd.controlplane.io/revision".to_owned(), "sha256:1".to_owned())].into();
        let message = message.clone();
        cx.event(&object, Event { reason: "ApplySucceeded".into(), message, metadata, forward: true, warning: false });
        Box::pin(async { Next::Done })
    });
    let forward = Some(Forward::to(address, "host-1"));
    let running = start(plane, reconciler, super::ControllerSettings { forward, ..settings(&namespace) }).await;
    running.create("a").await;
    running.journal.lines("a", 1).await;
    running.patch("a", json!({ "metadata": { "annotations": { "event.toolkit.fluxcd.io/team": "blue" } } })).await;
    let api: Api<KubeEvent> = Api::namespaced(plane.client().await, &namespace);
    let twice = || async {
        let events = api.list(&Default::default()).await.unwrap().items;
        let mut events: Vec<_> =
            events.into_iter().filter(|e| e.involved_object.kind.as_deref() == Some("Sample")).collect();
        assert!(events.len() <= 1, "one event, counted");
        events.pop().filter(|event| event.count == Some(2))
    };
    let event = eventually_async("an event with count 2", twice).await;
    assert_eq!(event.message.as_deref(), Some(long.as_str()), "not cut");
    assert_eq!(event.source.unwrap().component.as_deref(), Some("sample-operator"));
    assert_eq!((event.type_.as_deref(), event.reason.as_deref()), (Some("Normal"), Some("ApplySucceeded")));
    assert_eq!(event.metadata.annotations.unwrap()["fluxcd.controlplane.io/revision"], "sha256:1");
    let two = || async { Some(posts.lock().unwrap().clone()).filter(|posts| posts.len() == 3) };
    let posts = eventually_async("the first post is tried again after a 500", two).await;
    let post = &posts[2];
    assert_eq!(post["involvedObject"]["name"], "a");
    assert_eq!(post["metadata"]["event.toolkit.fluxcd.io/team"], "blue");
    assert_eq!(post["metadata"]["fluxcd.controlplane.io/revision"], "sha256:1");
    let rest =
        ["severity", "reason", "reportingController", "reportingInstance"].map(|key| post[key].as_str().unwrap());
    assert_eq!(rest, ["info", "ApplySucceeded", "sample-operator", "host-1"]);
}

/// Takes posts; the first is answered 500.
async fn notification_controller(posts: Arc<Mutex<Vec<Value>>>) -> String {
    let socket = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}/", socket.local_addr().unwrap());
    let failed = Arc::new(AtomicBool::new(false));
    let take = move |axum::Json(post): axum::Json<Value>| {
        posts.lock().unwrap().push(post);
        let first = !failed.swap(true, Ordering::SeqCst);
        async move { if first { http::StatusCode::INTERNAL_SERVER_ERROR } else { http::StatusCode::ACCEPTED } }
    };
    let router = axum::Router::new().route("/", axum::routing::post(take));
    tokio::spawn(async move { axum::serve(socket, router).await.unwrap() });
    address
}

#[tokio::test]
async fn the_metrics_count_requests_and_are_as_promtool_wants_them() {
    let plane = ControlPlane::shared();
    install(plane).await;
    let namespace = plane.namespace("controller");
    let metrics = Metrics::new("test").unwrap();
    let settings = super::ControllerSettings { metrics: Some(metrics.clone()), ..settings(&namespace) };
    let running = start(plane, Scripted::new(|_, _| Box::pin(async { Next::Done })), settings).await;
    running.create("a").await;
    running.journal.lines("a", 1).await;
    let counted = metrics.clone();
    let told = Arc::new(move |method: &http::Method, status| counted.rest_request(status, "host", method.as_str()));
    let client = fluxd::operator::client_told(super::config(plane).await, told).unwrap();
    Api::<KubeEvent>::namespaced(client, &namespace).list(&Default::default()).await.unwrap();
    let text = || String::from_utf8(metrics.expose().unwrap()).unwrap();
    let passed = || async {
        let passed = r#"controller_runtime_reconcile_total{controller="sample",result="success"} 1"#;
        text().lines().any(|line| line == passed).then_some(())
    };
    eventually_async("the pass is counted", passed).await;
    let text = text();
    assert!(text.contains(r#"rest_client_requests_total{code="200",host="host",method="GET"} 1"#), "{text}");
    let names = ["depth", "adds_total", "retries_total", "queue_duration_seconds", "work_duration_seconds"];
    for name in names.into_iter().chain(["unfinished_work_seconds", "longest_running_processor_seconds"]) {
        assert!(text.contains(&format!("\n# TYPE workqueue_{name} ")), "{name} in:\n{text}");
    }
    let mut promtool = std::process::Command::new("promtool");
    let mut promtool = promtool.args(["check", "metrics"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut promtool.stdin.take().unwrap(), text.as_bytes()).unwrap();
    assert!(promtool.wait().unwrap().success());
}

#[test]
fn an_object_has_exactly_one_series_however_often_it_changes() {
    let metrics = Metrics::new("test").unwrap();
    let controller = metrics.controller("resourceset", 10);
    let series = |ready: &str, resources: usize| Series {
        uid: "u".into(),
        kind: "ResourceSet".into(),
        namespace: "apps".into(),
        name: "a".into(),
        ready: ready.into(),
        reason: "Progressing".into(),
        suspended: false,
        details: SeriesDetails::ResourceSet { resources, revision: "sha256:1".into() },
    };
    for (ready, resources) in [("Unknown", 0), ("True", 3), ("True", 4)] {
        controller.tell(series(ready, resources));
    }
    let lines = || {
        let text = String::from_utf8(metrics.expose().unwrap()).unwrap();
        text.lines().filter(|line| line.starts_with("flux_resourceset_info{")).map(str::to_owned).collect::<Vec<_>>()
    };
    let labels = r#"exported_namespace="apps",kind="ResourceSet",name="a",ready="True",reason="Progressing""#;
    let more = r#"resources="4",revision="sha256:1",suspended="False",uid="u""#;
    assert_eq!(lines(), [format!("flux_resourceset_info{{{labels},{more}}} 1")]);
    controller.forget("ResourceSet", "apps", "a");
    assert!(lines().is_empty());
}
