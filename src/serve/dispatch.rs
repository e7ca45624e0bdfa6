//! From a request to its answer: path cleaning, the route, limits, the answer, its metric. What is answered is elsewhere.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use tokio::sync::Semaphore;
use url::form_urlencoded;

use super::api::Api;
use super::auth::Doorkeeper;
use super::events::Watchers;
use super::forward::Forward;
use super::receivers::Receivers;
use super::refusals::Refusals;
use super::routes::{self, Endpoint, Match, OURS, Route, V1};
use super::{Probes, answer, ours, v1};
use crate::report::ApiError;
use crate::runtime::Stop;

/// How much one request and all together may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests being answered at once; probes do not count.
    pub in_flight: usize,
    /// Connections at once.
    pub connections: usize,
    /// Size of a request's body, in bytes.
    pub body: usize,
    /// Time to answer one request, its body included.
    pub answer: Duration,
    /// Time for a client to send the head of a request, or to shake hands.
    pub head: Duration,
    /// Time that a write may wait for a client to read.
    pub write: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let (answer, head, write) = (Duration::from_secs(60), Duration::from_secs(10), Duration::from_secs(30));
        Self { in_flight: 64, connections: 1024, body: 1 << 20, answer, head, write }
    }
}

/// Which of the two listeners a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    /// The API with the metrics.
    All,
    /// The API without them: they have a listener of their own.
    Api,
    /// Metrics and probes only.
    Metrics,
}

/// Everything that answering needs.
pub(super) struct Service<A> {
    pub(super) api: A,
    pub(super) probes: Probes,
    pub(super) limits: Limits,
    pub(super) slots: Arc<Semaphore>,
    /// Bodies being received at once. Those who send slowly keep each other waiting, and nobody who asks without a body.
    pub(super) uploads: Arc<Semaphore>,
    pub(super) document: Arc<[u8]>,
    pub(super) watchers: Watchers,
    pub(super) doorkeeper: Doorkeeper,
    pub(super) receivers: Receivers,
    pub(super) refusals: Refusals,
    /// Ends long answers.
    pub(super) stop: Stop,
    /// The way to the leader, where there are replicas.
    pub(super) forward: Option<Forward>,
}

/// A request whose route is known.
pub(super) struct Call<'a> {
    /// Where it came in.
    pub(super) door: Door,
    pub(super) route: &'static Route,
    /// What stands where the route has braces.
    pub(super) segment: &'a str,
    pub(super) headers: &'a HeaderMap,
    /// Path and query as sent.
    pub(super) target: &'a str,
    pub(super) query: &'a Query,
    pub(super) body: Vec<u8>,
}

/// The query's keys and values, decoded.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(text: Option<&str>) -> Self {
        Self(form_urlencoded::parse(text.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(k, _)| k == key)
    }

    /// The first value, empty when there is none.
    pub(super) fn first(&self, key: &str) -> &str {
        self.0.iter().find(|(k, _)| k == key).map_or("", |(_, v)| v)
    }

    pub(super) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(k, _)| k == key).map(|(_, v)| v.as_str())
    }
}

/// Answers one request.
pub(super) async fn dispatch<A: Api>(service: &Service<A>, door: Door, request: Request) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let clean = answer::clean_path(uri.path());
    if clean != uri.path() && method != Method::CONNECT {
        return answer::moved(&clean, uri.query());
    }
    let query = Query::parse(uri.query());
    if service.receivers.is_unknown(uri.path()) {
        return service.refusals.slow_down(answer::not_found()).await;
    }
    let found = routes::find(&method, uri.path(), |key| query.has(key)).filter(|m| is_behind(door, m.route.endpoint));
    let Some(Match { route, segment }) = found else {
        let refused = unmatched(door, request.headers(), uri.path(), uri.query());
        return service.refusals.slow_down(refused).await;
    };
    let started = Instant::now();
    let (head, body) = request.into_parts();
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let call = Call { door, route, segment, headers: &head.headers, target, query: &query, body: Vec::new() };
    let response = answer_in_time(service, call, body).await;
    let (word, status) = (method_word(&method), response.status().as_u16());
    service.api.metrics().request(word, route.name, status, started.elapsed());
    service.refusals.slow_down(response).await
}

fn is_behind(door: Door, endpoint: Endpoint) -> bool {
    match door {
        Door::All => true,
        Door::Api => endpoint != Endpoint::Metrics,
        Door::Metrics => matches!(endpoint, Endpoint::Metrics | Endpoint::Live | Endpoint::Ready),
    }
}

/// The label of a metric must not be what a client invents.
fn method_word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}

fn unmatched(door: Door, headers: &HeaderMap, path: &str, query: Option<&str>) -> Response {
    let inside = |prefix: &str| path.strip_prefix(prefix).filter(|rest| rest.starts_with('/'));
    if door == Door::Metrics {
        return answer::not_found();
    }
    if path == V1 {
        return answer::moved("/api/flux/", query);
    }
    match inside(V1) {
        Some(rest) if is_deprecated(rest) => answer::error_with(StatusCode::GONE, headers, &v1::deprecated()),
        Some(rest) => answer::error(headers, &v1::no_such_route(rest)),
        None if inside(OURS).is_some() => answer::error(headers, &v1::no_such_route(path)),
        None => answer::not_found(),
    }
}

