//! The handle that the rest of the program has of a repository: its state, its trees, its history and its marker.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::{Notify, watch};

use super::files::Files;
use super::keeper::Desk;
use super::mirror::Mirror;
use super::notes::Notes;
use super::run::Git;
use super::url::{Credential, split_credential};
use super::verify::Checked;
use super::{Error, Settings, export, history, marker, sanitise_url, secret, verify};
use crate::runtime::{Stop, blocking};
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
    pub(super) inner: Arc<Inner>,
}

/// What all clones of a [`Repo`] share.
pub(super) struct Inner {
    pub(super) settings: Settings,
    /// The URL without its password, as people see it.
    pub(super) shown_url: String,
    /// The URL without its password, as git gets it.
    pub(super) remote_url: String,
    /// The password, as a line of git's credential store.
    pub(super) credential: Option<String>,
    /// Git for local work.
    pub(super) git: Git,
    pub(super) changes: watch::Sender<u64>,
    pub(super) wake: Notify,
    pub(super) fetches: AtomicU64,
    /// Whether someone told that the remote has something new.
    pub(super) is_told: AtomicBool,
    /// Held by whoever changes the mirror or the remote.
    pub(super) desk: tokio::sync::Mutex<Desk>,
    pub(super) files: Files,
    pub(super) verified: Checked,
    pub(super) notes: Notes,
    state: Mutex<State>,
    stop: OnceLock<Stop>,
}

struct State {
    status: Status,
    error: Option<String>,
    mirror: Option<Arc<Mirror>>,
    default_branch: Option<String>,
}

