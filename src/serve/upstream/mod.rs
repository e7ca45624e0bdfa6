//! The upstream service of `--connect` (fluxd-v1 §8.6): it calls our API over a websocket that we open, and is told events.
//!
//! Where v1 let a service that took no events hold the sync marker back, events wait here in a bounded queue, are sent again
//! while that may help, and are lost in the end: a sync never waits for them.

mod call;
mod link;
mod post;
mod stream;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::sync::watch;
use url::Url;

use super::Leader;
use super::api::Api;
use crate::runtime::Stop;

/// After how long a lost or refused connection is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// Why there is no upstream service.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is none.
    #[error("{address:?} is no address: {reason}; expected one such as ws://fluxcloud or https://host/path")]
    Address {
        /// The address, without user and password.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The address is of a kind that is not spoken.
    #[error("unsupported scheme {scheme:?} in {address:?}; expected ws, wss, http or https")]
    Scheme {
        /// The scheme.
        scheme: String,
        /// The address, without user and password.
        address: String,
    },
    /// The token cannot be sent in a header.
    #[error("--token cannot be sent: it holds characters that no HTTP header may have")]
    Token,
    /// The service says that it is no more (HTTP 410), which ends the process.
    #[error("the upstream service at {0} answers that this kind of daemon is no longer served (HTTP 410)")]
    Gone(String),
}

/// Where the service is, and how long its calls may take.
#[derive(Clone)]
pub struct Settings {
    socket: Url,
    events: Url,
    authorization: Option<http::HeaderValue>,
    agent: http::HeaderValue,
    timeout: Duration,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Settings({})", shown(&self.socket))
    }
}

/// An address without user, password and query.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Addresses that cannot have them have none.
    url.set_username("").ok();
    url.set_password(None).ok();
    url.set_query(None);
    url.to_string()
}

impl Settings {
    /// Reads an address; `timeout` bounds each call of the service, `version` is ours.
    ///
    /// # Errors
    /// When it is no address, is of an unsupported scheme, or the token cannot be sent.
    pub fn new(address: &str, token: &str, timeout: Duration, version: &str) -> Result<Self, Error> {
        let url = Url::parse(address).map_err(|e| Error::Address { address: bare(address), reason: e.to_string() })?;
        let (socket, events) = match url.scheme() {
            "ws" | "http" => ("ws", "http"),
            "wss" | "https" => ("wss", "https"),
            other => return Err(Error::Scheme { scheme: other.to_owned(), address: shown(&url) }),
        };
        let at = |scheme: &str, path: &str| {
            let (_, rest) = url.as_str().split_once("://").unwrap_or(("", url.as_str()));
            let base = format!("{scheme}://{}", rest.split(['?', '#']).next().unwrap_or_default());
            Url::parse(&format!("{}{path}", base.trim_end_matches('/')))
                .map_err(|e| Error::Address { address: shown(&url), reason: e.to_string() })
        };
        let (socket, events) = (at(socket, "/v11/daemon")?, at(events, "/v6/events")?);
        let secret = |text: String| {
            let mut value = http::HeaderValue::try_from(text).map_err(|_| Error::Token)?;
            value.set_sensitive(true);
            Ok::<_, Error>(value)
        };
        let authorization = (!token.is_empty()).then(|| secret(format!("Scope-Probe token={token}"))).transpose()?;
        let agent = http::HeaderValue::try_from(format!("fluxd/{version}")).map_err(|_| Error::Token)?;
        Ok(Self { socket, events, authorization, agent, timeout })
    }
}

/// What of a text that is no address may be shown: nothing before the last at-sign.
fn bare(address: &str) -> String {
    address.rsplit('@').next().unwrap_or_default().to_owned()
}

/// The connection to a service.
pub struct Upstream<A> {
    settings: Settings,
    api: A,
    leader: Option<watch::Receiver<Leader>>,
    again: Duration,
}

impl<A: Api> Upstream<A> {
    /// Makes one; nothing is opened before it runs.
    pub fn new(settings: Settings, api: A) -> Self {
        api.feed().has_upstream();
        Self { settings, api, leader: None, again: AGAIN }
    }

    /// Connects only while this replica leads.
    #[must_use]
    pub fn leading(mut self, leader: watch::Receiver<Leader>) -> Self {
        self.leader = Some(leader);
        self
    }

    /// Serves and tells the service until stopped.
    ///
    /// # Errors
    /// [`Error::Gone`] when the service sends us away for good. All else is tried again.
    pub async fn run(self, stop: Stop) -> Result<(), Error> {
        let metrics = self.api.metrics();
        let posts = post::run(&self.settings, self.api.feed().events(), &metrics);
        let calls = self.connect_again_and_again();
        tokio::select! {
            () = stop.stopped() => Ok(()),
            () = posts => Ok(()),
            ended = calls => ended,
        }
    }

    async fn connect_again_and_again(&self) -> Result<(), Error> {
        let target = shown(&self.settings.socket);
        loop {
            self.until_leading(true).await;
            tracing::info!(component = "upstream", connecting = true);
            let talk = link::talk(&self.settings, &self.api, &target);
            let ended = tokio::select! {
                ended = talk => Some(ended),
                () = self.until_leading(false) => None,
            };
            self.api.metrics().connected(&target, Duration::ZERO);
            match ended {
                Some(link::Ended::Gone) => {
                    tracing::error!(component = "upstream", err = "this daemon is no longer served", target);
                    return Err(Error::Gone(target));
                }
                Some(link::Ended::Lost(e)) => tracing::warn!(component = "upstream", err = %e, target),
                None => {}
            }
            tokio::time::sleep(self.again).await;
        }
    }

    /// Waits until this replica leads, or until it does not.
    async fn until_leading(&self, wanted: bool) {
        let Some(mut leader) = self.leader.clone() else {
            if !wanted {
                std::future::pending::<()>().await;
            }
            return;
        };
        if leader.wait_for(|leader| (*leader == Leader::Us) == wanted).await.is_err() {
            // The election is over, and so is the process.
            std::future::pending::<()>().await;
        }
    }
}
