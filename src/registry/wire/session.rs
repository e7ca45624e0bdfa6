//! Asking one registry about one repository: its tags, and what is behind a tag.

use http::{Method, StatusCode, header};
use tokio::time::Instant;
use url::Url;

use super::super::limiter::Urgency;
use super::super::protocol::{
    ACCEPT, Config, Descriptor, Manifest, digest_of, next_page, read_config, read_manifest, read_refusal, read_tags,
};
use super::super::{Error, Login};
use super::Wire;
use super::access::{Asker, Host, basic};
use super::send::{Asked, Reply, refuse};
use crate::object::image::CanonicalName;

/// Bytes of one page of tags, of a manifest, and of a configuration.
const PAGE: usize = 16 << 20;
const MANIFEST: usize = 4 << 20;
const CONFIG: usize = 8 << 20;
/// Pages and tags of one repository.
const PAGES: usize = 2_000;
const TAGS: usize = 200_000;
/// Indexes within indexes.
const DEPTH: usize = 3;

/// One repository, and how to ask about it.
pub(in super::super) struct Session<'a> {
    wire: &'a Wire,
    name: CanonicalName,
    login: Option<Login>,
    urgency: Urgency,
    deadline: Option<Instant>,
    /// Only one request at a time asks for a token; the others then find it.
    first: tokio::sync::Mutex<()>,
}

/// An answer about tags.
#[derive(Debug)]
pub(in super::super) enum Listed {
    /// They are what they were.
    Same,
    /// These are all of them, with the validator of the answer, if it was one page.
    Tags(Vec<String>, Option<String>),
}

/// What is behind a tag.
#[derive(Debug)]
pub(in super::super) struct Described {
    /// What the tag points to itself.
    pub(in super::super) pinned: String,
    /// The manifest for our platform, its configuration's digest, and what that says; or why there is none.
    pub(in super::super) image: Result<(String, String, Config), String>,
}

impl<'a> Session<'a> {
    pub(super) fn new(wire: &'a Wire, name: CanonicalName, login: Option<Login>, urgency: Urgency) -> Self {
        if wire.settings.trace {
            let auth = login.as_ref().map_or_else(|| "anonymous".to_owned(), |login| format!("{login:?}"));
            tracing::info!(component = "registry", repo = %name, auth, api = format!("https://{}", name.domain));
        }
        Self { wire, name, login, urgency, deadline: None, first: tokio::sync::Mutex::default() }
    }

