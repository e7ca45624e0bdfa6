//! One run of a command: start, feed, read, wait, and the end of everything it started, whichever way it goes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStdin};

use super::capture::{Capture, CaptureError, Excess};
use super::descendants::{self, Process};
use super::{Command, Env, Output, ProcessError, Rlimits, Status, reaper};
use crate::runtime::Stop;

/// How often the end of killed processes is looked for.
const POLL: Duration = Duration::from_millis(10);

pub(super) async fn run(command: Command, stop: &Stop) -> Result<Output, ProcessError> {
    let (program, started) = (command.name(), Instant::now());
    if stop.is_stopped() {
        return Err(ProcessError::Stopped { program });
    }
    let mut stdout = Capture::new(command.stdout_limit, Excess::Refuse);
    let mut stderr = Capture::new(command.stderr_limit, Excess::DropOldest);
    let mut running = start(&command).map_err(|source| ProcessError::Spawn { program: program.clone(), source })?;
    let ended = tokio::select! {
        biased;
        ended = work(&mut running, &command, (&mut stdout, &mut stderr)) => ended,
        () = stop.stopped() => Err(Cut::Stopped),
        () = tokio::time::sleep(command.timeout) => Err(Cut::TimedOut),
    };
    if ended.is_err() {
        running.end(command.grace).await;
    }
    running.end_leftovers().await;
    let (stderr, stderr_truncated) = stderr.finish();
    match ended {
        Ok(status) => {
            let stdout = stdout.finish().0;
            Ok(Output { status, stdout, stderr, stderr_truncated, elapsed: started.elapsed() })
        }
        Err(Cut::Stopped) => Err(ProcessError::Stopped { program }),
        Err(Cut::TimedOut) => Err(ProcessError::TimedOut { program, after: command.timeout, stderr }),
        Err(Cut::TooLarge) => Err(ProcessError::OutputTooLarge { program, limit: command.stdout_limit }),
        Err(Cut::Io(source)) => Err(ProcessError::Io { program, source }),
    }
}

/// Why a command was ended before it ended itself.
enum Cut {
    Stopped,
    TimedOut,
    TooLarge,
    Io(std::io::Error),
}

impl From<CaptureError> for Cut {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Io(e) => Self::Io(e),
            CaptureError::TooLarge => Self::TooLarge,
        }
    }
}

/// A started program. Dropping it ends the program and all it started.
struct Running {
    child: Child,
    pid: i32,
    pipes: Option<Pipes>,
}

struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: pipe::Receiver,
    stderr: Option<pipe::Receiver>,
}

fn start(command: &Command) -> std::io::Result<Running> {
    let (program, args) = match &command.sandbox {
        Some(sandbox) => sandbox.wrap(command.program.clone(), command.args.clone()),
        None => (command.program.clone(), command.args.clone()),
    };
    let Env::Exactly(env) = &command.env;
    let (stdout, stdout_end) = output_pipe()?;
    let (stderr, stderr_end) = match command.combine_stderr {
        true => (None, stdout_end.try_clone()?),
        false => output_pipe().map(|(reader, end)| (Some(reader), end))?,
    };
    #[allow(clippy::disallowed_methods, reason = "this is the door that the lint points to")]
    let mut process = tokio::process::Command::new(on_path(&program, env).unwrap_or(program));
    process.args(args).env_clear().envs(env).process_group(0).kill_on_drop(true);
    process.stdout(stdout_end).stderr(stderr_end);
    process.stdin(if command.stdin.is_empty() { Stdio::null() } else { Stdio::piped() });
    if let Some(dir) = &command.cwd {
        process.current_dir(dir);
    }
    let mut listed = reaper::running();
    let mut child = process.spawn()?;
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
    listed.insert(pid, descendants::read(pid).map_or(0, |p| p.start));
    drop(listed);
    limit(pid, command.limits);
    let stdin = child.stdin.take();
    Ok(Running { child, pid, pipes: Some(Pipes { stdin, stdout, stderr }) })
}

/// The file that a program's name means on the `PATH` of its environment. The standard library would look it up after a
/// fork, which copies the page tables of this whole process for every command; a path lets it spawn without.
fn on_path(program: &OsStr, env: &BTreeMap<OsString, OsString>) -> Option<OsString> {
    if program.as_encoded_bytes().contains(&b'/') {
        return None;
    }
    let path = env.get(OsStr::new("PATH"))?;
    let mut files = std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(program));
    let is_program = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    files.find(is_program).map(PathBuf::into_os_string)
}

fn output_pipe() -> std::io::Result<(pipe::Receiver, OwnedFd)> {
    let (reader, writer) = std::io::pipe()?;
    Ok((pipe::Receiver::from_owned_fd(reader.into())?, writer.into()))
}

