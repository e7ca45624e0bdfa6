//! One HTTP exchange: redirects by hand, so that credentials stay with the host they belong to; bodies up to a limit; a
//! line per request when tracing. It knows nothing of registries' protocol.

use std::error::Error as _;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use reqwest::{Certificate, Client, ClientBuilder, Identity, NoProxy, Proxy};
use tokio::time::Instant;
use url::Url;

use super::super::{Error, Settings, Trust};
use crate::runtime::parse_retry_after;

/// Redirects that are followed.
const REDIRECTS: usize = 5;
/// Time to connect, with the TLS handshake.
const CONNECT: Duration = Duration::from_secs(15);
/// Time for a metadata server, which is on the same machine or nowhere.
const NEAR: Duration = Duration::from_secs(5);
/// As v1: idle connections are few and short-lived.
const IDLE: Duration = Duration::from_secs(10);
const IDLE_PER_HOST: usize = 10;
/// Bytes of an answer that is no success.
const REFUSAL: usize = 64 << 10;

/// The HTTP client, in three forms: one that verifies certificates, one for hosts that are said to be insecure, and one
/// that uses no proxy.
pub(in super::super) struct Http {
    verifying: Client,
    trusting: Client,
    direct: Client,
    insecure: Vec<String>,
    trace: bool,
    timeout: Duration,
}

/// A request.
pub(in super::super) struct Asked {
    pub(in super::super) method: Method,
    pub(in super::super) url: Url,
    pub(in super::super) headers: HeaderMap,
    pub(in super::super) body: Option<Vec<u8>>,
    /// Bytes that the answer may have.
    pub(in super::super) limit: usize,
    /// A cloud's metadata server is asked: it is near, and no proxy may stand between.
    pub(in super::super) near: bool,
}

impl Asked {
    /// A GET without headers.
    pub(in super::super) fn get(url: Url, limit: usize) -> Self {
        Self { method: Method::GET, url, headers: HeaderMap::new(), body: None, limit, near: false }
    }

    /// A GET at a cloud's metadata server.
    pub(in super::super) fn metadata(url: Url) -> Self {
        Self { near: true, ..Self::get(url, 1 << 20) }
    }

    /// Adds a header, marked so that no log shows it when it is about authorization.
    pub(in super::super) fn header(mut self, name: header::HeaderName, value: &str) -> Self {
        if let Ok(mut value) = HeaderValue::from_str(value) {
            value.set_sensitive(name == header::AUTHORIZATION);
            self.headers.insert(name, value);
        }
        self
    }
}

/// An answer of any status.
pub(in super::super) struct Reply {
    pub(in super::super) status: StatusCode,
    pub(in super::super) headers: HeaderMap,
    pub(in super::super) body: Bytes,
    /// Where it finally came from.
    pub(in super::super) url: Url,
}

