//! `fluxd controllers` as a process of a test: started against a control plane, asked, signalled, killed, started again.

use super::controlplane::ControlPlane;
use super::fluxd::Metrics;
use super::http::{Reply, request};
use super::processes::{Process, free_port};
use super::wait::eventually;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex};

/// How to start it.
#[derive(Debug, Clone)]
pub struct ControllersBuilder {
    kubeconfig: std::path::PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

/// A running `fluxd controllers`, killed when this value goes away.
#[derive(Debug)]
pub struct Controllers {
    process: Process,
    log: Arc<Mutex<Vec<String>>>,
    health: u16,
    metrics: u16,
    builder: ControllersBuilder,
}

impl Controllers {
    /// One that will work on a control plane, with intervals that are kept to the point.
    pub fn against(plane: &ControlPlane) -> ControllersBuilder {
        let args = ["--log-encoding=console", "--interval-jitter-percentage=0"].map(str::to_owned).to_vec();
        ControllersBuilder { kubeconfig: plane.kubeconfig(), args, env: Vec::new() }
    }

    /// All lines it has logged so far.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().expect("never poisoned").clone()
    }

    /// Waits for a log line that holds all of `parts`, and gives it.
    #[track_caller]
    pub fn wait_for_log(&self, parts: &[&str]) -> String {
        eventually(&format!("a log line with {parts:?}"), || {
            self.log().into_iter().find(|line| parts.iter().all(|part| line.contains(part)))
        })
    }

    /// Waits until it is ready.
    #[track_caller]
    pub fn wait_until_up(&mut self) -> &mut Self {
        eventually("the controllers are ready", || {
            let ended = self.process.ended();
            assert!(ended.is_none(), "the controllers ended with {ended:?}:\n{}", self.log().join("\n"));
            self.probe("/readyz").filter(|reply| reply.status == 200)
        });
        self
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// GET of a path of the health address.
    pub fn probe(&self, path: &str) -> Option<Reply> {
        request(self.health, "GET", path, &[], "")
    }

    /// What `/metrics` says now.
    #[track_caller]
    pub fn metrics(&self) -> Metrics {
        Metrics::parse(&request(self.metrics, "GET", "/metrics", &[], "").expect("metrics are served").body)
    }

    /// Asks it to end (SIGTERM) and waits for that.
    #[track_caller]
    pub fn terminate(mut self) -> ExitStatus {
        self.process.signal("TERM");
        self.process.wait()
    }

    /// Kills it at once (SIGKILL) and gives the means to start it again.
    #[track_caller]
    pub fn kill(mut self) -> ControllersBuilder {
        self.process.signal("KILL");
        self.process.wait();
        self.builder.clone()
    }

    /// Waits for its own end.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        self.process.wait()
    }

    /// Sends a signal by name.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        self.process.signal(name);
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let last = &log[log.len().saturating_sub(200)..];
            eprintln!("--- the end of the controllers' log ---\n{}\n---", last.join("\n"));
        }
    }
}

impl ControllersBuilder {
    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// Has it leave the objects of other namespaces, and so of other tests, alone.
    #[must_use]
    pub fn only(self, namespaces: &[&str]) -> Self {
        let arg = format!("--watch-namespaces={}", namespaces.join(","));
        self.arg(&arg)
    }

    /// Sets a variable of its environment, which is otherwise empty.
    #[must_use]
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.env.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Works with another kubeconfig.
    #[must_use]
    pub fn kubeconfig(mut self, path: &std::path::Path) -> Self {
        path.clone_into(&mut self.kubeconfig);
        self
    }

    /// Starts it, without waiting for anything.
    #[track_caller]
    pub fn start(self) -> Controllers {
        let (health, metrics) = (free_port(), free_port());
        let mut command = Command::new(env!("CARGO_BIN_EXE_fluxd"));
        command.env_clear().envs(self.env.iter().cloned());
        command.arg("controllers").arg(format!("--kubeconfig={}", self.kubeconfig.display()));
        command.arg(format!("--health-addr=127.0.0.1:{health}")).arg(format!("--metrics-addr=127.0.0.1:{metrics}"));
        command.args(&self.args);
        let mut process = Process::start(command, "KILL");
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let (pipe, lines) = (process.take_stderr().expect("a pipe"), log.clone());
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                lines.lock().expect("never poisoned").push(line);
            }
        });
        Controllers { process, log, health, metrics, builder: self }
    }
}
