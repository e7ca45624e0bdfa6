//! One load: find out what each configured path is, read the raw files, run the generators that have to run, apply patch
//! files, and put all objects together.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures::future::{BoxFuture, Either, Ready, ready};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};

use crate::object::{Digest, Object, ObjectSet, Origin};
use crate::runtime::{Stop, scoped};
use crate::tree::Tree;

use super::delta::Walked;
use super::discover::{Instance, Source, discover};
use super::key::{Key, Keys};
use super::outputs::{Objects, Output};
use super::{
    Directive, Error, Export, Generator, LoadErrors, Loaded, RawFile, ReadError, Warning, commands, copy, patch,
    raw_files, read_objects,
};

/// Raw files being read at once.
const READERS: usize = 64;

/// A load under way.
pub(super) struct Pass<'a> {
    generator: &'a Generator,
    tree: &'a Tree,
    export: &'a Export,
    rerun: bool,
    stop: &'a Stop,
    found: ObjectSet,
    walked: Walked,
    warnings: Vec<Warning>,
    errors: Vec<Error>,
}

/// A use of a `.flux.yaml` whose commands have to run.
struct Job<'a> {
    index: usize,
    instance: &'a Instance,
    key: Key,
}

/// What one raw file gave.
type ReadFile = Result<Objects, Error>;

/// The place of a use among all, and what its commands gave.
type Ran = (usize, Result<Output, Error>);

impl<'a> Pass<'a> {
    /// One that has not begun.
    pub(super) fn new(
        generator: &'a Generator,
        tree: &'a Tree,
        export: &'a Export,
        rerun: bool,
        stop: &'a Stop,
    ) -> Self {
        let (found, walked, warnings, errors) = Default::default();
        Self { generator, tree, export, rerun, stop, found, walked, warnings, errors }
    }

    /// Does all of it.
    ///
    /// # Errors
    /// See [`Generator::load`].
    pub(super) async fn run(mut self) -> Result<Loaded, Error> {
        let (raw, instances) = self.sort_paths()?;
        for path in &raw {
            self.read_raw(path).await?;
        }
        let outputs = self.outputs(&instances).await?;
        for (instance, output) in instances.iter().zip(outputs) {
            let objects = output.and_then(|output| self.patched(instance, &output));
            match objects {
                Ok(objects) => self.insert_all(&objects)?,
                Err(e) => self.give_up(e)?,
            }
        }
        let names = instances.iter().map(|instance| instance.name.as_str()).collect::<HashSet<_>>();
        self.generator.outputs.retain(&names);
        let complete = self.errors.is_empty();
        let objects = self.found.objects().to_vec();
        let loaded = Loaded { objects, warnings: self.warnings, errors: self.errors, complete };
        if complete && instances.is_empty() {
            *self.generator.lock_delta() = self.walked.into_last(self.tree, &loaded);
        }
        Ok(loaded)
    }

    /// An error ends the load, or is kept and the others go on. A stop always ends it.
    fn give_up(&mut self, error: Error) -> Result<(), Error> {
        if self.generator.settings.load_errors == LoadErrors::Stop || error == Error::Stopped {
            return Err(error);
        }
        self.errors.push(error);
        Ok(())
    }

    fn warn(&mut self, file: &str, message: String) {
        self.warnings.push(Warning { origin: Origin { file: file.into(), line: 1, generated: false }, message });
    }

    /// Tells raw paths and uses of `.flux.yaml` files apart.
    pub(super) fn sort_paths(&mut self) -> Result<(Vec<String>, Vec<Instance>), Error> {
        let settings = &self.generator.settings;
        let root = [String::from(".")];
        let paths = if settings.paths.is_empty() { root.as_slice() } else { settings.paths.as_slice() };
        if !settings.manifest_generation {
            return Ok((paths.to_vec(), Vec::new()));
        }
        let (mut raw, mut instances) = (Vec::new(), Vec::new());
        for path in paths {
            match discover(self.tree, path, &settings.limits) {
                Ok(Source::Raw(path)) => raw.push(path),
                Ok(Source::Config(instance)) => instances.push(*instance),
                Err(e) => self.give_up(e)?,
            }
        }
        for instance in &instances {
            instance.config.warnings.iter().for_each(|warning| self.warn(&instance.name, warning.clone()));
        }
        Ok((raw, instances))
    }

    async fn read_raw(&mut self, path: &str) -> Result<(), Error> {
        let found = match raw_files(self.tree, path) {
            Ok(found) => found,
            Err(e) => return self.give_up(e.into()),
        };
        for submodule in &found.submodules {
            self.warn(
                submodule,
                "a git submodule, whose content is not part of this repository, is passed over".into(),
            );
        }
        let mut files = stream::iter(found.files.clone()).map(|file| self.read_file(file)).buffered(READERS);
        let mut read = Vec::new();
        while let Some(objects) = files.next().await {
            if self.stop.is_stopped() {
                return Err(Error::Stopped);
            }
            let failed = objects.is_err() && self.generator.settings.load_errors == LoadErrors::Stop;
            read.push(objects);
            if failed {
                break;
            }
        }
        drop(files);
        for (file, objects) in found.files.into_iter().zip(read) {
            match objects {
                Ok(objects) => {
                    self.insert_all(&objects)?;
                    self.walked.add(file, objects.len(), self.found.objects().len());
                }
                Err(e) => self.give_up(e)?,
            }
        }
        Ok(())
    }

