//! Real HTTP on loopback against canned answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{Api, Leader, Limits, Probes, Server, Settings, document};
use crate::daemon::Feed;
use crate::object::ObjectId;
use crate::operator::{Held, HeldDelete, HoldReason, Outcome, Person, Plan, Progress, Step};
use crate::report::{
    ApiError, Change, ControllerStatus, FieldDiff, GitConfig, ImageStatus, JobResult, JobState, JobStatus, Metrics,
    ObjectView, ObjectsView, PublicKey, TraceView, decode_update,
};
use crate::runtime::{Scoped, Stop, scoped};

mod access;
mod events;
mod floods;
mod followers;
mod hooks;
mod manners;
mod ours;
mod schemas;
mod table;

/// Canned answers; what was asked is written down.
#[derive(Clone)]
pub(super) struct Fake {
    pub(super) metrics: Arc<Metrics>,
    asked: Arc<Mutex<Vec<String>>>,
    paused: Arc<Mutex<Option<Timestamp>>>,
    passed: bool,
    pub(super) feed: Feed,
    progress: Arc<Mutex<Progress>>,
}

impl Fake {
    pub(super) fn new() -> Self {
        Self {
            metrics: Arc::new(Metrics::new("1.2.3").unwrap()),
            asked: Arc::default(),
            paused: Arc::default(),
            passed: true,
            feed: Feed::default(),
            progress: Arc::default(),
        }
    }

    pub(super) fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn note(&self, what: impl Into<String>) {
        self.asked.lock().unwrap().push(what.into());
    }
}

impl Api for Fake {
    async fn ping(&self) -> Result<(), ApiError> {
        Ok(())
    }

    fn version(&self) -> String {
        "1.2.3".into()
    }

    async fn notify(&self, change: Change) -> Result<(), ApiError> {
        self.note(format!("{change:?}"));
        Ok(())
    }

    async fn list_services(&self, namespace: &str, ids: &[ObjectId]) -> Result<Vec<ControllerStatus>, ApiError> {
        self.note(format!("services {namespace:?} {ids:?}"));
        match namespace {
            "panic" => panic!("a canned panic"),
            "hang" => std::future::pending().await,
            "broken" => Err(ApiError::untyped("getting workloads: <no>")),
            _ => Ok(Vec::new()),
        }
    }

    async fn list_images(&self, workload: &str, ns: &str, fields: &[String]) -> Result<Vec<ImageStatus>, ApiError> {
        self.note(format!("images {workload} {ns:?} {fields:?}"));
        Ok(Vec::new())
    }

    async fn update_manifests(&self, spec: &Value) -> Result<String, ApiError> {
        self.note(spec.to_string());
        decode_update(spec)?;
        Ok("5a0c1a4e-0000-4000-8000-3a5f1d2c9b10".into())
    }

    async fn job_status(&self, id: &str) -> Result<JobStatus, ApiError> {
        if id == "known" {
            let result = JobResult { revision: "9f".repeat(20), ..JobResult::default() };
            return Ok(JobStatus { result, err: String::new(), state: JobState::Succeeded });
        }
        if id == "waiting" {
            return Ok(JobStatus { result: JobResult::default(), err: String::new(), state: JobState::Queued });
        }
        Err(ApiError::unknown_job(id))
    }

    async fn sync_status(&self, reference: &str) -> Result<Vec<String>, ApiError> {
        self.note(format!("sync {reference:?}"));
        Ok(Vec::new())
    }

    async fn export(&self) -> Result<Vec<u8>, ApiError> {
        Ok(b"---\nkind: Namespace\n".to_vec())
    }

    async fn git_repo_config(&self, regenerate: bool) -> Result<GitConfig, ApiError> {
        self.note(format!("config {regenerate}"));
        Ok(GitConfig { status: "ready".into(), ..GitConfig::default() })
    }

    fn public_key(&self) -> PublicKey {
        PublicKey::default()
    }

    async fn regenerate_key(&self) -> Result<(), ApiError> {
        Ok(())
    }

    fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.metrics)
    }

    fn feed(&self) -> Feed {
        self.feed.clone()
    }

    async fn fresh_plan(&self) -> Result<Arc<Plan>, ApiError> {
        self.note("fresh plan");
        Ok(Arc::new(ours::plan()))
    }

    async fn diff(&self, step: &Step) -> Result<Vec<FieldDiff>, ApiError> {
        self.note(format!("diff {}", step.target.id));
        Ok(vec![FieldDiff { path: "/spec/replicas".into(), before: Some(json!(1)), after: Some(json!(2)) }])
    }

    async fn objects(&self) -> Result<ObjectsView, ApiError> {
        Ok(ObjectsView { revision: "9f".into(), objects: vec![ours::object()] })
    }

    async fn trace(&self, id: &ObjectId) -> Result<TraceView, ApiError> {
        self.note(format!("trace {id}"));
        Ok(TraceView { object: ours::object(), commit: None, last_apply: None, live: false, fields: Vec::new() })
    }

    async fn authenticate(&self, token: &str) -> Result<Option<Person>, ApiError> {
        self.note(format!("whose {token}"));
        match token {
            "broken" => Err(ApiError::untyped("the API server is away")),
            "ann" | "bob" => Ok(Some(Person { user: token.into(), ..Person::default() })),
            _ => Ok(None),
        }
    }

    async fn may(&self, who: &Person, verb: &str, path: &str) -> Result<bool, ApiError> {
        self.note(format!("may {} {verb} {path}", who.user));
        Ok(who.user == "ann" || verb == "get")
    }

    fn last_plan(&self) -> Option<Arc<Plan>> {
        self.passed.then(|| Arc::new(ours::plan()))
    }

    fn last_outcome(&self) -> Option<Arc<Outcome>> {
        self.passed.then(|| Arc::new(ours::outcome()))
    }

    fn last_error(&self) -> Option<String> {
        None
    }

    fn progress(&self) -> Progress {
        *self.progress.lock().unwrap()
    }

    fn held(&self) -> Vec<Held> {
        let id = "shop:persistentvolumeclaim/data".parse().unwrap();
        let deletes = vec![HeldDelete { id, uid: [7; 16], reason: HoldReason::VolumeClaim }];
        vec![Held { digest: "abc".into(), deletes, reason: "data would be gone".into() }]
    }

    fn approve(&self, digest: &str) -> Result<(), ApiError> {
        self.note(format!("approve {digest}"));
        if digest == "abc" { Ok(()) } else { Err(ApiError::missing("nothing held", "help")) }
    }

    fn pause(&self) -> Result<(), ApiError> {
        *self.paused.lock().unwrap() = Some(Timestamp::UNIX_EPOCH);
        Ok(())
    }

    fn resume(&self) -> Result<(), ApiError> {
        *self.paused.lock().unwrap() = None;
        Ok(())
    }

    fn sync_now(&self) -> Result<(), ApiError> {
        self.note("sync now");
        Ok(())
    }

    fn paused_since(&self) -> Option<Timestamp> {
        *self.paused.lock().unwrap()
    }
}

/// A server on loopback with a client that follows no redirects.
struct Rig {
    fake: Fake,
    probes: Probes,
    base: String,
    metrics: Option<String>,
    client: reqwest::Client,
    stop: Stop,
    task: Scoped<()>,
}

impl Rig {
    async fn start(fake: Fake, limits: Limits, own_metrics: bool) -> Self {
        Self::build(fake, limits, own_metrics, None).await
    }

    /// One of several replicas.
    async fn following(leader: watch::Receiver<Leader>) -> Self {
        Self::build(Fake::new(), Limits::default(), false, Some(leader)).await
    }

    async fn build(fake: Fake, limits: Limits, own_metrics: bool, leader: Option<watch::Receiver<Leader>>) -> Self {
        let listen = || "127.0.0.1:0".to_owned();
        let settings =
            Settings { listen: listen(), listen_metrics: own_metrics.then(listen), limits, ..Settings::default() };
        Self::with(fake, settings, leader).await
    }

    async fn with(fake: Fake, settings: Settings, leader: Option<watch::Receiver<Leader>>) -> Self {
        // The client wants a provider even where no TLS is spoken; only the first test of a process can install it.
        drop(rustls::crypto::ring::default_provider().install_default());
        let (probes, stop) = (Probes::default(), Stop::new());
        let server = Server::bind(&settings, fake.clone(), probes.clone()).await.unwrap();
        let base = format!("http://{}", server.address().unwrap());
        let metrics = server.metrics_address().unwrap().map(|a| format!("http://{a}"));
        let server = match leader {
            Some(leader) => server.forwarding(leader).unwrap(),
            None => server,
        };
        let running = stop.clone();
        let task = scoped(async move { server.run(running).await.unwrap() });
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
        Self { fake, probes, base, metrics, client, stop, task }
    }

    async fn usual() -> Self {
        Self::start(Fake::new(), Limits::default(), false).await
    }

    async fn send(&self, method: Method, path: &str, accept: Option<&str>, body: &str) -> Response {
        let mut request = self.client.request(method, format!("{}{path}", self.base)).body(body.to_owned());
        if let Some(accept) = accept {
            request = request.header("accept", accept);
        }
        request.timeout(Duration::from_secs(30)).send().await.unwrap()
    }

    async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path, Some("application/json"), "").await
    }

    async fn get_json(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.fake.told()
    }
}

#[tokio::test]
async fn a_stop_ends_the_server_and_frees_its_port() {
    let rig = Rig::usual().await;
    assert_eq!(rig.get("/healthz").await.status(), 200);
    rig.stop.stop();
    rig.task.await.unwrap();
    assert!(rig.client.get(format!("{}/healthz", rig.base)).send().await.is_err());
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let rig = Rig::usual().await;
    let listen = rig.base.trim_start_matches("http://").to_owned();
    let settings = Settings { listen: listen.clone(), ..Settings::default() };
    let Err(e) = Server::bind(&settings, Fake::new(), Probes::default()).await else { panic!("bound {listen} twice") };
    assert!(e.to_string().starts_with(&format!("cannot listen on {listen}: ")), "{e}");
}

#[test]
fn the_document_names_every_route() {
    let document: Value = serde_json::from_slice(&document("1.2.3").unwrap()).unwrap();
    for route in super::routes::ROUTES {
        let operation = &document["paths"][route.path][route.method.as_str().to_lowercase()];
        assert_eq!(operation["summary"], json!(route.about), "{} {}", route.method, route.path);
    }
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
}
