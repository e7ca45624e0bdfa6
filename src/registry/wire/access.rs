//! How hosts want to be spoken to: by which scheme, with which credentials. Remembered for the life of the process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode, header};
use tokio::time::Instant;
use url::Url;

use super::super::limiter::Urgency;
use super::super::protocol::{Challenge, Token, read_challenges, read_refusal, read_token};
use super::super::{Error, Login};
use super::Wire;
use super::send::{Asked, Reply, host_and_port, refuse, shown};

/// Bytes of an answer that holds a token.
const TOKEN: usize = 1 << 20;
/// Bytes of the answer to a first contact, which nobody reads.
const PING: usize = 1 << 20;
/// Tokens kept; beyond it those that have ended are dropped, and then all.
const TOKENS: usize = 5_000;

/// What is known of hosts.
#[derive(Default)]
pub(in super::super) struct Access {
    hosts: Mutex<HashMap<String, Contact>>,
    tokens: Mutex<HashMap<Key, (String, Instant)>>,
}

/// The first contact with a host; locked while somebody makes it, so that it is made once.
type Contact = Arc<tokio::sync::Mutex<First>>;

/// What the first contact taught, or how and when it failed: those who waited for it meanwhile fail with it, rather than
/// each waiting as long again for a host that is not there.
#[derive(Default)]
struct First {
    host: Option<Host>,
    failed: Option<(Instant, Error)>,
}

/// How to speak to one host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// `https://HOST/`, or `http://HOST/` for one that is insecure.
    pub(super) base: Url,
    challenge: Option<Challenge>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    realm: String,
    service: String,
    path: String,
    login: Option<Login>,
}

/// Who asks, for what.
pub(super) struct Asker<'a> {
    pub(super) domain: &'a str,
    pub(super) path: &'a str,
    pub(super) login: Option<&'a Login>,
    pub(super) urgency: Urgency,
}

