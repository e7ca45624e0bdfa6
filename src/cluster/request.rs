//! One request after another to the API server: bytes in, bytes out, retried with back-off while it makes sense and the
//! call's deadline allows.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT, WARNING};
use http::{HeaderMap, Method, Request};
use kube::client::Body;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{Cluster, ErrorKind, RequestError};
use crate::runtime::{Backoff, parse_retry_after};

/// Media types that answers are asked in. The plain one stands last for servers that cannot cut objects down to metadata;
/// our parsers read either.
pub(super) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
pub(super) const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
pub(super) const JSON: &str = "application/json";

/// Who asks, for the API server's audit log.
pub(super) const AGENT: &str = concat!("fluxd/", env!("CARGO_PKG_VERSION"));

/// First and longest wait between attempts.
const WAITS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// Attempts at what the API server itself answers with a conflict or a 5xx: an own object in motion or a broken webhook
/// should not hold a pass to its deadline. A server that is down or busy is waited for that long.
const ATTEMPTS: u32 = 6;

/// A request to be made, maybe several times.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// kubectl's word for it, for metrics.
    pub(super) verb: &'static str,
    pub(super) method: Method,
    /// Path and query.
    pub(super) uri: String,
    pub(super) accept: &'static str,
    pub(super) content_type: &'static str,
    pub(super) body: Bytes,
    /// Whether a conflict may go away by itself.
    pub(super) retry_conflict: bool,
    pub(super) until: Instant,
}

impl Call {
    /// A read.
    pub(super) fn get(verb: &'static str, uri: String, accept: &'static str, until: Instant) -> Self {
        let (method, body) = (Method::GET, Bytes::new());
        Self { verb, method, uri, accept, content_type: "", body, retry_conflict: true, until }
    }

    /// A patch of the given media type.
    pub(super) fn patch(uri: String, content_type: &'static str, body: Vec<u8>, until: Instant) -> Self {
        let (method, body) = (Method::PATCH, body.into());
        Self { verb: "patch", method, uri, accept: METADATA, content_type, body, retry_conflict: true, until }
    }

    fn request(&self, cluster: &Cluster) -> Result<Request<Body>, RequestError> {
        let mut builder = cluster.identify(Request::builder().method(self.method.clone()).uri(&self.uri));
        builder = builder.header(ACCEPT, self.accept).header(USER_AGENT, AGENT);
        if !self.content_type.is_empty() {
            builder = builder.header(CONTENT_TYPE, self.content_type);
        }
        let unusable = |e| RequestError::local(ErrorKind::Protocol, format!("cannot ask for {}: {e}", self.uri));
        builder.body(Body::from(self.body.clone())).map_err(unusable)
    }
}

/// An answer with a status of success.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Bytes,
    pub(super) warnings: Vec<String>,
}

impl Answer {
    /// Reads the body.
    pub(super) fn parse<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, RequestError> {
        parse(&self.body)
    }
}

/// Reads some JSON that the API server sent. The text itself stays out of the error: it may be a Secret's.
pub(super) fn parse<'a, T: serde::Deserialize<'a>>(text: &'a [u8]) -> Result<T, RequestError> {
    serde_json::from_slice(text).map_err(|e| {
        let place = format!("line {} column {}", e.line(), e.column());
        RequestError::local(ErrorKind::Protocol, format!("cannot read the API server's answer ({place})"))
    })
}

/// A piece of JSON that is read later, or never.
pub(super) type Raw<'a> = &'a RawValue;

impl Cluster {
    /// Makes a call, again and again while it fails in a way that may pass.
    pub(super) async fn call(&self, call: &Call) -> Result<Answer, RequestError> {
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        loop {
            let error = match self.attempt(call).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if !is_worth_retrying(call, &error, backoff.attempts() + 1) {
                return Err(error);
            }
            let wait = backoff.next_after(error.retry_after());
            if Instant::now() + wait >= call.until {
                return Err(error);
            }
            // The message stays out: it may quote a Secret.
            tracing::debug!(verb = call.verb, uri = %call.uri, kind = ?error.kind(), "will try again");
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(&self, call: &Call) -> Result<Answer, RequestError> {
        // Waiting for its turn is not the API server's time. The semaphore is never closed.
        let turn = self.settings().in_flight.as_ref().map(|all| Arc::clone(all).acquire_owned());
        let _turn = match turn {
            Some(turn) => tokio::time::timeout_at(call.until, turn).await.ok().and_then(Result::ok),
            None => None,
        };
        let now = Instant::now();
        let end = call.until.min(now + self.settings().request_timeout);
        let result = match tokio::time::timeout_at(end, self.exchange(call)).await {
            Ok(result) => result,
            Err(_) => {
                let text = format!("no answer from the API server within {} s", end.duration_since(now).as_secs());
                Err(RequestError::local(ErrorKind::Timeout, text))
            }
        };
        let code = result.as_ref().map_or_else(RequestError::status, |a| a.status);
        (self.settings().on_request)(call.verb, code);
        result
    }

    async fn exchange(&self, call: &Call) -> Result<Answer, RequestError> {
        let response = self.client().send(call.request(self)?).await.map_err(|e| from_transport(&e))?;
        let (parts, body) = response.into_parts();
        let body = body.collect_bytes().await.map_err(|e| from_transport(&e))?;
        let status = parts.status.as_u16();
        if parts.status.is_success() {
            return Ok(Answer { status, body, warnings: warnings(&parts.headers) });
        }
        let retry_after = parts.headers.get(RETRY_AFTER).and_then(|v| parse_retry_after(v.to_str().ok()?));
        Err(RequestError::from_answer(status, &body, retry_after))
    }
}

fn is_worth_retrying(call: &Call, error: &RequestError, attempts: u32) -> bool {
    match error.kind() {
        ErrorKind::Throttled => true,
        ErrorKind::Conflict => call.retry_conflict && attempts < ATTEMPTS,
        ErrorKind::Unavailable if error.status() == 0 => true,
        kind => kind.is_transient() && attempts < ATTEMPTS,
    }
}

/// Words for a failure below HTTP: the whole chain of causes, each said once.
pub(super) fn from_transport(error: &kube::Error) -> RequestError {
    if let kube::Error::Api(status) = error {
        let body = serde_json::to_vec(status).unwrap_or_default();
        return RequestError::from_answer(status.code, &body, None);
    }
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    let kind = if matches!(error, kube::Error::Auth(_)) { ErrorKind::Unauthorized } else { ErrorKind::Unavailable };
    RequestError::local(kind, format!("cannot reach the API server: {text}"))
}

/// Texts of `Warning: 299 - "text"` headers.
fn warnings(headers: &HeaderMap) -> Vec<String> {
    let text = |value: &http::HeaderValue| {
        let quoted = value.to_str().ok()?.split_once('"')?.1;
        let inner = quoted.rsplit_once('"').map_or(quoted, |(inner, _)| inner);
        Some(inner.replace("\\\"", "\"").replace("\\\\", "\\"))
    };
    headers.get_all(WARNING).iter().filter_map(text).collect()
}
