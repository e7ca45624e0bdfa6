//! Runs the generators of one `.flux.yaml` (fluxd-v1 §4.3): each line by `/bin/sh -c`, in order, outputs one after another
//! as one stream of documents.

use std::path::Path;
use std::time::Duration;

use crate::runtime::Stop;
use crate::runtime::process::{self, Env, ProcessError, Rlimits};

use super::discover::Instance;
use super::{Command, CommandError, Error, Settings};

/// Bytes that one file written by a command may have.
const FILE_SIZE: u64 = 4 << 30;
/// Files that a process of a command may hold open.
const OPEN_FILES: u64 = 65_536;

/// Runs all generators of `instance` in a working copy and returns their joined output.
///
/// # Errors
/// The first command that fails, in v1's layout; [`Error::Stopped`].
pub(super) async fn generate(
    instance: &Instance,
    copy: &Path,
    settings: &Settings,
    stop: &Stop,
) -> Result<Vec<u8>, Error> {
    let dir = copy.join(&instance.dir);
    let mut stream = Vec::new();
    for command in instance.config.generators() {
        let failed = |reason: String, stderr: &[u8]| {
            let stderr = String::from_utf8_lossy(stderr).into_owned();
            let (command, file) = (command.command.clone(), instance.file().to_owned());
            Error::from(Box::new(CommandError { command, file, name: instance.name.clone(), reason, stderr }))
        };
        let output = match shell(command, &dir, copy, settings).run(stop).await {
            Ok(output) => output,
            Err(ProcessError::Stopped { .. }) => return Err(Error::Stopped),
            Err(ProcessError::TimedOut { after, stderr, .. }) => {
                let reason = format!("context deadline exceeded: ended after {after:?} with all it had started");
                return Err(failed(reason, &stderr));
            }
            Err(other) => return Err(failed(other.to_string(), &[])),
        };
        if !output.status.success() {
            return Err(failed(output.status.to_string(), &output.stderr));
        }
        append(&mut stream, &output.stdout);
    }
    Ok(stream)
}

/// The line of a command, with all that bounds it.
pub(super) fn shell(command: &Command, dir: &Path, copy: &Path, settings: &Settings) -> process::Command {
    let timeout = command.timeout.unwrap_or(settings.default_timeout);
    let sandbox = settings.sandbox.clone().map(|mut sandbox| {
        sandbox.write.push(copy.to_owned());
        sandbox
    });
    process::Command::new("/bin/sh")
        .args(["-c", &command.command])
        .cwd(dir)
        .env(Env::Exactly(settings.env.clone()))
        .timeout(timeout)
        .limits(limits(timeout))
        .sandbox(sandbox)
}

/// A process cannot use more CPU time than all cores in its time; what it leaves running beyond that is ended by the kernel
/// even if everything else fails.
fn limits(timeout: Duration) -> Rlimits {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    Rlimits {
        core: Some(0),
        open_files: Some(OPEN_FILES),
        file_size: Some(FILE_SIZE),
        cpu_seconds: Some((timeout.as_secs() + 1).saturating_mul(cores)),
    }
}

/// Adds one output as a document of its own, whatever the one before it ended with.
fn append(stream: &mut Vec<u8>, output: &[u8]) {
    if stream.last().is_some_and(|byte| *byte != b'\n') {
        stream.push(b'\n');
    }
    stream.extend_from_slice(b"---\n");
    stream.extend_from_slice(output);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_joined_as_documents() {
        let mut stream = Vec::new();
        for output in ["a: 1", "b: 2\n", "", "c: 3"] {
            append(&mut stream, output.as_bytes());
        }
        assert_eq!(String::from_utf8(stream).unwrap(), "---\na: 1\n---\nb: 2\n---\n---\nc: 3");
    }
}
