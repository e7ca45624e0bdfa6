//! Followers hand what needs the leader over to it, so that a client may ask any replica. Plain HTTP, as the API itself;
//! who leads is told from outside.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, RETRY_AFTER, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::watch;

use super::answer;
use super::dispatch::Call;
use super::routes::Endpoint;
use crate::report::ApiError;

/// Marks a request that a replica has handed over; it is not handed on once more.
const FORWARDED: HeaderName = HeaderName::from_static("fluxd-forwarded");
/// How long a connection to the leader may take.
const CONNECT: Duration = Duration::from_secs(2);
/// Largest answer that is passed on, in bytes. Exports of whole clusters are the largest.
const ANSWER: usize = 64 << 20;

/// Headers that concern one connection only; lengths are set anew.
const OF_CONNECTION: [HeaderName; 10] = [
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Who answers what only a leader can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Leader {
    /// This process.
    Us,
    /// The replica whose API is at this address.
    At(Authority),
    /// Nobody, or nobody knows where.
    #[default]
    Unknown,
}

/// The way to the leader.
pub(super) struct Forward {
    leader: watch::Receiver<Leader>,
    client: Client<HttpConnector, Body>,
}

impl Forward {
    pub(super) fn new(leader: watch::Receiver<Leader>) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        // Each request has a connection of its own: one kept open may lead to a process that is no more.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Self { leader, client }
    }

    /// The leader's answer; nothing when this process is to answer itself.
    pub(super) async fn answer(&self, call: &mut Call<'_>) -> Option<Response> {
        if is_local(call.route.endpoint) {
            return None;
        }
        let leader = self.leader.borrow().clone();
        match leader {
            Leader::Us => None,
            Leader::At(address) if !call.headers.contains_key(FORWARDED) => Some(self.ask(address, call).await),
            Leader::At(_) | Leader::Unknown => Some(no_leader(call.headers)),
        }
    }

    async fn ask(&self, address: Authority, call: &mut Call<'_>) -> Response {
        let Some(request) = request(&address, call) else { return no_leader(call.headers) };
        let response = match self.client.request(request).await {
            Ok(response) => response,
            Err(e) if e.is_connect() => return unreachable(call.headers, &address, &e),
            Err(e) => return broken(call.headers, &address, &e),
        };
        let (head, body) = response.into_parts();
        if head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream") {
            let mut response = Response::new(Body::new(body));
            *response.headers_mut() = end_to_end(&head.headers);
            return response;
        }
        match to_bytes(Body::new(body), ANSWER).await {
            Ok(body) => {
                let mut response = Response::new(Body::from(body));
                *response.status_mut() = head.status;
                *response.headers_mut() = end_to_end(&head.headers);
                response
            }
            Err(e) => broken(call.headers, &address, &e),
        }
    }
}

/// What every replica knows itself.
fn is_local(endpoint: Endpoint) -> bool {
    matches!(
        endpoint,
        Endpoint::Ping
            | Endpoint::Version
            | Endpoint::PublicKey
            | Endpoint::OpenApi
            | Endpoint::Metrics
            | Endpoint::Live
            | Endpoint::Ready
    )
}

/// The same request for another address; its body goes with it.
fn request(address: &Authority, call: &mut Call<'_>) -> Option<Request> {
    let target = PathAndQuery::try_from(call.target).ok()?;
    let mut uri = http::uri::Parts::default();
    (uri.scheme, uri.authority, uri.path_and_query) = (Some(Scheme::HTTP), Some(address.clone()), Some(target));
    let mut request = Request::new(Body::from(std::mem::take(&mut call.body)));
    *request.uri_mut() = Uri::from_parts(uri).ok()?;
    *request.method_mut() = call.route.method.clone();
    *request.headers_mut() = end_to_end(call.headers);
    request.headers_mut().insert(FORWARDED, HeaderValue::from_static("1"));
    Some(request)
}

fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for name in &OF_CONNECTION {
        kept.remove(name);
    }
    kept
}

fn no_leader(headers: &HeaderMap) -> Response {
    let help = "This replica follows, and no replica is known at this moment that leads and can be reached. Nothing was \
                done; try again in some seconds. If this lasts, see the holder of the Lease: it names an address only when \
                --leader-elect-address, or POD_IP in the environment, is set.";
    later(headers, &ApiError::server("no leader to answer the request", help))
}

fn unreachable(headers: &HeaderMap, address: &Authority, error: &dyn std::error::Error) -> Response {
    tracing::warn!(component = "daemon", leader = %address, err = %error, "the leader cannot be reached");
    let help = format!("The leader at {address} cannot be reached. Nothing was done; try again in some seconds.");
    later(headers, &ApiError::server("the leader cannot be reached", help))
}

fn later(headers: &HeaderMap, error: &ApiError) -> Response {
    let mut response = answer::error_with(StatusCode::SERVICE_UNAVAILABLE, headers, error);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

fn broken(headers: &HeaderMap, address: &Authority, error: &dyn std::error::Error) -> Response {
    tracing::warn!(component = "daemon", leader = %address, err = %error, "the leader's answer broke off");
    let help = format!("The leader at {address} did not answer to the end. It may have done what was asked.");
    answer::error_with(StatusCode::BAD_GATEWAY, headers, &ApiError::server("the leader did not answer", help))
}
