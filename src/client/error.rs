//! What can go wrong between a client and the daemon, in the words of v1's client where scripts know them (fluxd-v1 §8.2).

use std::time::Duration;

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The base URL cannot be used.
    #[error("parsing URL: {url}: {why}")]
    Url {
        /// As given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The request did not reach the daemon, or its answer did not come back.
    #[error("executing HTTP request: {method} {url:?}: {why}")]
    Transport {
        /// The method.
        method: String,
        /// The whole URL.
        url: String,
        /// What the connection said, from the outermost cause to the innermost.
        why: String,
    },
    /// The daemon wants to know who is asking.
    #[error("The request failed authentication")]
    Unauthorized {
        /// What the daemon said, empty when it said nothing.
        help: String,
    },
    /// The daemon answered with an error of its own.
    #[error("{help}")]
    Api {
        /// `server`, `missing` or `user`.
        kind: String,
        /// For people.
        help: String,
        /// The short form.
        error: String,
    },
    /// Something answered that is no error of the daemon.
    #[error("executing HTTP request: {status} {body}")]
    Status {
        /// Code and reason.
        status: String,
        /// The start of the body.
        body: String,
    },
    /// The answer is not what was expected.
    #[error("decoding response from server: {0}")]
    Decode(String),
    /// The answer is larger than anything the daemon sends.
    #[error("the answer to {url:?} is larger than {limit} bytes")]
    TooLarge {
        /// The whole URL.
        url: String,
        /// Bytes.
        limit: usize,
    },
    /// The job failed; the text is the daemon's.
    #[error("{0}")]
    Job(String),
    /// Time was over before the answer was there.
    #[error("timeout")]
    Timeout {
        /// How long was waited.
        after: Duration,
        /// For what.
        what: String,
    },
}

impl ClientError {
    /// Says whether the daemon does not know the route or the thing asked for.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Api { kind, .. } => kind == "missing",
            Self::Status { status, .. } => status.starts_with("404"),
            _ => false,
        }
    }
}

/// All causes of an error in one line.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}
