//! A load that follows the change: where a revision differs from the last one only in the contents of some raw files, only
//! those are read, and each of their objects takes the place of the one it replaces.

use std::sync::Arc;

use crate::runtime::Stop;
use crate::tree::{Dir, Entry, Mode, Tree};

use super::discover::FILE_NAME;
use super::{Generator, Loaded, RawFile};

/// Files of which a difference is taken in one by one; with more, everything is walked.
const FILES: usize = 256;

/// A raw file and where its objects stand among all.
#[derive(Clone, Debug)]
struct Placed {
    file: RawFile,
    first: usize,
    count: usize,
}

/// The last complete load of raw files alone.
#[derive(Debug)]
pub(super) struct Last {
    root: Arc<Dir>,
    /// By path.
    files: Vec<Placed>,
    loaded: Loaded,
}

/// The raw files of a load, in the order in which their objects were added.
#[derive(Debug, Default)]
pub(super) struct Walked(Vec<Placed>);

impl Walked {
    /// Adds a file whose objects were just added; `end` is their number with all before them.
    pub(super) fn add(&mut self, file: RawFile, count: usize, end: usize) {
        self.0.push(Placed { file, first: end.saturating_sub(count), count });
    }

    /// What the next load can start from. With a link anywhere, one file's content may show at another path, so then
    /// nothing is kept.
    pub(super) fn into_last(mut self, tree: &Tree, loaded: &Loaded) -> Option<Last> {
        if has_link(tree.root()) {
            return None;
        }
        self.0.sort_by(|a, b| a.file.path.cmp(&b.file.path));
        Some(Last { root: Arc::clone(tree.root()), files: self.0, loaded: loaded.clone() })
    }
}

fn has_link(dir: &Dir) -> bool {
    dir.entries.values().any(|entry| match entry {
        Entry::Dir(below) => has_link(below),
        Entry::Leaf { mode, .. } => *mode == Mode::Link,
    })
}

/// Collects the files that differ in content alone; `None` when anything else differs, or there are too many.
fn changed(before: &Dir, now: &Dir, path: &str, found: &mut Vec<RawFile>) -> Option<()> {
    if before.entries.len() != now.entries.len() {
        return None;
    }
    for ((name, old), (same, new)) in before.entries.iter().zip(&now.entries) {
        let path = || if path.is_empty() { name.to_string() } else { format!("{path}/{name}") };
        match (old, new) {
            _ if name != same => return None,
            (Entry::Dir(old), Entry::Dir(new)) if Arc::ptr_eq(old, new) => {}
            (Entry::Dir(old), Entry::Dir(new)) => changed(old, new, &path(), found)?,
            (Entry::Leaf { id, mode }, Entry::Leaf { id: other, mode: kind }) if mode == kind => {
                if id != other {
                    found.push(RawFile { path: path(), id: *other });
                }
            }
            _ => return None,
        }
    }
    (found.len() <= FILES).then_some(())
}

/// Loads a tree by its difference from the last one. `None` when that cannot be done; nothing has changed then.
pub(super) async fn load(generator: &Generator, tree: &Tree, stop: &Stop) -> Option<Loaded> {
    let last = generator.lock_delta().take()?;
    let mut files = Vec::new();
    changed(&last.root, tree.root(), "", &mut files)?;
    let Last { files: mut placed, mut loaded, .. } = last;
    // What a config says decides what all others are.
    if files.iter().any(|file| file.path.rsplit('/').next() == Some(FILE_NAME)) {
        return None;
    }
    for file in files {
        // Others than manifests are nobody's business.
        let Ok(at) = placed.binary_search_by(|p| p.file.path.cmp(&file.path)) else { continue };
        let place = &mut placed[at];
        let objects = generator.parsed.read(tree, &file, stop).await.ok()?;
        let before = loaded.objects.get_mut(place.first..place.first + place.count)?;
        if objects.len() != before.len() || !objects.iter().zip(before.iter()).all(|(a, b)| a.is_written_as(b)) {
            return None;
        }
        before.clone_from_slice(&objects);
        generator.parsed.forget(&place.file);
        place.file = file;
    }
    let last = Last { root: Arc::clone(tree.root()), files: placed, loaded: loaded.clone() };
    *generator.lock_delta() = Some(last);
    Some(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::tests::tree;

    fn diff(before: &[(&str, &str)], now: &[(&str, &str)]) -> Option<Vec<String>> {
        let mut found = Vec::new();
        changed(tree("1", before).root(), tree("2", now).root(), "", &mut found)?;
        Some(found.into_iter().map(|f| f.path).collect())
    }

    #[test]
    fn only_differences_of_content_are_taken_in_one_by_one() {
        let before = [("a.yaml", "1"), ("d/b.yaml", "1"), ("d/c.yaml", "1")];
        assert_eq!(diff(&before, &before), Some(vec![]));
        let content = [("a.yaml", "2"), ("d/b.yaml", "1"), ("d/c.yaml", "3")];
        assert_eq!(diff(&before, &content), Some(vec!["a.yaml".into(), "d/c.yaml".into()]));
        assert_eq!(diff(&before, &before[..2]), None, "a file less");
        assert_eq!(diff(&before[..2], &before), None, "a file more");
        assert_eq!(diff(&before, &[("a.yaml", "1"), ("d/b.yaml", "1"), ("d/x.yaml", "1")]), None, "another name");
        assert_eq!(diff(&before[..2], &[("a.yaml", "1"), ("d", "1")]), None, "a directory became a file");
    }
}
