//! The state machine that keeps a mirror (fluxd-v1 §2.1): clone, check, poll, begin again after a failure. One step runs
//! at a time; readers are never held up by it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::mirror::{Errand, Mirror, Remote};
use super::repo::Inner;
use super::run::Git;
use super::scratch::Scratch;
use super::turn::Turn;
use super::{Error, Status, check_url, ssh};
use crate::runtime::{Stop, blocking};

/// Time between a failed step and the next.
const RETRY: Duration = Duration::from_secs(10);
/// After so many failures that nothing outside explains, the mirror itself is suspected.
const SUSPECT_AFTER: u32 = 3;
/// Fetches between two looks at whether the mirror should be packed.
const PACK_EVERY: u64 = 64;
/// What every program says when a disk is full.
const DISK_FULL: &str = "No space left on device";
/// What git says when the fault is the network's or the server's.
const REMOTE_AWAY: &[&str] = &[
    "unable to access",
    "Could not read from remote repository",
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "the remote end hung up",
    "unable to connect",
    "RPC failed",
    "remote:",
];
/// What git says when its own files are damaged.
const DAMAGE: &[&str] = &[
    "not a git repository",
    "'origin' does not appear to be a git repository",
    "bad object",
    "is corrupt",
    "object file",
    "unable to read tree",
    "unable to read sha1",
    "did not send all necessary objects",
    "packfile",
    "pack has",
    "bad packed object",
    "inflate: data stream error",
];

/// What only the one running step may touch.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) scratch: Option<Arc<Scratch>>,
    may_write: bool,
    interrupted: bool,
    failures: u32,
    replace: bool,
    own_ssh: Option<bool>,
    /// Whether the server cannot move several refs in one step.
    pub(super) is_plain: bool,
    pub(super) turn: Turn,
}

impl Desk {
    /// Decides whether a failure speaks against the mirror itself. That the remote is away, slow, or the disk full, does
    /// not; but a mirror that fails again and again without such a reason is given up.
    fn suspect(&mut self, error: &Error) {
        let text = error.to_string();
        let is_outside = matches!(error, Error::TimedOut { .. } | Error::Cancelled { .. })
            || text.contains(DISK_FULL)
            || REMOTE_AWAY.iter().any(|sign| text.contains(sign));
        self.failures += u32::from(!is_outside);
        self.replace |= self.failures >= SUSPECT_AFTER || is_damage(error);
    }
}

