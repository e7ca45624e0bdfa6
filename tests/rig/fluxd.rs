//! The built `fluxd` as a process: started with a home directory of its own, its log kept, its API and metrics read.

use super::controlplane::{ControlPlane, source_root};
use super::processes::{Process, free_port};
use super::tools::tool;
use super::{Reply, Repo, eventually, request};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex};

/// How a `fluxd` is to be started.
#[derive(Debug)]
pub struct FluxdBuilder {
    home: tempfile::TempDir,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    program: PathBuf,
    pod: Option<PathBuf>,
    port: Option<u16>,
}

/// Puts the files of a service account where a pod has them, in a mount namespace of the process's own, and runs the rest.
const AS_POD: &str = r#"mount -t tmpfs tmpfs /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount &&
mount --bind "$0" /run/secrets/kubernetes.io/serviceaccount && exec "$@""#;

/// A running `fluxd`; killed when this value goes away. A test that fails prints its log.
#[derive(Debug)]
pub struct Fluxd {
    process: Process,
    log: Arc<Mutex<Vec<String>>>,
    port: u16,
    builder: FluxdBuilder,
}

impl Fluxd {
    /// Prepares one against a control plane: credentials in `HOME/.kube/config` (which v1 read first), nothing of the
    /// test's own environment but `PATH`, a free port, and no sync on its own but the first.
    pub fn against(plane: &ControlPlane) -> FluxdBuilder {
        let home = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(home.path().join(".kube")).expect("it is writable");
        std::fs::create_dir_all(home.path().join("tmp")).expect("it is writable");
        std::fs::copy(plane.kubeconfig(), home.path().join(".kube/config")).expect("the plane has a kubeconfig");
        let env = BTreeMap::from([
            ("HOME".to_owned(), home.path().display().to_string()),
            ("TMPDIR".to_owned(), home.path().join("tmp").display().to_string()),
            ("PATH".to_owned(), plane.path()),
        ]);
        FluxdBuilder {
            home,
            args: Vec::new(),
            env,
            program: PathBuf::from(env!("CARGO_BIN_EXE_fluxd")),
            pod: None,
            port: None,
        }
    }