/// Sets the limits of a process that has just been started. It fails only if the process is gone or a limit would be
/// raised; a lower limit of the daemon's own then holds.
fn limit(pid: i32, limits: Rlimits) {
    let wanted = [
        (Resource::Core, limits.core),
        (Resource::Nofile, limits.open_files),
        (Resource::Fsize, limits.file_size),
        (Resource::Cpu, limits.cpu_seconds),
    ];
    for (resource, value) in wanted {
        if value.is_some()
            && let Err(error) = prlimit(Pid::from_raw(pid), resource, Rlimit { current: value, maximum: value })
        {
            tracing::debug!(pid, ?resource, %error, "limit not set");
        }
    }
}

/// Feeds and reads until the program has ended and its output too. Output that others still hold open after the
/// program's end is waited for no longer than the grace time; then standard output that did not end is an error.
async fn work(
    running: &mut Running,
    command: &Command,
    (stdout, stderr): (&mut Capture, &mut Capture),
) -> Result<Status, Cut> {
    let Some(pipes) = running.pipes.take() else { return Err(Cut::Stopped) };
    let all_written = AtomicBool::new(false);
    let transfer = async {
        let read_stdout = async {
            let read = stdout.fill(pipes.stdout).await;
            all_written.store(read.is_ok(), Ordering::Relaxed);
            read
        };
        let read_stderr = async {
            match pipes.stderr {
                Some(from) => stderr.fill(BufReader::new(from)).await,
                None => Ok(()),
            }
        };
        tokio::try_join!(feed(pipes.stdin, &command.stdin), read_stdout, read_stderr).map(|_| ())
    };
    let mut transfer = std::pin::pin!(transfer);
    tokio::select! {
        status = running.child.wait() => {
            let status = to_status(status.map_err(Cut::Io)?);
            match tokio::time::timeout(command.grace, transfer).await {
                Ok(done) => done?,
                // What is missing would pass for what the program did not write, and be deleted from the cluster.
                Err(_) if !all_written.load(Ordering::Relaxed) => {
                    let text = "it ended, but something it started still holds its output open";
                    return Err(Cut::Io(std::io::Error::other(text)));
                }
                Err(_) => {}
            }
            Ok(status)
        }
        done = &mut transfer => {
            done?;
            Ok(to_status(running.child.wait().await.map_err(Cut::Io)?))
        }
    }
}

/// Writes standard input. A program that stops reading early is no error.
async fn feed(stdin: Option<ChildStdin>, bytes: &[u8]) -> Result<(), CaptureError> {
    let Some(mut stdin) = stdin else { return Ok(()) };
    match stdin.write_all(bytes).await {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(CaptureError::Io(e)),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl Running {
    /// Asks the program and its descendants to end, waits, and then ends them by force.
    async fn end(&mut self, grace: Duration) {
        let before = self.family();
        self.signal(&before, Signal::TERM);
        let ended = tokio::time::timeout(grace, self.child.wait()).await;
        let mut all = self.family();
        all.extend(before);
        self.signal(&all, Signal::KILL);
        if ended.is_err() {
            // SIGKILL cannot be ignored, but a process in an uninterruptible system call takes its time: not ours.
            tokio::time::timeout(grace, self.child.wait()).await.ok();
        }
    }

    /// Ends what the program left behind after its own end.
    async fn end_leftovers(&self) {
        if self.child.id().is_none() {
            // It is no longer running, so orphans younger than it can be told to be nobody's.
            reaper::running().remove(&self.pid);
        }
        for _ in 0..20 {
            let left = self.family();
            self.signal(&left, Signal::KILL);
            if !reaper::sweep() && left.is_empty() {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn family(&self) -> Vec<Process> {
        descendants::of(self.pid, &descendants::all())
    }

    fn signal(&self, family: &[Process], signal: Signal) {
        // The program's own entry stays until it is waited for, so its pid and group cannot be another's before that.
        if self.child.id().is_some()
            && let Some(group) = Pid::from_raw(self.pid)
        {
            // It fails only when the whole group has ended.
            kill_process_group(group, signal).ok();
        }
        family.iter().for_each(|process| descendants::signal(*process, signal));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.id().is_some() {
            let family = self.family();
            self.signal(&family, Signal::KILL);
        }
        reaper::running().remove(&self.pid);
    }
}

fn to_status(status: ExitStatus) -> Status {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Status::Code(code),
        (None, Some(number)) => Status::Signal(number),
        (None, None) => Status::Code(-1),
    }
}

/// The name of a signal in the words of Go's `syscall` package.
pub(super) fn signal_name(number: i32) -> String {
    let name = match number {
        1 => "hangup",
        2 => "interrupt",
        3 => "quit",
        6 => "aborted",
        8 => "floating point exception",
        9 => "killed",
        11 => "segmentation fault",
        13 => "broken pipe",
        14 => "alarm clock",
        15 => "terminated",
        24 => "CPU time limit exceeded",
        25 => "file size limit exceeded",
        _ => return format!("signal {number}"),
    };
    name.to_owned()
}