impl Inner {
    /// Steps until stopped.
    pub(super) async fn keep(&self, stop: &Stop) {
        if self.settings.url.is_empty() {
            self.set_state(Status::Unconfigured, Some(Error::Unconfigured.to_string()));
            stop.stopped().await;
            return;
        }
        while !stop.is_stopped() {
            let pause = match stop.or(self.step(stop)).await {
                None => return,
                Some(Ok(())) => self.settings.poll_interval,
                Some(Err(error)) => {
                    tracing::warn!(url = %self.shown_url, %error, "the git repository is not ready");
                    RETRY
                }
            };
            tokio::select! {
                () = stop.stopped() => return,
                () = self.wake.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Brings the mirror as far as it goes now.
    pub(super) async fn step(&self, stop: &Stop) -> Result<(), Error> {
        let mut desk = self.desk.lock().await;
        let result = self.advance(&mut desk, stop).await;
        match &result {
            Ok(()) => {
                self.set_state(Status::Ready, None);
                self.changes.send_modify(|count| *count += 1);
            }
            Err(error) => self.set_state(self.status_after(error), Some(error.to_string())),
        }
        result
    }

    async fn advance(&self, desk: &mut Desk, stop: &Stop) -> Result<(), Error> {
        check_url(&self.settings.url)?;
        let git = self.network(desk, stop).await.map_err(|error| self.explain(error))?;
        let mirror = self.fetch(desk, &git, stop).await.map_err(|error| self.explain(error))?;
        if self.status() != Status::Ready {
            let text = "git repo has been cloned but not yet checked for write access".to_owned();
            self.set_state(Status::Cloned, Some(text));
        }
        let head = self.head_of(&mirror).await?;
        if !self.settings.readonly && !desk.may_write {
            mirror.check_write(&git, &head.0, stop).await?;
            desk.may_write = true;
        }
        Ok(())
    }

    /// The git program set up for the network, with the keys and passwords of now.
    pub(super) async fn network(&self, desk: &mut Desk, stop: &Stop) -> Result<Git, Error> {
        let scratch = self.scratch(desk).await?;
        let mut git = self.git.clone();
        if let Some(credential) = &self.credential {
            let path = scratch.private_file("credentials", credential.as_bytes())?;
            // The empty helper drops those of the user's configuration: a password in the URL needs no other.
            git = git
                .with_config("credential.helper=")
                .with_config(format!("credential.helper=store --file='{}'", path.display()));
        }
        if let Some(settings) = &self.settings.ssh {
            let own = match desk.own_ssh {
                Some(own) => own,
                None => *desk.own_ssh.insert(!self.has_ssh_command(stop).await?),
            };
            if own {
                let half = self.settings.timeout.as_secs() / 2;
                git = git.with_env("GIT_SSH_COMMAND", ssh::prepare(settings, &scratch, half)?);
            }
        }
        Ok(git)
    }

    /// Whether the user's git configuration names an ssh command, which then is theirs to set up.
    async fn has_ssh_command(&self, stop: &Stop) -> Result<bool, Error> {
        let call = super::run::Call::new("", ["config", "--get", "core.sshCommand"]).cwd(&self.settings.scratch);
        match self.git.run(call, stop).await {
            Ok(value) => Ok(!value.is_empty()),
            Err(Error::Git { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn scratch(&self, desk: &mut Desk) -> Result<Arc<Scratch>, Error> {
        // A cleaner of temporary files may have been here.
        if let Some(scratch) = desk.scratch.as_ref().filter(|s| s.exists()) {
            return Ok(Arc::clone(scratch));
        }
        let parent = self.settings.scratch.clone();
        let scratch = Arc::new(blocking("opening the scratch directory", move || Scratch::open(&parent)).await??);
        desk.scratch = Some(Arc::clone(&scratch));
        Ok(scratch)
    }

    /// Fetches into the mirror, or into a new one that takes its place when there is none or the old one is damaged.
    async fn fetch(&self, desk: &mut Desk, git: &Git, stop: &Stop) -> Result<Arc<Mirror>, Error> {
        let old = self.mirror().filter(|mirror| !desk.replace && mirror.exists());
        let is_new = old.is_none();
        let prefix = if is_new { "git clone --mirror: " } else { "git fetch --tags origin: " };
        let mirror = match old {
            Some(mirror) => mirror,
            None => {
                let directory = self.scratch(desk).await?.directory("mirror")?;
                Arc::new(Mirror::create(directory, &self.remote_url)?)
            }
        };
        let was_interrupted = std::mem::replace(&mut desk.interrupted, true);
        if was_interrupted {
            mirror.sweep();
        }
        let errand = Errand { git, prefix, stop };
        let is_told = self.is_told.swap(false, Ordering::Relaxed) && !is_new && !was_interrupted;
        let fetched = self.fetch_changes(&mirror, &errand, is_told).await;
        desk.interrupted = fetched.is_err();
        if let Err(error) = &fetched {
            desk.suspect(error);
        }
        fetched?;
        (desk.failures, desk.replace) = (0, false);
        if is_new {
            self.set_mirror(Arc::clone(&mirror));
        }
        Ok(mirror)
    }

    /// Fetches if the remote has something else than the mirror. When someone told that it has, it is not asked first,
    /// which saves a connection.
    async fn fetch_changes(&self, mirror: &Arc<Mirror>, errand: &Errand<'_>, is_told: bool) -> Result<(), Error> {
        if is_told {
            return self.fetch_now(mirror, errand).await;
        }
        let remote = mirror.list_remote(errand).await?;
        if mirror.read(Remote::of_mirror).await? != remote.refs {
            self.fetch_now(mirror, errand).await?;
        }
        self.set_default_branch(remote.default_branch);
        let head = format!("refs/heads/{}", self.default_branch().unwrap_or_else(|| self.branch()));
        let failed = |e: git2::Error| Error::Object { what: "HEAD".to_owned(), reason: e.message().to_owned() };
        mirror.read(move |repository| repository.set_head(&head).map_err(failed)).await
    }

    pub(super) async fn fetch_now(&self, mirror: &Mirror, errand: &Errand<'_>) -> Result<(), Error> {
        mirror.fetch(errand).await?;
        if self.fetches.fetch_add(1, Ordering::Relaxed) % PACK_EVERY == PACK_EVERY - 1 {
            mirror.pack(errand.git, errand.stop).await;
        }
        Ok(())
    }

    fn status_after(&self, error: &Error) -> Status {
        let text = error.to_string().to_lowercase();
        match error {
            Error::BranchMissing(_) => Status::Cloned,
            Error::Git { prefix, .. } | Error::TimedOut { prefix, .. } if prefix.starts_with("attempt to push") => {
                Status::Cloned
            }
            _ if text.contains("could not resolve host") => Status::Unreachable,
            _ => Status::New,
        }
    }

    /// Adds what a person should do to errors that git words badly.
    fn explain(&self, error: Error) -> Error {
        let message = error.to_string();
        if !message.contains(DISK_FULL) {
            return error;
        }
        let dir = self.settings.scratch.display();
        Error::Git { prefix: format!("the disk with the scratch directory {dir} is full: "), message }
    }
}

fn is_damage(error: &Error) -> bool {
    let text = error.to_string();
    let is_ours = !text.contains("remote:") && !text.contains(DISK_FULL);
    matches!(error, Error::Object { .. }) || (is_ours && DAMAGE.iter().any(|sign| text.contains(sign)))
}
