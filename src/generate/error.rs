//! Why generation failed, in Flux v1's words where v1 has words for it (fluxd-v1 §3.1, §3.2, §4).

use std::fmt;

use crate::object::Duplicate;
use crate::tree::TreeError;

use super::ReadError;

/// One reason for which the set of desired objects is not whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A raw file or what a command wrote is no set of objects.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A configured path at which the search for a `.flux.yaml` starts does not exist.
    #[error("error finding a config file starting at path {path:?}: {source}")]
    Discover {
        /// The path as configured.
        path: String,
        /// Why.
        source: TreeError,
    },
    /// A path leads out of the repository.
    #[error("path {0:?} is outside of base directory \".\" (the root of the repository)")]
    Outside(String),
    /// One object is defined twice.
    #[error(transparent)]
    Duplicate(#[from] Box<Duplicate>),
    /// A `.flux.yaml` is not usable.
    #[error("cannot parse config file: {reason}\n(in {file:?})")]
    Config {
        /// Display name of the config.
        file: String,
        /// Why.
        reason: ConfigError,
    },
    /// A command of a `.flux.yaml` failed.
    #[error(transparent)]
    Command(#[from] Box<CommandError>),
    /// The patch file's directory is missing.
    #[error("base directory ({directory:?}) of patchFile ({file:?}) does not exist")]
    PatchDirectory {
        /// The directory, relative to the repository root.
        directory: String,
        /// The patch file as the config names it.
        file: String,
    },
    /// A patch file does not fit what the generators wrote.
    #[error("processing {config:?}, cannot apply patchFile {file:?} to generated resources: {reason}")]
    Patch {
        /// The config's path from the working directory.
        config: String,
        /// Path of the patch file as the config names it.
        file: String,
        /// Why, with the place in the patch file where there is one.
        reason: String,
    },
    /// The working copy for the commands could not be made.
    #[error("cannot make a working copy of revision {revision} for generators: {reason}")]
    Export {
        /// The revision.
        revision: String,
        /// Why.
        reason: String,
    },
    /// The process is stopping.
    #[error("stopped while generating manifests")]
    Stopped,
}

/// Why a `.flux.yaml` is not usable (fluxd-v1 §4.2).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// Its content could not be had.
    #[error("cannot read: {0}")]
    Read(String),
    /// It is no YAML, or a value that the schema let pass cannot be decoded.
    #[error("cannot parse: {0}")]
    Parse(String),
    /// The schema rejects it; one violation a line.
    #[error("config file is not valid: \n{}", .0.join("\n"))]
    Invalid(Vec<String>),
}

/// A generator command that failed, in v1's layout. What it wrote to its standard output never stands here: manifests may
/// hold secrets (v1 too prints the error output twice).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError {
    /// The command as written.
    pub command: String,
    /// The config's path from the working directory.
    pub file: String,
    /// Display name of the config.
    pub name: String,
    /// `exit status 1`, `signal: killed`, `context deadline exceeded …`.
    pub reason: String,
    /// What the command wrote to its standard error, bounded.
    pub stderr: String,
}

impl std::error::Error for CommandError {}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, file, name, reason, stderr } = self;
        write!(f, "error executing generator command {command:?} from file {file:?}: {reason}")?;
        write!(f, "\nerror output:\n{stderr}\ngenerated output:\n{stderr}")?;
        let end = if stderr.is_empty() || stderr.ends_with('\n') { "" } else { "\n" };
        write!(f, "{end}(in {name:?})")
    }
}
