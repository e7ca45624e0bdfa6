//! The handle that the rest of the program has of a repository: its state, its trees, its history and its marker.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::{Notify, watch};

use super::{Error, Settings};
use crate::runtime::Stop;
use crate::tree::{Revision, Tree};

/// How far the mirror has come, in the API's words (fluxd-v1 §2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// There is no URL.
    Unconfigured,
    /// Not cloned yet, or the last fetch failed.
    #[default]
    New,
    /// The host's name cannot be resolved.
    Unreachable,
    /// Read once; whether it can be written to is being checked.
    Cloned,
    /// Fresh and usable.
    Ready,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unconfigured => "unconfigured",
            Self::New => "new",
            Self::Unreachable => "unreachable",
            Self::Cloned => "cloned",
            Self::Ready => "ready",
        })
    }
}

/// One commit of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub revision: Revision,
    /// The first line of its message, as `git log --format=%s` prints it.
    pub subject: String,
    /// The whole message.
    pub message: String,
    /// `Name <email>` of the author.
    pub author: String,
    /// When it was committed, in seconds since 1970.
    pub time: i64,
}

/// A commit whose signature is missing or not good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The commit.
    pub revision: Revision,
    /// The key that git named, perhaps empty.
    pub key: String,
}

/// How far a branch may be synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The newest commit that may be synced; none when not even the first one may.
    pub revision: Option<Revision>,
    /// The head of the branch.
    pub head: Revision,
    /// The first commit in the way.
    pub offender: Option<Invalid>,
}

/// A repository with its mirror. Clones share it.
#[derive(Clone)]
pub struct Repo {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    changes: watch::Sender<u64>,
    wake: Notify,
}

impl Repo {
    /// Makes the handle; nothing is read before [`Repo::run`].
    pub fn new(settings: Settings) -> Self {
        Self { inner: Arc::new(Inner { settings, changes: watch::channel(0).0, wake: Notify::new() }) }
    }

    /// What it was made with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// Keeps the mirror: clones, checks, polls, and begins again after failures, until stopped.
    ///
    /// # Errors
    /// Only when the scratch directory cannot be used; everything else is retried and told by [`Repo::status`].
    pub async fn run(self, stop: Stop) -> Result<(), Error> {
        stop.stopped().await;
        Ok(())
    }

    /// How far the mirror is, and the last error while it is not ready.
    pub fn status(&self) -> (Status, Option<String>) {
        (Status::New, None)
    }

    /// Says whether the mirror is fresh and usable.
    ///
    /// # Errors
    /// [`Error::Unconfigured`] or [`Error::NotReady`] with the last error.
    pub fn ready(&self) -> Result<(), Error> {
        Err(Error::NotReady("git repo has not been cloned yet".to_owned()))
    }

    /// A counter that moves after each fetch, whether or not it brought something.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// Asks for a refresh soon.
    pub fn notify(&self) {
        self.inner.wake.notify_one();
    }

    /// Refreshes now and waits for it.
    ///
    /// # Errors
    /// What the fetch failed with.
    pub async fn refresh(&self) -> Result<(), Error> {
        self.ready()
    }

    /// The branch's newest commit.
    ///
    /// # Errors
    /// [`Error::BranchMissing`], or that there is no mirror yet.
    pub async fn head(&self) -> Result<Revision, Error> {
        Err(self.ready().err().unwrap_or(Error::Unconfigured))
    }

    /// How far the branch may be synced when signatures are asked for (fluxd-v1 §2.10).
    ///
    /// # Errors
    /// [`Error::MarkerUnverified`], and failures of git.
    pub async fn latest_valid(&self, _marker: Option<&Revision>) -> Result<Verified, Error> {
        Err(self.ready().err().unwrap_or(Error::Unconfigured))
    }

    /// The files at a revision, read from the objects when asked for.
    ///
    /// # Errors
    /// [`Error::UnknownRevision`], [`Error::Refused`] for unsafe trees, and failures of git-secret.
    pub async fn tree(&self, _revision: &Revision) -> Result<Tree, Error> {
        Err(self.ready().err().unwrap_or(Error::Unconfigured))
    }

    /// Writes a tree into an empty directory, without `.git`.
    ///
    /// # Errors
    /// Reading or writing failed.
    pub async fn export(&self, _tree: &Tree, _dir: &Path) -> Result<(), Error> {
        Err(self.ready().err().unwrap_or(Error::Unconfigured))
    }

    /// The commit that a revision expression names.
    ///
    /// # Errors
    /// [`Error::UnknownRevision`].
    pub async fn resolve(&self, expression: &str) -> Result<Revision, Error> {
        Err(Error::UnknownRevision(expression.to_owned()))
    }

    /// The commits reachable from `to` and not from `from` that touch one of the paths, newest first.
    ///
    /// # Errors
    /// [`Error::UnknownRevision`].
    pub async fn commits(
        &self,
        _from: Option<&Revision>,
        to: &Revision,
        _paths: &[String],
    ) -> Result<Vec<Commit>, Error> {
        Err(Error::UnknownRevision(to.to_string()))
    }

    /// The notes of those of the commits that have one.
    ///
    /// # Errors
    /// Reading failed; that there is no notes ref is fine.
    pub async fn notes(&self, _revisions: &[Revision]) -> Result<BTreeMap<Revision, String>, Error> {
        Ok(BTreeMap::new())
    }

    /// The commit that the sync tag names; none when there is no such tag.
    ///
    /// # Errors
    /// The tag's signature is not good although signatures are asked for.
    pub async fn read_marker(&self) -> Result<Option<Revision>, Error> {
        Err(self.ready().err().unwrap_or(Error::Unconfigured))
    }

    /// Moves the sync tag and pushes it.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], and what git failed with.
    pub async fn write_marker(&self, _revision: &Revision, _message: &str) -> Result<(), Error> {
        Err(Error::ReadOnly)
    }
}
