//! Google's registries: the machine's (or the workload identity's) service account, by the metadata server.

use std::time::Duration;

use http::HeaderName;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::super::protocol::read_token;
use super::super::wire::{Asked, Http};
use super::super::{Credentials, Error, Google, Login};
use super::{failed, only};

pub(super) const METADATA: &str = "http://metadata.google.internal";
const PATH: &str = "/computeMetadata/v1/instance/service-accounts/default/token";
/// The user that goes with a token.
pub(super) const USER: &str = "oauth2accesstoken";
/// How long a metadata server that does not answer is left alone. That of a workload identity answers only some seconds
/// after a pod's start.
const EMBARGO: Duration = Duration::from_secs(30);

pub(super) struct Tokens {
    url: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<(String, Instant)>,
    embargo: Option<Instant>,
}

/// Whether a host is one of Google's registries, or of those that others run with Google's software.
pub(super) fn is_host(host: &str) -> bool {
    let named = |end: &str| host.len() > end.len() && host.ends_with(end);
    matches!(host, "gcr.io" | "docker.s3nsregistry.fr")
        || [".gcr.io", "-docker.pkg.dev", "-docker.s3nsregistry.fr"].into_iter().any(named)
}

impl Tokens {
    pub(super) fn new(google: &Google) -> Self {
        let base = google.metadata_endpoint.as_deref().unwrap_or(METADATA);
        Self { url: format!("{}{PATH}", base.trim_end_matches('/')), state: Mutex::default() }
    }

    pub(super) async fn find(&self, http: &Http, host: &str) -> Result<Option<Credentials>, Error> {
        let token = self.token(http, host).await?.map(|token| Login::new(USER, token, "GCE metadata"));
        Ok(token.map(|login| only(host, login)))
    }

    /// The machine's token; `None` while the metadata server is left alone.
    pub(super) async fn token(&self, http: &Http, host: &str) -> Result<Option<String>, Error> {
        let mut state = self.state.lock().await;
        let now = Instant::now();
        if state.embargo.is_some_and(|until| until > now) {
            return Ok(None);
        }
        if state.token.as_ref().is_none_or(|(_, until)| *until <= now) {
            match self.fetch(http, host).await {
                Ok(token) => state.token = Some(token),
                Err(error) => {
                    (state.token, state.embargo) = (None, Some(now + EMBARGO));
                    return Err(error);
                }
            }
        }
        Ok(state.token.as_ref().map(|(token, _)| token.clone()))
    }

    async fn fetch(&self, http: &Http, host: &str) -> Result<(String, Instant), Error> {
        let url = self.url.parse().map_err(|_| failed(host, "the metadata server's address cannot be read"))?;
        let asked = Asked::metadata(url).header(HeaderName::from_static("metadata-flavor"), "Google");
        let begun = Instant::now();
        let reply = http.send(asked).await?;
        if !reply.status.is_success() {
            return Err(failed(
                host,
                format!("the metadata server answered with HTTP status {}", reply.status.as_u16()),
            ));
        }
        let token = read_token(&reply.body).map_err(|reason| failed(host, reason))?;
        Ok((token.value, begun + token.valid.mul_f64(0.9)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_googles_registries_get_googles_token() {
        for (host, want) in [
            ("gcr.io", true),
            ("eu.gcr.io", true),
            ("europe-west1-docker.pkg.dev", true),
            ("docker.s3nsregistry.fr", true),
            ("-docker.pkg.dev", false),
            (".gcr.io", false),
            ("gcr.io.example.org", false),
            ("evilgcr.io", false),
            ("k8s.gcr.io:443", false),
            ("quay.io", false),
        ] {
            assert_eq!(is_host(host), want, "{host}");
        }
    }
}