impl Repo {
    /// Makes the handle; nothing is read before [`Repo::run`].
    pub fn new(settings: Settings) -> Self {
        let (remote_url, credential) = split_credential(&settings.url);
        let secrets = credential.as_ref().map(Credential::secrets).unwrap_or_default();
        let state = State {
            status: if settings.url.is_empty() { Status::Unconfigured } else { Status::New },
            error: Some("git repo has not been cloned yet".to_owned()),
            mirror: None,
            default_branch: None,
        };
        let inner = Inner {
            shown_url: sanitise_url(&settings.url),
            credential: credential.map(|c| c.store_line(&remote_url)),
            remote_url,
            git: Git::new(&settings.env, settings.timeout, secrets),
            settings,
            changes: watch::channel(0).0,
            wake: Notify::new(),
            fetches: AtomicU64::new(0),
            is_told: AtomicBool::new(false),
            desk: tokio::sync::Mutex::default(),
            files: Files::default(),
            verified: Checked::default(),
            notes: Notes::default(),
            state: Mutex::new(state),
            stop: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// What it was made with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// Keeps the mirror: clones, checks, polls, and begins again after failures, until stopped.
    ///
    /// # Errors
    /// None at present: whatever fails is retried and told by [`Repo::status`].
    pub async fn run(self, stop: Stop) -> Result<(), Error> {
        self.inner.stop.get_or_init(|| stop.clone());
        self.inner.keep(&stop).await;
        Ok(())
    }

    /// How far the mirror is, and the last error while it is not ready.
    pub fn status(&self) -> (Status, Option<String>) {
        let state = self.inner.state();
        (state.status, state.error.clone())
    }

    /// Says whether the mirror is fresh and usable.
    ///
    /// # Errors
    /// [`Error::Unconfigured`] or [`Error::NotReady`] with the last error.
    pub fn ready(&self) -> Result<(), Error> {
        let state = self.inner.state();
        match state.status {
            Status::Ready => Ok(()),
            Status::Unconfigured => Err(Error::Unconfigured),
            Status::New | Status::Unreachable | Status::Cloned => {
                Err(Error::NotReady(state.error.clone().unwrap_or_default()))
            }
        }
    }

    /// A counter that moves after each look at the remote that went well, whether or not it brought something, and after
    /// each commit that was pushed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// How many fetches were needed so far; looks at an unchanged remote do not count.
    pub fn fetches(&self) -> u64 {
        self.inner.fetches.load(Ordering::Relaxed)
    }

    /// Asks for a refresh soon, because the remote is said to have something new.
    pub fn notify(&self) {
        self.inner.is_told.store(true, Ordering::Relaxed);
        self.inner.wake.notify_one();
    }

    /// Refreshes now and waits for it.
    ///
    /// # Errors
    /// What the fetch failed with.
    pub async fn refresh(&self) -> Result<(), Error> {
        if self.inner.settings.url.is_empty() {
            return Err(Error::Unconfigured);
        }
        self.inner.step(&self.inner.stop()).await
    }

    /// The branch's newest commit.
    ///
    /// # Errors
    /// [`Error::BranchMissing`], or that there is no mirror yet.
    pub async fn head(&self) -> Result<Revision, Error> {
        self.inner.head_of(&self.inner.open()?).await
    }

    /// How far the branch may be synced when signatures are asked for (fluxd-v1 §2.10).
    ///
    /// # Errors
    /// [`Error::MarkerUnverified`], and failures of git.
    pub async fn latest_valid(&self, marker: Option<&Revision>) -> Result<Verified, Error> {
        verify::latest_valid(&self.inner, marker).await
    }

    /// The files at a revision, read from the objects when asked for.
    ///
    /// # Errors
    /// [`Error::UnknownRevision`], [`Error::Refused`] for unsafe trees, and failures of git-secret.
    pub async fn tree(&self, revision: &Revision) -> Result<Tree, Error> {
        let inner = Arc::clone(&self.inner);
        let (mirror, wanted) = (inner.open()?, revision.clone());
        let plain = blocking("reading a tree", move || inner.files.tree(&mirror, &wanted, &inner.shown_url)).await??;
        if self.inner.settings.git_secret { secret::reveal(&self.inner, plain).await } else { Ok(plain) }
    }

    /// Writes a tree into an empty or missing directory, without `.git`. Links that leave the tree are left out.
    ///
    /// # Errors
    /// Reading or writing failed.
    pub async fn export(&self, tree: &Tree, dir: &Path) -> Result<(), Error> {
        let (tree, dir) = (tree.clone(), dir.to_owned());
        blocking("exporting a tree", move || export::write(&tree, &dir)).await?
    }

    /// The commit that a revision expression names.
    ///
    /// # Errors
    /// [`Error::UnknownRevision`].
    pub async fn resolve(&self, expression: &str) -> Result<Revision, Error> {
        let expression = expression.to_owned();
        self.inner.open()?.read(move |repository| history::resolve(repository, &expression)).await
    }

    /// The commits reachable from `to` and not from `from` that touch one of the paths, newest first. No paths means all.
    ///
    /// # Errors
    /// [`Error::UnknownRevision`] when either of them is not known, as a marker may be after a force-push.
    pub async fn commits(
        &self,
        from: Option<&Revision>,
        to: &Revision,
        paths: &[String],
    ) -> Result<Vec<Commit>, Error> {
        let (from, to, paths) = (from.cloned(), to.clone(), paths.to_vec());
        self.inner.open()?.read(move |repository| history::commits(repository, from.as_ref(), &to, &paths)).await
    }

    /// The notes of those of the commits that have one.
    ///
    /// # Errors
    /// Reading failed; that there is no notes ref is fine.
    pub async fn notes(&self, revisions: &[Revision]) -> Result<BTreeMap<Revision, String>, Error> {
        let (revisions, name) = (revisions.to_vec(), history::notes_ref(&self.inner.settings.notes_ref));
        self.inner.open()?.read(move |repository| history::notes(repository, &name, &revisions)).await
    }

    /// The commit that the sync tag names; none when there is no such tag.
    ///
    /// # Errors
    /// The tag's signature is not good although signatures are asked for.
    pub async fn read_marker(&self) -> Result<Option<Revision>, Error> {
        marker::read(&self.inner).await
    }

    /// Moves the sync tag and pushes it. A drain lets it finish.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], and what git failed with; the mirror then keeps the old tag.
    pub async fn write_marker(&self, revision: &Revision, message: &str) -> Result<(), Error> {
        marker::write(&self.inner, revision, message).await
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> Status {
        self.state().status
    }

    pub(super) fn set_state(&self, status: Status, error: Option<String>) {
        let mut state = self.state();
        state.status = status;
        state.error = error;
    }

    pub(super) fn mirror(&self) -> Option<Arc<Mirror>> {
        self.state().mirror.clone()
    }

    pub(super) fn set_mirror(&self, mirror: Arc<Mirror>) {
        self.state().mirror = Some(mirror);
        self.files.forget();
    }

    pub(super) fn default_branch(&self) -> Option<String> {
        self.state().default_branch.clone()
    }

    pub(super) fn set_default_branch(&self, branch: Option<String>) {
        self.state().default_branch = branch;
    }

    /// The mirror, fresh or not.
    pub(super) fn open(&self) -> Result<Arc<Mirror>, Error> {
        let state = self.state();
        match &state.mirror {
            Some(mirror) => Ok(Arc::clone(mirror)),
            None if state.status == Status::Unconfigured => Err(Error::Unconfigured),
            None => Err(Error::NotReady(state.error.clone().unwrap_or_default())),
        }
    }

    /// The branch to follow.
    pub(super) fn branch(&self) -> String {
        if self.settings.branch.is_empty() {
            self.state().default_branch.clone().unwrap_or_else(|| "master".to_owned())
        } else {
            self.settings.branch.clone()
        }
    }

    pub(super) async fn head_of(&self, mirror: &Arc<Mirror>) -> Result<Revision, Error> {
        let branch = self.branch();
        mirror
            .read(move |repository| {
                history::resolve(repository, &format!("refs/heads/{branch}")).map_err(|_| Error::BranchMissing(branch))
            })
            .await
    }

    /// The stop token of the process; one that nobody stops before [`Repo::run`].
    pub(super) fn stop(&self) -> Stop {
        self.stop.get().cloned().unwrap_or_default()
    }
}
