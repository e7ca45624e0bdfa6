//! One job: asks a registry and notes the answers, with the log lines that v1's users search for.

use std::time::Instant;

use futures::StreamExt as _;
use futures::stream;
use jiff::Timestamp;
use tokio::time::timeout;

use super::super::inner::Inner;
use super::super::limiter::Urgency;
use super::super::store::Found;
use super::super::wire::{Described, Listed, Session};
use super::super::{Error, Observation, Want};
use super::plan::{Job, Task};
use crate::object::image::CanonicalName;
use crate::runtime::Stop;

/// Time that all pages of a list have together.
const LISTING: std::time::Duration = std::time::Duration::from_secs(600);
/// How long a repository is left alone that is not scanned although it is wanted.
const EXCLUDED: std::time::Duration = std::time::Duration::from_secs(3600);

/// How a job ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    /// When the tags are to be listed again, if this was about them or the registry wants to be left alone.
    pub(super) list_due: Option<Timestamp>,
    /// Whether something is known now that a choice may rest on.
    pub(super) news: bool,
}

impl Inner {
    /// Does a job to its end.
    pub(super) async fn work(&self, job: &Job, want: &Want, stop: &Stop) -> Ended {
        let begun = Instant::now();
        let ended = match &job.task {
            Task::List => {
                let (ended, success) = self.list(job, want, stop).await;
                self.observe(Observation::Fetch, begun, success);
                ended
            }
            Task::Fetch(tags) => self.fetch(job, tags, want, stop).await,
        };
        tracing::trace!(component = "warmer", repository = %job.name, took = ?begun.elapsed(), "job done");
        ended
    }

    async fn list(&self, job: &Job, want: &Want, stop: &Stop) -> (Ended, bool) {
        let now = Timestamp::now();
        let due = |after| Ended { list_due: Some(now + after), news: false };
        if let Some(reason) = self.logins.exclusion(&self.wire, &job.name).await {
            tracing::debug!(component = "warmer", canonical_name = %job.name, reason, "not scanned");
            return (due(EXCLUDED), true);
        }
        if job.urgency == Urgency::Now {
            self.store.expire(&job.name, want, now);
        }
        match self.list_tags(&job.name, want, job.urgency, stop).await {
            Ok(added) => {
                self.trace_known(&job.name, now);
                (Ended { news: added, ..due(self.settings.poll) }, true)
            }
            Err(error) => {
                self.log_failure(&job.name, want, &error, "requesting tags");
                self.store.note_failure(&job.name, &error);
                let pause = self.wire.limiter.paused(&job.name.domain).unwrap_or_default();
                (due(self.settings.poll.max(pause)), false)
            }
        }
    }

    /// Lists the tags of a repository, and says whether there are new ones.
    pub(in super::super) async fn list_tags(
        &self,
        name: &CanonicalName,
        want: &Want,
        urgency: Urgency,
        stop: &Stop,
    ) -> Result<bool, Error> {
        let credentials = self.logins.find(&self.wire, name, &want.credentials, stop).await;
        let session = self.wire.session(name, &credentials, urgency);
        let (_, validator) = self.store.listed(name);
        let begun = Instant::now();
        let listed = timeout(LISTING, session.tags(validator.as_deref())).await;
        let listed = listed.unwrap_or_else(|_| Err(Error::TimedOut { url: name.to_string(), after: LISTING }));
        self.observe(Observation::Tags, begun, listed.is_ok());
        let tags = match listed? {
            Listed::Same => None,
            Listed::Tags(tags, validator) => Some((tags, validator)),
        };
        self.wire.limiter.recover(&name.domain);
        Ok(self.store.note_tags(name, tags, Timestamp::now()))
    }

    async fn fetch(&self, job: &Job, tags: &[String], want: &Want, stop: &Stop) -> Ended {
        let image = spelled(&job.name, want);
        let refresh = tags.iter().filter(|tag| self.store.pinned(&job.name, tag).is_some()).count();
        tracing::info!(
            component = "warmer",
            info = "refreshing image",
            image,
            tag_count = self.store.tag_count(&job.name),
            to_update = tags.len(),
            of_which_refresh = refresh,
            of_which_missing = tags.len() - refresh,
        );
        let credentials = self.logins.find(&self.wire, &job.name, &want.credentials, stop).await;
        let session = self.wire.session(&job.name, &credentials, job.urgency);
        let (mut successful, mut news, mut paused) = (0_usize, false, false);
        let at_once = self.settings.burst.max(1) as usize;
        let session = &session;
        // owned tags: borrowed ones would keep this future from being sent to another thread
        let asks = tags.iter().cloned().map(|tag| async move {
            let fetched = self.fetch_tag(session, &job.name, &tag).await;
            (tag, fetched)
        });
        let mut asks = stream::iter(asks).buffer_unordered(at_once);
        while let Some((tag, fetched)) = asks.next().await {
            match fetched {
                Ok(moved) => {
                    successful += 1;
                    news |= moved;
                }
                Err(error) if error.is_too_many_requests() => {
                    self.log_failure(&job.name, want, &error, "aborting until the rate limit allows more");
                    paused = true;
                    break;
                }
                Err(error) => {
                    self.log_failure(&job.name, want, &error, &format!("requesting the manifest of {tag}"));
                    self.store.note_tag_failure(&job.name, &tag, Timestamp::now());
                }
            }
        }
        drop(asks);
        tracing::info!(component = "warmer", updated = image, successful, attempted = tags.len());
        if successful == tags.len() {
            self.wire.limiter.recover(&job.name.domain);
        }
        if paused {
            // the others of this chunk are asked again when the host may be
            self.put_off(&job.name, tags);
        }
        Ended { list_due: None, news: news && job.urgency < Urgency::Offer }
    }

