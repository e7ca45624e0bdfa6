//! The command line of `fluxctl`: verbs and flags into calls of the client, its answers onto the terminal.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs one invocation, given the program's name and its arguments.
pub fn main(_args: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::FAILURE
}
