//! `fluxctl` as its users meet it: beside the original against a daemon that answers by a script, against our daemon, through
//! a port forward, and at a terminal.

mod compared;
mod daemon;
mod double;
mod flags;
mod forward;
mod install;
mod ours;
mod terminal;

use crate::rig::tool;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What one invocation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

/// The `fluxctl` of this source.
fn own() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_fluxctl"))
}

/// The original fluxctl 1.25.4.
fn original() -> PathBuf {
    tool("flux-v1", "fluxctl")
}

/// A command with a home of its own, and of the environment only what it is given.
fn command(program: &Path, home: &Path, url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", home).env("TZ", "UTC");
    command.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(home).args(args).stdin(Stdio::null());
    if !url.is_empty() {
        command.env("FLUX_URL", url);
    }
    command
}

/// Runs a command to its end.
#[track_caller]
fn run(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { stdout: text(&output.stdout), stderr: text(&output.stderr), code: output.status.code() }
}

/// Runs ours against an address.
#[track_caller]
fn fluxctl(url: &str, args: &[&str]) -> Ran {
    let home = tempfile::tempdir().unwrap();
    run(command(&own(), home.path(), url, args))
}
