//! What decides how a tree is loaded.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::object::yaml::Limits;
use crate::runtime::process::Sandbox;

use super::sops::SopsKeys;

/// What happens when a file or a generator fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LoadErrors {
    /// The whole load fails, as in Flux v1.
    #[default]
    Stop,
    /// The others go on, and the result is marked incomplete.
    Skip,
}

/// Settings of a [`Generator`](super::Generator).
#[derive(Clone, Debug)]
pub struct Settings {
    /// Paths relative to the repository root (`--git-path`); empty means the root.
    pub paths: Vec<String>,
    /// Whether `.flux.yaml` files are looked for (`--manifest-generation`).
    pub manifest_generation: bool,
    /// Keys for files encrypted with SOPS (`--sops`); `None` leaves such files as they are.
    pub sops: Option<SopsKeys>,
    /// How long a command may run that names no time of one second or more (`--sync-timeout`).
    pub default_timeout: Duration,
    /// The environment of generators, whole.
    pub env: BTreeMap<OsString, OsString>,
    /// What happens when a file or a generator fails (`--load-errors`).
    pub load_errors: LoadErrors,
    /// Confinement of commands (`--generator-sandbox`); the working copy is added to what they may write.
    pub sandbox: Option<Sandbox>,
    /// Bounds of every YAML stream.
    pub limits: Limits,
    /// Directory under which working copies are made; `None` is the system's own for temporary files.
    pub scratch: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            manifest_generation: false,
            sops: None,
            default_timeout: Duration::from_secs(60),
            env: BTreeMap::new(),
            load_errors: LoadErrors::Stop,
            sandbox: None,
            limits: Limits::default(),
            scratch: None,
        }
    }
}
