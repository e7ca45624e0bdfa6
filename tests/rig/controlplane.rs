//! The control plane of the tests: `scripts/controlplane` run by the test process, shared by all tests that leave it as
//! it is, private for those that break it.

use super::processes::{Process, run, signal};
use super::{eventually, wait};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A running etcd, API server, controller manager, scheduler and kwok.
#[derive(Debug)]
pub struct ControlPlane {
    directory: tempfile::TempDir,
    env: BTreeMap<String, String>,
    serve: Process,
}

/// The top of the source tree.
pub fn source_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl ControlPlane {
    /// Gives the control plane that this test process shares, starting it at the first call. Tests on it use
    /// namespaces, CRD groups and labels of their own and never stop a part of it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<ControlPlane> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts one for this test alone, which may stop and break it.
    #[track_caller]
    pub fn start() -> Self {
        Self::start_in(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target directory is writable"))
    }

    /// Starts one whose API server writes down who asked for what.
    #[track_caller]
    pub fn audited() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target directory is writable");
        let policy =
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n";
        std::fs::write(directory.path().join("audit-policy.yaml"), policy).expect("the directory is writable");
        Self::start_in(directory)
    }

    /// What its API server wrote down so far, of a control plane started by [`ControlPlane::audited`].
    #[track_caller]
    pub fn audit(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.directory.path().join("audit.log")).expect("it is audited");
        // The last line may be half written.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    #[track_caller]
    fn start_in(directory: tempfile::TempDir) -> Self {
        install_crypto();
        let mut command = Command::new(source_root().join("scripts/controlplane"));
        command.arg("serve").arg(directory.path()).arg("--remove");
        let mut serve = Process::start(command, "TERM");
        let output = drain(&mut serve);
        // Building the tools on a machine that has none takes minutes; scripts/test does that before.
        let end = std::time::Instant::now() + 4 * wait::DEADLINE;
        while !directory.path().join("ready").exists() {
            let ended = serve.ended();
            assert!(ended.is_none(), "scripts/controlplane ended: {}", output.lock().expect("never poisoned"));
            assert!(std::time::Instant::now() < end, "the control plane did not start");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let env = read_env(&directory.path().join("env"));
        Self { directory, env, serve }
    }

    /// Path of a kubeconfig with all rights.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("kubeconfig")
    }

    /// `https://127.0.0.1:PORT` of the API server.
    pub fn url(&self) -> &str {
        &self.env["FLUXD_API_SERVER"]
    }

    /// The bearer token of the user with all rights.
    pub fn token(&self) -> &str {
        &self.env["FLUXD_API_TOKEN"]
    }

    /// Path of the CA bundle of the API server.
    pub fn ca_file(&self) -> PathBuf {
        self.directory.path().join("pki/apiserver.crt")
    }

    /// A `PATH` on which kubectl, kustomize and this process's programs are found.
    pub fn path(&self) -> String {
        format!("{}:{}", self.env["PATH"], std::env::var("PATH").unwrap_or_default())
    }

    /// A client with all rights, for the runtime that it is called in.
    pub async fn client(&self) -> kube::Client {
        let kubeconfig = kube::config::Kubeconfig::read_from(self.kubeconfig()).expect("a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.expect("a config");
        kube::Client::try_from(config).expect("a client")
    }

    /// Creates a namespace with a name of its own beginning with `prefix`, waits for its service account, and gives the name.
    #[track_caller]
    pub fn namespace(&self, prefix: &str) -> String {
        let name = fresh_name(prefix);
        self.kubectl(&["create", "namespace", &name]);
        eventually("the default service account", || self.get(&name, "serviceaccount", "default"));
        name
    }

    /// Runs kubectl and gives its output; panics with its error.
    #[track_caller]
    pub fn kubectl(&self, args: &[&str]) -> String {
        run(self.kubectl_command().args(args))
    }

    /// Runs kubectl and gives its output, or its error text.
    pub fn try_kubectl(&self, args: &[&str]) -> Result<String, String> {
        let output = self.kubectl_command().args(args).stdin(Stdio::null()).output().expect("kubectl runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Applies YAML text as a user would (`kubectl apply -f`), with further arguments.
    #[track_caller]
    pub fn apply(&self, yaml: &str, args: &[&str]) -> String {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), yaml).expect("a temporary file is writable");
        run(self.kubectl_command().args(["apply", "-f"]).arg(file.path()).args(args))
    }

    /// Reads one object as JSON, if it exists.
    pub fn get(&self, namespace: &str, kind: &str, name: &str) -> Option<serde_json::Value> {
        let text = self.try_kubectl(&["-n", namespace, "get", kind, name, "-o", "json", "--ignore-not-found"]).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Stops the API server where it stands: connections stay open and nobody answers.
    #[track_caller]
    pub fn pause_api_server(&self) {
        signal(self.pid("kube-apiserver"), "STOP");
    }

    /// Lets it go on.
    #[track_caller]
    pub fn resume_api_server(&self) {
        signal(self.pid("kube-apiserver"), "CONT");
    }

    /// Kills a component (`kube-apiserver`, `etcd`, `kwok`, ...) and keeps it down.
    #[track_caller]
    pub fn kill(&self, component: &str) {
        std::fs::write(self.directory.path().join("hold").join(component), "").expect("the directory is writable");
        signal(self.pid(component), "KILL");
    }

    /// Starts a killed component again on the same ports; for the API server, returns when it answers.
    #[track_caller]
    pub fn revive(&self, component: &str) {
        std::fs::remove_file(self.directory.path().join("hold").join(component)).expect("it was killed before");
        if component == "kube-apiserver" {
            eventually("the API server answers again", || self.try_kubectl(&["get", "--raw", "/readyz"]).ok());
        }
    }

    /// Kills the API server and starts it again.
    #[track_caller]
    pub fn restart_api_server(&self) {
        self.kill("kube-apiserver");
        self.revive("kube-apiserver");
    }

    /// A kubectl command with this plane's kubeconfig and a discovery cache of its own.
    pub fn kubectl_command(&self) -> Command {
        let kube = self.env["PATH"].split(':').next().expect("PATH has a first directory");
        let mut command = Command::new(Path::new(kube).join("kubectl"));
        command.env("KUBECONFIG", self.kubeconfig());
        command.arg("--cache-dir").arg(self.directory.path().join("kubectl-cache"));
        command
    }

    fn pid(&self, component: &str) -> u32 {
        let text =
            std::fs::read_to_string(self.directory.path().join("pid").join(component)).expect("a known component");
        text.trim().parse().expect("a process id")
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if self.serve.ended().is_none() {
            self.serve.signal("TERM");
            self.serve.wait();
        }
    }
}

/// A name no other test uses.
pub fn fresh_name(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("{prefix}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Makes ring the process's cryptography, which TLS clients and servers of the tests ask for.
pub fn install_crypto() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        rustls::crypto::ring::default_provider().install_default().ok();
    });
}

fn drain(process: &mut Process) -> std::sync::Arc<std::sync::Mutex<String>> {
    let text = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    for pipe in [
        process.take_stderr().map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>),
        process.take_stdout().map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>),
    ]
    .into_iter()
    .flatten()
    {
        let text = text.clone();
        std::thread::spawn(move || {
            for line in std::io::BufRead::lines(std::io::BufReader::new(pipe)).map_while(Result::ok) {
                text.lock().expect("never poisoned").push_str(&(line + "\n"));
            }
        });
    }
    text
}

fn read_env(path: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path).expect("a ready control plane has written its env file");
    text.lines()
        .filter_map(|line| line.strip_prefix("export ")?.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.split('\'').nth(1).unwrap_or_default().to_owned()))
        .collect()
}
