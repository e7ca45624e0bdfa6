//! The room's door: a request goes in, what is exported comes out. Everything happens within the time of the request.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::error::Doing as _;
use super::export::{Export, InputSet, complete};
use super::filter::{Filter, Filters};
use super::skip::skip;
use super::tokens::{Asker, Tokens};
use super::wire::{Tls, Wire};
use super::{Error, SecretData, Settings, external_service, git, oci};
use crate::api::inputprovider::ProviderType;
use crate::registry::{Account, Clouds};

/// What is to be listed, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// The object that it is for; for those who count.
    pub asker: Asker,
    /// The kind of host, and what of it.
    pub kind: ProviderType,
    /// The address.
    pub url: String,
    /// Whether registries may be spoken to without TLS, or with certificates that nobody vouches for.
    pub insecure: bool,
    /// Which results are exported.
    pub filter: Filter,
    /// Labels by which results keep what was exported before (git hosts).
    pub skip: Vec<String>,
    /// What was exported before.
    pub before: Vec<InputSet>,
    /// Keys that are filled where a result lacks them.
    pub defaults: InputSet,
    /// The credentials, where the kind takes any.
    pub secret: Option<SecretData>,
    /// Certificates, where the kind takes any.
    pub certificates: Option<SecretData>,
    /// Docker configurations of a service account's pull secrets (`OCIArtifactTag`).
    pub pull_secrets: Vec<SecretData>,
    /// Whose identity clouds are shown; the process's own when absent.
    pub account: Option<Account>,
    /// The time that there is.
    pub timeout: Duration,
}

/// Lists what exists elsewhere. Clones share clients and tokens.
#[derive(Clone)]
pub struct Providers {
    pub(super) inner: Arc<Inner>,
}

/// What all clones share.
pub(super) struct Inner {
    pub(super) settings: Settings,
    /// For hosts that prove themselves by the system's certificates.
    pub(super) wire: Arc<Wire>,
    pub(super) clouds: Clouds,
    pub(super) tokens: Tokens,
}

impl Providers {
    /// Makes one.
    ///
    /// # Errors
    /// When a proxy's URL is none, or the system's certificates cannot be loaded.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let wire = Arc::new(Wire::new(&settings, &Tls { authorities: settings.authorities.clone(), identity: None })?);
        let clouds = Clouds::new(oci::registry_settings(&settings))?;
        let tokens =
            Tokens::new(settings.token_cache_size, settings.token_cache_duration, settings.token_observer.clone());
        Ok(Self { inner: Arc::new(Inner { settings, wire, clouds, tokens }) })
    }

    /// Lists everything that the request asks for, or nothing: a listing is never shorter because something failed.
    ///
    /// # Errors
    /// When the host cannot be asked, does not answer in time, or answers something else; without anything secret in it.
    pub async fn list(&self, request: &Request) -> Result<Export, Error> {
        self.inner.list(request).await.map_err(|error| clean(error, request))
    }
}

impl Inner {
    async fn list(&self, request: &Request) -> Result<Export, Error> {
        let after = request.timeout;
        let late = |_| Error::TimedOut { after };
        let (mut sets, nil_when_empty) = match request.kind {
            ProviderType::ExternalService => {
                let listed = timeout(after, self.external(request)).await.map_err(late).flatten();
                (listed.doing("failed to call ExternalService provider")?, false)
            }
            kind if oci::is_oci(kind) => {
                let listed = timeout(after, oci::list(self, request)).await.map_err(late).flatten();
                (listed.doing("failed to call OCI provider")?, false)
            }
            _ => (skip(git::list(self, request).await?, &request.skip, &request.before), true),
        };
        complete(&mut sets, &request.defaults)?;
        Ok(Export { sets, nil_when_empty })
    }

    /// The client for hosts that prove themselves in this way.
    pub(super) fn wire_for(&self, certificates: Option<&SecretData>) -> Result<Arc<Wire>, Error> {
        match certificates {
            None => Ok(Arc::clone(&self.wire)),
            Some(secret) => Ok(Arc::new(Wire::new(&self.settings, &secret.tls()?)?)),
        }
    }

    async fn external(&self, request: &Request) -> Result<Vec<InputSet>, Error> {
        let filters = Filters::new(&request.filter)?;
        let wire = self.wire_for(request.certificates.as_ref())?;
        let credential = match &request.secret {
            None => None,
            Some(secret) => Some(match secret.text("token")? {
                Some(token) => ("authorization", format!("Bearer {token}")),
                None => {
                    let (user, password) = secret.user_and_password()?;
                    ("authorization", basic(&user, &password))
                }
            }),
        };
        external_service::list(&wire, &request.url, credential, filters.limit).await
    }
}

/// The value of a header for basic authentication.
pub(super) fn basic(user: &str, password: &str) -> String {
    use base64::Engine as _;
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}")))
}

/// A failure without the values of the request's secrets, which hosts may repeat.
fn clean(error: Error, request: &Request) -> Error {
    let secrets = request.secret.iter().chain(&request.pull_secrets);
    let values: Vec<String> = secrets.flat_map(SecretData::values).collect();
    let text = error.to_string();
    if !values.iter().any(|value| text.contains(value)) {
        return error;
    }
    Error::Said(values.iter().fold(text, |text, value| text.replace(value, "<redacted>")))
}
