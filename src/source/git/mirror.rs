//! One bare mirror on disk and the git commands that keep it equal to its remote. When to run them is decided in
//! `keeper`; what is in it is read by `history` and `files`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use git2::Repository;

use super::Error;
use super::run::{Call, Git};
use super::scratch::Directory;
use crate::runtime::{Stop, blocking};

/// What is mirrored: branches, tags and notes. Other refs (as those of pull requests) can be thousands and serve nothing.
const PREFIXES: [&str; 3] = ["refs/heads/", "refs/tags/", "refs/notes/"];

/// A bare repository in a directory of ours. Trees that were read from it keep it on disk.
pub(super) struct Mirror {
    dir: Directory,
    repository: Mutex<Repository>,
}

/// What a remote says it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Remote {
    /// Ids by the names of mirrored refs.
    pub(super) refs: BTreeMap<String, String>,
    /// The branch that its `HEAD` names.
    pub(super) default_branch: Option<String>,
}

/// How a look at the remote is done, and what it is called in errors.
pub(super) struct Errand<'a> {
    pub(super) git: &'a Git,
    pub(super) prefix: &'static str,
    pub(super) stop: &'a Stop,
}

impl Mirror {
    /// Makes an empty mirror of a URL that has no password in it.
    pub(super) fn create(dir: Directory, url: &str) -> Result<Self, Error> {
        let make = || {
            let mut options = git2::RepositoryInitOptions::new();
            options.bare(true).no_reinit(true).external_template(false);
            let repository = Repository::init_opts(dir.path(), &options)?;
            repository.config()?.set_str("remote.origin.url", url)?;
            Ok(repository)
        };
        let repository = make().map_err(|e: git2::Error| Error::Git {
            prefix: "git clone --mirror: ".to_owned(),
            message: e.message().to_owned(),
        })?;
        Ok(Self { dir, repository: Mutex::new(repository) })
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Whether its files are still there.
    pub(super) fn exists(&self) -> bool {
        self.path().join("HEAD").exists() && self.path().join("objects").exists()
    }

    /// The repository for reading. Refs and objects that the git program added are seen, because libgit2 looks at the disk
    /// again whenever it misses one.
    pub(super) fn repository(&self) -> MutexGuard<'_, Repository> {
        self.repository.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs work on the repository on another thread.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Repository) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let mirror = Arc::clone(self);
        blocking("reading the git mirror", move || work(&mirror.repository())).await?
    }

    /// Asks the remote what it has.
    pub(super) async fn list_remote(&self, errand: &Errand<'_>) -> Result<Remote, Error> {
        let call = Call::new(errand.prefix, ["ls-remote", "--symref", "origin"]).cwd(self.path());
        let printed = errand.git.run(call, errand.stop).await?;
        Ok(parse_remote(&String::from_utf8_lossy(&printed)))
    }

    /// Brings the mirror to what the remote has.
    pub(super) async fn fetch(&self, errand: &Errand<'_>) -> Result<(), Error> {
        let refspecs = PREFIXES.map(|p| format!("+{p}*:{p}*"));
        let options = ["fetch", "--quiet", "--prune", "--no-tags", "--no-auto-maintenance", "--no-write-fetch-head"];
        // A remote may itself have been cloned without its whole history.
        let options = options.into_iter().chain(["--update-shallow", "--", "origin"]);
        let args = options.chain(refspecs.iter().map(String::as_str));
        errand.git.run(Call::new(errand.prefix, args).cwd(self.path()), errand.stop).await?;
        self.see_shallow()
    }

    /// Where a shallow history ends is read by libgit2 only when a repository is opened.
    fn see_shallow(&self) -> Result<(), Error> {
        let is_shallow = fs::metadata(self.path().join("shallow")).is_ok_and(|meta| meta.len() > 0);
        if is_shallow {
            *self.repository() = Repository::open(self.path())
                .map_err(|e| Error::Object { what: "a shallow history".to_owned(), reason: e.message().to_owned() })?;
        }
        Ok(())
    }

    /// Packs what many small fetches left. Not being able to is no harm.
    pub(super) async fn pack(&self, git: &Git, stop: &Stop) {
        if let Err(error) = git.run(Call::new("git gc: ", ["gc", "--auto", "--quiet"]).cwd(self.path()), stop).await {
            tracing::debug!(%error, "the git mirror could not be packed");
        }
    }

    /// Pushes refs to the remote.
    pub(super) async fn push(&self, git: &Git, prefix: &str, args: &[&str], stop: &Stop) -> Result<(), Error> {
        let call = Call::new(prefix, ["push", "--quiet"].iter().chain(args)).cwd(self.path());
        git.run(call, stop).await.map(drop)
    }

    /// Proves that a tag can be pushed and deleted (fluxd-v1 §2.1).
    pub(super) async fn check_write(&self, git: &Git, commit: &str, stop: &Stop) -> Result<(), Error> {
        let tag = format!("refs/tags/flux-write-check-{:010x}", rand::random::<u64>() >> 24);
        let refspec = format!("{commit}:{tag}");
        self.push(git, "attempt to push tag: ", &["--no-verify", "origin", &refspec], stop).await?;
        self.push(git, "attempt to push tag: ", &["--no-verify", "--delete", "origin", &tag], stop).await
    }

    /// Removes what a killed git leaves: locks that would stop the next one, and packs that were not finished. Only called
    /// when no git runs in the mirror.
    pub(super) fn sweep(&self) {
        sweep_locks(self.path(), 0);
        for entry in fs::read_dir(self.path().join("objects/pack")).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("tmp_") {
                remove(&entry.path());
            }
        }
    }
}

