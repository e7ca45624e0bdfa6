//! The patch file of a `patchUpdated` configuration, applied to what its generators wrote (fluxd-v1 §4.5).

use std::sync::Arc;

use crate::object::yaml::Limits;
use crate::object::{Object, ObjectSet};
use crate::tree::{BlobId, Entry, Tree, TreeError, normalise};

use super::discover::{Instance, join};
use super::outputs::Objects;
use super::{Error, read_objects, smp};

/// A patch file that was found.
#[derive(Debug)]
pub(super) struct PatchFile {
    /// Path relative to the repository root.
    pub(super) path: String,
    /// Its content; of an absent file, none.
    pub(super) id: Option<BlobId>,
}

/// Looks for the patch file. It may be absent; its directory may not.
///
/// # Errors
/// [`Error::PatchDirectory`]; [`Error::Outside`]; [`Error::Patch`] when it is no file.
pub(super) fn find(tree: &Tree, instance: &Instance, file: &str) -> Result<PatchFile, Error> {
    let path = normalise(&join(&instance.dir, file)).map_err(|_| Error::Outside(join(&instance.dir, file)))?;
    let directory = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    if !matches!(tree.follow(directory), Ok((_, Entry::Dir(_)))) {
        return Err(Error::PatchDirectory { directory: directory.to_owned(), file: file.to_owned() });
    }
    match tree.follow(&path) {
        Ok((_, Entry::Leaf { id, .. })) => Ok(PatchFile { path, id: Some(id) }),
        Err(TreeError::Missing(_)) => Ok(PatchFile { path, id: None }),
        Ok((_, Entry::Dir(_))) => Err(cannot(instance, file, format!("read {path}: is a directory"))),
        Err(e) => Err(cannot(instance, file, e.to_string())),
    }
}

/// Applies the patch file to generated objects; the result is sorted by identity, as v1 wrote it.
///
/// # Errors
/// [`Error::Patch`] and [`Error::Duplicate`].
pub(super) fn apply(
    tree: &Tree,
    instance: &Instance,
    file: &str,
    found: &PatchFile,
    (generated, limits): (&Objects, &Limits),
) -> Result<Objects, Error> {
    let failed = |reason: String| cannot(instance, file, reason);
    let mut set = ObjectSet::default();
    for object in generated.iter() {
        set.insert(Arc::clone(object))?;
    }
    let patches = match &found.id {
        Some(id) => {
            let text = tree.read(&found.path, id).map_err(|e| failed(e.to_string()))?;
            read_objects(&text, &found.path.as_str().into(), false, limits).map_err(|e| failed(e.to_string()))?
        }
        None => Vec::new(),
    };
    let mut by_id = ObjectSet::default();
    for patch in patches {
        if set.same_as(&patch).is_none() {
            let (id, origin) = (patch.id(), patch.origin());
            return Err(failed(format!("patch refers to missing resource ({id}), at {origin}")));
        }
        by_id.insert(patch).map_err(|duplicate| failed(format!("{duplicate}, {}", duplicate.places())))?;
    }
    let mut patched = Vec::with_capacity(generated.len());
    for object in set.objects() {
        match by_id.same_as(object) {
            None => patched.push(Arc::clone(object)),
            Some(patch) => patched.extend(apply_one(object, patch).map_err(&failed)?),
        }
    }
    patched.sort_by_cached_key(|object| object.id().to_string());
    Ok(patched.into())
}

/// One patched object; none when the patch took away all of it, its kind included.
fn apply_one(object: &Object, patch: &Object) -> Result<Option<Arc<Object>>, String> {
    let at = |e: String| format!("{}, at {}", e, patch.origin());
    let value = smp::apply(object.gvk(), &object.value(), &patch.value()).map_err(|e| at(e.to_string()))?;
    if value.get("kind").and_then(serde_json::Value::as_str).is_none_or(str::is_empty) {
        return Ok(None);
    }
    let patched = Object::new(&value, object.origin().clone()).map_err(|e| at(e.to_string()))?;
    Ok(Some(Arc::new(patched)))
}

pub(super) fn cannot(instance: &Instance, file: &str, reason: String) -> Error {
    Error::Patch { config: instance.file().to_owned(), file: file.to_owned(), reason }
}
