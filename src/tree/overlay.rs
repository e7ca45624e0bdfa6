//! A tree with some files changed, held in memory. It writes nothing anywhere.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::{BlobId, Dir, Entry, Mode, Revision, Tree, TreeError, normalise};

/// What becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It has this content.
    Write {
        /// The content.
        bytes: Bytes,
        /// What kind of file; `None` keeps the one that is there, and makes a plain file where none is.
        mode: Option<Mode>,
    },
    /// It is gone, and so are directories that held nothing else.
    Remove,
}

impl Tree {
    /// The tree with files changed, by their paths. Its revision is the old one's with a digest of the changes behind a
    /// `+`, so that nothing remembered for the old one is taken for it; without changes it is the tree itself.
    ///
    /// # Errors
    /// [`TreeError::Outside`] for a path that is absolute, climbs out or is the root; [`TreeError::Missing`] for one that
    /// leads through a file or names a directory.
    pub fn with(&self, changes: &BTreeMap<String, FileChange>) -> Result<Self, TreeError> {
        if changes.is_empty() {
            return Ok(self.clone());
        }
        let mut root = Dir { entries: self.root.entries.clone() };
        let mut contents = HashMap::new();
        let mut all = Sha256::new();
        for (path, change) in changes {
            let plain = normalise(path)?;
            if plain.is_empty() {
                return Err(TreeError::Outside(path.clone()));
            }
            let new = match change {
                FileChange::Remove => None,
                FileChange::Write { bytes, mode } => {
                    let id = BlobId(Sha256::digest(bytes).into());
                    contents.insert(id, bytes.clone());
                    Some((id, *mode))
                }
            };
            let kind = format!("{:?}", new.map(|(_, mode)| mode));
            for part in [plain.as_bytes(), kind.as_bytes(), new.map_or([0; 32], |(id, _)| id.0).as_slice()] {
                all.update((part.len() as u64).to_be_bytes());
                all.update(part);
            }
            put(&mut root, &plain, new).map_err(|()| TreeError::Missing(path.clone()))?;
        }
        let revision = Revision(format!("{}+{}", self.revision, &hex::encode(all.finalize())[..12]).into());
        let below = Arc::clone(&self.reader);
        let reader = move |id: &BlobId| contents.get(id).map_or_else(|| below(id), |bytes| Ok(bytes.clone()));
        Ok(Self { revision, root: Arc::new(root), reader: Arc::new(reader) })
    }
}

/// Changes one entry; directories on the way are copied, the others shared.
fn put(dir: &mut Dir, path: &str, new: Option<(BlobId, Option<Mode>)>) -> Result<(), ()> {
    let Some((first, rest)) = path.split_once('/') else {
        let old = match dir.entries.get(path) {
            None => None,
            Some(Entry::Leaf { mode: mode @ (Mode::File | Mode::Executable | Mode::Link), .. }) => Some(*mode),
            Some(Entry::Dir(_) | Entry::Leaf { mode: Mode::Submodule, .. }) => return Err(()),
        };
        match new {
            None => drop(dir.entries.remove(path)),
            Some((id, mode)) => {
                let mode = mode.or(old).unwrap_or(Mode::File);
                dir.entries.insert(path.into(), Entry::Leaf { id, mode });
            }
        }
        return Ok(());
    };
    let mut below = match dir.entries.get(first) {
        None => Dir::default(),
        Some(Entry::Dir(below)) => Dir { entries: below.entries.clone() },
        Some(Entry::Leaf { .. }) => return Err(()),
    };
    put(&mut below, rest, new)?;
    if below.entries.is_empty() {
        dir.entries.remove(first);
    } else {
        dir.entries.insert(first.into(), Entry::Dir(Arc::new(below)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    fn write(text: &str, mode: Option<Mode>) -> FileChange {
        FileChange::Write { bytes: Bytes::copy_from_slice(text.as_bytes()), mode }
    }

    fn show(tree: &Tree, path: &str) -> Option<(String, Mode)> {
        let Ok(Entry::Leaf { id, mode }) = tree.entry(path) else { return None };
        Some((String::from_utf8(tree.read(path, &id).unwrap().to_vec()).unwrap(), mode))
    }

    #[test]
    fn changed_files_are_seen_in_the_new_tree_alone() {
        let old = tree(&[
            ("a/run.sh", Mode::Executable, "old"),
            ("a/b/gone.yaml", Mode::File, "x"),
            ("keep.yaml", Mode::File, "y"),
        ]);
        let changes = BTreeMap::from([
            ("a/run.sh".to_owned(), write("new", None)),
            ("a/b/gone.yaml".to_owned(), FileChange::Remove),
            ("c/d/link".to_owned(), write("../x", Some(Mode::Link))),
            ("c/plain".to_owned(), write("", None)),
        ]);
        let new = old.with(&changes).unwrap();
        assert_eq!(show(&new, "a/run.sh"), Some(("new".into(), Mode::Executable)));
        assert_eq!(show(&new, "c/d/link"), Some(("../x".into(), Mode::Link)));
        assert_eq!(show(&new, "c/plain"), Some((String::new(), Mode::File)));
        assert_eq!(show(&new, "keep.yaml"), Some(("y".into(), Mode::File)));
        assert!(matches!(new.entry("a/b"), Err(TreeError::Missing(_))), "no empty directory stays");
        assert_eq!(show(&old, "a/run.sh"), Some(("old".into(), Mode::Executable)));
        assert!(show(&old, "a/b/gone.yaml").is_some() && show(&old, "c/plain").is_none());
    }

    #[test]
    fn a_changed_tree_has_a_revision_of_its_own_that_follows_from_the_changes() {
        let old = tree(&[("a", Mode::File, "1")]);
        let with = |text: &str| old.with(&BTreeMap::from([("a".to_owned(), write(text, None))])).unwrap();
        assert_eq!(with("2").revision(), with("2").revision());
        assert_ne!(with("2").revision(), with("3").revision());
        assert_ne!(with("2").revision(), old.revision());
        assert_eq!(old.with(&BTreeMap::new()).unwrap().revision(), old.revision());
    }

    #[test]
    fn a_path_that_is_no_file_is_refused() {
        let old = tree(&[("dir/a", Mode::File, "1")]);
        for path in ["", ".", "/etc", "../a", "dir", "dir/a/b"] {
            assert!(old.with(&BTreeMap::from([(path.to_owned(), write("2", None))])).is_err(), "{path}");
        }
    }
}