    /// Finds out about one tag, or that it still is what it was. Returns whether something new is known.
    pub(in super::super) async fn fetch_tag(
        &self,
        session: &Session<'_>,
        name: &CanonicalName,
        tag: &str,
    ) -> Result<bool, Error> {
        let begun = Instant::now();
        let fetched = self.ask_tag(session, name, tag).await;
        self.observe(Observation::Metadata, begun, fetched.is_ok());
        fetched
    }

    async fn ask_tag(&self, session: &Session<'_>, name: &CanonicalName, tag: &str) -> Result<bool, Error> {
        let found = match self.look(session, name, tag).await {
            Ok(None) => {
                self.store.note_same(name, tag, Timestamp::now());
                return Ok(false);
            }
            Ok(Some(described)) => found(name, tag, described),
            Err(error) if error.is_manifest_unknown() => {
                tracing::warn!(
                    component = "warmer",
                    canonical_name = %name,
                    err = %error,
                    "the registry lists the tag {tag} but has no manifest for it; it is not released until it has"
                );
                Found::absent()
            }
            Err(error) => return Err(error),
        };
        if self.settings.trace {
            tracing::info!(component = "warmer", trace = "caching manifest", r#ref = format!("{name}:{tag}"));
        }
        Ok(self.store.note_found(name, tag, found, Timestamp::now()))
    }

    /// What is behind a tag, or nothing if that is what it was.
    async fn look(&self, session: &Session<'_>, name: &CanonicalName, tag: &str) -> Result<Option<Described>, Error> {
        if let Some(pinned) = self.store.pinned(name, tag) {
            if self.settings.trace {
                tracing::info!(component = "warmer", trace = "refreshing manifest", r#ref = format!("{name}:{tag}"));
            }
            if session.head(tag).await?.is_some_and(|digest| digest == pinned) {
                return Ok(None);
            }
        }
        session.describe(tag).await.map(Some)
    }

    /// v1 was silent about timeouts; here they are told at the level of debugging.
    fn log_failure(&self, name: &CanonicalName, want: &Want, error: &Error, doing: &str) {
        let auth = format!("{:?}", want.credentials);
        if error.is_timeout() {
            tracing::debug!(component = "warmer", canonical_name = %name, err = %error, doing);
        } else if error.is_too_many_requests() {
            tracing::warn!(component = "warmer", canonical_name = %name, auth, err = %error, "{doing}");
        } else {
            tracing::error!(component = "warmer", canonical_name = %name, auth, err = format!("{doing}: {error}"));
        }
    }

    fn put_off(&self, name: &CanonicalName, tags: &[String]) {
        let now = Timestamp::now();
        for tag in tags.iter().filter(|tag| !self.store.is_fresh(name, tag, now)) {
            self.store.note_tag_failure(name, tag, now);
        }
    }

    fn trace_known(&self, name: &CanonicalName, now: Timestamp) {
        if !self.settings.trace {
            return;
        }
        for (tag, known) in self.store.known(name, now) {
            let told = if known.excluded { "excluded in cache" } else { "found cached manifest" };
            let r#ref = format!("{name}:{tag}");
            tracing::info!(component = "warmer", trace = told, r#ref, last_fetched = %known.fetched, deadline = %known.due);
        }
    }
}

/// The name by which a workload calls the repository, as v1 logged it.
fn spelled(name: &CanonicalName, want: &Want) -> String {
    want.names.first().map_or_else(|| name.to_string(), ToString::to_string)
}

fn found(name: &CanonicalName, tag: &str, described: Described) -> Found {
    let Described { pinned, image } = described;
    match image {
        Err(reason) => Found::excluded(pinned, reason),
        Ok((digest, image_id, config)) => {
            if !config.unreadable.is_empty() {
                tracing::warn!(
                    component = "warmer",
                    r#ref = format!("{name}:{tag}"),
                    err = format!(
                        "failed to parse {} timestamp label(s) as RFC3339 ({}); ask the maintainer of the image to fix them",
                        config.unreadable.len(),
                        config.unreadable.join(", ")
                    )
                );
            }
            let digest = Some(digest).filter(|digest| *digest != pinned);
            Found::Image { pinned, digest, image_id, labels: config.labels, created: config.created }
        }
    }
}