    /// The port of its API.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its home directory.
    pub fn home(&self) -> &Path {
        self.builder.home.path()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
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

    /// Waits until the API answers.
    #[track_caller]
    pub fn wait_until_up(&mut self) -> &mut Self {
        eventually("fluxd answers", || {
            let ended = self.process.ended();
            assert!(ended.is_none(), "fluxd ended with {ended:?}:\n{}", self.log().join("\n"));
            self.get("/api/flux/v6/identity.pub").or_else(|| self.get("/healthz"))
        });
        self
    }

    /// GET of a path, if anybody answers.
    pub fn get(&self, path: &str) -> Option<Reply> {
        request(self.port, "GET", path, &[("Accept", "application/json")], "")
    }

    /// POST of JSON, if anybody answers.
    pub fn post(&self, path: &str, body: &str) -> Option<Reply> {
        request(self.port, "POST", path, &[("Accept", "application/json"), ("Content-Type", "application/json")], body)
    }

    /// Tells it that the branch moved, as a forge's webhook does.
    #[track_caller]
    pub fn notify(&self, repo: &Repo, url: &str) {
        let body = format!(r#"{{"Kind":"git","Source":{{"URL":"{url}","Branch":"{}"}}}}"#, repo.branch());
        let reply = self.post("/api/flux/v11/notify", &body).expect("fluxd answers");
        assert!(reply.status < 300, "notify was refused: {reply:?}");
    }

    /// What `/metrics` says now.
    #[track_caller]
    pub fn metrics(&self) -> Metrics {
        Metrics::parse(&self.get("/metrics").expect("fluxd answers").body)
    }

    /// Asks it to end (SIGTERM) and waits for that.
    #[track_caller]
    pub fn terminate(mut self) -> ExitStatus {
        self.process.signal("TERM");
        self.process.wait()
    }

    /// Kills it at once (SIGKILL) and gives the means to start it again on the same home.
    #[track_caller]
    pub fn kill(mut self) -> FluxdBuilder {
        self.process.signal("KILL");
        self.process.wait();
        let home = tempfile::tempdir().expect("a temporary directory");
        let empty = FluxdBuilder {
            home,
            args: Vec::new(),
            env: BTreeMap::new(),
            program: PathBuf::new(),
            pod: None,
            port: None,
        };
        std::mem::replace(&mut self.builder, empty)
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

impl Drop for Fluxd {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the log of fluxd ---\n{}\n---", self.log().join("\n"));
        }
    }
}

impl FluxdBuilder {
    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    /// Points it at a repository over `file://`.
    #[must_use]
    pub fn git(self, repo: &Repo) -> Self {
        let (url, branch) = (format!("--git-url={}", repo.url()), format!("--git-branch={}", repo.branch()));
        self.arg(&url).arg(&branch)
    }

    /// Has its API at this port, instead of one that was free a moment ago.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.env.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Runs another program in its place: the original fluxd, as a peer.
    #[must_use]
    pub fn program(mut self, program: &Path) -> Self {
        program.clone_into(&mut self.program);
        self
    }

    /// Runs the original fluxd 1.25.4 in its place, which needs kubectl and finds it on the plane's `PATH`.
    #[must_use]
    pub fn original(self) -> Self {
        let program = tool("flux-v1", "fluxd");
        self.program(&program).args(&["--memcached-service=", "--registry-disable-scanning"])
    }

    /// Makes it believe that it runs in a pod of `namespace`: a service account with all rights, its token where pods
    /// have it, the variables that name the API server, the image's kubeconfig (which names no cluster), an empty secret
    /// `flux-git-deploy`, and directories for it (`HOME/git-key`) and for new keys (`HOME/keygen`). Needs root, for a
    /// mount namespace.
    #[must_use]
    #[track_caller]
    pub fn in_cluster(mut self, plane: &ControlPlane, namespace: &str) -> Self {
        plane.kubectl(&["-n", namespace, "create", "serviceaccount", "flux"]);
        let (role, subject) = ("--clusterrole=cluster-admin", format!("--serviceaccount={namespace}:flux"));
        plane.kubectl(&["create", "clusterrolebinding", namespace, role, &subject]);
        let token = plane.kubectl(&["-n", namespace, "create", "token", "flux", "--duration=2h"]);
        let account = self.home.path().join("serviceaccount");
        std::fs::create_dir(&account).expect("it is writable");
        std::fs::write(account.join("token"), token.trim()).expect("it is writable");
        std::fs::write(account.join("namespace"), namespace).expect("it is writable");
        std::fs::copy(plane.ca_file(), account.join("ca.crt")).expect("the plane has a CA");
        let kubeconfig = source_root().join("deploy/image/kubeconfig");
        std::fs::copy(kubeconfig, self.home.path().join(".kube/config")).expect("it is writable");
        plane.kubectl(&["-n", namespace, "create", "secret", "generic", "flux-git-deploy"]);
        let (keygen, mounted) = (self.home.path().join("keygen"), self.home.path().join("git-key"));
        std::fs::create_dir(&keygen).expect("it is writable");
        std::fs::create_dir(&mounted).expect("it is writable");
        let port = plane.url().rsplit(':').next().expect("a URL with a port").to_owned();
        self.pod = Some(account);
        self.env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
            .env("KUBERNETES_SERVICE_PORT", &port)
            .arg(&format!("--ssh-keygen-dir={}", keygen.display()))
            .arg(&format!("--k8s-secret-volume-mount-path={}", mounted.display()))
    }

    /// Its home directory, to put `.gitconfig`, `.ssh` and the like into before the start.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Starts it, without waiting for anything.
    #[track_caller]
    pub fn start(self) -> Fluxd {
        let port = self.port.unwrap_or_else(free_port);
        let mut command = match &self.pod {
            None => Command::new(&self.program),
            Some(account) => {
                let mut command = Command::new("unshare");
                command.args(["--mount", "--", "sh", "-c", AS_POD]).arg(account).arg(&self.program);
                command
            }
        };
        command.env_clear().envs(&self.env).current_dir(self.home.path());
        command.arg(format!("--listen=127.0.0.1:{port}")).args(&self.args);
        let mut process = Process::start(command, "KILL");
        let log = Arc::new(Mutex::new(Vec::new()));
        if let Some(pipe) = process.take_stderr() {
            collect(pipe, log.clone());
        }
        if let Some(pipe) = process.take_stdout() {
            collect(pipe, log.clone());
        }
        Fluxd { process, log, port, builder: self }
    }
}

fn collect(pipe: impl Read + Send + 'static, log: Arc<Mutex<Vec<String>>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            log.lock().expect("never poisoned").push(line);
        }
    });
}

/// The samples of a metrics page.
#[derive(Debug, Clone)]
pub struct Metrics(Vec<(String, f64)>);

impl Metrics {
    /// Reads the text format.
    pub fn parse(text: &str) -> Self {
        let samples = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
            .filter_map(|(series, value)| Some((series.to_owned(), value.parse().ok()?)))
            .collect();
        Self(samples)
    }

    /// The sum of all series whose name is `name` and whose labels hold all of `labels` (`verb="patch"`).
    pub fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let of_name = |series: &str| series.split('{').next() == Some(name);
        let matching = |series: &str| of_name(series) && labels.iter().all(|label| series.contains(label));
        self.0.iter().filter(|(series, _)| matching(series)).map(|(_, value)| value).sum()
    }

    /// Whether any series has this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(series, _)| series.split('{').next() == Some(name))
    }
}
