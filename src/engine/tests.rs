//! The complete-read rule against a scripted API server: whatever cannot be read, nothing is deleted by mistake.

use std::collections::{BTreeSet, HashSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use http::{Request, Response};
use serde_json::{Value, json};

use super::{Engine, Frame, Gc, Identity, Settings, Want};
use crate::apply::{Meter, Outcome};
use crate::object::{Digest, GC_MARK_LABEL, Object, ObjectId, Origin, gc_mark};
use crate::runtime::Stop;

/// Plural, group version path, `apiVersion` and kind.
const KINDS: [(&str, &str, &str, &str); 3] = [
    ("configmaps", "/api/v1", "v1", "ConfigMap"),
    ("secrets", "/api/v1", "v1", "Secret"),
    ("deployments", "/apis/apps/v1", "apps/v1", "Deployment"),
];

fn identity() -> Identity {
    Identity::Owner("test".into())
}

fn metadata(kind: &str, name: &str) -> Value {
    let id = ObjectId::new(Some("demo"), kind, name);
    let uid = hex::encode(&Digest::of(id.to_string().as_bytes()).0[..16]);
    json!({
        "name": name, "namespace": "demo", "uid": uid, "resourceVersion": "5",
        "labels": { GC_MARK_LABEL: gc_mark(&identity().sync_set(), &id) },
        "managedFields": [{ "manager": "fluxd", "operation": "Apply", "apiVersion": "v1",
                            "time": "2024-01-01T00:00:00Z", "fieldsV1": { "f:data": {} } }],
    })
}

fn discovery(core: bool) -> Value {
    let resources = |root: &str| -> Vec<Value> {
        let of_root = KINDS.iter().filter(|(_, at, ..)| *at == root);
        let resource = |(plural, _, _, kind): &(&str, &str, &str, &str)| {
            json!({ "resource": plural, "responseKind": { "kind": kind }, "scope": "Namespaced",
                    "verbs": ["get", "list", "watch", "patch", "delete"] })
        };
        of_root.map(resource).collect()
    };
    let (name, root) = if core { ("", "/api/v1") } else { ("apps", "/apis/apps/v1") };
    json!({ "kind": "APIGroupDiscoveryList", "items": [{ "metadata": { "name": name }, "versions": [
        { "version": "v1", "freshness": "Current", "resources": resources(root) }] }] })
}

/// Each kind has one live object that is wanted, `stays`, and one that is not, `goes`.
fn answer(method: &str, path: &str) -> (u16, Value) {
    let name = path.rsplit('/').next().unwrap_or_default();
    let kind = KINDS.iter().find(|(plural, ..)| path.split('/').any(|part| part == *plural));
    match (method, path, kind) {
        ("GET", "/api", _) => (200, discovery(true)),
        ("GET", "/apis", _) => (200, discovery(false)),
        ("GET", _, Some((plural, _, _, kind))) if name == *plural => {
            let items: Vec<Value> =
                ["stays", "goes"].iter().map(|n| json!({ "metadata": metadata(kind, n) })).collect();
            (200, json!({ "metadata": { "resourceVersion": "9" }, "items": items }))
        }
        ("GET", _, Some(_)) if name == "fresh" => {
            let details = json!({ "name": name, "kind": "configmaps" });
            (
                404,
                json!({ "kind": "Status", "code": 404, "reason": "NotFound", "message": "not found", "details": details }),
            )
        }
        ("PATCH", _, Some((.., kind))) if name == "fresh" => (201, json!({ "metadata": metadata(kind, name) })),
        ("GET" | "PATCH", _, Some((.., kind))) => (200, json!({ "metadata": metadata(kind, name) })),
        ("DELETE", ..) => (200, json!({ "kind": "Status", "status": "Success" })),
        _ => (404, json!({ "kind": "Status", "code": 404, "message": "404 page not found" })),
    }
}

/// Whether, and how, a read of `path` fails in the run of this seed; about one path in six does.
fn fault(seed: u32, path: &str) -> Option<(u16, &'static str)> {
    let draw = Digest::of(format!("{seed} {path}").as_bytes()).0;
    let kinds = [(200, "{\"items\": [{\"metadata\": {"), (418, "tea"), (410, "{\"code\": 410}"), (401, "{}")];
    (draw[0].is_multiple_of(6)).then(|| kinds[usize::from(draw[1] % 4)])
}

#[derive(Default)]
pub(super) struct Seen {
    deleted: BTreeSet<String>,
    faults: BTreeSet<String>,
}

pub(super) fn client(seed: Option<u32>, seen: &Arc<Mutex<Seen>>) -> kube::Client {
    let seen = Arc::clone(seen);
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (method, path) = (request.method().as_str(), request.uri().path());
        let hit = seed.filter(|_| method == "GET").and_then(|seed| fault(seed, path));
        let (status, body) = match hit {
            Some((status, text)) => (status, text.to_owned()),
            None => {
                let (status, value) = answer(method, path);
                (status, value.to_string())
            }
        };
        let mut seen = seen.lock().unwrap();
        if hit.is_some() {
            seen.faults.insert(path.to_owned());
        }
        if method == "DELETE" {
            seen.deleted.insert(path.to_owned());
        }
        let response = Response::builder().status(status).body(Body::from(body)).unwrap();
        async move { Ok::<_, Infallible>(response) }
    });
    kube::Client::new(service, "default")
}

