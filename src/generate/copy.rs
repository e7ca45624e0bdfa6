//! The working copy that commands run in: one per load, made when the first of them needs it, thrown away after.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::runtime::blocking;
use crate::tree::Tree;

use super::{Error, Export, Settings};

/// Writes the tree into a new directory.
///
/// # Errors
/// [`Error::Export`].
pub(super) async fn make(tree: &Tree, export: &Export, settings: &Settings) -> Result<TempDir, Error> {
    let failed = |reason: String| Error::Export { revision: tree.revision().to_string(), reason };
    let mut builder = tempfile::Builder::new();
    builder.prefix("fluxd-working");
    let made = match &settings.scratch {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    };
    let dir = made.map_err(|e| failed(e.to_string()))?;
    export(tree.clone(), dir.path().to_owned()).await.map_err(failed)?;
    Ok(dir)
}

/// Removes the copy, also what commands wrote without leave to remove it. What still cannot be removed is told in the log:
/// it is no reason to fail a load that succeeded.
pub(super) async fn discard(dir: TempDir) {
    let removed = blocking("discard working copy", move || {
        let path = dir.keep();
        std::fs::remove_dir_all(&path).or_else(|_| {
            open_directories(&path);
            std::fs::remove_dir_all(&path)
        })
    });
    match removed.await {
        Ok(Ok(())) => {}
        Ok(Err(e)) => tracing::warn!(error = %e, "cannot remove a working copy of generators"),
        Err(e) => tracing::warn!(error = %e, "cannot remove a working copy of generators"),
    }
}

/// Gives back the leave to remove entries from directories that a command made read-only (the module cache of Go, say).
fn open_directories(path: &Path) {
    let Ok(entries) =
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).and_then(|()| std::fs::read_dir(path))
    else {
        return;
    };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir())) {
        open_directories(&entry.path());
    }
}
