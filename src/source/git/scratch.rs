//! The directory that git works in: mirrors, working copies and the ssh client's files.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Error;
use crate::runtime::Workplace;

/// Prefix of the directories, as in Flux v1.
const PREFIX: &str = "flux-gitclone";

/// A private directory, removed at the end.
#[derive(Debug)]
pub(super) struct Scratch {
    dir: Workplace,
    next: AtomicU64,
}

impl Scratch {
    /// Makes one under `parent`, and removes those whose process is gone.
    pub(super) fn open(parent: &Path) -> Result<Self, Error> {
        let dir = Workplace::open(parent, PREFIX).map_err(Error::io("making a directory in", parent))?;
        Ok(Self { dir, next: AtomicU64::new(1) })
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

#[cfg(test)]
mod tests {
    use super::*;

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
