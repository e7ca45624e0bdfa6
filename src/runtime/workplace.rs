//! A private directory that a process works in. It is locked while the process lives, so what a killed process left behind
//! is told apart from what another one uses, and removed.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// File that is locked as long as its process lives.
const LOCK: &str = "owner.lock";

/// A private directory, removed at the end.
#[derive(Debug)]
pub struct Workplace {
    dir: tempfile::TempDir,
    _lock: File,
}

impl Workplace {
    /// Makes one under `parent`, which is made too, and removes those with the same prefix whose process is gone.
    ///
    /// # Errors
    /// The directory cannot be made or locked.
    pub fn open(parent: &Path, prefix: &str) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        remove_leftovers(parent, prefix);
        let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        let lock = File::create(dir.path().join(LOCK))?;
        lock.lock()?;
        Ok(Self { dir, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Removes a directory with all that is in it, also what a command made read-only (the module cache of Go, say).
///
/// # Errors
/// Something in it still cannot be removed.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path).or_else(|_| {
        open_directories(path);
        fs::remove_dir_all(path)
    })
}

/// Gives back the leave to remove entries from directories. Links are not followed.
fn open_directories(path: &Path) {
    let Ok(entries) = fs::set_permissions(path, Permissions::from_mode(0o700)).and_then(|()| fs::read_dir(path)) else {
        return;
    };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir())) {
        open_directories(&entry.path());
    }
}

fn remove_leftovers(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(prefix);
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if !is_ours || lock.try_lock().is_err() {
            continue;
        }
        match remove_tree(&entry.path()) {
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
        let living = Workplace::open(parent.path(), "work").unwrap();
        let dead = parent.path().join("work-dead");
        fs::create_dir_all(dead.join("copy/cache")).unwrap();
        fs::write(dead.join("copy/cache/x"), "").unwrap();
        fs::set_permissions(dead.join("copy/cache"), Permissions::from_mode(0o500)).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        let foreign = parent.path().join("work-foreign");
        fs::create_dir(&foreign).unwrap();
        let other = Workplace::open(parent.path(), "other").unwrap();
        assert!(dead.exists(), "another prefix is not looked at");
        let second = Workplace::open(parent.path(), "work").unwrap();
        assert!(!dead.exists() && foreign.exists() && living.path().exists());
        drop((living, second, other));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    }
}