    /// Has requests refused that our own limit would not let through by `deadline`, because somebody waits.
    pub(in super::super) fn until(self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// Lists all tags, page by page.
    pub(in super::super) async fn tags(&self, known: Option<&str>) -> Result<Listed, Error> {
        self.list(known).await.map_err(|e| self.scrub(e, None))
    }

    async fn list(&self, known: Option<&str>) -> Result<Listed, Error> {
        let host = self.wire.host(&self.asker()).await?;
        let mut url = self.at(&host, "tags/list")?;
        let mut tags = Vec::new();
        for page in 0..PAGES {
            let mut asked = Asked::get(url.clone(), PAGE).header(header::ACCEPT, "application/json");
            if let Some(known) = known.filter(|_| page == 0) {
                asked = asked.header(header::IF_NONE_MATCH, known);
            }
            let reply = self.exchange(asked).await?;
            if reply.status == StatusCode::NOT_MODIFIED {
                return Ok(Listed::Same);
            }
            tags.extend(read_tags(&reply.body).map_err(|reason| refuse(&url, &reason))?);
            if tags.len() > TAGS {
                return Err(refuse(&url, &format!("the repository has more than {TAGS} tags")));
            }
            let link = reply.header("link").unwrap_or_default();
            match next_page(&url, link).map_err(|reason| refuse(&url, &reason))? {
                Some(next) => url = next,
                None => {
                    let validator = reply.header("etag").filter(|_| page == 0).map(str::to_owned);
                    return Ok(Listed::Tags(unique(tags), validator));
                }
            }
        }
        Err(refuse(&url, &format!("the list of tags has more than {PAGES} pages")))
    }

    /// Asks what a tag points to, without fetching it; `None` when the registry does not say.
    pub(in super::super) async fn head(&self, tag: &str) -> Result<Option<String>, Error> {
        let host = self.wire.host(&self.asker()).await?;
        let url = self.at(&host, &format!("manifests/{tag}"))?;
        let asked = Asked { method: Method::HEAD, ..Asked::get(url, MANIFEST) }.header(header::ACCEPT, ACCEPT);
        match self.exchange(asked).await {
            Ok(reply) => Ok(reply.header("docker-content-digest").map(str::to_owned)),
            Err(Error::Refused { status: 405 | 501, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The digest of what a tag points to: asked for without fetching it where the registry says it so, else computed.
    pub(in super::super) async fn digest(&self, tag: &str) -> Result<String, Error> {
        let announced = match self.head(tag).await {
            Ok(digest) => digest.filter(|digest| digest.starts_with("sha256:")),
            // some registries know manifests only by GET
            Err(Error::Refused { status: 404, .. }) => None,
            Err(error) => return Err(self.scrub(error, None)),
        };
        match announced {
            Some(digest) => Ok(digest),
            None => self.manifest(tag).await.map(|(_, digest)| digest).map_err(|e| self.scrub(e, None)),
        }
    }

    /// Finds out what is behind a tag, down to the image's configuration.
    pub(in super::super) async fn describe(&self, tag: &str) -> Result<Described, Error> {
        let mut described = self.look(tag).await.map_err(|e| self.scrub(e, None))?;
        described.image = described.image.map_err(|reason| self.redact(reason, None));
        Ok(described)
    }

    async fn look(&self, tag: &str) -> Result<Described, Error> {
        let (mut reference, mut pinned) = (tag.to_owned(), None);
        for _ in 0..DEPTH {
            let (manifest, digest) = self.manifest(&reference).await?;
            let pinned = pinned.get_or_insert_with(|| digest.clone()).clone();
            let image = match manifest {
                Manifest::Index(child) => {
                    reference = child.digest;
                    continue;
                }
                Manifest::Excluded(reason) => Err(reason),
                Manifest::Inline { id, config } => Ok((digest, id, config)),
                Manifest::Image { config: None, annotated } => Ok((digest, String::new(), annotated)),
                Manifest::Image { config: Some(config), annotated } => {
                    self.config(&config, annotated).await?.map(|described| (digest, config.digest, described))
                }
            };
            return Ok(Described { pinned, image });
        }
        let reason = format!("indexes nested more than {DEPTH} deep");
        Ok(Described { pinned: pinned.unwrap_or_default(), image: Err(reason) })
    }

    async fn manifest(&self, reference: &str) -> Result<(Manifest, String), Error> {
        let host = self.wire.host(&self.asker()).await?;
        let url = self.at(&host, &format!("manifests/{reference}"))?;
        let reply = self.exchange(Asked::get(url.clone(), MANIFEST).header(header::ACCEPT, ACCEPT)).await?;
        let kind = reply.header("content-type").unwrap_or_default();
        let found = digest_of(kind, &reply.body);
        let announced = reply.header("docker-content-digest").filter(|digest| digest.starts_with("sha256:"));
        let asked_for = Some(reference).filter(|reference| reference.starts_with("sha256:"));
        if let Some(expected) = asked_for.into_iter().chain(announced).find(|expected| *expected != found) {
            let (url, expected) = (super::send::shown(&url), expected.chars().take(100).collect());
            return Err(Error::Digest { url, expected, found });
        }
        let manifest = read_manifest(kind, &reply.body).map_err(|reason| refuse(&url, &reason))?;
        Ok((manifest, found))
    }

    /// What a configuration says, or why it says nothing: its digest is right, so asking again would not change that.
    async fn config(&self, config: &Descriptor, annotated: Config) -> Result<Result<Config, String>, Error> {
        if !config.is_config {
            return Ok(Ok(annotated));
        }
        let host = self.wire.host(&self.asker()).await?;
        let url = self.at(&host, &format!("blobs/{}", config.digest))?;
        let reply = self.exchange(Asked::get(url.clone(), CONFIG)).await?;
        let found = digest_of("", &reply.body);
        if found != config.digest {
            return Err(Error::Digest { url: super::send::shown(&url), expected: config.digest.clone(), found });
        }
        Ok(read_config(&reply.body).map(|mut read| {
            read.labels.created = read.labels.created.or(annotated.labels.created);
            read.labels.build_date = read.labels.build_date.or(annotated.labels.build_date);
            read
        }))
    }

    /// One exchange with the registry: waits for its turn, authenticates, and asks again once when the credentials were
    /// refused that worked before.
    async fn exchange(&self, asked: Asked) -> Result<Reply, Error> {
        let asker = self.asker();
        for last in [false, true] {
            let host = self.wire.host(&asker).await?;
            let authorization = {
                let _one_at_a_time = self.first.lock().await;
                self.wire.authorization(&asker, &host).await.map_err(|e| self.scrub(e, None))?
            };
            let mut request = Asked { method: asked.method.clone(), ..Asked::get(asked.url.clone(), asked.limit) };
            request.headers = asked.headers.clone();
            if let Some(authorization) = &authorization {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            self.wire.limiter.acquire(&self.name.domain, self.urgency, self.deadline).await?;
            let begun = Instant::now();
            let reply = self.wire.http.send(request).await;
            let reply = reply.map_err(|e| self.scrub(e, authorization.as_deref()))?;
            if reply.status.is_success() || reply.status == StatusCode::NOT_MODIFIED {
                return Ok(reply);
            }
            if reply.status == StatusCode::UNAUTHORIZED && !last {
                self.wire.relearn(&asker, &reply).await;
                continue;
            }
            let refusal = read_refusal(reply.status.as_u16(), &reply.body, reply.retry_after());
            if refusal.is_too_many_requests() {
                self.wire.limiter.back_off(&self.name.domain, begun, reply.retry_after());
            }
            return Err(self.scrub(refusal, authorization.as_deref()));
        }
        Err(Error::Protocol { url: self.name.to_string(), reason: "the credentials were refused".to_owned() })
    }

    /// A registry may repeat what it was sent, or what it knows: in its messages, and in all else that errors tell of.
    fn scrub(&self, error: Error, authorization: Option<&str>) -> Error {
        let clean = |text: String| self.redact(text, authorization);
        match error {
            Error::Refused { status, code, text } => Error::Refused { status, code: clean(code), text: clean(text) },
            Error::TooManyRequests { text, retry_after } => Error::TooManyRequests { text: clean(text), retry_after },
            // where a redirect or a link leads is the registry's word too
            Error::TimedOut { url, after } => Error::TimedOut { url: clean(url), after },
            Error::Connection { url, reason } => Error::Connection { url: clean(url), reason: clean(reason) },
            Error::Protocol { url, reason } => Error::Protocol { url: clean(url), reason: clean(reason) },
            Error::Digest { url, expected, found } => {
                Error::Digest { url: clean(url), expected: clean(expected), found }
            }
            other => other,
        }
    }

    /// A text without our login and without what was sent.
    fn redact(&self, mut text: String, authorization: Option<&str>) -> String {
        let login = self.login.as_ref();
        let encoded = login.map(|login| basic(login)[6..].to_owned());
        let sent = authorization.and_then(|a| a.split_once(' ')).map(|(_, secret)| secret.to_owned());
        let secrets = login.map(|l| l.secret.clone()).into_iter().chain(encoded).chain(sent);
        for secret in secrets.filter(|secret| !secret.is_empty()) {
            text = text.replace(secret.as_str(), "<redacted>");
        }
        text
    }

    fn asker(&self) -> Asker<'_> {
        let (domain, path) = (self.name.domain.as_str(), self.name.path.as_str());
        Asker { domain, path, login: self.login.as_ref(), urgency: self.urgency }
    }

    fn at(&self, host: &Host, what: &str) -> Result<Url, Error> {
        let path = format!("v2/{}/{what}", self.name.path);
        host.base.join(&path).map_err(|_| refuse(&host.base, &format!("no address can be made for {}", self.name.path)))
    }
}

/// Some registries repeat tags at the seams of pages.
fn unique(mut tags: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    tags.retain(|tag| seen.insert(tag.clone()));
    tags
}
