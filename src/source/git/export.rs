//! Writing a tree into a directory, for commands that need files. What is written stays inside: links that lead out are
//! left out, and there is no `.git`.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::Path;

use super::Error;
use crate::tree::{Dir, Entry, Mode, Tree};

/// How many links are followed before they count as a circle.
const LINK_LIMIT: usize = 40;

/// Writes all files of a tree; `dir` may not hold any of them yet.
pub(super) fn write(tree: &Tree, dir: &Path) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(Error::io("creating", dir))?;
    let mut writer = Writer { tree, pointers: 0 };
    writer.dir(tree.root(), "", dir)?;
    if writer.pointers > 0 {
        let (revision, files) = (tree.revision().short(), writer.pointers);
        tracing::warn!(revision, files, "files are Git LFS pointers; what they point to is not fetched");
    }
    Ok(())
}

struct Writer<'a> {
    tree: &'a Tree,
    pointers: usize,
}

impl Writer<'_> {
    fn dir(&mut self, dir: &Dir, path: &str, to: &Path) -> Result<(), Error> {
        for (name, entry) in &dir.entries {
            let path = if path.is_empty() { name.to_string() } else { format!("{path}/{name}") };
            let to = to.join(&**name);
            match entry {
                Entry::Dir(dir) => {
                    make_dir(&to)?;
                    self.dir(dir, &path, &to)?;
                }
                Entry::Leaf { mode: Mode::Submodule, .. } => {
                    make_dir(&to)?;
                    tracing::warn!(path, "submodules are not read: this directory is empty");
                }
                Entry::Leaf { id, mode } => {
                    let content = self
                        .tree
                        .read(&path, id)
                        .map_err(|e| Error::Object { what: path.clone(), reason: e.to_string() })?;
                    self.pointers += usize::from(is_lfs_pointer(&content));
                    self.leaf(&path, &to, &content, *mode)?;
                }
            }
        }
        Ok(())
    }

    fn leaf(&self, path: &str, to: &Path, content: &[u8], mode: Mode) -> Result<(), Error> {
        if mode == Mode::Link {
            let target = String::from_utf8_lossy(content);
            if !stays_inside(self.tree, path, &target) {
                tracing::warn!(path, %target, "a link that leads out of the repository is left out");
                return Ok(());
            }
            return symlink(&*target, to).map_err(Error::io("linking", to));
        }
        let bits = if mode == Mode::Executable { 0o755 } else { 0o644 };
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(bits).open(to);
        file.and_then(|mut file| file.write_all(content)).map_err(Error::io("writing", to))
    }
}

fn make_dir(path: &Path) -> Result<(), Error> {
    DirBuilder::new().mode(0o755).create(path).map_err(Error::io("creating", path))
}

/// A small file that git-lfs put in the place of a large one.
fn is_lfs_pointer(content: &[u8]) -> bool {
    content.len() < 1024 && content.starts_with(b"version https://git-lfs.github.com/spec/")
}

/// Follows a link as a file system would, other links on the way included.
pub(super) fn stays_inside(tree: &Tree, link: &str, target: &str) -> bool {
    let mut at: Vec<String> = link.split('/').map(str::to_owned).collect();
    at.pop();
    let mut left: Vec<String> = target.split('/').rev().map(str::to_owned).collect();
    if target.starts_with('/') || target.contains('\0') {
        return false;
    }
    let mut links = 0;
    while let Some(name) = left.pop() {
        match name.as_str() {
            "" | "." => {}
            ".." => {
                if at.pop().is_none() {
                    return false;
                }
            }
            _ => {
                at.push(name);
                let here = at.join("/");
                let Ok(Entry::Leaf { id, mode: Mode::Link }) = tree.entry(&here) else { continue };
                links += 1;
                let Ok(next) = tree.read(&here, &id) else { return false };
                let next = String::from_utf8_lossy(&next);
                if links > LINK_LIMIT || next.starts_with('/') {
                    return false;
                }
                at.pop();
                left.extend(next.split('/').rev().map(str::to_owned));
            }
        }
    }
    true
}
