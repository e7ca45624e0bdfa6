//! Why a listing is not there. No variant holds a credential: what hosts say is cleaned of them first.

use std::time::Duration;

use super::FilterError;

/// Why nothing was listed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What failed, around why.
    #[error("{doing}: {source}")]
    Within {
        /// In the original's words, such as `failed to list branches`.
        doing: String,
        /// Why.
        #[source]
        source: Box<Self>,
    },
    /// The filter cannot be used.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The address is not of the form that the host needs.
    #[error("invalid URL '{url}': expected {expected}")]
    Url {
        /// What was given, without a user part.
        url: String,
        /// The form.
        expected: String,
    },
    /// A secret does not hold what is needed.
    #[error("invalid secret '{secret}': {reason}")]
    Secret {
        /// `NAMESPACE/NAME`.
        secret: String,
        /// What is missing or wrong; never a value.
        reason: String,
    },
    /// The host answered that it will not.
    #[error("{method} {url}: {status}{message}")]
    Status {
        /// What was asked how.
        method: String,
        /// The address, without query and user part.
        url: String,
        /// `404 Not Found`.
        status: String,
        /// What the host said, with a colon before it; may be empty.
        message: String,
        /// The number.
        code: u16,
    },
    /// No answer came, or not all of it.
    #[error("{method} {url}: {reason}")]
    Connection {
        /// What was asked how.
        method: String,
        /// The address, without query and user part.
        url: String,
        /// The innermost cause.
        reason: String,
    },
    /// An answer came that is not of the promised form.
    #[error("{url}: {reason}")]
    Answer {
        /// The address, without query and user part.
        url: String,
        /// What was expected.
        reason: String,
    },
    /// Something in words of its own.
    #[error("{0}")]
    Said(String),
    /// A registry did not answer as asked.
    #[error(transparent)]
    Registry(#[from] crate::registry::Error),
    /// The time was up.
    #[error("no complete answer within {}: context deadline exceeded", crate::api::duration::format(*after))]
    TimedOut {
        /// The time that there was.
        after: Duration,
    },
}

impl Error {
    /// The same, within what was being done.
    pub(super) fn within(self, doing: impl Into<String>) -> Self {
        Self::Within { doing: doing.into(), source: Box::new(self) }
    }

    /// The status that the host answered with.
    pub(super) fn code(&self) -> Option<u16> {
        match self {
            Self::Status { code, .. } => Some(*code),
            Self::Within { source, .. } => source.code(),
            _ => None,
        }
    }

    /// Whether no whole answer came, so that asking again may help.
    pub(super) fn is_connection(&self) -> bool {
        matches!(self, Self::Connection { .. })
    }
}

/// Adds what was being done to a failure.
pub(super) trait Doing<T> {
    fn doing(self, doing: &str) -> Result<T, Error>;
}

impl<T> Doing<T> for Result<T, Error> {
    fn doing(self, doing: &str) -> Self {
        self.map_err(|e| e.within(doing))
    }
}
