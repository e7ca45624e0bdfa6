//! The directory that this process works in: mirrors, working copies and the ssh client's files. It is locked while the
//! process lives, so what a killed process left behind is told apart from what another one uses, and removed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Error;

/// Prefix of the directories, as in Flux v1.
const PREFIX: &str = "flux-gitclone";
/// File that is locked as long as its process lives.
const LOCK: &str = "owner.lock";

/// A private directory, removed at the end.
#[derive(Debug)]
pub(super) struct Scratch {
    dir: tempfile::TempDir,
    _lock: File,
    next: AtomicU64,
}

impl Scratch {
    /// Makes one under `parent`, and removes those whose process is gone.
    pub(super) fn open(parent: &Path) -> Result<Self, Error> {
        fs::create_dir_all(parent).map_err(Error::io("creating", parent))?;
        remove_leftovers(parent);
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent).map_err(Error::io("creating", parent))?;
        let path = dir.path().join(LOCK);
        let lock = File::create(&path).map_err(Error::io("creating", &path))?;
        lock.lock().map_err(Error::io("locking", &path))?;
        Ok(Self { dir, _lock: lock, next: AtomicU64::new(1) })
    }

    pub(super) fn exists(&self) -> bool {
        self.dir.path().exists()
    }

    /// Makes an empty directory in it that is removed when dropped.
    pub(super) fn directory(&self, name: &str) -> Result<Directory, Error> {
        let path = self.dir.path().join(format!("{name}-{}", self.next.fetch_add(1, Ordering::Relaxed)));
        DirBuilder::new().mode(0o700).create(&path).map_err(Error::io("creating", &path))?;
        Ok(Directory(path))
    }

    /// Writes a file that only this user may read; an unchanged one is left alone. Returns its path.
    pub(super) fn private_file(&self, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let path = self.dir.path().join(name);
        write_private(&path, content)?;
        Ok(path)
    }
}

/// Writes a file with mode 0600 in one step; an unchanged one is left alone.
pub(super) fn write_private(path: &Path, content: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let fresh = path.with_file_name(name);
    let write = || {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(content)?;
        fs::rename(&fresh, path)
    };
    write().map_err(Error::io("writing", path))
}

/// A directory that is removed when the last user drops it.
#[derive(Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.0.display(), %error, "a directory could not be removed");
        }
    }
}

fn remove_leftovers(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if !is_ours || lock.try_lock().is_err() {
            continue;
        }
        match fs::remove_dir_all(entry.path()) {
            Ok(()) => tracing::info!(path = %entry.path().display(), "removed what a killed process left"),
            Err(error) => tracing::warn!(path = %entry.path().display(), %error, "a leftover could not be removed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_the_dead_go_and_those_of_the_living_stay() {
        let parent = tempfile::tempdir().unwrap();
        let living = Scratch::open(parent.path()).unwrap();
        let dead = parent.path().join("flux-gitclone-dead");
        fs::create_dir_all(dead.join("mirror")).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        let foreign = parent.path().join("flux-gitclone-foreign");
        fs::create_dir(&foreign).unwrap();
        let second = Scratch::open(parent.path()).unwrap();
        assert!(!dead.exists() && foreign.exists() && living.dir.path().exists());
        drop((living, second));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_private_file_can_be_read_by_its_user_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(parent.path()).unwrap();
        let path = scratch.private_file("key", b"a").unwrap();
        scratch.private_file("key", b"b").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read(&path).unwrap(), b"b");
    }
}
