//! An immutable set of files at a revision. It knows no disk and no git: contents come from a function given at making.

mod links;
mod overlay;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use overlay::FileChange;

/// A commit id: 40 lower-case hexadecimal digits (or 64 in a SHA-256 repository).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Revision(pub Arc<str>);

impl Revision {
    /// The first seven digits, as people quote it.
    pub fn short(&self) -> &str {
        self.0.get(..7).unwrap_or(&self.0)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Identity of a file's content (a git blob id, or a digest of the bytes): equal ids mean equal bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(pub [u8; 32]);

/// What kind of entry a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A plain file.
    File,
    /// A file with the executable bit.
    Executable,
    /// A symbolic link; the content is its target.
    Link,
    /// A submodule; it has no content here.
    Submodule,
}

/// One entry of a directory.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A directory.
    Dir(Arc<Dir>),
    /// Anything else.
    Leaf {
        /// Identity of the content.
        id: BlobId,
        /// Kind of entry.
        mode: Mode,
    },
}

/// A directory: entries by name in byte order. Shared between revisions where nothing below changed.
#[derive(Debug, Default)]
pub struct Dir {
    /// Entries by name.
    pub entries: BTreeMap<Box<str>, Entry>,
}

/// Why a path or content could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// The path leaves the tree, is absolute, or goes through something that is no directory.
    #[error("path \"{0}\" is outside of the repository")]
    Outside(String),
    /// Nothing there.
    #[error("stat {0}: no such file or directory")]
    Missing(String),
    /// The content could not be read.
    #[error("reading {path}: {reason}")]
    Unreadable {
        /// The path.
        path: String,
        /// Why.
        reason: String,
    },
    /// A link leads nowhere, in a circle, or out of the tree.
    #[error("{path} is a symbolic link to \"{target}\", which {reason}")]
    Link {
        /// The link.
        path: String,
        /// What it says.
        target: String,
        /// Why it cannot be followed.
        reason: &'static str,
    },
}

/// Reads a content by its id; an error is a reason in words.
pub type Reader = Arc<dyn Fn(&BlobId) -> Result<bytes::Bytes, String> + Send + Sync>;

/// The files of one revision.
#[derive(Clone)]
pub struct Tree {
    revision: Revision,
    root: Arc<Dir>,
    reader: Reader,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tree({})", self.revision)
    }
}

impl Tree {
    /// Makes one from its root and a reader of contents.
    pub fn new(revision: Revision, root: Arc<Dir>, reader: Reader) -> Self {
        Self { revision, root, reader }
    }

    /// The revision it shows.
    pub fn revision(&self) -> &Revision {
        &self.revision
    }

    /// The root directory.
    pub fn root(&self) -> &Arc<Dir> {
        &self.root
    }

    /// Reads a content; `path` is for the error only.
    ///
    /// # Errors
    /// [`TreeError::Unreadable`].
    pub fn read(&self, path: &str, id: &BlobId) -> Result<bytes::Bytes, TreeError> {
        (self.reader)(id).map_err(|reason| TreeError::Unreadable { path: path.to_owned(), reason })
    }

    /// Looks up a relative path (`.` and the empty path are the root). Links on the way are followed, one at its end is
    /// not: [`Tree::follow`] does that.
    ///
    /// # Errors
    /// [`TreeError::Outside`] for absolute paths and those that climb out with `..`; [`TreeError::Missing`]; for links on
    /// the way as [`Tree::follow`].
    pub fn entry(&self, path: &str) -> Result<Entry, TreeError> {
        let plain = normalise(path)?;
        let missing = || TreeError::Missing(path.to_owned());
        if let Some(entry) = self.entry_without_links(&plain) {
            return Ok(entry);
        }
        let (parent, name) = plain.rsplit_once('/').ok_or_else(missing)?;
        let (real, _) = self.follow(parent).map_err(|e| match e {
            TreeError::Missing(_) => missing(),
            other => other,
        })?;
        self.entry_without_links(&format!("{real}/{name}")).ok_or_else(missing)
    }

    fn entry_without_links(&self, plain: &str) -> Option<Entry> {
        let mut at = Entry::Dir(Arc::clone(&self.root));
        for name in plain.split('/').filter(|s| !s.is_empty()) {
            let Entry::Dir(dir) = &at else { return None };
            at = dir.entries.get(name)?.clone();
        }
        Some(at)
    }
}

/// Resolves `.`, `..` and doubled slashes in a relative path by text alone; the result has no leading or trailing slash.
///
/// # Errors
/// [`TreeError::Outside`] when it is absolute or climbs above the root.
pub fn normalise(path: &str) -> Result<String, TreeError> {
    let mut out: Vec<&str> = Vec::new();
    if path.starts_with('/') {
        return Err(TreeError::Outside(path.to_owned()));
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                out.pop().ok_or_else(|| TreeError::Outside(path.to_owned()))?;
            }
            name => out.push(name),
        }
    }
    Ok(out.join("/"))
}
