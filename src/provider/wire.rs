//! One HTTP exchange: redirects by hand, so that credentials stay with the host they belong to; bodies up to a limit,
//! counted as they are after decompression; no proxies but those of the settings. It knows nothing of any host's API.

use std::error::Error as _;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use reqwest::{Certificate, Client, ClientBuilder, Identity, NoProxy, Proxy};
use serde::de::DeserializeOwned;
use url::Url;

use super::{Error, Settings};
use crate::runtime::parse_retry_after;

/// Bytes of an answer (resourceset §8.5).
pub(super) const BODY: usize = 10 << 20;
/// Bytes of an answer that is no success.
const REFUSAL: usize = 64 << 10;
/// Characters of a host's message that are passed on.
const MESSAGE: usize = 300;
const REDIRECTS: usize = 5;
/// Repetitions of a request.
pub(super) const RETRIES: u32 = 4;
/// Time to connect, with the TLS handshake.
const CONNECT: Duration = Duration::from_secs(15);
const IDLE: Duration = Duration::from_secs(10);
/// Headers that carry credentials, which stay with the host that they were meant for.
const SECRET: [&str; 3] = ["authorization", "private-token", "x-amz-security-token"];

/// How a host proves who it is, and we to it. Never printed.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Tls {
    /// PEM certificates that replace the system's.
    pub(super) authorities: Option<Vec<u8>>,
    /// Our certificate with its key, both PEM.
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// An HTTP client.
pub(super) struct Wire {
    client: Client,
    first_pause: Duration,
    longest_pause: Duration,
}

/// A request.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
    /// Bytes that the answer may have.
    pub(super) limit: usize,
    /// Whether it is sent again when the host has too much to do or trouble of its own.
    patient: bool,
    /// A header whose value none can have.
    unfit: Option<&'static str>,
}

impl Call {
    /// A GET without headers.
    pub(super) fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: None,
            limit: BODY,
            patient: false,
            unfit: None,
        }
    }

    /// A POST of a body.
    pub(super) fn post(url: Url, body: Vec<u8>) -> Self {
        Self { method: Method::POST, body: Some(body), ..Self::get(url) }
    }

    /// With a header; secret ones are marked so that no log shows them. With a value that none can have the request is
    /// not sent at all: without its credentials it would be somebody else's, who may be shown less.
    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        match HeaderValue::from_str(value) {
            Ok(mut value) => {
                value.set_sensitive(SECRET.contains(&name));
                self.headers.insert(HeaderName::from_static(name), value);
            }
            Err(_) => self.unfit = Some(name),
        }
        self
    }

    /// Sent again, some times, when the host answers that it has too much to do or trouble of its own.
    pub(super) fn patient(mut self) -> Self {
        self.patient = true;
        self
    }

    /// With credentials, if there are any.
    pub(super) fn credential(self, credential: Option<&(&'static str, String)>) -> Self {
        match credential {
            Some((name, value)) => self.header(name, value),
            None => self,
        }
    }
}

/// An answer of any status.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// What was asked how, for errors.
    pub(super) method: Method,
    /// Where it finally came from.
    pub(super) url: Url,
}

impl Reply {
    /// A header as text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The same, or an error that says what the host answered.
    pub(super) fn ok(self) -> Result<Self, Error> {
        if self.status.is_success() {
            return Ok(self);
        }
        let said = message_of(&self.body);
        let code = self.status.as_u16();
        let reason = self.status.canonical_reason().unwrap_or_default();
        Err(Error::Status {
            method: self.method.to_string(),
            url: shown(&self.url),
            status: format!("{code} {reason}").trim_end().to_owned(),
            message: if said.is_empty() { said } else { format!(": {said}") },
            code,
        })
    }

    /// The body as JSON.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        read_json(&self.body).map_err(|reason| Error::Answer { url: shown(&self.url), reason })
    }
}

/// Reads a body of JSON. The words of a refusal show nothing of the body.
pub(super) fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|e| {
        let start = body.trim_ascii_start();
        let kind = match start.first() {
            None => "nothing",
            Some(b'<') => "HTML or XML",
            Some(b'{' | b'[') if e.classify() == serde_json::error::Category::Data => "JSON of another form",
            Some(b'{' | b'[') => "broken JSON",
            Some(_) => "something else",
        };
        format!(
            "expected JSON as the API's documentation has it, found {kind} (line {}, column {})",
            e.line(),
            e.column()
        )
    })
}

