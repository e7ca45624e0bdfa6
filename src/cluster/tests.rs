//! The room against a scripted API server: faults that a real one shows only when it is ill.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use http::{Request, Response};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::object::{GC_MARK_LABEL, Glob, Gvk, Key};

/// What the script answers: status, headers, body.
struct Reply(u16, Vec<(&'static str, &'static str)>, Body);

fn ok(body: Value) -> Reply {
    Reply(200, vec![], Body::from(body.to_string()))
}

fn fail(status: u16, reason: &str, message: &str) -> Reply {
    let body = json!({"kind": "Status", "status": "Failure", "code": status, "reason": reason, "message": message});
    Reply(status, vec![], Body::from(body.to_string()))
}

type Seen = Arc<Mutex<Vec<String>>>;

/// A cluster whose API server answers by a script, which is given `METHOD path?query` and how often that path was asked.
fn scripted(
    settings: Settings,
    script: impl Fn(&str, usize) -> Reply + Clone + Send + Sync + 'static,
) -> (Cluster, Seen) {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let line = format!("{} {}", request.method(), request.uri());
        let path = line.split('?').next().unwrap_or_default().to_owned();
        let times = {
            let mut log = log.lock().unwrap();
            log.push(line.clone());
            log.iter().filter(|l| l.split('?').next() == Some(path.as_str())).count()
        };
        let Reply(status, headers, body) = script(&line, times);
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(name, value);
        }
        async move { Ok::<_, Infallible>(response.body(body).unwrap()) }
    });
    (Cluster::new(kube::Client::new(service, "default"), settings), seen)
}

fn settings() -> Settings {
    Settings::new("fluxd", GC_MARK_LABEL, Arc::new(|_, mark| mark == "ours"))
}

fn minutes(n: u64) -> Instant {
    Instant::now() + Duration::from_secs(60 * n)
}

fn resource(plural: &str, kind: &str, namespaced: bool) -> Value {
    let scope = if namespaced { "Namespaced" } else { "Cluster" };
    json!({"resource": plural, "responseKind": {"kind": kind}, "scope": scope,
        "verbs": ["get", "list", "watch", "patch", "delete"]})
}

fn group(name: &str, freshness: &str, resources: Value) -> Value {
    json!({"metadata": {"name": name}, "versions": [{"version": "v1", "freshness": freshness, "resources": resources}]})
}

/// Discovery of ConfigMaps, Secrets and things, and of a group whose server is down.
fn discovery(line: &str) -> Option<Reply> {
    let core = json!([
        resource("configmaps", "ConfigMap", true),
        resource("secrets", "Secret", true),
        resource("endpoints", "Endpoints", true)
    ]);
    let items = match line {
        "GET /api" => json!([group("", "Current", core)]),
        "GET /apis" => json!([
            group("example.org", "Current", json!([resource("things", "Thing", false)])),
            group("down.org", "Stale", json!([]))
        ]),
        _ => return None,
    };
    Some(ok(json!({"kind": "APIGroupDiscoveryList", "items": items})))
}

fn item(name: &str, version: u32) -> Value {
    json!({"metadata": {"name": name, "namespace": "a", "uid": format!("uid-{name}"), "resourceVersion": version.to_string(),
        "labels": {GC_MARK_LABEL: "ours"}}})
}

fn list(version: u32, next: &str, items: &[Value]) -> Reply {
    ok(json!({"metadata": {"resourceVersion": version.to_string(), "continue": next}, "items": items}))
}

fn configmap(name: &str) -> Key {
    Key { group: String::new(), kind: "ConfigMap".into(), namespace: Some("a".into()), name: name.into() }
}

fn names(cluster: &Cluster) -> BTreeSet<String> {
    cluster.live().all().iter().map(|o| o.name.to_string()).collect()
}

