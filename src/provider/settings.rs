//! What listings are told from outside: proxies, clouds, addresses. All values are given; the environment is not read here.

use std::path::PathBuf;
use std::time::Duration;

use super::tokens::TokenObserver;
use crate::registry::{Aws, Azure, Google, Proxies};

/// Settings of [`Providers`](super::Providers).
#[derive(Clone, Debug)]
pub struct Settings {
    /// Sent as `User-Agent: flux-operator/VERSION` (resourceset §8.6).
    pub version: String,
    /// Proxies for all requests.
    pub proxies: Proxies,
    /// PEM certificates that replace the system's, for all hosts whose objects bring none of their own.
    pub authorities: Option<Vec<u8>>,
    /// A docker configuration with logins of the lowest precedence, for OCI tags.
    pub docker_config: Option<PathBuf>,
    /// The process's own identity at AWS, and AWS's addresses.
    pub aws: Aws,
    /// The process's own identity at Azure, and Azure's addresses.
    pub azure: Azure,
    /// The process's own identity at Google, and Google's addresses.
    pub google: Google,
    /// Addresses of services that have but one; only tests need others.
    pub endpoints: Endpoints,
    /// Tokens kept at once (`--token-cache-max-size`); none are kept when it is 0.
    pub token_cache_size: usize,
    /// How long a token is kept at most (`--token-cache-max-duration`).
    pub token_cache_duration: Duration,
    /// Who is told what happens to kept tokens.
    pub token_observer: Option<TokenObserver>,
    /// The first pause before a request is repeated; it doubles up to `longest_pause` (resourceset §8.6).
    pub first_pause: Duration,
    /// The longest pause before a request is repeated.
    pub longest_pause: Duration,
}

/// Base URLs of services that have but one, to be replaced by what stands in for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// Instead of `https://api.github.com`.
    pub github: Option<String>,
    /// Instead of `https://dev.azure.com`.
    pub azure_devops: Option<String>,
    /// Instead of the host of a CodeCommit repository's URL.
    pub codecommit_git: Option<String>,
    /// Instead of `https://codecommit.REGION.amazonaws.com`.
    pub codecommit: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            proxies: Proxies::default(),
            authorities: None,
            docker_config: None,
            aws: Aws::default(),
            azure: Azure::default(),
            google: Google::default(),
            endpoints: Endpoints::default(),
            token_cache_size: 100,
            token_cache_duration: Duration::from_secs(3600),
            token_observer: None,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
        }
    }
}