/// What a refusal says: the text fields in which hosts put it, in one line of bounded length.
fn message_of(body: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) else { return String::new() };
    let keys = ["message", "error_description", "error", "Message"];
    let text = keys.iter().find_map(|key| match value.get(key)? {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Null => None,
        other => Some(other.to_string()),
    });
    text.unwrap_or_default().chars().filter(|c| !c.is_control()).take(MESSAGE).collect()
}

impl Wire {
    /// Makes a client.
    pub(super) fn new(settings: &Settings, tls: &Tls) -> Result<Self, Error> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // somebody else was first: just as well
            rustls::crypto::ring::default_provider().install_default().ok();
        }
        let builder = Client::builder()
            .user_agent(format!("flux-operator/{}", settings.version))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .referer(false)
            // the environment is not read here
            .no_proxy();
        let builder = trusting(proxied(builder, settings)?, tls)?;
        let client =
            builder.build().map_err(|e| Error::Said(format!("the HTTP client cannot be made: {}", causes(&e))))?;
        Ok(Self { client, first_pause: settings.first_pause, longest_pause: settings.longest_pause })
    }

    /// Sends a request and reads the whole answer; any status is one.
    ///
    /// # Errors
    /// When there is no complete answer, it is too large, or redirects lead nowhere.
    pub(super) async fn send(&self, call: Call) -> Result<Reply, Error> {
        if let Some(name) = call.unfit {
            return Err(refuse(
                &call.url,
                &format!("the value of the header '{name}' has characters that none can have"),
            ));
        }
        let mut retry = 0;
        loop {
            let reply = self.follow(call.clone()).await?;
            let code = reply.status.as_u16();
            if !call.patient || retry == RETRIES || !(code == 429 || (code >= 500 && code != 501)) {
                return Ok(reply);
            }
            let asked = reply.header("retry-after").and_then(parse_retry_after);
            let pause = asked.unwrap_or_else(|| self.pause(retry));
            if pause > self.longest_pause {
                return Ok(reply);
            }
            retry += 1;
            tokio::time::sleep(pause).await;
        }
    }

    /// The pause before a repetition; it doubles with each.
    pub(super) fn pause(&self, retry: u32) -> Duration {
        self.first_pause.saturating_mul(1 << retry.min(16)).min(self.longest_pause)
    }

    async fn follow(&self, mut call: Call) -> Result<Reply, Error> {
        let first = call.url.clone();
        let may_be_plain = call.url.scheme() == "http";
        for _ in 0..=REDIRECTS {
            let reply = self.once(&call).await?;
            let Some(next) = redirect(&reply)? else { return Ok(reply) };
            if next.scheme() != "https" && !may_be_plain {
                return Err(refuse(&call.url, "a redirect away from https is not followed"));
            }
            if call.body.is_some() {
                return Err(refuse(&call.url, "a redirect of a request with a body is not followed"));
            }
            if !is_same_host(&first, &next) {
                // the credentials are this host's alone
                SECRET.iter().for_each(|name| drop(call.headers.remove(*name)));
            }
            call.url = next;
        }
        Err(refuse(&call.url, "more redirects than are followed"))
    }

    /// Sends a request whose answer is JSON and a success.
    pub(super) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        self.send(call.header("accept", "application/json")).await?.ok()?.json()
    }

    async fn once(&self, call: &Call) -> Result<Reply, Error> {
        let failed = |e: reqwest::Error| Error::Connection {
            method: call.method.to_string(),
            url: shown(&call.url),
            reason: causes(&e),
        };
        let mut request = self.client.request(call.method.clone(), call.url.clone()).headers(call.headers.clone());
        if let Some(body) = &call.body {
            request = request.body(body.clone());
        }
        let mut response = request.send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let limit = if status.is_success() { call.limit } else { REFUSAL };
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > limit {
                if !status.is_success() {
                    break;
                }
                return Err(refuse(
                    &call.url,
                    &format!("response body exceeds the maximum allowed size of {limit} bytes"),
                ));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Reply { status, headers, body: body.freeze(), method: call.method.clone(), url: call.url.clone() })
    }
}

