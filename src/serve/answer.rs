//! Answers as v1's server writes them: JSON of success, errors negotiated by `Accept`, redirects and plain texts of Go's
//! multiplexer (fluxd-v1 §8.1, §8.2).

use axum::body::Body;
use axum::response::Response;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;

use crate::report::{ApiError, ErrorKind, go_json};

const JSON: &str = "application/json; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// What an error is sent as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON.
    Json,
    /// The help text.
    Help,
    /// The short text: the client asked for neither.
    Short,
}

/// An answer with a body.
pub(super) fn with_body(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// An answer without body.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A plain text.
pub(super) fn plain(status: StatusCode, text: impl Into<Body>) -> Response {
    with_body(status, TEXT, text)
}

/// Success: always JSON.
pub(super) fn json<T: Serialize + ?Sized>(value: &T) -> Result<Response, ApiError> {
    let body = go_json(value).map_err(|e| ApiError::server("the answer could not be written", e.to_string()))?;
    Ok(with_body(StatusCode::OK, JSON, body))
}

/// An error in the form that the client asked for.
pub(super) fn error(headers: &HeaderMap, e: &ApiError) -> Response {
    let status = StatusCode::from_u16(e.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    error_with(status, headers, e)
}

/// An error with another status than its kind's.
pub(super) fn error_with(status: StatusCode, headers: &HeaderMap, e: &ApiError) -> Response {
    let response = match negotiate(headers) {
        Form::Json => match go_json(e) {
            Ok(body) => with_body(status, JSON, body),
            Err(_) => plain(status, e.error.clone()),
        },
        // v1 had only the short text for what it could not read.
        Form::Help if !matches!(e.kind, ErrorKind::Malformed { .. }) => plain(status, e.help.clone()),
        Form::Help | Form::Short => plain(status, e.error.clone()),
    };
    hinted(status, response)
}

/// Says what a client may do about some refusals.
fn hinted(status: StatusCode, mut response: Response) -> Response {
    match status {
        StatusCode::UNAUTHORIZED => {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response
}

/// Which form a client wants: the greater weight of the two types we have, JSON on a tie; no wild cards.
pub(super) fn negotiate(headers: &HeaderMap) -> Form {
    let weight = |wanted: &str| {
        let values = headers.get_all(ACCEPT).into_iter().filter_map(|v| v.to_str().ok());
        let ranges = values.flat_map(|v| v.split(','));
        ranges
            .filter_map(|range| weight_of(range, wanted))
            .fold(None, |best: Option<f32>, w| Some(best.map_or(w, |b| b.max(w))))
    };
    match (weight("application/json"), weight("text/plain")) {
        (Some(json), Some(text)) if text > json => Form::Help,
        (Some(json), _) if json > 0.0 => Form::Json,
        (_, Some(text)) if text > 0.0 => Form::Help,
        _ => Form::Short,
    }
}

/// The weight of a media range if it names the type.
fn weight_of(range: &str, wanted: &str) -> Option<f32> {
    let mut parts = range.split(';').map(str::trim);
    parts.next().filter(|name| name.eq_ignore_ascii_case(wanted))?;
    let weight = parts.find_map(|p| p.strip_prefix("q=").or_else(|| p.strip_prefix("Q=")));
    Some(weight.map_or(1.0, |w| w.trim().parse().unwrap_or(0.0)))
}

/// Go's answer to a path that nobody serves.
pub(super) fn not_found() -> Response {
    let mut response = plain(StatusCode::NOT_FOUND, "404 page not found\n");
    response.headers_mut().insert(http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Go's answer to a path that has another spelling. Older Go answered 301; 307 keeps the method and the body of a POST
/// (errata 10).
pub(super) fn moved(path: &str, query: Option<&str>) -> Response {
    let target = query.map_or_else(|| path.to_owned(), |q| format!("{path}?{q}"));
    let text = target.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&#34;");
    let Ok(location) = HeaderValue::from_str(&target) else { return not_found() };
    let body = format!("<a href=\"{text}\">Temporary Redirect</a>.\n\n");
    let mut response = with_body(StatusCode::TEMPORARY_REDIRECT, "text/html; charset=utf-8", body);
    response.headers_mut().insert(LOCATION, location);
    response
}

/// The path as Go's multiplexer would have it: one slash between segments, no `.` and `..`, a final slash kept.
pub(super) fn clean_path(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            other => segments.push(other),
        }
    }
    let mut clean = format!("/{}", segments.join("/"));
    if path.ends_with('/') && clean != "/" {
        clean.push('/');
    }
    clean
}
