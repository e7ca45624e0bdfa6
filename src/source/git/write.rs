//! What is written to the remote's branch: the handle's methods, and the words for how a push ended. The work itself is in
//! `commit`, `notes` and `push`.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Error, Repo, collect, push};
use crate::runtime::blocking;
use crate::tree::{FileChange, Revision, Tree};

/// A commit to be made.
#[derive(Clone, Debug, Default)]
pub struct NewCommit {
    /// What becomes of which file, by paths from the root. A change without a mode goes through links, one with a mode
    /// replaces what is at that very path.
    pub files: BTreeMap<String, FileChange>,
    /// The message; git's usual clean-up is done here.
    pub message: String,
    /// Who caused it, as `Name <email>`; used when [`super::Settings::set_author`] is set and it is not empty.
    pub author: Option<String>,
}

/// Why a commit is not on the remote.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The remote has moved on, or another one was writing at the same time. The change must be made again on the new
    /// head; the text is git's, for when the caller gives up.
    #[error("{0}")]
    Rejected(Error),
    /// The files are already as they should be.
    #[error("no changes made in repo")]
    NoChanges,
    /// Nothing may be written.
    #[error("cannot make a working clone of a read-only git repo")]
    ReadOnly,
    /// Anything else. Nothing of the commit is on the remote as far as is known.
    #[error(transparent)]
    Other(#[from] Error),
}

impl Repo {
    /// Commits on top of `base`, attaches the note, and pushes both; in one step where the server can. Afterwards the
    /// mirror has them too. Nothing is merged and nothing forced; when the answer of a push was lost, the remote is asked.
    ///
    /// # Errors
    /// See [`PushError`]. After [`PushError::Rejected`] call [`Repo::refresh`] and make the change again.
    pub async fn push_commit(&self, base: &Revision, commit: NewCommit, note: String) -> Result<Revision, PushError> {
        push::push_commit(&self.inner, base, commit, note).await
    }

    /// What differs in a directory from the tree that was exported into it: changed, new and missing files, modes and
    /// links. New files that git ignores are left out.
    ///
    /// # Errors
    /// The directory cannot be read, or holds more than is safe to handle.
    pub async fn collect(&self, tree: &Tree, dir: &Path) -> Result<BTreeMap<String, FileChange>, Error> {
        let (mirror, tree, dir) = (self.inner.open()?, tree.clone(), dir.to_owned());
        blocking("comparing a directory", move || collect::collect(mirror.path(), &tree, &dir)).await?
    }

    /// The newest commit of the branch whose note names a job, and the note's text. Only what was fetched is looked at.
    ///
    /// # Errors
    /// The mirror cannot be read. Notes that say something else are no error.
    pub async fn find_note(&self, job: &str) -> Result<Option<(Revision, String)>, Error> {
        push::find_note(&self.inner, job).await
    }
}
