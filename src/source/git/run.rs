//! The one place that runs the git program (and those that belong to it: gpg, ssh-keygen): with which environment and
//! configuration, for how long, and in which words a failure is told (fluxd-v1 §2.2).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use super::Error;
use super::url::redact_all;
use crate::runtime::Stop;
use crate::runtime::process::{Command, Env, ProcessError};

/// Configuration of every run. Nothing that travels with a repository is executed; objects are checked when they come in,
/// but flaws that old tools wrote into many histories are let through.
const CONFIG: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
    "gc.autoDetach=false",
    "transfer.fsckObjects=true",
    "fetch.fsck.zeroPaddedFilemode=warn",
    "fetch.fsck.badFilemode=warn",
    "fetch.fsck.badTimezone=warn",
    "fetch.fsck.badDate=warn",
    "fetch.fsck.zeroPaddedDate=warn",
    "fetch.fsck.missingSpaceBeforeDate=warn",
    "fetch.fsck.missingSpaceBeforeEmail=warn",
    "fetch.fsck.missingNameBeforeEmail=warn",
    "fetch.fsck.missingEmail=warn",
    "fetch.fsck.badEmail=warn",
    "fetch.fsck.multipleAuthors=warn",
    "fetch.fsck.missingTaggerEntry=warn",
    "fetch.fsck.gitmodulesUrl=warn",
];

/// Where programs are looked up when the environment does not say.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How programs of git are run for one repository.
#[derive(Clone, Debug)]
pub(super) struct Git {
    env: BTreeMap<OsString, OsString>,
    config: Vec<OsString>,
    timeout: Duration,
    secrets: Vec<String>,
}

/// One run: what it is called in errors, its arguments, and where it happens.
#[derive(Debug, Default)]
pub(super) struct Call {
    prefix: String,
    args: Vec<OsString>,
    cwd: Option<PathBuf>,
    stdin: Vec<u8>,
}

impl Call {
    /// Describes `git ARGS`; `prefix` stands before the text of a failure.
    pub(super) fn new<A: AsRef<OsStr>>(prefix: impl Into<String>, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
        Self { prefix: prefix.into(), args, ..Self::default() }
    }

    pub(super) fn cwd(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cwd = Some(dir.into());
        self
    }

    pub(super) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    fn shown_args(&self) -> String {
        self.args.iter().map(|a| a.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

impl Git {
    /// Takes the forwarded environment; texts in `secrets` never appear in an error.
    pub(super) fn new(env: &BTreeMap<OsString, OsString>, timeout: Duration, secrets: Vec<String>) -> Self {
        let mut env = env.clone();
        env.entry("PATH".into()).or_insert_with(|| PATH.into());
        env.insert("GIT_TERMINAL_PROMPT".into(), "0".into());
        env.insert("LC_ALL".into(), "C".into());
        let config = CONFIG.iter().map(OsString::from).collect();
        Self { env, config, timeout, secrets }
    }

    /// Adds a variable to the environment.
    #[must_use]
    pub(super) fn with_env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Adds a configuration entry `name=value`.
    #[must_use]
    pub(super) fn with_config(mut self, entry: impl Into<OsString>) -> Self {
        self.config.push(entry.into());
        self
    }

    /// Takes credentials out of a text.
    pub(super) fn redact(&self, text: &str) -> String {
        redact_all(text, &self.secrets)
    }

    /// Runs git to its end and returns what it printed.
    pub(super) async fn run(&self, call: Call, stop: &Stop) -> Result<Vec<u8>, Error> {
        let config = self.config.iter().flat_map(|entry| [OsString::from("-c"), entry.clone()]);
        let args: Vec<OsString> = config.chain(call.args.iter().cloned()).collect();
        self.start("git", args, call, stop).await
    }

    /// Runs another program with the same environment, bounds and errors.
    pub(super) async fn run_program(&self, program: &'static str, call: Call, stop: &Stop) -> Result<Vec<u8>, Error> {
        let args = call.args.clone();
        self.start(program, args, call, stop).await
    }

    async fn start(
        &self,
        program: &'static str,
        args: Vec<OsString>,
        call: Call,
        stop: &Stop,
    ) -> Result<Vec<u8>, Error> {
        let shown = self.redact(&call.shown_args());
        let mut command = Command::new(program)
            .args(args)
            .env(Env::Exactly(self.env.clone()))
            .stdin(call.stdin)
            .timeout(self.timeout);
        if let Some(dir) = call.cwd {
            command = command.cwd(dir);
        }
        let output = command.run(stop).await.map_err(|e| self.process_error(program, &call.prefix, shown, e))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let all = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat();
        let text = if all.trim().is_empty() { output.status.to_string() } else { failure_text(&self.redact(&all)) };
        Err(Error::Git { prefix: self.redact(&call.prefix), message: text })
    }

    fn process_error(&self, program: &'static str, prefix: &str, args: String, error: ProcessError) -> Error {
        match error {
            ProcessError::TimedOut { .. } => Error::TimedOut { prefix: self.redact(prefix), args },
            ProcessError::Stopped { .. } => Error::Cancelled { args },
            other => Error::Program { program, reason: self.redact(&other.to_string()) },
        }
    }
}

/// The error line first, then all output, as Flux v1's users know it.
pub(super) fn failure_text(output: &str) -> String {
    let line = output.lines().find_map(|line| {
        let is_fatal = line.starts_with("fatal: ") || line.starts_with("ERROR fatal: ");
        if is_fatal { Some(line) } else { line.strip_prefix("error:") }
    });
    match line {
        Some(line) => format!("{}, full output:\n {output}", line.trim()),
        None => output.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_line_comes_first_and_all_output_follows() {
        let table = [
            ("fatal: no such remote\n", "fatal: no such remote, full output:\n fatal: no such remote\n"),
            ("noise\nerror: pathspec\nfatal: x\n", "pathspec, full output:\n noise\nerror: pathspec\nfatal: x\n"),
            ("ERROR fatal: denied", "ERROR fatal: denied, full output:\n ERROR fatal: denied"),
            ("Permission denied", "Permission denied"),
        ];
        for (output, text) in table {
            assert_eq!(failure_text(output), text);
        }
    }

    #[tokio::test]
    async fn a_failure_names_what_was_tried_and_hides_credentials() {
        let git = Git::new(&BTreeMap::new(), Duration::from_secs(60), vec!["hunter22".into()]);
        let call = Call::new("git fetch: ", ["ls-remote", "/nowhere/hunter22"]);
        let error = git.run(call, &Stop::new()).await.unwrap_err().to_string();
        assert!(error.starts_with("git fetch: fatal: "), "{error}");
        assert!(error.contains("<redacted>") && !error.contains("hunter22"), "{error}");
    }

    #[tokio::test]
    async fn a_run_past_its_deadline_is_told_in_the_known_words() {
        let git = Git::new(&BTreeMap::new(), Duration::from_millis(20), Vec::new());
        let call = Call::new("x: ", ["-c", "alias.wait=!sleep 600", "wait"]);
        let error = git.run(call, &Stop::new()).await.unwrap_err().to_string();
        let text = "x: running git command: git [-c alias.wait=!sleep 600 wait]: context deadline exceeded";
        assert_eq!(error, text);
    }
}
