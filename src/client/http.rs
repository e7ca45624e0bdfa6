//! One request to the daemon and its answer: headers, limits, and which answers are errors. Which requests there are is
//! in `api`.

use std::time::Duration;

use futures::StreamExt;
use reqwest::{Method, Response, StatusCode, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::error::{ClientError, causes};

/// Path that ends v1's base URLs.
const V1: &str = "/api/flux";
/// The same for the routes that v1 did not have.
const OURS: &str = "/api/fluxd/v1";
/// Bytes of the longest answer that is read: an export of a large cluster.
const LIMIT: usize = 256 << 20;
/// Bytes of a foreign error page that are shown.
const SHOWN: usize = 2048;
/// How long a connection that nobody uses is kept. The daemon closes it after ten seconds, and a question that is sent at
/// that very moment would fail: waits between two questions are up to as long.
const IDLE: Duration = Duration::from_secs(4);

/// How to reach a daemon.
#[derive(Clone, Debug)]
pub struct Target {
    /// Base URL, such as `http://127.0.0.1:3030/api/flux`.
    pub url: String,
    /// Token, sent as v1 did (`Scope-Probe token=`) when it is not empty.
    pub token: String,
    /// How long one request may take.
    pub timeout: Duration,
}

/// A client of one daemon.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    token: String,
    timeout: Duration,
}

/// Where a path belongs.
#[derive(Clone, Copy)]
pub(super) enum Api {
    /// Below v1's prefix.
    V1,
    /// Below our own.
    Ours,
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    help: String,
    #[serde(default)]
    error: String,
}

impl Client {
    /// Makes a client. Nothing is sent yet.
    ///
    /// # Errors
    /// When the URL is none, or the system's certificates cannot be read.
    pub fn new(target: Target) -> Result<Self, ClientError> {
        let bad = |why: String| ClientError::Url { url: target.url.clone(), why };
        let base = Url::parse(target.url.trim_end_matches('/')).map_err(|e| bad(e.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err(bad("expected http://HOST:PORT/api/flux, or the same with https".to_owned()));
        }
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(20))
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(|e| bad(causes(&e)))?;
        Ok(Self { http, base, token: target.token, timeout: target.timeout })
    }

    /// The base URL without credentials, for messages.
    pub fn address(&self) -> String {
        let mut shown = self.base.clone();
        // Fails only for URLs that cannot have a user, which the constructor refuses.
        shown.set_password(None).ok();
        shown.to_string()
    }

    fn url(&self, api: Api, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        let prefix = match api {
            Api::V1 => self.base.path().to_owned(),
            Api::Ours => self.base.path().strip_suffix(V1).unwrap_or(self.base.path()).to_owned() + OURS,
        };
        url.set_path(&format!("{}{path}", prefix.trim_end_matches('/')));
        if !query.is_empty() {
            // In the order of the keys, as Go writes them.
            let mut sorted = query.to_vec();
            sorted.sort_unstable();
            url.query_pairs_mut().extend_pairs(sorted);
        }
        url
    }

    /// Sends one request and gives the answer when it is none of an error.
    pub(super) async fn send(
        &self,
        (method, api, path): (Method, Api, &str),
        query: &[(&str, &str)],
        body: Option<Vec<u8>>,
        timeout: Option<Duration>,
    ) -> Result<Response, ClientError> {
        let url = self.url(api, path, query);
        let mut request = self.http.request(method.clone(), url.clone()).header(header::ACCEPT, "application/json");
        if let Some(timeout) = timeout {
            request = request.timeout(timeout);
        }
        if !self.token.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Scope-Probe token={}", self.token));
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let transport = |e: reqwest::Error| {
            let why = causes(&e.without_url());
            ClientError::Transport { method: method.to_string(), url: shown(&url), why }
        };
        let answer = request.send().await.map_err(transport)?;
        match answer.status() {
            StatusCode::OK | StatusCode::CREATED | StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Ok(answer),
            _ => Err(refusal(answer).await),
        }
    }

