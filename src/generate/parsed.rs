//! Files read as objects, kept by content, so that a new revision costs only the files that changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::object::Object;
use crate::object::yaml::Limits;
use crate::runtime::Stop;
use crate::tree::{BlobId, Tree};

use super::sops::{self, SopsKeys};
use super::{RawFile, ReadError, read_objects};

/// Files kept at most; more are read anew each time.
const KEPT_FILES: usize = 100_000;

/// First bytes of a file that git-lfs keeps elsewhere.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The objects of raw files by path and content. What a pass did not use, nor the one before it, is forgotten.
#[derive(Debug)]
pub(crate) struct ParsedFiles {
    limits: Limits,
    keys: Option<SopsKeys>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    pass: u64,
    files: HashMap<(String, BlobId), File>,
}

#[derive(Debug)]
struct File {
    objects: Arc<[Arc<Object>]>,
    used: u64,
}

impl ParsedFiles {
    /// Starts with nothing kept. With `keys`, SOPS files are decrypted; without, they are read as they are.
    pub(crate) fn new(limits: Limits, keys: Option<SopsKeys>) -> Self {
        Self { limits, keys, kept: Mutex::default() }
    }

    /// Begins a pass: forgets what neither of the last two used.
    pub(crate) fn begin_pass(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = kept.pass.saturating_sub(1);
        kept.files.retain(|_, file| file.used >= oldest);
        kept.pass += 1;
    }

    /// Reads one file, or returns what it gave before.
    ///
    /// # Errors
    /// [`ReadError`], but [`ReadError::Root`].
    pub(crate) async fn read(&self, tree: &Tree, file: &RawFile, stop: &Stop) -> Result<Arc<[Arc<Object>]>, ReadError> {
        if let Some(known) = self.recall(file) {
            return Ok(known);
        }
        let unreadable = |reason: String| ReadError::File { path: file.path.clone(), reason };
        let bytes = tree.read(&file.path, &file.id).map_err(|e| unreadable(e.to_string()))?;
        if bytes.starts_with(LFS_POINTER) {
            return Err(unreadable("it is a git-lfs pointer, and the content is not in the repository".into()));
        }
        let plain = match &self.keys {
            Some(keys) => sops::decrypt(&bytes, keys, stop).await,
            None => Ok(None),
        };
        let plain = plain.map_err(|e| unreadable(format!("failed to decrypt file: {e}")))?;
        let text = plain.as_deref().unwrap_or(&bytes);
        let mut objects = read_objects(text, &file.path.as_str().into(), false, &self.limits)?;
        if plain.is_some() {
            objects = objects.into_iter().map(|object| Arc::new(Arc::unwrap_or_clone(object).into_sealed())).collect();
        }
        let objects: Arc<[Arc<Object>]> = objects.into();
        self.keep(file, &objects);
        Ok(objects)
    }

    /// What a file gave before, if it is kept.
    pub(crate) fn recall(&self, file: &RawFile) -> Option<Arc<[Arc<Object>]>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let pass = kept.pass;
        let known = kept.files.get_mut(&(file.path.clone(), file.id))?;
        known.used = pass;
        Some(Arc::clone(&known.objects))
    }

    /// Forgets one content of a file, which another has replaced.
    pub(crate) fn forget(&self, file: &RawFile) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.files.remove(&(file.path.clone(), file.id));
    }

    fn keep(&self, file: &RawFile, objects: &Arc<[Arc<Object>]>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.files.len() < KEPT_FILES {
            let used = kept.pass;
            kept.files.insert((file.path.clone(), file.id), File { objects: Arc::clone(objects), used });
        }
    }
}
