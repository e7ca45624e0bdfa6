//! The files of a commit as a [`Tree`], read from the mirror's objects without a checkout. Directories are kept by tree
//! id, so those that did not change between two commits are neither read again nor held twice.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use git2::{ObjectType, Oid, Repository};

use super::Error;
use super::history::{commit_id, unreadable};
use super::mirror::Mirror;
use crate::tree::{BlobId, Dir, Entry, Mode, Reader, Revision, Tree};

/// Entries of one tree, those of a repeated directory counted every time: a few objects can name millions of paths.
pub(super) const ENTRY_LIMIT: u64 = 1_000_000;
/// Directories within each other.
pub(super) const DEPTH_LIMIT: usize = 128;
/// Entries in kept directories are at most so many, or twice those of the newest tree; beyond, all are forgotten.
const KEPT_ENTRIES: u64 = 20_000;
/// Bytes of one file.
pub(super) const BLOB_LIMIT: usize = 128 << 20;

/// Directories read so far.
#[derive(Default)]
pub(super) struct Files {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    dirs: HashMap<Oid, KeptDir>,
    entries: u64,
}

impl Files {
    /// The files at a commit. Contents are read when asked for.
    pub(super) fn tree(&self, mirror: &Arc<Mirror>, revision: &Revision, url: &str) -> Result<Tree, Error> {
        let repository = mirror.repository();
        let id = commit_id(&repository, revision)?;
        let root = repository.find_commit(id).map(|c| c.tree_id()).map_err(|e| unreadable(revision, &e))?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reading = Reading { repository: &repository, kept: &mut kept, revision };
        let (root, count, _) = reading.dir(root, 0)?;
        if kept.entries > KEPT_ENTRIES.max(2 * count) {
            *kept = Kept::default();
        }
        tracing::debug!(%revision, entries = count, url, "read a tree");
        Ok(Tree::new(revision.clone(), root, reader(Arc::clone(mirror))))
    }

    /// Forgets everything.
    pub(super) fn forget(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }
}

/// A directory, how many entries it has with all below it, and how many levels are below it.
type KeptDir = (Arc<Dir>, u64, usize);

struct Reading<'a> {
    repository: &'a Repository,
    kept: &'a mut Kept,
    revision: &'a Revision,
}

impl Reading<'_> {
    fn dir(&mut self, id: Oid, depth: usize) -> Result<KeptDir, Error> {
        let known = self.kept.dirs.get(&id).cloned();
        // A known directory counts with all that is below it, else kept ones could be stacked without end.
        if depth + known.as_ref().map_or(0, |k| k.2) > DEPTH_LIMIT {
            return Err(self.refuse(format!("directories are nested deeper than {DEPTH_LIMIT}")));
        }
        if let Some(known) = known {
            return Ok(known);
        }
        let tree = self.repository.find_tree(id).map_err(|e| unreadable(self.revision, &e))?;
        let (mut entries, mut count, mut height) = (BTreeMap::new(), 0_u64, 0);
        for entry in &tree {
            let name = self.check_name(entry.name_bytes())?;
            let mode = match entry.filemode() {
                0o040_000 => None,
                0o120_000 => Some(Mode::Link),
                0o160_000 => Some(Mode::Submodule),
                mode if mode & 0o100 != 0 => Some(Mode::Executable),
                _ => Some(Mode::File),
            };
            count += 1;
            let entry = match mode {
                Some(mode) => Entry::Leaf { id: blob_id(entry.id()), mode },
                None => {
                    let (dir, below, levels) = self.dir(entry.id(), depth + 1)?;
                    count += below;
                    height = height.max(levels + 1);
                    Entry::Dir(dir)
                }
            };
            if count > ENTRY_LIMIT {
                return Err(self.refuse(format!("there are more than {ENTRY_LIMIT} files")));
            }
            entries.insert(name, entry);
        }
        self.kept.entries += entries.len() as u64;
        let dir = Arc::new(Dir { entries });
        self.kept.dirs.insert(id, (Arc::clone(&dir), count, height));
        Ok((dir, count, height))
    }

    fn check_name(&self, name: &[u8]) -> Result<Box<str>, Error> {
        let is_unsafe = is_unsafe_name(name);
        let name = String::from_utf8_lossy(name);
        if is_unsafe {
            return Err(self.refuse(format!("the file name {name:?} is not safe")));
        }
        Ok(name.into())
    }

    fn refuse(&self, reason: String) -> Error {
        Error::Refused { revision: self.revision.to_string(), reason }
    }
}

/// Names that would leave the tree or change what git does when the tree is written to a disk.
pub(super) fn is_unsafe_name(name: &[u8]) -> bool {
    matches!(name, b"" | b"." | b"..")
        || name.eq_ignore_ascii_case(b".git")
        || name.iter().any(|b| matches!(b, b'/' | 0))
}

pub(super) fn blob_id(id: Oid) -> BlobId {
    let mut bytes = [0; 32];
    let from = id.as_bytes();
    bytes[..from.len()].copy_from_slice(from);
    BlobId(bytes)
}

fn reader(mirror: Arc<Mirror>) -> Reader {
    Arc::new(move |id| {
        let id = Oid::from_bytes(&id.0[..20]).map_err(|e| e.message().to_owned())?;
        let repository = mirror.repository();
        let odb = repository.odb().map_err(|e| e.message().to_owned())?;
        let (size, kind) = odb.read_header(id).map_err(|e| e.message().to_owned())?;
        if kind != ObjectType::Blob {
            return Err("it is a submodule, whose files are not read".to_owned());
        }
        if size > BLOB_LIMIT {
            return Err(format!("it has {size} bytes, more than the {BLOB_LIMIT} that are read"));
        }
        let object = odb.read(id).map_err(|e| e.message().to_owned())?;
        Ok(Bytes::copy_from_slice(object.data()))
    })
}
