//! `fluxd controllers`, the controllers beside the git loop, and `fluxd crd`: which controllers there are, with which
//! settings, in which process. What they do is theirs.

mod counted;
mod run;
mod settings;
mod start;

use std::ffi::OsString;
use std::process::ExitCode;

use super::environment::Environment;
use super::flags::{Given, Parsed, of_controllers, parse_controllers};
use super::settings::SettingsError;
use super::{BAD_USAGE, fatal, in_runtime, print, print_error};
use crate::api;
use crate::object::yaml;
use crate::runtime::log;

pub(super) use settings::{Common, common};
pub(super) use start::{Cluster, start};

/// The word of `--controllers` for ResourceSets and their input providers.
const RESOURCE_SET: &str = "resourceset";

/// Runs `fluxd controllers` with the arguments behind it.
pub(super) fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse_controllers(args) {
        Err(error) => {
            print_error(&format!("Error: {error}\n\n{}", of_controllers().trim_end()));
            ExitCode::from(BAD_USAGE)
        }
        Ok(Parsed::Help) => print(&of_controllers()),
        Ok(Parsed::Run { rest, .. }) if !rest.is_empty() => {
            print_error(&format!("Error: fluxd controllers takes flags only, not {:?}", rest[0]));
            ExitCode::from(BAD_USAGE)
        }
        Ok(Parsed::Run { given, .. }) => controllers(&given),
    }
}

fn controllers(given: &Given) -> ExitCode {
    let unusable = |error: &SettingsError| {
        print_error(&format!("Error: {error}"));
        ExitCode::FAILURE
    };
    let (format, level) = match settings::logging(given) {
        Ok(logging) => logging,
        Err(error) => return unusable(&error),
    };
    if let Err(error) = log::init(format, level) {
        print_error(&format!("Error: {error}"));
        return ExitCode::FAILURE;
    }
    tracing::info!(version = env!("CARGO_PKG_VERSION"));
    for (name, why) in given.without_effect() {
        tracing::warn!("--{name} has no effect: {why}");
    }
    let env = Environment::read();
    match settings::alone(given, &env) {
        Ok(settings) => in_runtime(run::run(settings, &env)),
        Err(error) => fatal(&error),
    }
}

/// Whether `--controllers` asks for ours.
pub(super) fn are_wanted(given: &Given) -> Result<bool, SettingsError> {
    let names = given.list("controllers");
    match names.iter().find(|name| *name != RESOURCE_SET) {
        Some(name) => {
            Err(SettingsError(format!("--controllers value {name:?} is not in possible values {{{RESOURCE_SET}}}")))
        }
        None => Ok(!names.is_empty()),
    }
}

/// Prints the definitions of the custom resources, for `kubectl apply --server-side -f -`.
pub(super) fn print_definitions() -> ExitCode {
    let mut text = String::new();
    for definition in api::definitions() {
        match serde_json::to_value(&definition) {
            Ok(value) => text.push_str(&format!("---\n{}", yaml::write(&value))),
            Err(error) => {
                print_error(&format!("Error: a definition could not be written: {error}"));
                return ExitCode::FAILURE;
            }
        }
    }
    print(&text)
}
