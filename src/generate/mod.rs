//! From a tree to desired objects: plain manifests, and what the commands and patches of `.flux.yaml` files make.
//!
//! It knows neither git nor the cluster. A tree comes in, objects with their origins go out; a directory on disk is made
//! only when a command has to run.

mod commands;
mod config;
mod copy;
mod delta;
mod discover;
mod duration;
mod error;
mod files;
mod key;
mod outputs;
mod parsed;
mod pass;
mod patch;
mod read;
mod schema;
mod settings;
pub mod smp;
pub mod sops;
#[cfg(test)]
mod tests;
mod update;

use crate::object::{Object, Origin};
use crate::runtime::Stop;
use crate::tree::{Revision, Tree};

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;

pub use config::{Command, Config, Directive, Inputs, Updater};
pub use error::{CommandError, ConfigError, Error};
pub use read::ReadError;
pub use settings::{LoadErrors, Settings};
pub use update::{Change, Collect, UpdateError, Updated, Working, WorkloadChange};
pub(crate) use {
    files::{RawFile, raw_files},
    parsed::ParsedFiles,
    read::read_objects,
};

/// Writes the files of a tree into an empty directory (a checkout); an error is a reason in words.
pub type Export = Arc<dyn Fn(Tree, PathBuf) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Something a user should know that stops nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where.
    pub origin: Origin,
    /// What.
    pub message: String,
}

/// What a tree says should exist.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The objects; every identity as written stands once.
    pub objects: Vec<Arc<Object>>,
    /// What users should know.
    pub warnings: Vec<Warning>,
    /// What was left out; only with [`LoadErrors::Skip`].
    pub errors: Vec<Error>,
    /// Whether nothing was left out. When false, what is missing here may only be unread: nothing may be deleted.
    pub complete: bool,
}

/// Hears how long the commands of one `.flux.yaml` took, and whether they succeeded.
#[derive(Clone)]
pub struct OnRun(pub Arc<dyn Fn(Duration, bool) + Send + Sync>);

impl std::fmt::Debug for OnRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnRun")
    }
}

/// Loads trees, and remembers what may be reused for the next one: parsed files by content, the last output of each
/// `.flux.yaml`, and the last whole result.
#[derive(Debug)]
pub struct Generator {
    settings: Settings,
    parsed: Arc<ParsedFiles>,
    outputs: outputs::Outputs,
    last: Mutex<Option<(Revision, Loaded)>>,
    delta: Mutex<Option<delta::Last>>,
    on_run: Option<OnRun>,
}

impl Generator {
    /// Makes one with nothing remembered.
    pub fn new(settings: Settings) -> Self {
        let parsed = Arc::new(ParsedFiles::new(settings.limits, settings.sops.clone()));
        let (outputs, last, delta) = Default::default();
        Self { settings, parsed, outputs, last, delta, on_run: None }
    }

    /// Lets `hook` hear of commands.
    pub fn on_run(mut self, hook: OnRun) -> Self {
        self.on_run = Some(hook);
        self
    }

    /// Forgets every output, so that the next load runs all commands, also those whose inputs are declared.
    pub fn reset(&self) {
        self.outputs.clear();
        *self.lock_last() = None;
        *self.lock_delta() = None;
    }

    /// Loads a tree. `export` is called at most once, when a command has to run. With `rerun`, commands run again at a
    /// revision whose output is known, unless their config declares its inputs.
    ///
    /// # Errors
    /// With [`LoadErrors::Stop`], the first error in the order of the configured paths. With [`LoadErrors::Skip`] only when
    /// stopped, or when no working copy can be made.
    pub async fn load(&self, tree: &Tree, export: &Export, rerun: bool, stop: &Stop) -> Result<Loaded, Error> {
        if stop.is_stopped() {
            return Err(Error::Stopped);
        }
        if !rerun && let Some(known) = self.recall(tree.revision()) {
            return Ok(known);
        }
        let loaded = self.load_anew(tree, export, rerun, stop).await?;
        *self.lock_last() = loaded.complete.then(|| (tree.revision().clone(), loaded.clone()));
        Ok(loaded)
    }

    /// Loads a tree whatever was loaded last, and keeps that.
    async fn load_anew(&self, tree: &Tree, export: &Export, rerun: bool, stop: &Stop) -> Result<Loaded, Error> {
        if let Some(loaded) = delta::load(self, tree, stop).await {
            return Ok(loaded);
        }
        self.parsed.begin_pass();
        pass::Pass::new(self, tree, export, rerun, stop).run().await
    }

    fn recall(&self, revision: &Revision) -> Option<Loaded> {
        let last = self.lock_last();
        last.as_ref().filter(|(known, _)| known == revision).map(|(_, loaded)| loaded.clone())
    }

    fn lock_delta(&self) -> MutexGuard<'_, Option<delta::Last>> {
        self.delta.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_last(&self) -> MutexGuard<'_, Option<(Revision, Loaded)>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
