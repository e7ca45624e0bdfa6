//! Webhooks of git hosts and image registries, with flux-recv's configuration. Each is verified before a byte of its body is
//! parsed, and only makes the daemon look: what it says is never believed.
//!
//! An endpoint's path is `/hook/DIGEST`, the SHA-256 of its key followed by its registry host, in hexadecimal digits. Sources
//! that sign nothing (Docker Hub, Quay, Bitbucket Cloud without a secret) are known by that path alone.

mod google;
mod payload;
#[cfg(test)]
mod tests;
mod verify;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::HeaderMap;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::report::{ApiError, Change, DecodeError};

pub use payload::changes;

/// Largest configuration or key file, in bytes.
const FILE: u64 = 64 << 10;

/// Who sends a webhook, by flux-recv's names and some of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Source {
    /// GitHub: pushes, and images pushed to its registry.
    GitHub,
    /// GitLab: pushes of branches and tags.
    GitLab,
    /// bitbucket.org; `Bitbucket` in flux-recv's first versions.
    #[serde(alias = "Bitbucket")]
    BitbucketCloud,
    /// Bitbucket Server and Data Center.
    BitbucketServer,
    /// Gitea and Forgejo (not in flux-recv).
    #[serde(alias = "Forgejo")]
    Gitea,
    /// Docker Hub.
    DockerHub,
    /// Harbor 1 and 2.
    Harbor,
    /// Quay.
    Quay,
    /// Google's registries, through a push subscription of Pub/Sub.
    #[serde(alias = "GoogleArtifactRegistry")]
    GoogleContainerRegistry,
    /// Sonatype Nexus.
    Nexus,
    /// Anybody who signs v1's own notification with a shared key (not in flux-recv).
    GenericHMAC,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    flux_recv_version: u32,
    #[serde(default)]
    endpoints: Vec<EndpointConfig>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EndpointConfig {
    source: Source,
    key_path: PathBuf,
    #[serde(default)]
    registry_host: String,
    #[serde(default)]
    gcr: Option<Google>,
}

#[derive(Clone, Debug, Deserialize)]
struct Google {
    audience: String,
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("--receivers-config: reading {path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The configuration is not flux-recv's.
    #[error("--receivers-config: {path}: {reason}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// One endpoint. Its key is never shown.
#[derive(Clone)]
pub(super) struct Endpoint {
    source: Source,
    key: Vec<u8>,
    registry_host: String,
    audience: Option<String>,
}

/// All endpoints, by the digest in their path.
#[derive(Clone, Default)]
pub struct Receivers(Arc<HashMap<String, Endpoint>>);

impl std::fmt::Debug for Receivers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Receivers({})", self.0.len())
    }
}

/// Why a webhook is refused. Bodies and keys are not quoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// It does not prove that it knows the key.
    #[error("the signature or token of the webhook is missing or wrong")]
    Unverified,
    /// Its sender could not be checked at this moment.
    #[error("the sender of the webhook cannot be checked: {0}")]
    Uncheckable(String),
    /// It is none of the source's.
    #[error("{0}")]
    Malformed(String),
}

impl From<HookError> for ApiError {
    fn from(e: HookError) -> Self {
        let text = e.to_string();
        match e {
            HookError::Unverified => {
                Self::unauthorized(text, "Sign the webhook with the key that --receivers-config names for this path.\n")
            }
            HookError::Uncheckable(_) => Self::busy(text, "Send it again later.\n"),
            HookError::Malformed(_) => Self::malformed(&DecodeError::Value(text)),
        }
    }
}

impl Receivers {
    /// Reads flux-recv's configuration and the keys it names, which stand beside it.
    ///
    /// # Errors
    /// When a file cannot be read, or the configuration is not of version 1.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let content = |reason: String| ConfigError::Content { path: path.to_owned(), reason };
        let text = String::from_utf8(read(path)?).map_err(|_| content("it is not UTF-8".into()))?;
        let config: Config = serde_saphyr::from_str(&text).map_err(|e| content(e.to_string()))?;
        if config.flux_recv_version != 1 {
            return Err(content(format!("fluxRecvVersion must be 1, not {}", config.flux_recv_version)));
        }
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut endpoints = HashMap::new();
        for endpoint in config.endpoints {
            let key = read(&directory.join(&endpoint.key_path))?;
            if key.is_empty() {
                return Err(content(format!("the key {} is empty", endpoint.key_path.display())));
            }
            let digest = digest(&key, &endpoint.registry_host);
            let source = endpoint.source;
            tracing::info!(component = "daemon", source = ?source, key = %endpoint.key_path.display(), "a webhook endpoint is served");
            let audience = endpoint.gcr.map(|google| google.audience);
            let endpoint = Endpoint { source, key, registry_host: endpoint.registry_host, audience };
            if endpoints.insert(digest, endpoint).is_some() {
                return Err(content("two endpoints share a key: each needs its own".into()));
            }
        }
        Ok(Self(Arc::new(endpoints)))
    }

    /// Whether a path is that of a webhook, and of none that is served: such are refused before anything is read.
    pub(super) fn is_unknown(&self, path: &str) -> bool {
        path.strip_prefix("/hook/").is_some_and(|digest| !self.0.contains_key(digest))
    }

    /// The endpoint of a path.
    pub(super) fn get(&self, digest: &str) -> Option<&Endpoint> {
        self.0.get(digest)
    }
}

impl Endpoint {
    /// What a webhook tells of, once it has proven itself.
    pub(super) async fn receive(&self, headers: &HeaderMap, body: &[u8]) -> Result<Vec<Change>, HookError> {
        if !verify::is_genuine(self.source, &self.key, headers, body) {
            return Err(HookError::Unverified);
        }
        if let Some(audience) = &self.audience {
            google::check(google::TOKEN_INFO, headers, audience).await?;
        }
        changes(self.source, headers, body, &self.registry_host)
    }
}

fn digest(key: &[u8], registry_host: &str) -> String {
    hex::encode(Sha256::new().chain_update(key).chain_update(registry_host).finalize())
}

fn read(path: &Path) -> Result<Vec<u8>, ConfigError> {
    super::file::read(path, FILE).map_err(|reason| ConfigError::File { path: path.to_owned(), reason })
}
