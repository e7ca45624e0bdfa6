//! One update: every change goes to where its workload comes from, and the tree that results is loaded.

use std::collections::BTreeMap;

use crate::object::ObjectId;
use crate::runtime::Stop;
use crate::tree::{Entry, FileChange, Tree};

use super::super::discover::Instance;
use super::super::pass::Pass;
use super::super::{Directive, Error, Generator};
use super::{UpdateError, Updated, Working, WorkloadChange, command, patch, raw};

/// An update under way: the files that differ so far.
pub(super) struct Run<'a> {
    pub(super) generator: &'a Generator,
    pub(super) tree: &'a Tree,
    pub(super) working: &'a Working,
    pub(super) stop: &'a Stop,
    files: BTreeMap<String, FileChange>,
    changed: BTreeMap<ObjectId, bool>,
}

impl<'a> Run<'a> {
    pub(super) fn new(generator: &'a Generator, tree: &'a Tree, working: &'a Working, stop: &'a Stop) -> Self {
        Self { generator, tree, working, stop, files: BTreeMap::new(), changed: BTreeMap::new() }
    }

    /// Does all of it: raw files first, then patch files, then commands, which see what was changed before.
    pub(super) async fn run(mut self, changes: &[WorkloadChange]) -> Result<Updated, UpdateError> {
        if self.stop.is_stopped() {
            return Err(Error::Stopped.into());
        }
        self.changed = changes.iter().map(|change| (change.id.clone(), false)).collect();
        for (path, changes) in by_source(changes, false) {
            raw::update(&mut self, path, &changes)?;
        }
        let generated = by_source(changes, true);
        if !generated.is_empty() {
            self.update_generated(&generated).await?;
        }
        if self.files.is_empty() {
            let loaded = self.generator.load(self.tree, &self.working.export, false, self.stop).await?;
            return Ok(Updated { files: self.files, loaded, changed: self.changed });
        }
        let new = self.overlay()?;
        let loaded = self.generator.load_anew(&new, &self.working.export, false, self.stop).await?;
        Ok(Updated { files: self.files, loaded, changed: self.changed })
    }

    async fn update_generated(&mut self, sources: &[(&str, Vec<&WorkloadChange>)]) -> Result<(), UpdateError> {
        let mut pass = Pass::new(self.generator, self.tree, &self.working.export, false, self.stop);
        let (_, instances) = pass.sort_paths()?;
        let mut commands = Vec::new();
        for (name, changes) in sources {
            let Some(instance) = instances.iter().find(|instance| instance.name == *name) else {
                let gone = changes.first().map(|c| c.failed("no configuration of this name is in use any more"));
                return gone.map_or(Ok(()), Err);
            };
            match &instance.config.directive {
                Directive::PatchUpdated { patch_file, .. } => {
                    let mut outputs = pass.outputs(std::slice::from_ref(instance)).await?;
                    let output = outputs.pop().ok_or(Error::Stopped)??;
                    patch::update(self, (instance, patch_file), &output.objects, changes)?;
                }
                _ => commands.extend(changes.iter().map(|change| (instance, *change))),
            }
        }
        self.run_commands(&commands).await
    }

    async fn run_commands(&mut self, commands: &[(&Instance, &WorkloadChange)]) -> Result<(), UpdateError> {
        if commands.is_empty() {
            return Ok(());
        }
        let base = self.overlay()?;
        let collected = command::update(self, &base, commands).await?;
        for (path, change) in collected {
            if is_news(&base, &path, &change) {
                self.files.insert(path, change);
            }
        }
        for (_, change) in commands {
            self.note(change, true);
        }
        Ok(())
    }

    /// The tree as changed so far.
    pub(super) fn overlay(&self) -> Result<Tree, UpdateError> {
        self.tree.with(&self.files).map_err(|e| UpdateError::Collect(e.to_string()))
    }

    /// Notes a file's new content.
    pub(super) fn write(&mut self, path: String, bytes: Vec<u8>) {
        self.files.insert(path, FileChange::Write { bytes: bytes.into(), mode: None });
    }

    /// Notes whether a change did anything.
    pub(super) fn note(&mut self, change: &WorkloadChange, did: bool) {
        *self.changed.entry(change.id.clone()).or_default() |= did;
    }
}

/// Changes by the place they go to, in the order of the places.
fn by_source(changes: &[WorkloadChange], generated: bool) -> Vec<(&str, Vec<&WorkloadChange>)> {
    let mut sources: BTreeMap<&str, Vec<&WorkloadChange>> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.object.origin().generated == generated) {
        sources.entry(&change.object.origin().file).or_default().push(change);
    }
    sources.into_iter().collect()
}

/// Whether a file of the tree is not like that already.
fn is_news(base: &Tree, path: &str, change: &FileChange) -> bool {
    match (base.entry(path), change) {
        (Ok(Entry::Leaf { id, mode }), FileChange::Write { bytes, mode: new }) => {
            new.is_some_and(|new| new != mode) || base.read(path, &id).is_ok_and(|old| old != bytes)
        }
        (found, FileChange::Remove) => found.is_ok(),
        _ => true,
    }
}

/// The objects that changes are about, each once, with all their changes in order.
pub(super) fn by_object<'c>(changes: &[&'c WorkloadChange]) -> Vec<(ObjectId, Vec<&'c WorkloadChange>)> {
    let mut objects: Vec<(ObjectId, Vec<&WorkloadChange>)> = Vec::new();
    for change in changes {
        let id = change.object.id();
        match objects.iter_mut().find(|(known, _)| *known == id) {
            Some((_, all)) => all.push(change),
            None => objects.push((id, vec![change])),
        }
    }
    objects
}
