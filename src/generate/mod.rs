//! From a tree to desired objects: plain manifests, and what the commands and patches of `.flux.yaml` files make.
//!
//! It knows neither git nor the cluster. A tree comes in, objects with their origins go out; a directory on disk is made
//! only when a command has to run.

mod error;
#[allow(dead_code, reason = "its caller, the generator, lands beside it")]
mod files;
#[allow(dead_code, reason = "its caller, the generator, lands beside it")]
mod parsed;
#[allow(dead_code, reason = "its caller, the generator, lands beside it")]
mod read;
mod settings;
pub mod sops;

use crate::object::{Object, Origin};
use crate::runtime::Stop;
use crate::tree::Tree;

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;

pub use error::{CommandError, ConfigError, Error};
pub use read::ReadError;
pub use settings::{LoadErrors, Settings};
#[allow(unused_imports, reason = "their caller, the generator, lands beside them")]
pub(crate) use {
    files::{Found, RawFile, raw_files},
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

/// Loads trees, and remembers what may be reused for the next one.
#[derive(Debug)]
pub struct Generator {
    settings: Settings,
}

impl Generator {
    /// Makes one with nothing remembered.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Forgets every generator output, so that the next load runs all commands.
    pub fn reset(&self) {}

    /// Loads a tree. `export` is called at most once, when a command has to run. With `rerun`, commands run again at a
    /// revision whose output is known, unless their config declares its inputs.
    ///
    /// # Errors
    /// With [`LoadErrors::Stop`], the first error in the order of the configured paths. With [`LoadErrors::Skip`] only when
    /// stopped.
    pub async fn load(&self, tree: &Tree, export: &Export, rerun: bool, stop: &Stop) -> Result<Loaded, Error> {
        let (_, _) = (export, rerun);
        if stop.is_stopped() {
            return Err(Error::Stopped);
        }
        let path = self.settings.paths.join(",");
        Err(ReadError::Root { path, reason: format!("not built yet at {}", tree.revision()) }.into())
    }
}
