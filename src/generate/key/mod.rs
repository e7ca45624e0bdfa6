//! What the output of a `.flux.yaml` depends on, as one digest: equal digests mean that its commands need not run again.
//! The environment is not in it, because it is the same for all outputs that one generator keeps.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::object::Digest;
use crate::tree::{Dir, Entry, Mode, Tree, TreeError, normalise};

use super::discover::{Instance, join};
use super::{Inputs, Settings};

/// Links followed within declared inputs, one behind the other.
const MAX_LINKS: usize = 8;
/// Entries looked at for one key; links make a small tree look large.
const MAX_ENTRIES: usize = 1_000_000;

/// Makes keys for one load; programs are looked up once.
pub(super) struct Keys<'a> {
    tree: &'a Tree,
    settings: &'a Settings,
    programs: HashMap<String, String>,
    entries_left: Cell<usize>,
}

/// The key of one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// Over everything known.
    pub(super) digest: Digest,
    /// Whether the file declares its inputs, so that nothing unknown can change the output.
    pub(super) is_declared: bool,
}

impl<'a> Keys<'a> {
    pub(super) fn new(tree: &'a Tree, settings: &'a Settings) -> Self {
        Self { tree, settings, programs: HashMap::new(), entries_left: Cell::new(0) }
    }

    /// The key of one use of a `.flux.yaml`: its text, directory and programs, and the declared inputs if all of them can
    /// be known, else the revision.
    pub(super) fn of(&mut self, instance: &Instance) -> Key {
        self.entries_left.set(MAX_ENTRIES);
        let mut hash = Sha256::new();
        for part in [instance.text.as_ref(), instance.dir.as_bytes(), instance.name.as_bytes()] {
            add(&mut hash, part);
        }
        let declared = instance.config.inputs.as_ref();
        let words = instance.config.generators().iter().map(|command| first_word(&command.command));
        for word in words.chain(declared.into_iter().flat_map(|i| i.tools.iter().map(String::as_str))) {
            let program = self.program(word, &instance.dir);
            add(&mut hash, program.as_bytes());
        }
        let inputs = declared.and_then(|inputs| self.inputs(inputs, &instance.dir).ok());
        match &inputs {
            Some(digest) => add(&mut hash, &digest.0),
            None => add(&mut hash, self.tree.revision().0.as_bytes()),
        }
        Key { digest: Digest(hash.finalize().into()), is_declared: inputs.is_some() }
    }

    /// What is known of a program: the content of a script in the tree, or place, size and time of a file on disk.
    fn program(&mut self, word: &str, dir: &str) -> String {
        if word.contains('/') && !word.starts_with('/') {
            let mut hash = Sha256::new();
            return match self.path(&mut hash, &join(dir, word), 0) {
                Ok(()) => format!("{word} {}", hex::encode(hash.finalize())),
                Err(e) => format!("{word} {e}"),
            };
        }
        let search = || on_disk(word, self.settings.env.get(OsStr::new("PATH")).map(AsRef::as_ref));
        self.programs.entry(word.to_owned()).or_insert_with(search).clone()
    }

    fn inputs(&self, inputs: &Inputs, dir: &str) -> Result<Digest, TreeError> {
        let mut hash = Sha256::new();
        for path in &inputs.paths {
            let path = path.strip_prefix('/').map_or_else(|| join(dir, path), str::to_owned);
            self.path(&mut hash, &path, 0)?;
        }
        Ok(Digest(hash.finalize().into()))
    }

    /// Adds what a path holds. A missing one counts as such, so that its coming is noticed.
    fn path(&self, hash: &mut Sha256, path: &str, links: usize) -> Result<(), TreeError> {
        let path = normalise(path)?;
        add(hash, path.as_bytes());
        match self.tree.follow(&path) {
            Ok((real, entry)) => {
                add(hash, real.as_bytes());
                self.entry(hash, &real, &entry, links)
            }
            Err(TreeError::Missing(_)) => {
                add(hash, b"missing");
                Ok(())
            }
            Err(e) => Err(e),
        }
    }

    fn entry(&self, hash: &mut Sha256, path: &str, entry: &Entry, links: usize) -> Result<(), TreeError> {
        let left = self.entries_left.get();
        if left == 0 || links > MAX_LINKS {
            let reason = "lies behind too many others";
            return Err(TreeError::Link { path: path.to_owned(), target: String::new(), reason });
        }
        self.entries_left.set(left - 1);
        match entry {
            Entry::Dir(dir) => self.dir(hash, path, dir, links),
            Entry::Leaf { mode: Mode::Link, id } => {
                add(hash, &id.0);
                self.path(hash, path, links + 1)
            }
            Entry::Leaf { mode, id } => {
                add(hash, &[u8::from(*mode == Mode::Executable)]);
                add(hash, &id.0);
                Ok(())
            }
        }
    }

    fn dir(&self, hash: &mut Sha256, path: &str, dir: &Dir, links: usize) -> Result<(), TreeError> {
        for (name, entry) in &dir.entries {
            add(hash, name.as_bytes());
            self.entry(hash, &join(path, name), entry, links)?;
        }
        add(hash, b"/");
        Ok(())
    }
}

/// Adds one part so that parts cannot flow into each other.
fn add(hash: &mut Sha256, part: &[u8]) {
    hash.update((part.len() as u64).to_be_bytes());
    hash.update(part);
}

/// The program that a line starts, as far as that can be read from it: the first word that sets no variable.
fn first_word(line: &str) -> &str {
    line.split_whitespace().find(|word| !word.contains('=')).unwrap_or("")
}

fn on_disk(word: &str, search: Option<&OsStr>) -> String {
    let describe = |path: &Path| {
        let meta = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some(format!("{} {} {} {} {}", path.display(), meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
    };
    if word.starts_with('/') {
        return describe(Path::new(word)).unwrap_or_default();
    }
    let dirs = search.map(|s| std::env::split_paths(s).collect::<Vec<_>>()).unwrap_or_default();
    dirs.iter().filter(|_| !word.is_empty()).find_map(|dir| describe(&dir.join(word))).unwrap_or_default()
}

#[cfg(test)]
mod tests;
