//! What can go wrong between us and a registry, in words that name the registry and what to do.

use std::time::Duration;

/// Why a registry did not answer as asked. No variant ever holds a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The registry refused, in its protocol's words (`unauthorized: authentication required`).
    #[error("{text}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The registry's error code, such as `MANIFEST_UNKNOWN`; empty when it gave none.
        code: String,
        /// Code and message, as the docker client words them.
        text: String,
    },
    /// Too many requests: HTTP 429, or the code `TOOMANYREQUESTS`.
    #[error("{text}")]
    TooManyRequests {
        /// The registry's words.
        text: String,
        /// How long it wants to be left alone, if it said so.
        retry_after: Option<Duration>,
    },
    /// Our own limit would not let the request through in time.
    #[error("rate limited: {host} takes no further request within {within:?}")]
    RateLimited {
        /// The registry.
        host: String,
        /// The time that there was.
        within: Duration,
    },
    /// No answer in time.
    #[error("{url}: no complete answer within {after:?}")]
    TimedOut {
        /// What was asked, without a query.
        url: String,
        /// The time it had.
        after: Duration,
    },
    /// The connection failed.
    #[error("{url}: {reason}")]
    Connection {
        /// What was asked, without a query.
        url: String,
        /// The innermost causes.
        reason: String,
    },
    /// The answer is not what the protocol says; or it is larger than allowed, or a redirect that is not followed.
    #[error("{url}: {reason}")]
    Protocol {
        /// What was asked, without a query.
        url: String,
        /// What was expected.
        reason: String,
    },
    /// The content does not have the digest that it was asked for or announced with.
    #[error("{url}: the content has the digest {found}, but {expected} was expected; it is not used")]
    Digest {
        /// What was asked.
        url: String,
        /// What was asked for or announced.
        expected: String,
        /// What it is.
        found: String,
    },
    /// Credentials could not be had from where they should come from.
    #[error("credentials for {host}: {reason}")]
    Credentials {
        /// The registry.
        host: String,
        /// Why not.
        reason: String,
    },
    /// Nobody could be shown to a cloud as who we are, or a host is none of the cloud's.
    #[error("{0}")]
    Identity(String),
    /// The file that keeps answers could not be used.
    #[error("cache {path}: {reason}; it may be deleted at any time")]
    Cache {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },
    /// The image is not to be scanned: disabled, excluded by a glob, or an ECR account that is left out.
    #[error("{name} is not scanned: {reason}")]
    NotScanned {
        /// The repository's canonical name.
        name: String,
        /// Why.
        reason: String,
    },
}

impl Error {
    /// Whether the registry says that there is no such manifest, or that a part of it is gone. The codes differ: Harbor says
    /// `NOT_FOUND`, a registry that lost a configuration `BLOB_UNKNOWN`.
    pub fn is_manifest_unknown(&self) -> bool {
        matches!(self, Self::Refused { status, code, .. } if *status == 404 || code == "MANIFEST_UNKNOWN")
    }

    /// Whether the registry wants fewer requests.
    pub fn is_too_many_requests(&self) -> bool {
        matches!(self, Self::TooManyRequests { .. })
    }

    /// Whether nothing came back in time, which v1 did not log.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::RateLimited { .. })
    }
}