fn trusting(mut builder: ClientBuilder, tls: &Tls) -> Result<ClientBuilder, Error> {
    let unreadable = |what: &str| Error::Said(format!("{what} cannot be read: expected PEM"));
    if let Some(authorities) = &tls.authorities {
        let read = Certificate::from_pem_bundle(authorities).map_err(|_| unreadable("the certificate authorities"))?;
        if read.is_empty() {
            return Err(unreadable("the certificate authorities"));
        }
        builder = builder.tls_certs_only(read);
    }
    if let Some((certificate, key)) = &tls.identity {
        let both = [key.as_slice(), b"\n", certificate.as_slice()].concat();
        builder =
            builder.identity(Identity::from_pem(&both).map_err(|_| unreadable("the client's certificate or key"))?);
    }
    Ok(builder)
}

fn proxied(mut builder: ClientBuilder, settings: &Settings) -> Result<ClientBuilder, Error> {
    let exempt = || settings.proxies.exempt.as_deref().and_then(NoProxy::from_string);
    // a proxy's URL may hold a password, so the library's error about it is not shown
    let unreadable = |_| Error::Said("a proxy's URL cannot be read".to_owned());
    if let Some(url) = settings.proxies.https.as_deref().filter(|url| !url.is_empty()) {
        builder = builder.proxy(Proxy::https(url).map_err(unreadable)?.no_proxy(exempt()));
    }
    if let Some(url) = settings.proxies.http.as_deref().filter(|url| !url.is_empty()) {
        builder = builder.proxy(Proxy::http(url).map_err(unreadable)?.no_proxy(exempt()));
    }
    Ok(builder)
}

/// Where an answer sends us, if it does.
fn redirect(reply: &Reply) -> Result<Option<Url>, Error> {
    if !matches!(reply.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let target = reply.header(header::LOCATION.as_str()).and_then(|location| reply.url.join(location).ok());
    match target {
        Some(url) if matches!(url.scheme(), "http" | "https") => Ok(Some(url)),
        _ => Err(refuse(&reply.url, "a redirect without an address that can be followed")),
    }
}

/// Whether credentials for the one URL may be shown to the other: it is the same host at the same port, or that host's
/// ordinary port with TLS instead of that without.
fn is_same_host(first: &Url, next: &Url) -> bool {
    let is_upgrade = (first.scheme(), next.scheme()) == ("http", "https") && first.host() == next.host();
    first.origin() == next.origin() || (is_upgrade && first.port().is_none() && next.port().is_none())
}

fn refuse(url: &Url, reason: &str) -> Error {
    Error::Answer { url: shown(url), reason: reason.to_owned() }
}

/// A URL without what may be secret in it: queries carry tokens, the user part passwords.
pub(super) fn shown(url: &Url) -> String {
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

/// The same for a text that may be no URL.
pub(super) fn without_user(text: &str) -> String {
    let bare = text.split(['?', '#']).next().unwrap_or_default();
    match bare.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, rest)| rest)),
        None => bare.rsplit_once('@').map_or(bare, |(_, rest)| rest).to_owned(),
    }
}

/// The innermost cause, which says most; the outer ones repeat the URL with its query.
fn causes(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    let text = if error.source().is_some() { inner.to_string() } else { "the request could not be sent".to_owned() };
    text.chars().take(MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_stay_with_their_host_or_move_to_its_tls() {
        for (first, next, same) in [
            ("https://a.example/x", "https://a.example/y", true),
            ("http://a.example/x", "https://a.example/x", true),
            ("https://a.example/x", "http://a.example/x", false),
            ("http://a.example/x", "https://a.example:8443/x", false),
            ("http://a.example:3000/x", "https://a.example/x", false),
            ("https://a.example/x", "https://b.a.example/x", false),
            ("http://a.example/x", "https://b.example/x", false),
        ] {
            let (one, other) = (first.parse().unwrap(), next.parse().unwrap());
            assert_eq!(is_same_host(&one, &other), same, "{first} {next}");
        }
    }
}
