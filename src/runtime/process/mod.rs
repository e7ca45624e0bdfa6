//! The one door to child processes. A command runs in a process group of its own with exactly the environment given, its
//! output is bounded, it ends at its deadline together with everything it started, and no zombie stays behind.
//!
//! What this does not do: choose programs, hide credentials in output (the caller knows them), or retry.

mod capture;
mod descendants;
mod reaper;
mod run;
mod sandbox;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use reaper::{become_subreaper, reap_orphans};
pub use sandbox::{LAUNCH_FLAG, Sandbox, launch};

use super::Stop;

/// How much standard output a command may write by default.
pub const STDOUT_LIMIT: usize = 64 << 20;
/// How much of the end of standard error is kept by default.
pub const STDERR_LIMIT: usize = 64 << 10;

/// The environment of a command. The parent's is never inherited by accident.
#[derive(Clone, Debug)]
pub enum Env {
    /// These variables and no others.
    Exactly(BTreeMap<OsString, OsString>),
}

/// Resource limits of a command and all it starts. `None` leaves the daemon's own limit.
///
/// They are set right after the program was started, so a program's very first instructions run without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rlimits {
    /// Bytes of a core dump.
    pub core: Option<u64>,
    /// Open files.
    pub open_files: Option<u64>,
    /// Bytes of one written file.
    pub file_size: Option<u64>,
    /// Seconds of CPU time per process.
    pub cpu_seconds: Option<u64>,
}

/// A program to run: what, where, with which bounds.
#[derive(Clone, Debug)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    cwd: Option<PathBuf>,
    env: Env,
    stdin: Vec<u8>,
    timeout: Duration,
    grace: Duration,
    stdout_limit: usize,
    stderr_limit: usize,
    limits: Rlimits,
    combine_stderr: bool,
    sandbox: Option<Sandbox>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It returned this exit code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl Status {
    /// Says whether the exit code is 0.
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }
}

impl std::fmt::Display for Status {
    /// The words of Go's `os/exec`, which Flux v1's errors show.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(number) => write!(f, "signal: {}", run::signal_name(*number)),
        }
    }
}

/// What a command left.
#[derive(Clone, Debug)]
pub struct Output {
    /// How it ended.
    pub status: Status,
    /// All of standard output (and standard error in between, if they were combined).
    pub stdout: Vec<u8>,
    /// The end of standard error.
    pub stderr: Vec<u8>,
    /// Whether the start of standard error was dropped.
    pub stderr_truncated: bool,
    /// From start to end.
    pub elapsed: Duration,
}

/// Why a command gave no output.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program could not be started.
    #[error("starting {program}: {source}")]
    Spawn {
        /// The program's name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// Waiting for the program or reading its output failed.
    #[error("running {program}: {source}")]
    Io {
        /// The program's name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It was still running at its deadline, and was ended with all it had started.
    #[error("{program} did not end within {after:?} and was ended")]
    TimedOut {
        /// The program's name.
        program: String,
        /// The time it had.
        after: Duration,
        /// The end of what it had written to standard error.
        stderr: Vec<u8>,
    },
    /// It wrote more to standard output than allowed, and was ended.
    #[error("{program} wrote more than {limit} bytes to standard output and was ended")]
    OutputTooLarge {
        /// The program's name.
        program: String,
        /// How much is allowed.
        limit: usize,
    },
    /// The daemon is stopping; the program was ended.
    #[error("{program} was ended because the daemon stops")]
    Stopped {
        /// The program's name.
        program: String,
    },
}

impl Command {
    /// Describes a run of `program` (a path, or a name looked up in the *command's* `PATH`) with no arguments, an empty
    /// environment, no input and one minute of time.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            env: Env::Exactly(BTreeMap::new()),
            stdin: Vec::new(),
            timeout: Duration::from_secs(60),
            grace: Duration::from_secs(2),
            stdout_limit: STDOUT_LIMIT,
            stderr_limit: STDERR_LIMIT,
            limits: Rlimits::default(),
            combine_stderr: false,
            sandbox: None,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the directory the program starts in.
    #[must_use]
    pub fn cwd(mut self, dir: impl AsRef<Path>) -> Self {
        self.cwd = Some(dir.as_ref().to_owned());
        self
    }

    /// Sets the whole environment.
    #[must_use]
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Sets what the program reads from standard input; it may stop reading early.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets the time after which the program is ended.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the time between SIGTERM and SIGKILL (2 s if not set).
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets how many bytes of standard output are allowed.
    #[must_use]
    pub fn stdout_limit(mut self, bytes: usize) -> Self {
        self.stdout_limit = bytes;
        self
    }

    /// Sets how many of the last bytes of standard error are kept.
    #[must_use]
    pub fn stderr_limit(mut self, bytes: usize) -> Self {
        self.stderr_limit = bytes;
        self
    }

    /// Sets resource limits.
    #[must_use]
    pub fn limits(mut self, limits: Rlimits) -> Self {
        self.limits = limits;
        self
    }

    /// Writes standard error into standard output, in the order written.
    #[must_use]
    pub fn combine_stderr(mut self) -> Self {
        self.combine_stderr = true;
        self
    }

    /// Confines the program's file access.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Option<Sandbox>) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Runs the program to its end. An exit code other than 0 is not an error here: see [`Output::status`].
    ///
    /// The program and all its descendants are ended at the deadline, when `stop` stops, when standard output grows too
    /// large, and when the returned future is dropped. Descendants that outlive the program itself are given until their
    /// output ends, at most the grace time, and are then ended too.
    ///
    /// # Errors
    /// See [`ProcessError`].
    pub async fn run(self, stop: &Stop) -> Result<Output, ProcessError> {
        run::run(self, stop).await
    }

    fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}
