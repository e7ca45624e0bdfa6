//! What commands did to a directory that a tree was exported into, as changes to the tree. Only bytes, modes and names are
//! compared: no filter of git is run.

use std::collections::BTreeMap;
use std::fs::{self, Metadata, OpenOptions};
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use bytes::Bytes;
use git2::{ObjectType, Oid, Repository};
use sha2::{Digest as _, Sha256};

use super::Error;
use super::export::stays_inside;
use super::files::{BLOB_LIMIT, DEPTH_LIMIT, ENTRY_LIMIT, blob_id, is_unsafe_name};
use crate::tree::{BlobId, Dir, Entry, FileChange, Mode, Tree};

/// Bytes of all changed files.
const CHANGED_LIMIT: usize = 256 << 20;

/// Compares a directory with the tree; `git_dir` is a repository whose rules for ignored files count too.
pub(super) fn collect(git_dir: &Path, tree: &Tree, dir: &Path) -> Result<BTreeMap<String, FileChange>, Error> {
    let open = || {
        let repository = Repository::open(git_dir)?;
        repository.set_workdir(dir, false)?;
        Ok(repository)
    };
    let ignores = open().map_err(|e: git2::Error| Error::Object {
        what: "rules for ignored files".to_owned(),
        reason: e.message().to_owned(),
    })?;
    let mut walk = Walk { tree, top: dir, ignores, changes: BTreeMap::new(), entries: 0, bytes: 0 };
    walk.dir(Some(tree.root()), "", 0)?;
    Ok(walk.changes)
}

struct Walk<'a> {
    tree: &'a Tree,
    top: &'a Path,
    ignores: Repository,
    changes: BTreeMap<String, FileChange>,
    entries: u64,
    bytes: usize,
}

impl Walk<'_> {
    fn dir(&mut self, old: Option<&Dir>, path: &str, depth: usize) -> Result<(), Error> {
        if depth > DEPTH_LIMIT {
            return Err(self.refuse(format!("directories are nested deeper than {DEPTH_LIMIT}: {path}")));
        }
        let mut found = BTreeMap::new();
        let here = self.top.join(path);
        for entry in fs::read_dir(&here).map_err(Error::io("reading", &here))? {
            let entry = entry.map_err(Error::io("reading", &here))?;
            match entry.file_name().into_string() {
                Ok(name) if is_unsafe_name(name.as_bytes()) => {}
                Ok(name) => drop(found.insert(name, entry.path())),
                Err(name) => tracing::warn!(path, ?name, "a file is left out, because its name is not UTF-8"),
            }
            self.entries += 1;
            if self.entries > ENTRY_LIMIT {
                return Err(self.refuse(format!("there are more than {ENTRY_LIMIT} files")));
            }
        }
        for (name, at) in &found {
            let old = old.and_then(|dir| dir.entries.get(name.as_str()));
            self.entry(old, &beside(path, name), at, depth)?;
        }
        for (name, entry) in old.into_iter().flat_map(|dir| &dir.entries) {
            if !found.contains_key(&**name) {
                self.gone(entry, &beside(path, name));
            }
        }
        Ok(())
    }

    fn entry(&mut self, old: Option<&Entry>, path: &str, at: &Path, depth: usize) -> Result<(), Error> {
        let meta = fs::symlink_metadata(at).map_err(Error::io("reading", at))?;
        match old {
            Some(Entry::Leaf { mode: Mode::Submodule, .. }) => return Ok(()),
            None if self.is_ignored(path, &meta) => return Ok(()),
            _ => {}
        }
        if meta.is_dir() {
            let below = match old {
                Some(Entry::Dir(dir)) => Some(&**dir),
                Some(leaf) => {
                    self.gone(leaf, path);
                    None
                }
                None => None,
            };
            return self.dir(below, path, depth + 1);
        }
        if let Some(dir @ Entry::Dir(_)) = old {
            self.gone(dir, path);
        }
        let (bytes, mode) = if meta.is_symlink() {
            let target = fs::read_link(at).map_err(Error::io("reading", at))?;
            (Bytes::from(target.into_os_string().into_vec()), Mode::Link)
        } else if meta.is_file() {
            let is_executable = meta.permissions().mode() & 0o100 != 0;
            (self.read(at)?, if is_executable { Mode::Executable } else { Mode::File })
        } else {
            tracing::warn!(path, "it is neither file, directory nor link, and left out");
            return Ok(());
        };
        if !matches!(old, Some(Entry::Leaf { id, mode: old }) if *old == mode && is_same(id, &bytes)) {
            self.bytes += bytes.len();
            if self.bytes > CHANGED_LIMIT {
                return Err(self.refuse(format!("more than {CHANGED_LIMIT} bytes were changed")));
            }
            self.changes.insert(path.to_owned(), FileChange::Write { bytes, mode: Some(mode) });
        }
        Ok(())
    }

    /// Notes that an entry is no longer there. Links that lead out of the tree never were, and submodules are not ours.
    fn gone(&mut self, old: &Entry, path: &str) {
        match old {
            Entry::Dir(dir) => {
                for (name, entry) in &dir.entries {
                    self.gone(entry, &beside(path, name));
                }
            }
            Entry::Leaf { mode: Mode::Submodule, .. } => {}
            Entry::Leaf { id, mode: Mode::Link } if !self.was_exported(path, id) => {}
            Entry::Leaf { .. } => drop(self.changes.insert(path.to_owned(), FileChange::Remove)),
        }
    }

    fn was_exported(&self, path: &str, id: &BlobId) -> bool {
        let target = self.tree.read(path, id);
        target.is_ok_and(|target| stays_inside(self.tree, path, &String::from_utf8_lossy(&target)))
    }

    fn is_ignored(&self, path: &str, meta: &Metadata) -> bool {
        let path = if meta.is_dir() { format!("{path}/") } else { path.to_owned() };
        self.ignores.is_path_ignored(&path).unwrap_or(false)
    }

    fn read(&self, at: &Path) -> Result<Bytes, Error> {
        // A command may still be there to put a link in the file's place.
        let mut options = OpenOptions::new();
        let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let file = options.read(true).custom_flags(no_follow).open(at).map_err(Error::io("reading", at))?;
        let mut content = Vec::new();
        file.take(BLOB_LIMIT as u64 + 1).read_to_end(&mut content).map_err(Error::io("reading", at))?;
        if content.len() > BLOB_LIMIT {
            return Err(self.refuse(format!("{} has more than {BLOB_LIMIT} bytes", at.display())));
        }
        Ok(content.into())
    }

    fn refuse(&self, reason: String) -> Error {
        Error::Refused { revision: self.tree.revision().to_string(), reason }
    }
}