async fn apply(cluster: &Cluster, until: Instant) -> Result<Applied, RequestError> {
    let gvk = Gvk::new("v1", "ConfigMap");
    let kind = KindInfo { gvk, plural: "configmaps".into(), namespaced: true, verbs: vec![] };
    let options = ApplyOptions { dry_run: false, until, sealed: false, whole: false };
    cluster.apply(&Arc::new(kind), &configmap("x"), &json!({}), options).await
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_given_the_time_it_asks_for() {
    let (cluster, seen) = scripted(settings(), |_, times| match times {
        1 => Reply(429, vec![("Retry-After", "7")], Body::from("slow down")),
        2 => fail(503, "ServiceUnavailable", "not now"),
        3 => fail(409, "Conflict", "the object has been modified"),
        _ => Reply(201, vec![("Warning", "299 - \"old \\\"v1\\\" API\"")], Body::from(item("x", 5).to_string())),
    });
    let begun = Instant::now();
    let applied = apply(&cluster, minutes(1)).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(7));
    assert_eq!(seen.lock().unwrap().len(), 4);
    assert!(applied.created);
    assert_eq!(applied.warnings, ["old \"v1\" API"]);
    assert_eq!(cluster.live().get(&configmap("x")).unwrap().version, Version(5));
}

#[tokio::test(start_paused = true)]
async fn retries_end_with_the_deadline_and_refusals_are_not_retried() {
    let (cluster, _) = scripted(settings(), |_, _| fail(429, "TooManyRequests", "slow down"));
    let until = Instant::now() + Duration::from_secs(20);
    assert_eq!(apply(&cluster, until).await.unwrap_err().kind(), ErrorKind::Throttled);
    assert!(Instant::now() <= until);
    for (status, kind) in [(403, ErrorKind::Forbidden), (422, ErrorKind::Invalid), (404, ErrorKind::NotFound)] {
        let (cluster, seen) = scripted(settings(), move |_, _| fail(status, "No", "no"));
        assert_eq!(apply(&cluster, minutes(1)).await.unwrap_err().kind(), kind);
        assert_eq!(seen.lock().unwrap().len(), 1, "{status} is not asked twice");
    }
    let (cluster, seen) = scripted(settings(), |_, _| fail(500, "InternalError", "failed calling webhook"));
    assert_eq!(apply(&cluster, minutes(60)).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(seen.lock().unwrap().len(), 6, "a broken webhook does not hold a pass to its deadline");
}

#[tokio::test(start_paused = true)]
async fn every_request_is_told_to_the_hook() {
    let told: Arc<Mutex<Vec<(&'static str, u16)>>> = Arc::default();
    let hears = Arc::clone(&told);
    let on_request: OnRequest = Arc::new(move |verb, code| hears.lock().unwrap().push((verb, code)));
    let (cluster, _) = scripted(Settings { on_request, ..settings() }, |_, times| match times {
        1 => fail(503, "ServiceUnavailable", "not now"),
        _ => ok(item("x", 5)),
    });
    apply(&cluster, minutes(1)).await.unwrap();
    assert_eq!(*told.lock().unwrap(), [("patch", 503), ("patch", 200)]);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_down_makes_only_its_own_kinds_unknown() {
    let (cluster, _) = scripted(settings(), |line, _| discovery(line).unwrap_or_else(|| list(9, "", &[])));
    let read = cluster.read_marked(minutes(1)).await;
    assert!(!read.complete);
    assert!(read.covers("", "ConfigMap", None) && read.covers("example.org", "Thing", None));
    assert!(!read.covers("down.org", "Anything", None));
    let kinds = cluster.kinds();
    let unresolved = |gv: &str, kind: &str| kinds.resolve(&Gvk::new(gv, kind)).unwrap_err();
    assert!(!unresolved("down.org/v1", "Anything").is_certain());
    assert_eq!(
        unresolved("none.org/v1", "A").to_string(),
        "server resources for none.org/v1 not found in cache; cache refreshes every 5 minutes"
    );
    assert_eq!(unresolved("v1", "Thing").to_string(), "resource not found for API v1, kind Thing");

    let exclude = vec![Glob::new("down.org/*")];
    let (cluster, _) =
        scripted(Settings { exclude, ..settings() }, |line, _| discovery(line).unwrap_or_else(|| list(9, "", &[])));
    assert!(cluster.read_marked(minutes(1)).await.complete, "what is excluded is not missed");
}

#[tokio::test(start_paused = true)]
async fn kinds_that_did_not_change_stay_the_same_snapshot() {
    let (cluster, _) = scripted(settings(), |line, times| match (line, times) {
        ("GET /apis", 3..) => ok(json!({"kind": "APIGroupDiscoveryList", "items": []})),
        _ => discovery(line).unwrap_or_else(|| list(9, "", &[])),
    });
    let first = cluster.refresh_kinds(minutes(1)).await.unwrap();
    let second = cluster.refresh_kinds(minutes(1)).await.unwrap();
    assert!(Arc::ptr_eq(&first, &second), "so nothing has to be resolved again");
    let third = cluster.refresh_kinds(minutes(1)).await.unwrap();
    assert!(third.resolve(&Gvk::new("example.org/v1", "Thing")).is_err() && first != third);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_aggregated_discovery_is_asked_group_by_group() {
    let (cluster, _) = scripted(settings(), |line, _| match line {
        "GET /api" => ok(json!({"kind": "APIVersions", "versions": ["v1"]})),
        "GET /apis" => ok(json!({"kind": "APIGroupList", "groups": [
            {"name": "apps", "versions": [{"version": "v1beta1"}, {"version": "v1"}], "preferredVersion": {"version": "v1"}},
            {"name": "down.org", "versions": [{"version": "v1"}]}]})),
        "GET /api/v1" => {
            ok(json!({"resources": [{"name": "pods", "kind": "Pod", "namespaced": true, "verbs": ["list"]},
            {"name": "pods/log", "kind": "Pod", "namespaced": true, "verbs": ["get"]}]}))
        }
        "GET /apis/down.org/v1" => fail(403, "Forbidden", "no"),
        _ => ok(
            json!({"resources": [{"name": "deployments", "kind": "Deployment", "namespaced": true, "verbs": ["list"]}]}),
        ),
    });
    let kinds = cluster.refresh_kinds(minutes(1)).await.unwrap();
    let listable: Vec<_> = kinds.listable(&[]).iter().map(|k| k.gvk.to_string()).collect();
    assert_eq!(listable, ["v1/Pod", "apps/v1/Deployment"], "once each, at the preferred version");
    assert!(!kinds.resolve(&Gvk::new("down.org/v1", "A")).unwrap_err().is_certain());
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_fails_or_is_forbidden_loses_none_of_its_objects() {
    let (cluster, _) = scripted(settings(), |line, times| match line {
        _ if line.contains("/secrets") && times == 1 => list(5, "", &[item("kept", 4)]),
        _ if line.contains("/secrets") => fail(403, "Forbidden", "you may not"),
        _ if line.contains("/configmaps") && times == 1 => list(5, "", &[item("also", 4)]),
        _ if line.contains("/configmaps") => fail(500, "InternalError", "broken"),
        _ if line.contains("/endpoints") => panic!("never holds anything of ours"),
        _ => discovery(line).unwrap_or_else(|| list(9, "", &[])),
    });
    cluster.read_marked(minutes(1)).await;
    assert_eq!(names(&cluster), BTreeSet::from(["also".into(), "kept".into()]));
    let read = cluster.read_marked(minutes(1)).await;
    assert!(!read.complete && !read.covers("", "ConfigMap", None) && !read.covers("", "Secret", Some("a")));
    let forbidden: Vec<_> = read.failures.iter().filter(|f| f.forbidden).map(|f| f.gvk.kind.as_str()).collect();
    assert_eq!(forbidden, ["Secret"]);
    assert_eq!(
        names(&cluster),
        BTreeSet::from(["also".into(), "kept".into()]),
        "nothing is concluded from a failed list"
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_that_loses_its_place_begins_anew_and_one_that_breaks_half_way_counts_for_nothing() {
    let script = |line: &str, times: usize| match line {
        _ if line.contains("/configmaps") => match times {
            1 => list(5, "page2", &[item("old", 4)]),
            2 => fail(410, "Expired", "too old"),
            3 => list(8, "page2", &[item("one", 4)]),
            4 => list(8, "", &[item("two", 7)]),
            5 => list(20, "page2", &[]),
            _ => fail(403, "Forbidden", "not any more"),
        },
        _ => discovery(line).unwrap_or_else(|| list(9, "", &[])),
    };
    let (cluster, _) = scripted(settings(), script);
    let read = cluster.read_marked(minutes(1)).await;
    assert!(read.covers("", "ConfigMap", None));
    assert_eq!(names(&cluster), BTreeSet::from(["one".into(), "two".into()]));
    let read = cluster.read_marked(minutes(1)).await;
    assert!(!read.covers("", "ConfigMap", None));
    assert_eq!(names(&cluster), BTreeSet::from(["one".into(), "two".into()]));
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_vanished_during_the_read_is_no_failure() {
    let (cluster, _) = scripted(settings(), |line, times| match line {
        "GET /apis" if times > 1 => ok(json!({"kind": "APIGroupDiscoveryList", "items": []})),
        "GET /apis" => ok(json!({"kind": "APIGroupDiscoveryList",
            "items": [group("example.org", "Current", json!([resource("things", "Thing", false)]))]})),
        _ if line.contains("/things") => fail(404, "NotFound", "the server could not find the requested resource"),
        _ => discovery(line).unwrap_or_else(|| list(9, "", &[])),
    });
    let read = cluster.read_marked(minutes(1)).await;
    assert!(read.complete, "{:?}", read.failures);
}

/// Lines of a watch, after which the connection stays open.
fn events(lines: &[Value]) -> Reply {
    let lines: Vec<_> = lines.iter().map(|l| Ok::<_, Infallible>(format!("{l}\n"))).collect();
    let open = futures::stream::pending();
    Reply(200, vec![], Body::from_stream(futures::StreamExt::chain(futures::stream::iter(lines), open)))
}

fn event(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

/// Runs the watch of ConfigMaps until something of ours changed.
async fn watch_until_changed(cluster: &Cluster) -> BTreeSet<String> {
    cluster.read_marked(minutes(1)).await;
    cluster.watch_kinds(BTreeSet::from([Gvk::new("v1", "ConfigMap")]));
    let changed = tokio::select! {
        () = cluster.run_watches() => unreachable!("watches run for ever"),
        changed = cluster.live().changed() => changed,
    };
    changed.keys.into_iter().map(|k| k.name).collect()
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_place_is_gone_lists_anew_and_tells_what_it_missed() {
    let (cluster, _) = scripted(settings(), |line, times| match (line.contains("/configmaps"), times) {
        (true, 1) => list(5, "", &[item("stays", 4), item("goes", 4)]),
        (true, 2) => {
            let gone =
                json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"});
            events(&[event("BOOKMARK", &json!({"metadata": {"resourceVersion": "6"}})), event("ERROR", &gone)])
        }
        (true, 3) => list(20, "", &[item("stays", 4)]),
        (true, _) => events(&[]),
        _ => discovery(line).unwrap_or_else(|| list(9, "", &[])),
    });
    assert_eq!(watch_until_changed(&cluster).await, BTreeSet::from(["goes".into()]));
    assert_eq!(names(&cluster), BTreeSet::from(["stays".into()]));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_or_falls_silent_goes_on_where_it_was() {
    let (cluster, seen) = scripted(settings(), |line, times| match (line.contains("/configmaps"), times) {
        (true, 1) => list(5, "", &[item("goes", 4)]),
        (true, 2) => fail(500, "InternalError", "etcd is away"),
        (true, 3) => events(&[event("BOOKMARK", &json!({"metadata": {"resourceVersion": "7"}}))]),
        (true, _) => events(&[event("DELETED", &item("goes", 9))]),
        _ => discovery(line).unwrap_or_else(|| list(9, "", &[])),
    });
    assert_eq!(watch_until_changed(&cluster).await, BTreeSet::from(["goes".into()]));
    let seen = seen.lock().unwrap();
    let watches: Vec<_> = seen.iter().filter(|l| l.contains("watch=true")).collect();
    let from = |version: &str| format!("resourceVersion={version}&");
    assert!(watches[0].contains(&from("5")) && watches[1].contains(&from("5")) && watches[2].contains(&from("7")));
}

#[tokio::test(start_paused = true)]
async fn old_news_change_nothing() {
    let (cluster, _) = scripted(settings(), |line, times| match (line.contains("/configmaps"), times) {
        (true, 1) if line.starts_with("PATCH") => ok(item("x", 10)),
        (true, 1) => list(5, "", &[item("y", 4)]),
        (true, _) => events(&[
            event("DELETED", &item("x", 8)),
            event("MODIFIED", &item("x", 9)),
            event("DELETED", &item("y", 11)),
        ]),
        _ => discovery(line).unwrap_or_else(|| list(9, "", &[])),
    });
    apply(&cluster, minutes(1)).await.unwrap();
    assert_eq!(watch_until_changed(&cluster).await, BTreeSet::from(["y".into()]));
    assert_eq!(
        cluster.live().get(&configmap("x")).unwrap().version,
        Version(10),
        "our own write is later than the events"
    );
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_be_listed_and_not_watched_is_listed_again_and_again() {
    let (cluster, _) = scripted(settings(), |line, times| match (line.contains("/configmaps"), times) {
        (true, 1) => list(5, "", &[item("goes", 4)]),
        (true, _) if line.contains("watch=true") => fail(403, "Forbidden", "no watching"),
        (true, 2 | 3) => list(9, "", &[item("goes", 4)]),
        (true, _) => list(20, "", &[]),
        _ => discovery(line).unwrap_or_else(|| list(9, "", &[])),
    });
    assert_eq!(watch_until_changed(&cluster).await, BTreeSet::from(["goes".into()]));
}

#[tokio::test(start_paused = true)]
async fn a_history_that_went_backwards_is_looked_at_anew() {
    let (cluster, _) = scripted(settings(), |line, times| match (line.contains("/configmaps"), times) {
        (true, 1) => list(500, "", &[item("x", 400), item("gone", 450)]),
        (true, _) => list(100, "", &[item("x", 90)]),
        _ => discovery(line).unwrap_or_else(|| list(9, "", &[])),
    });
    cluster.read_marked(minutes(1)).await;
    cluster.read_marked(minutes(1)).await;
    assert_eq!(names(&cluster), BTreeSet::from(["x".into()]));
    assert_eq!(cluster.live().get(&configmap("x")).unwrap().version, Version(90));
}

#[tokio::test(start_paused = true)]
async fn no_value_of_a_secret_is_told_in_an_error() {
    let gvk = Gvk::new("v1", "Secret");
    let kind = Arc::new(KindInfo { gvk, plural: "secrets".into(), namespaced: true, verbs: vec![] });
    let key = Key { kind: "Secret".into(), ..configmap("x") };
    let (cluster, _) = scripted(settings(), |_, _| {
        fail(
            500,
            "",
            "failed to create typed patch object: .data.pin: expected string, got &value.valueUnstructured{Value:31337}; aHVzaA==",
        )
    });
    let options = ApplyOptions { dry_run: false, until: minutes(1), sealed: false, whole: false };
    let body = json!({"data": {"pin": 31337, "word": "aHVzaA=="}});
    let error = cluster.apply(&kind, &key, &body, options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRequest);
    let told = format!("{error} {error:?}");
    assert!(told.contains(".data.pin") && !told.contains("31337") && !told.contains("aHVzaA"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_given_up_in_time() {
    let service = tower::service_fn(|_: Request<kube::client::Body>| {
        futures::future::pending::<Result<Response<Body>, Infallible>>()
    });
    let cluster = Cluster::new(kube::Client::new(service, "default"), settings());
    let begun = Instant::now();
    let error = cluster.ping(begun + Duration::from_secs(45)).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Timeout, 0));
    assert!(begun.elapsed() <= Duration::from_secs(45));
}

#[test]
fn what_is_kept_of_an_object_stays_under_300_bytes() {
    let kept = std::mem::size_of::<LiveObject>() + 2 * std::mem::size_of::<usize>() + 63;
    let slot = (std::mem::size_of::<Fingerprint>() + std::mem::size_of::<usize>() + 1) * 16 / 7;
    assert!(kept + slot <= 300, "{kept} and {slot}: with the longest usual name, in a map just grown");
}
