//! The program: arguments and environment into settings, the process's life, exit codes. The only room that prints, and
//! the only one that sees environment variables.

mod connect;
mod controllers;
mod ending;
mod environment;
mod flags;
pub mod fluxctl;
mod leader;
mod run;
mod settings;
mod watchdog;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use tracing::Level;

use crate::runtime::{TaskError, log, process};
use crate::serve;
use environment::Environment;
use flags::{Given, Parsed};
use settings::Notice;

/// Exit code of a command line that cannot be used, as v1's.
const BAD_USAGE: u8 = 2;

/// Runs the program with its arguments (the first is its name) and returns its exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter().skip(1).peekable();
    if args.peek().is_some_and(|arg| arg == process::LAUNCH_FLAG) {
        let failed = process::launch(args.skip(1));
        print_error(&failed.to_string());
        return ExitCode::from(126);
    }
    if args.peek().is_some_and(|arg| arg == "controllers") {
        return controllers::main(args.skip(1));
    }
    let mut notices = Vec::new();
    let parsed = flags::parse(args, &mut notices);
    notices.iter().for_each(|line| print_error(line));
    match parsed {
        Err(error) => {
            print_error(&format!("Error: {error}\n\n{}", flags::usage().trim_end()));
            ExitCode::from(BAD_USAGE)
        }
        Ok(Parsed::Help) => {
            // Where v1 put it, so that `fluxd --help 2>&1 | grep` goes on working.
            print_error(flags::usage().trim_end());
            ExitCode::SUCCESS
        }
        Ok(Parsed::Run { given, .. }) if given.bool("version") => print(concat!(env!("CARGO_PKG_VERSION"), "\n")),
        Ok(Parsed::Run { given, rest }) => match rest.first().map(String::as_str) {
            Some("openapi") => print_openapi(),
            Some("crd") => controllers::print_definitions(),
            _ => daemon(&given),
        },
    }
}

/// Runs the daemon.
fn daemon(given: &Given) -> ExitCode {
    let format = if given.text("log-format") == "json" { log::Format::Json } else { log::Format::Logfmt };
    let level = given.text("log-level").parse::<Level>();
    if let Err(error) = log::init(format, *level.as_ref().unwrap_or(&Level::INFO)) {
        print_error(&format!("Error: {error}"));
        return ExitCode::FAILURE;
    }
    tracing::info!(version = env!("CARGO_PKG_VERSION"));
    if level.is_err() {
        let given = given.text("log-level");
        tracing::error!(err = format!("--log-level must be one of error, warn, info, debug, trace, not {given:?}"));
        return ExitCode::FAILURE;
    }
    let (env, mut notices) = (Environment::read(), Vec::new());
    let built = settings::build(given, &env, &mut notices);
    notices.iter().for_each(tell);
    match built {
        Ok(settings) => in_runtime(run::run(settings, &env)),
        Err(error) => fatal(&error),
    }
}

/// Runs a program's life on a runtime of its own.
fn in_runtime(life: impl Future<Output = Result<(), TaskError>>) -> ExitCode {
    // A provider that is installed already serves as well.
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fatal(&error),
    };
    let ended = runtime.block_on(life);
    // Blocking work that does not end must not keep the process.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fatal(&*error),
    }
}

fn fatal(error: &dyn std::error::Error) -> ExitCode {
    tracing::error!(err = %error);
    ExitCode::FAILURE
}

fn tell(notice: &Notice) {
    match notice {
        Notice::Warning(text) => tracing::warn!("{text}"),
        Notice::Info(text) => tracing::info!("{text}"),
        Notice::Overridden { flag, value } => tracing::info!(overridden = flag, value),
    }
}

fn print_openapi() -> ExitCode {
    match serve::document(env!("CARGO_PKG_VERSION")) {
        Ok(document) => print(&String::from_utf8_lossy(&document)),
        Err(error) => {
            print_error(&format!("Error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints to standard output. A reader that has gone away, such as `head`, is no failure.
fn print(text: &str) -> ExitCode {
    std::io::stdout().lock().write_all(text.as_bytes()).ok();
    ExitCode::SUCCESS
}

fn print_error(text: &str) {
    // Standard error is gone: there is nowhere left to say so.
    writeln!(std::io::stderr().lock(), "{text}").ok();
}