fn wanted() -> Vec<Arc<Object>> {
    let stays = KINDS.iter().map(|(.., api_version, kind)| (*api_version, *kind, "stays"));
    let all = stays.chain([("v1", "ConfigMap", "fresh")]);
    let object = |(api_version, kind, name): (&str, &str, &str)| {
        let value =
            json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name, "namespace": "demo" } });
        let origin = Origin { file: "a.yaml".into(), line: 1, generated: false };
        Arc::new(Object::new(&value, origin).unwrap())
    };
    all.map(object).collect()
}

async fn pass(seed: Option<u32>) -> (Outcome, Seen) {
    let seen = Arc::default();
    let settings = Settings { gc: Gc::On, ..Settings::new(identity()) };
    let mut engine = Engine::new(client(seed, &seen), settings, None).unwrap();
    let (objects, approved) = (wanted(), HashSet::new());
    let want = Want { objects: &objects, revision: "r", complete: true, force: false, full: true, approved: &approved };
    let passed = engine.pass(&want, Frame { meter: &Meter::default(), stop: &Stop::new() }).await;
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (passed.outcome, seen)
}

fn unwanted() -> BTreeSet<String> {
    KINDS.iter().map(|(plural, root, ..)| format!("{root}/namespaces/demo/{plural}/goes")).collect()
}

#[tokio::test]
async fn a_thousand_random_read_failures_delete_nothing_and_without_them_exactly_what_should_go_goes() {
    let (outcome, seen) = pass(None).await;
    assert!(outcome.is_success(), "{outcome}: {:?}", outcome.failures().map(|(_, f)| f).collect::<Vec<_>>());
    assert_eq!(seen.deleted, unwanted());

    let mut faulty = 0;
    for seed in 0.. {
        let (outcome, seen) = pass(Some(seed)).await;
        if seen.faults.is_empty() {
            assert_eq!(seen.deleted, unwanted(), "seed {seed}");
            continue;
        }
        faulty += 1;
        // The last look at an object before its delete concerns that object alone.
        let last_look = |path: &String| path.ends_with("/goes");
        if seen.faults.iter().all(last_look) {
            let spared: BTreeSet<String> = unwanted().difference(&seen.faults).cloned().collect();
            assert_eq!(seen.deleted, spared, "seed {seed}");
        } else {
            assert_eq!(seen.deleted, BTreeSet::new(), "seed {seed}: {:?}", seen.faults);
        }
        assert!(!outcome.is_success() || outcome.gc_off.is_some(), "seed {seed}: a failed read is told");
        if faulty == 1_000 {
            break;
        }
    }
}

#[tokio::test]
async fn an_incomplete_set_of_manifests_deletes_nothing() {
    let seen = Arc::default();
    let settings = Settings { gc: Gc::On, ..Settings::new(identity()) };
    let mut engine = Engine::new(client(None, &seen), settings, None).unwrap();
    let (objects, approved) = (wanted(), HashSet::new());
    let want =
        Want { objects: &objects, revision: "r", complete: false, force: false, full: true, approved: &approved };
    let passed = engine.pass(&want, Frame { meter: &Meter::default(), stop: &Stop::new() }).await;
    assert_eq!(seen.lock().unwrap().deleted, BTreeSet::new());
    assert_eq!(passed.outcome.gc_off.as_deref(), Some("not all of what is wanted could be read"));
}