    /// Sends a request and reads the answer as bytes.
    pub(super) async fn fetch(
        &self,
        what: (Method, Api, &str),
        query: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, ClientError> {
        let answer = self.send(what, query, body, Some(self.timeout)).await?;
        bytes(answer, LIMIT).await
    }

    /// Sends a request and reads the answer as JSON.
    pub(super) async fn json<T: DeserializeOwned>(
        &self,
        what: (Method, Api, &str),
        query: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<T, ClientError> {
        decode(&self.fetch(what, query, body).await?)
    }
}

/// Reads an answer as JSON.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ClientError> {
    if bytes.is_empty() {
        // Go's decoder says so, and v1's client with it.
        return Err(ClientError::Decode("EOF".to_owned()));
    }
    serde_json::from_slice(bytes).map_err(|e| ClientError::Decode(e.to_string()))
}

fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    // Only URLs without a host refuse, and those are refused before.
    shown.set_password(None).ok();
    shown.to_string()
}

async fn bytes(answer: Response, limit: usize) -> Result<Vec<u8>, ClientError> {
    let url = shown(answer.url());
    let (mut stream, mut all) = (answer.bytes_stream(), Vec::new());
    while let Some(part) = stream.next().await {
        let lost = |e: reqwest::Error| ClientError::Decode(causes(&e.without_url()));
        all.extend_from_slice(&part.map_err(lost)?);
        if all.len() > limit {
            return Err(ClientError::TooLarge { url, limit });
        }
    }
    Ok(all)
}

/// The error that an answer is (fluxd-v1 §8.2): the daemon's JSON, else its status and what came with it.
async fn refusal(answer: Response) -> ClientError {
    let status = answer.status();
    let body = bytes(answer, LIMIT.min(1 << 20)).await.unwrap_or_default();
    let parsed = serde_json::from_slice::<ErrorBody>(&body).ok();
    if status == StatusCode::UNAUTHORIZED {
        return ClientError::Unauthorized { help: parsed.map(|body| body.help).unwrap_or_default() };
    }
    match parsed {
        Some(body) if !body.error.is_empty() => {
            ClientError::Api { kind: body.kind, help: body.help, error: body.error }
        }
        _ => {
            let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]).into_owned();
            ClientError::Status { status: status.to_string(), body: text }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(url: &str) -> Result<Client, ClientError> {
        // A provider that is installed already serves as well.
        rustls::crypto::ring::default_provider().install_default().ok();
        Client::new(Target { url: url.to_owned(), token: String::new(), timeout: Duration::from_secs(1) })
    }

    #[test]
    fn routes_of_ours_stand_beside_v1s_prefix() {
        let client = client("http://h:3030/proxy/api/flux/").unwrap();
        assert_eq!(
            client.url(Api::V1, "/v6/sync", &[("ref", "a b")]).as_str(),
            "http://h:3030/proxy/api/flux/v6/sync?ref=a+b"
        );
        assert_eq!(client.url(Api::Ours, "/plan", &[]).as_str(), "http://h:3030/proxy/api/fluxd/v1/plan");
    }

    #[test]
    fn empty_query_arguments_are_sent_in_the_order_of_their_names() {
        let url = client("http://h/api/flux").unwrap().url(
            Api::V1,
            "/v10/images",
            &[("service", "<all>"), ("namespace", "")],
        );
        assert_eq!(url.query(), Some("namespace=&service=%3Call%3E"));
    }

    #[test]
    fn what_is_no_url_of_a_daemon_is_refused() {
        for bad in ["nonsense", ":foo", "ftp://h/api/flux", "http://"] {
            assert!(matches!(client(bad), Err(ClientError::Url { .. })), "{bad}");
        }
    }

    #[test]
    fn a_password_in_the_url_is_not_shown() {
        assert_eq!(client("http://u:secret@h/api/flux").unwrap().address(), "http://u@h/api/flux");
    }
}
