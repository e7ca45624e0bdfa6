//! What can go wrong with git, in the words that clients of Flux v1 know (fluxd-v1 §2.1, §2.2). No text here carries a
//! credential: output of the git program is cleaned before it becomes an error.

use std::path::PathBuf;

/// A failure of the repository, its mirror or the git program.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No repository is configured.
    #[error("git repo does not have valid config")]
    Unconfigured,
    /// The mirror cannot be used; the text is the last error of its loop.
    #[error("git repo not ready: {0}")]
    NotReady(String),
    /// Something was to be written to a repository that is only read.
    #[error("cannot make a working clone of a read-only git repo")]
    ReadOnly,
    /// A commit without any change was asked for.
    #[error("no changes made in repo")]
    NoChanges,
    /// The remote has no such branch.
    #[error("configured branch '{0}' does not exist")]
    BranchMissing(String),
    /// The URL is one that git must not be given.
    #[error("the git URL {reason}")]
    Url {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The git program failed.
    #[error("{prefix}{message}")]
    Git {
        /// What was tried, as `git push: `.
        prefix: String,
        /// First error line and all output.
        message: String,
    },
    /// The git program did not end in time and was killed.
    #[error("{prefix}running git command: git [{args}]: context deadline exceeded")]
    TimedOut {
        /// What was tried, as `git push: `.
        prefix: String,
        /// Arguments, parted by blanks.
        args: String,
    },
    /// The process is stopping.
    #[error("context was unexpectedly cancelled when running git command: git [{args}]: context canceled")]
    Cancelled {
        /// Arguments, parted by blanks.
        args: String,
    },
    /// A program could not be run at all, or flooded its output.
    #[error("running {program}: {reason}")]
    Program {
        /// The program.
        program: &'static str,
        /// Why.
        reason: String,
    },
    /// No commit by that name is known to the mirror.
    #[error("fatal: bad revision '{0}'")]
    UnknownRevision(String),
    /// An object of the mirror could not be read.
    #[error("reading {what} from the git mirror: {reason}")]
    Object {
        /// Which object.
        what: String,
        /// Why.
        reason: String,
    },
    /// A tree is larger or stranger than what is safe to handle.
    #[error("revision {revision}: {reason}")]
    Refused {
        /// The revision.
        revision: String,
        /// What was found and what is allowed.
        reason: String,
    },
    /// The commit that the marker names has no good signature.
    #[error("failed to verify signature of last sync'ed revision: failed to verify commit {0}")]
    MarkerUnverified(String),
    /// A file of ours could not be read or written.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried, as `writing`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The ssh identity could not be made, read or stored.
    #[error("{doing}: {reason}")]
    Key {
        /// What was tried.
        doing: &'static str,
        /// Why it failed.
        reason: String,
    },
    /// Work on another thread ended without a result.
    #[error(transparent)]
    Task(#[from] crate::runtime::TaskFailure),
}

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The flags must change.
    Config,
    /// What is in the repository must change, or the request.
    Input,
    /// The other side says no.
    Refused,
    /// Not yet; it is being worked on.
    Waiting,
    /// Trying again may help.
    Transient,
    /// A mistake of this program.
    Bug,
}

impl Error {
    /// Says what can be done about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Unconfigured | Self::Url { .. } | Self::Key { .. } => Kind::Config,
            Self::ReadOnly | Self::NoChanges | Self::UnknownRevision(_) | Self::Refused { .. } => Kind::Input,
            Self::BranchMissing(_) | Self::MarkerUnverified(_) => Kind::Refused,
            Self::NotReady(_) => Kind::Waiting,
            Self::Git { .. } | Self::TimedOut { .. } | Self::Cancelled { .. } => Kind::Transient,
            Self::Program { .. } | Self::Object { .. } | Self::Io { .. } => Kind::Transient,
            Self::Task(_) => Kind::Bug,
        }
    }

    /// Makes the error of a file operation.
    pub(super) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