impl Wire {
    /// How to speak to a host; asks it on the first contact.
    pub(super) async fn host(&self, asker: &Asker<'_>) -> Result<Host, Error> {
        let contact = Arc::clone(lock(&self.access.hosts).entry(asker.domain.to_owned()).or_default());
        let begun = Instant::now();
        let mut first = contact.lock().await;
        if let Some(host) = &first.host {
            return Ok(host.clone());
        }
        if let Some((_, error)) = first.failed.as_ref().filter(|(at, _)| *at > begun) {
            return Err(error.clone());
        }
        match self.ping(asker).await {
            Ok((base, reply)) => {
                let host = Host { base, challenge: challenge(&reply) };
                *first = First { host: Some(host.clone()), failed: None };
                Ok(host)
            }
            Err(error) => {
                first.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    async fn ping(&self, asker: &Asker<'_>) -> Result<(Url, Reply), Error> {
        let mut failure = None;
        let schemes: &[&str] = if self.http.is_insecure(asker.domain) { &["https", "http"] } else { &["https"] };
        for scheme in schemes {
            let no_host = |_| Error::Protocol {
                url: asker.domain.to_owned(),
                reason: "expected a registry as HOST or HOST:PORT".to_owned(),
            };
            let base = Url::parse(&format!("{scheme}://{}/", asker.domain)).map_err(no_host)?;
            let url = base.join("v2/").map_err(no_host)?;
            self.limiter.acquire(asker.domain, asker.urgency, None).await?;
            match self.http.send(Asked::get(url, PING)).await {
                Ok(reply) => return Ok((base, reply)),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or(Error::Protocol { url: asker.domain.to_owned(), reason: "cannot be asked".to_owned() }))
    }

    /// Learns from a refusal that the host wants other credentials than it said before, and forgets the token that it
    /// refused.
    pub(super) async fn relearn(&self, asker: &Asker<'_>, reply: &Reply) {
        let contact = lock(&self.access.hosts).get(asker.domain).map(Arc::clone);
        if let (Some(contact), Some(challenge)) = (contact, challenge(reply))
            && let Some(host) = &mut contact.lock().await.host
        {
            host.challenge = Some(challenge);
        }
        lock(&self.access.tokens).retain(|key, _| key.path != asker.path);
    }

    /// The `Authorization` header to send, if any.
    pub(super) async fn authorization(&self, asker: &Asker<'_>, host: &Host) -> Result<Option<String>, Error> {
        match (&host.challenge, asker.login) {
            (Some(Challenge::Basic), Some(login)) => Ok(Some(basic(login))),
            (Some(Challenge::Bearer { realm, service }), login) => {
                let (realm, service, path) = (realm.clone(), service.clone(), asker.path.to_owned());
                let key = Key { realm, service, path, login: login.cloned() };
                self.token(asker, host, key).await.map(|token| Some(format!("Bearer {token}")))
            }
            (Some(Challenge::Basic) | None, _) => Ok(None),
        }
    }

    async fn token(&self, asker: &Asker<'_>, host: &Host, key: Key) -> Result<String, Error> {
        if let Some((token, until)) = lock(&self.access.tokens).get(&key)
            && *until > Instant::now()
        {
            return Ok(token.clone());
        }
        let begun = Instant::now();
        let token = self.fetch_token(asker, host, &key).await?;
        let mut tokens = lock(&self.access.tokens);
        if tokens.len() >= TOKENS {
            tokens.retain(|_, (_, until)| *until > begun);
        }
        if tokens.len() >= TOKENS {
            tokens.clear();
        }
        // given up a little early, because clocks and networks differ
        tokens.insert(key, (token.value.clone(), begun + token.valid.mul_f64(0.9)));
        Ok(token.value)
    }

    async fn fetch_token(&self, asker: &Asker<'_>, host: &Host, key: &Key) -> Result<Token, Error> {
        let mut url = realm(host, &key.realm)?;
        let scope = format!("repository:{}:pull", key.path);
        let asked = match &key.login {
            Some(login) if login.identity => {
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                form.append_pair("grant_type", "refresh_token").append_pair("client_id", "fluxd");
                form.append_pair("service", &key.service).append_pair("scope", &scope);
                let body = form.append_pair("refresh_token", &login.secret).finish();
                let asked = Asked { method: Method::POST, body: Some(body.into_bytes()), ..Asked::get(url, TOKEN) };
                asked.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            }
            login => {
                if !key.service.is_empty() {
                    url.query_pairs_mut().append_pair("service", &key.service);
                }
                url.query_pairs_mut().append_pair("scope", &scope);
                let asked = Asked::get(url, TOKEN);
                login.as_ref().map(basic).into_iter().fold(asked, |a, auth| a.header(header::AUTHORIZATION, &auth))
            }
        };
        let (service, url) = (host_and_port(&asked.url), asked.url.clone());
        self.limiter.acquire(&service, asker.urgency, None).await?;
        let begun = Instant::now();
        let reply = self.http.send(asked).await?;
        if !reply.status.is_success() {
            let refusal = read_refusal(reply.status.as_u16(), &reply.body, reply.retry_after());
            if refusal.is_too_many_requests() {
                self.limiter.back_off(&service, begun, reply.retry_after());
            }
            return Err(refusal);
        }
        read_token(&reply.body).map_err(|reason| Error::Protocol { url: shown(&url), reason })
    }
}

/// A token service is asked with credentials, so it must be reached by TLS, or be the insecure host itself.
fn realm(host: &Host, realm: &str) -> Result<Url, Error> {
    let url = host.base.join(realm).map_err(|_| refuse(&host.base, "its token service's address cannot be read"))?;
    let own = host.base.scheme() == "http" && url.host() == host.base.host();
    if url.scheme() == "https" || (url.scheme() == "http" && own) {
        return Ok(url);
    }
    let reason = format!("its token service at {} is not reached by https; nothing is sent there", host_and_port(&url));
    Err(refuse(&host.base, &reason))
}

/// The challenge to answer: tokens rather than passwords.
fn challenge(reply: &Reply) -> Option<Challenge> {
    if reply.status != StatusCode::UNAUTHORIZED {
        return None;
    }
    let values = reply.headers.get_all(header::WWW_AUTHENTICATE);
    let challenges: Vec<_> = values.iter().filter_map(|v| v.to_str().ok()).flat_map(read_challenges).collect();
    let bearer = challenges.iter().find(|challenge| matches!(challenge, Challenge::Bearer { .. }));
    bearer.or_else(|| challenges.first()).cloned()
}

pub(super) fn basic(login: &Login) -> String {
    format!("Basic {}", STANDARD.encode(format!("{}:{}", login.user, login.secret)))
}

/// A lock whose holder panicked still holds consistent data here: every critical section is a few assignments.
fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