    /// Reads one raw file. Known ones cost no task; the others are read side by side on all cores.
    fn read_file(&self, file: RawFile) -> Either<Ready<ReadFile>, BoxFuture<'static, ReadFile>> {
        if let Some(known) = self.generator.parsed.recall(&file) {
            return Either::Left(ready(Ok(known)));
        }
        let (parsed, tree, stop) = (Arc::clone(&self.generator.parsed), self.tree.clone(), self.stop.clone());
        let reading = async move {
            let path = file.path.clone();
            let task = scoped(async move { parsed.read(&tree, &file, &stop).await });
            match task.await {
                Ok(read) => read.map_err(Error::from),
                Err(e) => Err(ReadError::File { path, reason: e.to_string() }.into()),
            }
        };
        Either::Right(reading.boxed())
    }

    fn insert_all(&mut self, objects: &[Arc<Object>]) -> Result<(), Error> {
        for object in objects {
            if let Err(duplicate) = self.found.insert(Arc::clone(object)) {
                self.give_up(duplicate.into())?;
            }
        }
        Ok(())
    }

    /// The outputs of all uses in their order: known ones from the last load, the others by running commands.
    pub(super) async fn outputs(&self, instances: &[Instance]) -> Result<Vec<Result<Output, Error>>, Error> {
        let mut keys = Keys::new(self.tree, &self.generator.settings);
        let mut outputs: BTreeMap<usize, Result<Output, Error>> = BTreeMap::new();
        let mut jobs = Vec::new();
        for (index, instance) in instances.iter().enumerate() {
            let key = keys.of(instance);
            let is_fresh = !self.rerun || key.is_declared;
            match self.generator.outputs.get(&instance.name, key.digest).filter(|_| is_fresh) {
                Some(output) => drop(outputs.insert(index, Ok(output))),
                None => jobs.push(Job { index, instance, key }),
            }
        }
        if jobs.is_empty() {
            return Ok(outputs.into_values().collect());
        }
        let settings = &self.generator.settings;
        let needs_copy = jobs.iter().any(|job| !job.instance.config.generators().is_empty());
        let dir = if needs_copy { Some(copy::make(self.tree, self.export, settings).await?) } else { None };
        let ran = self.run_jobs(jobs, dir.as_ref().map_or(Path::new("."), tempfile::TempDir::path)).await;
        if let Some(dir) = dir {
            copy::discard(dir).await;
        }
        outputs.extend(ran?);
        Ok(outputs.into_values().collect())
    }

    /// Runs jobs side by side, as many as there are cores. Uses of one file share its scripts, which may write beside
    /// themselves: they run one after another, as in v1, unless the file declares its inputs.
    async fn run_jobs(&self, jobs: Vec<Job<'_>>, copy: &Path) -> Result<Vec<Ran>, Error> {
        let mut groups: Vec<Vec<Job<'_>>> = Vec::new();
        let mut by_file: BTreeMap<&str, usize> = BTreeMap::new();
        for job in jobs {
            match by_file.get(job.instance.path.as_str()).filter(|_| !job.key.is_declared) {
                Some(group) => groups[*group].push(job),
                None => {
                    by_file.insert(&job.instance.path, groups.len());
                    groups.push(vec![job]);
                }
            }
        }
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // Boxed, because the compiler does not see through so many layers of borrowing futures.
        let runs: Vec<BoxFuture<'_, _>> = groups.into_iter().map(|group| self.run_group(group, copy).boxed()).collect();
        let ran: Vec<Vec<_>> = stream::iter(runs).buffered(cores).try_collect().await?;
        Ok(ran.into_iter().flatten().collect())
    }

    /// Runs jobs one after another, up to the first error if errors stop the load.
    async fn run_group(&self, group: Vec<Job<'_>>, copy: &Path) -> Result<Vec<Ran>, Error> {
        let skip = self.generator.settings.load_errors == LoadErrors::Skip;
        let mut ran = Vec::with_capacity(group.len());
        for job in &group {
            match self.run_job(job, copy).await {
                Err(e) if !skip || e == Error::Stopped => return Err(e),
                output => ran.push((job.index, output)),
            }
        }
        Ok(ran)
    }

    async fn run_job(&self, job: &Job<'_>, copy: &Path) -> Result<Output, Error> {
        let (generator, name) = (self.generator, job.instance.name.as_str());
        let started = Instant::now();
        let ran = commands::generate(job.instance, copy, &generator.settings, self.stop).await;
        if let Some(hook) = &generator.on_run {
            (hook.0)(started.elapsed(), ran.is_ok());
        }
        let bytes = ran?;
        let digest = Digest::of(&bytes);
        let objects: Objects = match generator.outputs.same_bytes(name, digest) {
            Some(objects) => objects,
            None => read_objects(&bytes, &name.into(), true, &generator.settings.limits)?.into(),
        };
        let output = Output { digest, objects };
        generator.outputs.put(name, job.key.digest, output.clone());
        Ok(output)
    }

    fn patched(&self, instance: &Instance, output: &Output) -> Result<Objects, Error> {
        let Directive::PatchUpdated { patch_file, .. } = &instance.config.directive else {
            return Ok(Arc::clone(&output.objects));
        };
        let found = patch::find(self.tree, instance, patch_file)?;
        let outputs = &self.generator.outputs;
        if let Some(known) = found.id.and_then(|id| outputs.patched(&instance.name, output, id)) {
            return Ok(known);
        }
        let limits = &self.generator.settings.limits;
        let objects = patch::apply(self.tree, instance, patch_file, &found, (&output.objects, limits))?;
        if let Some(id) = found.id {
            outputs.put_patched(&instance.name, output, id, &objects);
        }
        Ok(objects)
    }
}
