//! Child processes that cannot outlive the test process: each is started by one thread that lives as long as the
//! process does, with a parent-death signal (which the kernel ties to the starting *thread*).

use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{OnceLock, mpsc};

/// A child process that is killed when this value goes away, and when the test process ends in whatever way.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts `command` under a parent-death signal; `signal` is what it gets (`KILL`, or `TERM` for those that clean up).
    #[track_caller]
    pub fn start(command: Command, signal: &str) -> Self {
        let (answer, answered) = mpsc::channel();
        spawner().send((with_death_signal(command, signal), answer)).expect("the starting thread lives on");
        let child = answered.recv().expect("the starting thread answers");
        Self { child: child.unwrap_or_else(|error| panic!("cannot start a process: {error}")) }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name, `STOP`, `CONT`, `TERM`, `KILL`.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        signal(self.id(), name);
    }

    /// Says how the process ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("the child is ours to wait for")
    }

    /// Waits for the end.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        super::eventually("the process ends", || self.ended())
    }

    /// The pipe of its standard error, once.
    pub fn take_stderr(&mut self) -> Option<std::process::ChildStderr> {
        self.child.stderr.take()
    }

    /// The pipe of its standard output, once.
    pub fn take_stdout(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// Sends a signal to a process by id.
#[track_caller]
pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().expect("kill is a program");
    assert!(status.success(), "cannot send {name} to process {pid}");
}

/// Runs a command to its end and gives its standard output; panics with its standard error when it fails.
#[track_caller]
pub fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(status.success(), "{command:?} ended with {status}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("text")
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr()).expect("loopback has free ports").port()
}

type Order = (Command, mpsc::Sender<std::io::Result<Child>>);

fn spawner() -> mpsc::Sender<Order> {
    static SPAWNER: OnceLock<mpsc::Sender<Order>> = OnceLock::new();
    SPAWNER
        .get_or_init(|| {
            let (orders, inbox) = mpsc::channel::<Order>();
            std::thread::spawn(move || {
                for (mut command, answer) in inbox {
                    answer.send(command.spawn()).ok();
                }
            });
            orders
        })
        .clone()
}

fn with_death_signal(command: Command, signal: &str) -> Command {
    let mut wrapped = Command::new("setpriv");
    wrapped.args(["--pdeathsig", signal, "--"]).arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(key, value),
            None => wrapped.env_remove(key),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        wrapped.current_dir(directory);
    }
    wrapped.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    wrapped
}
