//! What the uses of `.flux.yaml` files gave last, by display name: one output each, and what its patch file made of it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use crate::object::{Digest, Object};
use crate::tree::BlobId;

/// Objects of one use.
pub(super) type Objects = Arc<[Arc<Object>]>;

/// The last output of each use.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    kept: Mutex<HashMap<String, Kept>>,
}

#[derive(Debug)]
struct Kept {
    key: Digest,
    output: Output,
    patched: Option<(BlobId, Objects)>,
}

/// What generators wrote.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// Over the bytes.
    pub(super) digest: Digest,
    /// The objects in it.
    pub(super) objects: Objects,
}

impl Outputs {
    /// The output made under this key, if it is the last one.
    pub(super) fn get(&self, name: &str, key: Digest) -> Option<Output> {
        let kept = self.lock();
        kept.get(name).filter(|kept| kept.key == key).map(|kept| kept.output.clone())
    }

    /// The objects of the last output if its bytes were the same, whatever it was made from.
    pub(super) fn same_bytes(&self, name: &str, digest: Digest) -> Option<Objects> {
        let kept = self.lock();
        kept.get(name).filter(|kept| kept.output.digest == digest).map(|kept| Arc::clone(&kept.output.objects))
    }

    /// Keeps an output in the place of the last one. What a patch made of the same bytes stays.
    pub(super) fn put(&self, name: &str, key: Digest, output: Output) {
        let mut kept = self.lock();
        let last = kept.remove(name).filter(|last| last.output.digest == output.digest);
        kept.insert(name.to_owned(), Kept { key, output, patched: last.and_then(|last| last.patched) });
    }

    /// What the patch file with this content made of this output.
    pub(super) fn patched(&self, name: &str, output: &Output, patch: BlobId) -> Option<Objects> {
        let kept = self.lock();
        let kept = kept.get(name).filter(|kept| kept.output.digest == output.digest)?;
        kept.patched.as_ref().filter(|(id, _)| *id == patch).map(|(_, objects)| Arc::clone(objects))
    }

    /// Keeps what a patch file made of an output.
    pub(super) fn put_patched(&self, name: &str, output: &Output, patch: BlobId, objects: &Objects) {
        if let Some(kept) = self.lock().get_mut(name).filter(|kept| kept.output.digest == output.digest) {
            kept.patched = Some((patch, Arc::clone(objects)));
        }
    }

    /// Forgets the outputs of all other names.
    pub(super) fn retain(&self, names: &HashSet<&str>) {
        self.lock().retain(|name, _| names.contains(name.as_str()));
    }

    /// Forgets all.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