fn is_deprecated(rest: &str) -> bool {
    ["/v1/", "/v2/", "/v3/", "/v4/", "/v5/"].iter().any(|old| rest.starts_with(old))
}

async fn answer_in_time<A: Api>(service: &Service<A>, mut call: Call<'_>, body: axum::body::Body) -> Response {
    let headers = call.headers;
    let work = async {
        if let Err(e) = service.doorkeeper.admit(&service.api, &call).await {
            return answer::error(headers, &e);
        }
        match receive(service, &call, body).await {
            Ok(body) => call.body = body,
            Err(refused) => return refused,
        }
        let slot = service.slots.try_acquire();
        if slot.is_err() && !routes::is_probe(call.route.endpoint) {
            return busy(service, headers);
        }
        if let Some(forward) = &service.forward
            && let Some(response) = forward.answer(&mut call).await
        {
            return response;
        }
        route(service, &call).await.unwrap_or_else(|e| answer::error(headers, &e))
    };
    match tokio::time::timeout(service.limits.answer, work).await {
        Ok(response) => response,
        Err(_) => answer::error_with(StatusCode::GATEWAY_TIMEOUT, headers, &too_slow(service.limits.answer)),
    }
}

/// The body of a request that may have one.
async fn receive<A: Api>(service: &Service<A>, call: &Call<'_>, body: axum::body::Body) -> Result<Vec<u8>, Response> {
    if call.route.method == Method::GET || call.route.method == Method::HEAD {
        return Ok(Vec::new());
    }
    let (headers, limits) = (call.headers, service.limits);
    let Ok(_place) = service.uploads.try_acquire() else { return Err(busy(service, headers)) };
    match tokio::time::timeout(limits.head, axum::body::to_bytes(body, limits.body)).await {
        Ok(Ok(body)) => Ok(body.into()),
        Ok(Err(_)) => Err(answer::error_with(StatusCode::PAYLOAD_TOO_LARGE, headers, &too_large(limits.body))),
        Err(_) => Err(answer::error_with(StatusCode::REQUEST_TIMEOUT, headers, &body_too_slow())),
    }
}

async fn route<A: Api>(service: &Service<A>, call: &Call<'_>) -> Result<Response, ApiError> {
    match call.route.endpoint {
        Endpoint::Hook => hook(service, call).await,
        Endpoint::Metrics => super::probes::metrics(&service.api),
        Endpoint::Live => Ok(service.probes.live()),
        Endpoint::Ready => Ok(service.probes.ready()),
        Endpoint::OpenApi => Ok(answer::with_body(StatusCode::OK, "application/json", service.document.to_vec())),
        Endpoint::Events => service.watchers.all(&service.api, call.headers, &service.stop),
        Endpoint::JobEvents => service.watchers.job(&service.api, call.segment, &service.stop).await,
        Endpoint::Status
        | Endpoint::Plan
        | Endpoint::Objects
        | Endpoint::Trace
        | Endpoint::Outcome
        | Endpoint::Progress
        | Endpoint::Deletes
        | Endpoint::Approve
        | Endpoint::Pause
        | Endpoint::Resume
        | Endpoint::SyncNow => ours::answer(&service.api, call).await,
        _ => v1::answer(&service.api, call).await,
    }
}

/// Makes the daemon look at what a verified webhook names.
async fn hook<A: Api>(service: &Service<A>, call: &Call<'_>) -> Result<Response, ApiError> {
    let Some(receiver) = service.receivers.get(call.segment) else { return Ok(answer::not_found()) };
    for change in receiver.receive(call.headers, &call.body).await? {
        service.api.notify(change).await?;
    }
    Ok(answer::plain(StatusCode::OK, "OK"))
}

fn busy<A: Api>(service: &Service<A>, headers: &HeaderMap) -> Response {
    service.api.metrics().shed();
    let help = "The daemon answers as many requests as it can at this moment. Nothing was done; try again in a second.";
    let e = ApiError::server("too many requests at once", help);
    answer::error_with(StatusCode::SERVICE_UNAVAILABLE, headers, &e)
}

fn too_large(limit: usize) -> ApiError {
    ApiError::user(
        "request body not accepted",
        format!("The request's body broke off or is larger than {limit} bytes."),
    )
}

fn body_too_slow() -> ApiError {
    ApiError::user("request body not received in time", "The request's body did not arrive in time. Send it again.")
}

fn too_slow(limit: Duration) -> ApiError {
    let seconds = limit.as_secs();
    let help =
        format!("The answer was not ready within {seconds} seconds. Git or the Kubernetes API server may be slow.");
    ApiError::server("the request took too long", help)
}
