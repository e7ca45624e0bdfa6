//! Followers hand what needs the leader over to it, so that a client may ask any replica; who leads is told from outside.
//! Where the API speaks TLS, the leader is known by the certificate that all replicas share, as addresses of pods are in none.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, RETRY_AFTER, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::sync::watch;

use super::answer;
use super::dispatch::Call;
use super::routes::Endpoint;
use super::tls::Tls;
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
    client: reqwest::Client,
    tls: bool,
}

impl Forward {
    pub(super) fn new(leader: watch::Receiver<Leader>, tls: Option<&Tls>) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder().connect_timeout(CONNECT).no_proxy();
        // Each request has a connection of its own: one kept open may lead to a process that is no more.
        let client = client.pool_max_idle_per_host(0).redirect(reqwest::redirect::Policy::none());
        let client = match tls {
            Some(tls) => client.tls_backend_preconfigured(tls.among_replicas()),
            None => client,
        };
        Ok(Self { leader, client: client.build()?, tls: tls.is_some() })
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
        let scheme = if self.tls { "https" } else { "http" };
        let mut request = self
            .client
            .request(call.route.method.clone(), format!("{scheme}://{address}{}", call.target))
            .headers(end_to_end(call.headers))
            .header(FORWARDED, "1");
        if !call.body.is_empty() {
            request = request.body(std::mem::take(&mut call.body));
        }
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(e) if e.is_connect() => return unreachable(call.headers, &address, &e.without_url()),
            Err(e) => return broken(call.headers, &address, &e.without_url()),
        };
        let (status, headers) = (answer.status(), end_to_end(answer.headers()));
        let is_stream = headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
        let body = match is_stream {
            true => Body::from_stream(answer.bytes_stream()),
            false => match whole(answer).await {
                Ok(body) => Body::from(body),
                Err(e) => return broken(call.headers, &address, &*e),
            },
        };
        let mut response = Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        response
    }
}

/// The whole body, if it is not too large.
async fn whole(mut answer: reqwest::Response) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
        if body.len() + piece.len() > ANSWER {
            return Err(format!("the answer is larger than {ANSWER} bytes").into());
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
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