impl Remote {
    /// The refs of a local mirror in the same form.
    pub(super) fn of_mirror(repository: &Repository) -> Result<BTreeMap<String, String>, Error> {
        let unreadable = |e: git2::Error| Error::Object { what: "refs".to_owned(), reason: e.message().to_owned() };
        let mut refs = BTreeMap::new();
        for reference in repository.references().map_err(unreadable)? {
            let reference = reference.map_err(unreadable)?;
            if let (Ok(name), Some(id)) = (reference.name(), reference.target())
                && PREFIXES.iter().any(|p| name.starts_with(p))
            {
                refs.insert(name.to_owned(), id.to_string());
            }
        }
        Ok(refs)
    }
}

fn parse_remote(printed: &str) -> Remote {
    let mut remote = Remote::default();
    for (left, name) in printed.lines().filter_map(|line| line.split_once('\t')) {
        if name == "HEAD" {
            if let Some(branch) = left.strip_prefix("ref: refs/heads/") {
                remote.default_branch = Some(branch.to_owned());
            }
        } else if !name.ends_with("^{}") && PREFIXES.iter().any(|p| name.starts_with(p)) {
            remote.refs.insert(name.to_owned(), left.to_owned());
        }
    }
    remote
}

fn sweep_locks(dir: &Path, depth: usize) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|t| t.is_dir());
        if is_dir && depth < 32 && entry.file_name() != "objects" {
            sweep_locks(&path, depth + 1);
        } else if !is_dir && path.extension().is_some_and(|e| e == "lock") {
            remove(&path);
        }
    }
}

fn remove(path: &Path) {
    let is_dir = path.is_dir();
    if let Err(error) = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) } {
        tracing::warn!(path = %path.display(), %error, "a leftover of git could not be removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_branches_tags_and_notes_of_a_remote_are_kept() {
        let printed = "ref: refs/heads/main\tHEAD\n1\tHEAD\n1\trefs/heads/main\n2\trefs/pull/1/head\n3\trefs/tags/v1\n\
                       1\trefs/tags/v1^{}\n4\trefs/notes/flux\n";
        let remote = parse_remote(printed);
        assert_eq!(remote.default_branch.as_deref(), Some("main"));
        let names: Vec<&str> = remote.refs.keys().map(String::as_str).collect();
        assert_eq!(names, ["refs/heads/main", "refs/notes/flux", "refs/tags/v1"]);
    }
}