fn beside(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") }
}

/// Whether a content is the one with the id, which is git's own or a digest (see `Tree::with`).
fn is_same(id: &BlobId, content: &[u8]) -> bool {
    let is_git = Oid::hash_object(ObjectType::Blob, content).is_ok_and(|oid| blob_id(oid) == *id);
    is_git || id.0[20..].iter().any(|b| *b != 0) && <[u8; 32]>::from(Sha256::digest(content)) == id.0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::source::git::export;
    use crate::tree::tests::tree;

    fn write(text: &str, mode: Mode) -> FileChange {
        FileChange::Write { bytes: Bytes::copy_from_slice(text.as_bytes()), mode: Some(mode) }
    }

    /// Exports a tree, lets `work` change the directory, and collects.
    fn after(files: &[(&str, Mode, &str)], work: impl Fn(&Path)) -> BTreeMap<String, FileChange> {
        let (dir, git) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        Repository::init_bare(git.path()).unwrap();
        // An empty tree with the files laid over it: contents are known by their digests.
        let files = files.iter().map(|(path, mode, text)| ((*path).to_owned(), write(text, *mode))).collect();
        let tree = tree(&[]).with(&files).unwrap();
        export::write(&tree, dir.path()).unwrap();
        work(dir.path());
        collect(git.path(), &tree, dir.path()).unwrap()
    }

    const FILES: &[(&str, Mode, &str)] = &[
        (".gitignore", Mode::File, "*.log\nbuild/\n!keep.log\n"),
        ("a/one.yaml", Mode::File, "one"),
        ("a/run.sh", Mode::Executable, "run"),
        ("a/tracked.log", Mode::File, "tracked"),
        ("in", Mode::Link, "a/one.yaml"),
        ("out", Mode::Link, "../../etc/passwd"),
        ("gone/b.yaml", Mode::File, "b"),
        ("sub", Mode::Submodule, ""),
    ];

    #[test]
    fn an_untouched_directory_has_no_changes() {
        assert_eq!(after(FILES, |_| {}), BTreeMap::new());
    }

    #[test]
    fn changed_new_and_missing_files_are_found_and_ignored_ones_are_not() {
        let changes = after(FILES, |dir| {
            fs::write(dir.join("a/one.yaml"), "two").unwrap();
            fs::write(dir.join("a/tracked.log"), "changed").unwrap();
            fs::write(dir.join("a/new.log"), "ignored").unwrap();
            fs::write(dir.join("keep.log"), "kept").unwrap();
            fs::create_dir_all(dir.join("build/deep")).unwrap();
            fs::write(dir.join("build/deep/x"), "ignored").unwrap();
            fs::create_dir_all(dir.join(".git")).unwrap();
            fs::write(dir.join(".git/config"), "never").unwrap();
            fs::create_dir_all(dir.join("new/dir")).unwrap();
            fs::write(dir.join("new/dir/c.yaml"), "c").unwrap();
            fs::remove_dir_all(dir.join("gone")).unwrap();
            fs::write(dir.join("sub/x"), "theirs").unwrap();
        });
        let want = [
            ("a/one.yaml", write("two", Mode::File)),
            ("a/tracked.log", write("changed", Mode::File)),
            ("gone/b.yaml", FileChange::Remove),
            ("keep.log", write("kept", Mode::File)),
            ("new/dir/c.yaml", write("c", Mode::File)),
        ];
        assert_eq!(changes, want.map(|(path, change)| (path.to_owned(), change)).into());
    }

    #[test]
    fn modes_links_and_changed_kinds_are_found() {
        let changes = after(FILES, |dir| {
            fs::set_permissions(dir.join("a/run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
            fs::remove_file(dir.join("in")).unwrap();
            symlink("a/run.sh", dir.join("in")).unwrap();
            fs::remove_dir_all(dir.join("gone")).unwrap();
            fs::write(dir.join("gone"), "a file now").unwrap();
            fs::remove_file(dir.join("a/one.yaml")).unwrap();
            fs::create_dir(dir.join("a/one.yaml")).unwrap();
            fs::write(dir.join("a/one.yaml/x"), "x").unwrap();
        });
        let want = [
            ("a/one.yaml", FileChange::Remove),
            ("a/one.yaml/x", write("x", Mode::File)),
            ("a/run.sh", write("run", Mode::File)),
            ("gone", write("a file now", Mode::File)),
            ("gone/b.yaml", FileChange::Remove),
            ("in", write("a/run.sh", Mode::Link)),
        ];
        assert_eq!(changes, want.map(|(path, change)| (path.to_owned(), change)).into());
    }
}
