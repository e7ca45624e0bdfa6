//! Which login a repository is asked with: the workloads' own, else the cloud's whose registry it is, else the docker
//! configuration's (fluxd-v1 §7.5).

mod account;
mod aws;
mod azure;
mod clouds;
mod docker;
mod ecr;
mod federation;
mod google;
mod said;
mod sign;

use std::sync::Arc;

pub use account::{Account, Oidc};
pub use clouds::{Cloud, Clouds};
pub use sign::{AwsKeys, AwsRequest, AwsScope};

use super::wire::{Http, Wire};
use super::{Credentials, Error, Settings};
use crate::object::image::CanonicalName;
use crate::runtime::Stop;

/// Everything that logins come from besides the workloads.
pub(super) struct Logins {
    docker: docker::DockerConfig,
    ecr: ecr::Tokens,
    google: google::Tokens,
    azure: azure::Tokens,
}

impl Logins {
    pub(super) fn new(settings: &Arc<Settings>) -> Self {
        Self {
            docker: docker::DockerConfig::new(settings),
            ecr: ecr::Tokens::new(settings),
            google: google::Tokens::new(&settings.google),
            azure: azure::Tokens::new(&settings.azure),
        }
    }

    /// Why a repository is not scanned although no glob excludes it: ECR's rules about accounts and regions.
    pub(super) async fn exclusion(&self, wire: &Wire, name: &CanonicalName) -> Option<String> {
        self.ecr.exclusion(&wire.http, &name.domain).await
    }

    /// Finds the logins for a repository's host; `own` are the workloads'. A failure to get one is logged, and the
    /// registry is asked without.
    pub(super) async fn find(&self, wire: &Wire, name: &CanonicalName, own: &Credentials, stop: &Stop) -> Credentials {
        if own.get(&name.domain).is_some() {
            return own.clone();
        }
        let host = name.domain.as_str();
        let cloud = match self.cloud(&wire.http, host).await {
            Ok(login) => login,
            Err(error) => {
                tracing::warn!(component = "registry", host, err = %error, "asking without the cloud's credentials");
                None
            }
        };
        match cloud {
            Some(credentials) => credentials,
            None => self.docker.find(host, stop).await,
        }
    }

    async fn cloud(&self, http: &Http, host: &str) -> Result<Option<Credentials>, Error> {
        if google::is_host(host) {
            return self.google.find(http, host).await;
        }
        if azure::is_host(host) {
            return self.azure.find(http, host).await;
        }
        self.ecr.find(http, host).await
    }

    /// Checks once that ECR can be used (`--registry-require=ecr`).
    ///
    /// # Errors
    /// When no region or no AWS credentials can be found.
    pub(super) async fn check_ecr(&self, wire: &Wire) -> Result<(), Error> {
        self.ecr.check(&wire.http).await
    }
}

/// One login as credentials for one host.
fn only(host: &str, login: super::Login) -> Credentials {
    let mut credentials = Credentials::default();
    credentials.insert(host, login);
    credentials
}

fn failed(host: &str, reason: impl Into<String>) -> Error {
    Error::Credentials { host: host.to_owned(), reason: reason.into() }
}
