//! Which files of a tree hold raw manifests (fluxd-v1 §3.1). It reads no manifest.

use crate::tree::{BlobId, Dir, Entry, Mode, Tree, TreeError, normalise};

use super::ReadError;

/// A file to read: its path relative to the repository root, and the identity of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawFile {
    /// Path with `/`, as walked (a link's own path, not its target's).
    pub(crate) path: String,
    /// Content; of a link, its target's.
    pub(crate) id: BlobId,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Files in lexical order.
    pub(crate) files: Vec<RawFile>,
    /// Submodules passed over, whose content is not in the repository.
    pub(crate) submodules: Vec<String>,
}

/// Finds the manifest files under a configured path: a directory, walked in lexical order, or a single file.
///
/// # Errors
/// [`ReadError::Root`] when the path is not there or leads nowhere that can be walked: a link to a directory, which v1
/// took for an empty one; a submodule; a file that is no YAML. [`ReadError::File`] for a link that cannot be followed.
pub(crate) fn raw_files(tree: &Tree, path: &str) -> Result<Found, ReadError> {
    let root = |reason: String| ReadError::Root { path: path.to_owned(), reason };
    let name = normalise(path).map_err(|e| root(e.to_string()))?;
    let mut found = Found::default();
    match tree.entry(&name).map_err(|e| root(e.to_string()))? {
        _ if is_within_chart(tree, &name) => {}
        Entry::Dir(dir) => walk(tree, &name, &dir, &mut found)?,
        Entry::Leaf { mode: Mode::Submodule, .. } => {
            return Err(root("it is a git submodule, whose content is not part of this repository".into()));
        }
        Entry::Leaf { mode: Mode::Link, .. } if matches!(tree.follow(&name), Ok((_, Entry::Dir(_)))) => {
            return Err(root("it is a symbolic link to a directory; configure the directory itself".into()));
        }
        leaf @ Entry::Leaf { .. } if is_yaml(&name) => take(tree, &name, &leaf, &mut found)?,
        Entry::Leaf { .. } => return Err(root("it is a file that does not end in .yaml or .yml".into())),
    }
    Ok(found)
}

fn walk(tree: &Tree, path: &str, dir: &Dir, found: &mut Found) -> Result<(), ReadError> {
    if is_chart(dir) {
        return Ok(());
    }
    for (name, entry) in &dir.entries {
        let path = if path.is_empty() { name.to_string() } else { format!("{path}/{name}") };
        match entry {
            Entry::Dir(below) => walk(tree, &path, below, found)?,
            Entry::Leaf { mode: Mode::Submodule, .. } => found.submodules.push(path),
            Entry::Leaf { .. } if is_yaml(name) => take(tree, &path, entry, found)?,
            Entry::Leaf { .. } => {}
        }
    }
    Ok(())
}

fn take(tree: &Tree, path: &str, entry: &Entry, found: &mut Found) -> Result<(), ReadError> {
    let unreadable = |reason: String| ReadError::File { path: path.to_owned(), reason };
    let id = match entry {
        Entry::Leaf { id, mode: Mode::File | Mode::Executable } => *id,
        _ => match tree.follow(path).map_err(|e: TreeError| unreadable(e.to_string()))?.1 {
            Entry::Leaf { id, .. } => id,
            Entry::Dir(_) => return Err(unreadable("it is a symbolic link to a directory".into())),
        },
    };
    found.files.push(RawFile { path: path.to_owned(), id });
    Ok(())
}

/// The extensions are exact, capitals included.
fn is_yaml(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|file| file.ends_with(".yaml") || file.ends_with(".yml"))
}

/// A Helm chart's directory: its templates are no manifests.
fn is_chart(dir: &Dir) -> bool {
    dir.entries.contains_key("Chart.yaml") && dir.entries.contains_key("values.yaml")
}

fn is_within_chart(tree: &Tree, path: &str) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    std::iter::once(0)
        .chain(ends)
        .any(|end| matches!(tree.follow(&path[..end]), Ok((_, Entry::Dir(dir))) if is_chart(&dir)))
}

#[cfg(test)]
mod tests;
