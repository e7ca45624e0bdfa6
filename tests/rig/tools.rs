//! Programs that tests run beside fluxd, built once per machine by `scripts/tools`.

use super::controlplane::source_root;
use super::processes::run;
use std::path::PathBuf;
use std::process::Command;

/// The path of a program of one of the sets under `e2e/tools`; built first where the machine does not have it yet.
#[track_caller]
pub fn tool(set: &str, program: &str) -> PathBuf {
    let directory = run(Command::new(source_root().join("scripts/tools")).arg(set));
    let path = PathBuf::from(directory.trim()).join(program);
    assert!(path.is_file(), "scripts/tools {set} made no {program} in {}", directory.trim());
    path
}