impl Reply {
    /// A header as text.
    pub(in super::super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// How long the server wants to be left alone.
    pub(in super::super) fn retry_after(&self) -> Option<Duration> {
        let value = self.header("retry-after")?;
        parse_retry_after(value).or_else(|| {
            let at = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
            Duration::try_from(at.duration_since(jiff::Timestamp::now())).ok()
        })
    }
}

impl Http {
    pub(in super::super) fn new(settings: &Settings) -> Result<Self, Error> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // somebody else was first: just as well
            rustls::crypto::ring::default_provider().install_default().ok();
        }
        Ok(Self {
            verifying: proxied(trusting(client(settings), &settings.trust)?, settings)?.build().map_err(unbuilt)?,
            trusting: proxied(client(settings).tls_danger_accept_invalid_certs(true), settings)?
                .build()
                .map_err(unbuilt)?,
            direct: client(settings).build().map_err(unbuilt)?,
            insecure: settings.insecure_hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            trace: settings.trace,
            timeout: settings.timeout,
        })
    }

    /// Whether a host, with or without its port, was said to be insecure.
    pub(in super::super) fn is_insecure(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let bare = host.rsplit_once(':').map_or(host.as_str(), |(bare, _)| bare);
        self.insecure.iter().any(|insecure| *insecure == host || insecure == bare)
    }

    /// Sends a request and reads the whole answer, all within the time that one request has.
    ///
    /// # Errors
    /// When there is no complete answer in time, it is too large, or redirects lead nowhere. Any status is an answer.
    pub(in super::super) async fn send(&self, asked: Asked) -> Result<Reply, Error> {
        let url = shown(&asked.url);
        let after = if asked.near { self.timeout.min(NEAR) } else { self.timeout };
        let answer = tokio::time::timeout(after, self.follow(asked)).await;
        answer.unwrap_or(Err(Error::TimedOut { url, after }))
    }

    async fn follow(&self, mut asked: Asked) -> Result<Reply, Error> {
        let origin = asked.url.origin();
        let may_be_plain = asked.url.scheme() == "http";
        for _ in 0..=REDIRECTS {
            let begun = Instant::now();
            let reply = self.once(&asked).await;
            self.log(&asked.url, &reply, begun);
            let reply = reply?;
            let Some(next) = redirect(&reply)? else { return Ok(reply) };
            if next.scheme() != "https" && !may_be_plain {
                return Err(refuse(&asked.url, "a redirect away from https is not followed"));
            }
            if next.origin() != origin {
                // the credentials are this host's alone
                asked.headers.remove(header::AUTHORIZATION);
            }
            if asked.body.is_some() {
                return Err(refuse(&asked.url, "a redirect of a request with a body is not followed"));
            }
            if asked.near {
                return Err(refuse(&asked.url, "a redirect of a metadata server is not followed"));
            }
            asked.url = next;
        }
        Err(refuse(&asked.url, "more redirects than are followed"))
    }

    async fn once(&self, asked: &Asked) -> Result<Reply, Error> {
        let client = match asked.near {
            true => &self.direct,
            false if self.is_insecure(&host_and_port(&asked.url)) => &self.trusting,
            false => &self.verifying,
        };
        let mut request = client.request(asked.method.clone(), asked.url.clone()).headers(asked.headers.clone());
        if let Some(body) = &asked.body {
            request = request.body(body.clone());
        }
        let failed = |e: reqwest::Error| Error::Connection { url: shown(&asked.url), reason: causes(&e) };
        let mut response = request.send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let limit = if status.is_success() { asked.limit } else { REFUSAL };
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > limit {
                if !status.is_success() {
                    break;
                }
                return Err(refuse(&asked.url, &format!("the answer has more than {limit} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Reply { status, headers, body: body.freeze(), url: asked.url.clone() })
    }

    fn log(&self, url: &Url, reply: &Result<Reply, Error>, begun: Instant) {
        if !self.trace {
            return;
        }
        let (url, took) = (shown(url), format!("{:?}", begun.elapsed()));
        match reply {
            Ok(reply) => tracing::info!(component = "registry", url, status = %reply.status, took),
            Err(error) => tracing::info!(component = "registry", url, err = %error, took),
        }
    }
}

/// Where an answer sends us, if it does.
fn redirect(reply: &Reply) -> Result<Option<Url>, Error> {
    if !matches!(reply.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let target = reply.header("location").and_then(|location| reply.url.join(location).ok());
    match target {
        Some(url) if matches!(url.scheme(), "http" | "https") => Ok(Some(url)),
        _ => Err(refuse(&reply.url, "a redirect without an address that can be followed")),
    }
}

fn client(settings: &Settings) -> ClientBuilder {
    Client::builder()
        .user_agent(format!("fluxd/{}", settings.version))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(IDLE_PER_HOST)
        .referer(false)
        // the environment is not read here
        .no_proxy()
}

fn trusting(mut builder: ClientBuilder, trust: &Trust) -> Result<ClientBuilder, Error> {
    let unreadable = |what: &str| Error::Protocol { url: what.to_owned(), reason: "expected PEM".to_owned() };
    if let Some(authorities) = &trust.authorities {
        let read = Certificate::from_pem_bundle(authorities).ok().filter(|read| !read.is_empty());
        builder = builder.tls_certs_only(read.ok_or_else(|| unreadable("the certificate authorities"))?);
    }
    if let Some((certificate, key)) = &trust.identity {
        let both = [key.as_slice(), b"\n", certificate.as_slice()].concat();
        let read = Identity::from_pem(&both).map_err(|_| unreadable("the client's certificate and key"))?;
        builder = builder.identity(read);
    }
    Ok(builder)
}

fn proxied(mut builder: ClientBuilder, settings: &Settings) -> Result<ClientBuilder, Error> {
    let exempt = || settings.proxies.exempt.as_deref().and_then(NoProxy::from_string);
    // a proxy's URL may hold a password, so the library's error about it is not shown
    let unreadable = |_| Error::Protocol { url: "proxy".to_owned(), reason: "its URL cannot be read".to_owned() };
    if let Some(url) = settings.proxies.https.as_deref().filter(|url| !url.is_empty()) {
        builder = builder.proxy(Proxy::https(url).map_err(unreadable)?.no_proxy(exempt()));
    }
    if let Some(url) = settings.proxies.http.as_deref().filter(|url| !url.is_empty()) {
        builder = builder.proxy(Proxy::http(url).map_err(unreadable)?.no_proxy(exempt()));
    }
    Ok(builder)
}

fn unbuilt(error: reqwest::Error) -> Error {
    Error::Connection { url: "the client of registries".to_owned(), reason: causes(&error) }
}

pub(super) fn refuse(url: &Url, reason: &str) -> Error {
    Error::Protocol { url: shown(url), reason: reason.to_owned() }
}

/// A URL without what may be secret in it: queries carry signatures, the user part passwords.
pub(super) fn shown(url: &Url) -> String {
    format!("{}://{}{}", url.scheme(), host_and_port(url), url.path())
}

/// `HOST[:PORT]`, the port only when it is not the scheme's own.
pub(in super::super) fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The innermost cause, which says most; the outer ones repeat the URL with its query.
fn causes(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    let text = if error.source().is_some() { inner.to_string() } else { "the request could not be sent".to_owned() };
    text.chars().take(300).collect()
}
