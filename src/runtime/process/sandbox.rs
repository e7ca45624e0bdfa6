//! Confining a command's file access with Landlock. The rules are laid on by a fresh process of our own binary, which then
//! becomes the command: nothing runs between fork and exec in a copy of the daemon's memory.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    path_beneath_rules,
};

/// The first argument that makes our binary a launcher instead of the daemon.
pub const LAUNCH_FLAG: &str = "--internal-launch";

/// Where a command may read and write. Everything else is denied; the network is not restricted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Our own binary.
    pub launcher: PathBuf,
    /// Files and directories that may be read and executed.
    pub read: Vec<PathBuf>,
    /// Files and directories that may also be written.
    pub write: Vec<PathBuf>,
}

/// Why a confined command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The launcher's arguments are not what [`Sandbox`] writes.
    #[error("launcher: expected --read PATH, --write PATH, then -- PROGRAM, found {0:?}")]
    Arguments(OsString),
    /// The rules could not be made.
    #[error("generator sandbox: {0}")]
    Rules(#[from] landlock::RulesetError),
    /// The kernel has no Landlock, or it is switched off.
    #[error("generator sandbox: this kernel does not offer Landlock; run without --generator-sandbox")]
    Unsupported,
    /// The program itself could not be started.
    #[error("{0:?}: {1}")]
    Exec(OsString, io::Error),
}

impl Sandbox {
    /// Wraps a command line into a call of the launcher.
    pub(super) fn wrap(&self, program: OsString, args: Vec<OsString>) -> (OsString, Vec<OsString>) {
        let mut all = vec![OsString::from(LAUNCH_FLAG)];
        for (flag, paths) in [("--read", &self.read), ("--write", &self.write)] {
            for path in paths {
                all.push(flag.into());
                all.push(path.into());
            }
        }
        all.push("--".into());
        all.push(program);
        all.extend(args);
        (self.launcher.clone().into(), all)
    }
}

/// Lays the rules on this process and becomes the program. Returns only if that failed.
///
/// `args` are those after [`LAUNCH_FLAG`].
pub fn launch(args: impl IntoIterator<Item = OsString>) -> LaunchError {
    match prepare(args.into_iter()) {
        Ok((program, args)) => {
            #[allow(clippy::disallowed_methods, reason = "this is the door that the lint points to")]
            let failed = std::process::Command::new(&program).args(args).exec();
            LaunchError::Exec(program, failed)
        }
        Err(e) => e,
    }
}

fn prepare(mut args: impl Iterator<Item = OsString>) -> Result<(OsString, Vec<OsString>), LaunchError> {
    let (mut read, mut write) = (Vec::new(), Vec::new());
    loop {
        let flag = args.next().unwrap_or_default();
        let value = args.next().ok_or_else(|| LaunchError::Arguments(flag.clone()))?;
        match flag.to_str() {
            Some("--read") => read.push(value),
            Some("--write") => write.push(value),
            Some("--") => {
                confine(&read, &write)?;
                return Ok((value, args.collect()));
            }
            _ => return Err(LaunchError::Arguments(flag)),
        }
    }
}

fn confine(read: &[OsString], write: &[OsString]) -> Result<(), LaunchError> {
    let abi = ABI::V5;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))?
        .create()?
        .add_rules(path_beneath_rules(read, AccessFs::from_read(abi)))?
        .add_rules(path_beneath_rules(write, AccessFs::from_all(abi)))?
        .restrict_self()?;
    if status.ruleset == RulesetStatus::NotEnforced { Err(LaunchError::Unsupported) } else { Ok(()) }
}
