//! The git room against real repositories and servers. Git sees neither the machine's nor the user's configuration.

mod commits;
mod faults;
mod mirror;
mod network;
mod pushes;
mod secrets;
mod signatures;

use crate::rig;
use fluxd::source::git::{Repo, Settings};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(super) use signatures::gpg_key;

/// A daemon's view of a remote, with a home directory of its own.
struct Daemon {
    home: Arc<tempfile::TempDir>,
    settings: Settings,
}

/// A repository that keeps its daemon's directories.
struct Live {
    repo: Repo,
    _home: Arc<tempfile::TempDir>,
}

impl std::ops::Deref for Live {
    type Target = Repo;

    fn deref(&self) -> &Repo {
        &self.repo
    }
}

impl Daemon {
    fn of(remote: &rig::Repo) -> Self {
        Self::at(&remote.url())
    }

    fn at(url: &str) -> Self {
        let home = Arc::new(tempfile::tempdir().unwrap());
        let settings = Settings {
            url: url.to_owned(),
            timeout: Duration::from_secs(60),
            poll_interval: Duration::from_secs(3600),
            env: environment(home.path()),
            scratch: home.path().join("scratch"),
            ..Settings::default()
        };
        Self { home, settings }
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    fn home(&self) -> &Path {
        self.home.path()
    }

    /// Adds to the user's `~/.gitconfig`.
    fn gitconfig(&self, args: &[&str]) {
        let mut command = std::process::Command::new("git");
        command.env_clear().envs(environment(self.home())).args(["config", "--global"]).args(args);
        rig::run(&mut command);
    }

    fn repo(&self) -> Live {
        Live { repo: Repo::new(self.settings.clone()), _home: Arc::clone(&self.home) }
    }

    /// The repository after a first look at the remote.
    async fn ready(&self) -> Live {
        let repo = self.repo();
        repo.refresh().await.unwrap();
        repo
    }
}

pub(super) fn environment(home: &Path) -> BTreeMap<OsString, OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let fixed = [("HOME", home.as_os_str().to_owned()), ("PATH", path), ("GIT_CONFIG_NOSYSTEM", "1".into())];
    fixed.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

fn names(repo: &fluxd::tree::Tree) -> Vec<String> {
    repo.root().entries.keys().map(ToString::to_string).collect()
}

fn text(tree: &fluxd::tree::Tree, path: &str) -> String {
    match tree.entry(path) {
        Ok(fluxd::tree::Entry::Leaf { id, .. }) => String::from_utf8_lossy(&tree.read(path, &id).unwrap()).into_owned(),
        other => panic!("{path}: {other:?}"),
    }
}
