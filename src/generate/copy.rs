//! The working copy that commands run in: one per load, made when the first of them needs it, thrown away after.

use tempfile::TempDir;

use crate::runtime::{blocking, remove_tree};
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
        // A cleaner of temporary files may have been here.
        Some(parent) => std::fs::create_dir_all(parent).and_then(|()| builder.tempdir_in(parent)),
        None => builder.tempdir(),
    };
    let dir = made.map_err(|e| failed(e.to_string()))?;
    export(tree.clone(), dir.path().to_owned()).await.map_err(failed)?;
    Ok(dir)
}

/// Removes the copy, also what commands wrote without leave to remove it. What still cannot be removed is told in the log:
/// it is no reason to fail a load that succeeded.
pub(super) async fn discard(dir: TempDir) {
    let removed = blocking("discard working copy", move || remove_tree(&dir.keep()));
    match removed.await {
        Ok(Ok(())) => {}
        Ok(Err(e)) => tracing::warn!(error = %e, "cannot remove a working copy of generators"),
        Err(e) => tracing::warn!(error = %e, "cannot remove a working copy of generators"),
    }
}
