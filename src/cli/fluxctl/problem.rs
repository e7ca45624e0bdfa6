//! Why a verb failed, and how that is told: in v1's form where v1's client had one, with what can be done about it.

use std::time::Duration;

use crate::client::{ClientError, ForwardError};

/// Why a verb did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// The arguments mean nothing together, or something here is in the way.
    #[error("{0}")]
    Usage(String),
    /// The daemon, or the way to it.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// No way into the cluster.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// A waiting was over too soon.
    #[error("timeout")]
    Timeout {
        /// How long was waited.
        after: Duration,
        /// For what.
        what: String,
    },
    /// A file or stream.
    #[error("{what}: {source}")]
    Io {
        /// What was done with which file.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// All has been told already; only the exit code says it once more.
    #[error("failed")]
    Told,
}

impl Problem {
    /// Makes a problem of a failed access to a file.
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// What is printed on standard error.
    pub(super) fn text(&self, verb: Option<&str>) -> String {
        let line = verb.map_or_else(|| "fluxctl --help".to_owned(), |verb| format!("fluxctl {verb} --help"));
        let usage = |hint: &str| format!("Error: {self}\n{hint}Run '{line}' for usage.");
        match self {
            Self::Told => String::new(),
            Self::Client(ClientError::Api { help, .. }) => format!("== Error ==\n\n{help}"),
            Self::Client(ClientError::Unauthorized { help }) => {
                let said =
                    if help.is_empty() { String::new() } else { format!("The daemon says: {}\n\n", help.trim_end()) };
                format!(
                    "== Error ==\n\nThe request failed authentication\n\n{said}The token is missing or is not accepted. \
                     Give it with --token, or in the\nenvironment variable FLUX_SERVICE_TOKEN.\n"
                )
            }
            Self::Client(ClientError::Transport { .. }) => usage(
                "Is that the daemon's address, and can it be reached from here? Without --url (and FLUX_URL) fluxctl finds \
                 the daemon in the cluster.\n",
            ),
            Self::Client(ClientError::Status { .. }) => {
                usage("That does not look like the daemon: the URL ends in /api/flux, and the port is 3030.\n")
            }
            Self::Client(ClientError::Timeout { after, what }) | Self::Timeout { after, what } => usage(&format!(
                "After {after:?} there was nothing more to see of this: waiting for {what}. It may still come to its end; \
                 --timeout sets how long is waited.\n"
            )),
            _ => usage(""),
        }
    }
}
