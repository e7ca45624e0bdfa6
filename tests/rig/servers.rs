//! Git servers on loopback: `git http-backend` behind HTTP or HTTPS with basic authentication, and OpenSSH's `sshd`.

use super::controlplane::install_crypto;
use super::processes::{Process, free_port, run};
use super::{Repo, eventually};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, StatusCode};
use base64::Engine as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use tokio::io::AsyncWriteExt as _;

/// What the HTTP server does with requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Serves them.
    Serve = 0,
    /// 503 at once.
    Unavailable = 1,
    /// Takes them and never answers.
    Hang = 2,
    /// Serves them, but the answers to pushes get lost on their way: 502 instead.
    LosePushes = 3,
}

/// How to start the HTTP server.
#[derive(Debug, Clone, Default)]
pub struct GitHttpOptions {
    /// User and password to ask for.
    pub login: Option<(String, String)>,
    /// Serves HTTPS with a certificate of a CA of its own, for this host name (and for nothing else).
    pub tls_host: Option<String>,
}

/// A git server over HTTP(S).
#[derive(Debug)]
pub struct GitHttp {
    port: u16,
    host: String,
    certificates: Option<tempfile::TempDir>,
    shared: Arc<Shared>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    login: Option<(String, String)>,
    answer: AtomicU8,
    requests: AtomicUsize,
}

impl GitHttp {
    /// Serves a repository's remote on a free port.
    #[track_caller]
    pub fn start(repo: &Repo, options: GitHttpOptions) -> Self {
        install_crypto();
        let shared = Arc::new(Shared {
            root: repo.root().to_owned(),
            login: options.login,
            answer: AtomicU8::new(0),
            requests: AtomicUsize::new(0),
        });
        let certificates = options.tls_host.as_deref().map(write_certificates);
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (tell_port, port) = mpsc::channel();
        let tls = certificates.as_ref().map(|directory| tls_acceptor(directory.path()));
        let state = shared.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(serve(state, tls, tell_port, stopped));
        });
        let port = port.recv().expect("the server starts");
        let host = options.tls_host.unwrap_or_else(|| "127.0.0.1".to_owned());
        Self { port, host, certificates, shared, stop: Some(stop) }
    }

    /// The repository's URL, without credentials.
    pub fn url(&self) -> String {
        let scheme = if self.certificates.is_some() { "https" } else { "http" };
        format!("{scheme}://{}:{}/remote.git", self.host, self.port)
    }

    /// The repository's URL with the credentials in it.
    pub fn url_with_login(&self) -> String {
        match &self.shared.login {
            Some((user, password)) => self.url().replacen("://", &format!("://{user}:{password}@"), 1),
            None => self.url(),
        }
    }

    /// Path of the CA certificate that vouches for it.
    #[track_caller]
    pub fn ca_file(&self) -> PathBuf {
        self.certificates.as_ref().expect("started with tls_host").path().join("ca.crt")
    }

    /// Changes what it does with requests from now on.
    pub fn answer(&self, answer: Answer) {
        self.shared.answer.store(answer as u8, Ordering::SeqCst);
    }

    /// How many requests it has seen.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }
}

impl Drop for GitHttp {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
    }
}

async fn serve(
    state: Arc<Shared>,
    tls: Option<tokio_rustls::TlsAcceptor>,
    tell_port: mpsc::Sender<u16>,
    stopped: tokio::sync::oneshot::Receiver<()>,
) {
    let socket = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback has free ports");
    tell_port.send(socket.local_addr().expect("it is bound").port()).expect("the starter waits");
    let router = axum::Router::new().fallback(respond).with_state(state);
    let serving = async {
        match tls {
            Some(acceptor) => axum::serve(TlsListener { socket, acceptor }, router).await,
            None => axum::serve(socket, router).await,
        }
    };
    tokio::select! { result = serving => result.expect("the server runs"), _ = stopped => () }
}

async fn respond(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    shared.requests.fetch_add(1, Ordering::SeqCst);
    let status = |code: StatusCode| Response::builder().status(code);
    match shared.answer.load(Ordering::SeqCst) {
        1 => return status(StatusCode::SERVICE_UNAVAILABLE).body(Body::empty()).expect("a valid response"),
        2 => std::future::pending().await,
        _ => (),
    }
    if !allowed(&shared, request.headers()) {
        let response = status(StatusCode::UNAUTHORIZED).header("WWW-Authenticate", "Basic realm=\"git\"");
        return response.body(Body::empty()).expect("a valid response");
    }
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 30).await.expect("a whole request");
    let response = http_backend(&shared.root, &parts, body).await;
    if shared.answer.load(Ordering::SeqCst) == Answer::LosePushes as u8
        && parts.uri.path().ends_with("/git-receive-pack")
    {
        return status(StatusCode::BAD_GATEWAY).body(Body::empty()).expect("a valid response");
    }
    response
}

fn allowed(shared: &Shared, headers: &HeaderMap) -> bool {
    let Some((user, password)) = &shared.login else { return true };
    let expected = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    headers.get("authorization").is_some_and(|value| value.as_bytes() == format!("Basic {expected}").as_bytes())
}

/// Runs git's own CGI program for one request.
async fn http_backend(root: &Path, parts: &axum::http::request::Parts, body: Bytes) -> Response<Body> {
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut child = tokio::process::Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REMOTE_USER", "ann")
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("PATH_INFO", parts.uri.path())
        .env("QUERY_STRING", parts.uri.query().unwrap_or_default())
        .env("REQUEST_METHOD", parts.method.as_str())
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("git has http-backend");
    let mut stdin = child.stdin.take().expect("piped");
    let feed = async move { stdin.write_all(&body).await.ok() };
    let (_, output) = tokio::join!(feed, child.wait_with_output());
    from_cgi(&output.expect("git http-backend ends").stdout)
}

fn from_cgi(output: &[u8]) -> Response<Body> {
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(output.len());
    let mut response = Response::builder();
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        match line.split_once(": ") {
            Some(("Status", value)) => response = response.status(value.split(' ').next().unwrap_or("500")),
            Some((name, value)) => response = response.header(name, value),
            None => (),
        }
    }
    let body = output.get(end + 4..).unwrap_or_default().to_vec();
    response.body(Body::from(body)).expect("git http-backend writes valid headers")
}

/// Accepts TLS connections.
pub(super) struct TlsListener {
    pub(super) socket: tokio::net::TcpListener,
    pub(super) acceptor: tokio_rustls::TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = tokio_rustls::server::TlsStream<tokio::net::TcpStream>;
    type Addr = std::net::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.socket.accept().await else { continue };
            // A client that does not trust us ends the handshake; the next one may.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.socket.local_addr()
    }
}

/// Serves with the files that [`write_certificates`] wrote.
pub(super) fn tls_acceptor(directory: &Path) -> tokio_rustls::TlsAcceptor {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let chain = CertificateDer::pem_file_iter(directory.join("server.crt")).expect("openssl wrote it");
    let chain = chain.collect::<Result<Vec<_>, _>>().expect("openssl wrote it well");
    let key = PrivateKeyDer::from_pem_file(directory.join("server.key")).expect("openssl wrote it");
    let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key);
    tokio_rustls::TlsAcceptor::from(Arc::new(config.expect("the key belongs to the certificate")))
}

/// Writes `ca.crt`, and `server.crt` with `server.key` for one host name.
pub(super) fn write_certificates(host: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let openssl = |args: &[&str]| run(Command::new("openssl").current_dir(directory.path()).args(args));
    let kind = if host.parse::<std::net::IpAddr>().is_ok() { "IP" } else { "DNS" };
    let extension = format!("subjectAltName={kind}:{host}\n");
    std::fs::write(directory.path().join("ext"), extension).expect("it is writable");
    openssl(&[
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "ca.key",
        "-out",
        "ca.crt",
        "-days",
        "7",
        "-subj",
        "/CN=test CA",
        "-addext",
        "basicConstraints=critical,CA:TRUE",
    ]);
    openssl(&[
        "req",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "server.key",
        "-out",
        "server.csr",
        "-subj",
        "/CN=git",
    ]);
    openssl(&[
        "x509",
        "-req",
        "-in",
        "server.csr",
        "-CA",
        "ca.crt",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-out",
        "server.crt",
        "-days",
        "7",
        "-extfile",
        "ext",
    ]);
    directory
}

/// An OpenSSH server that lets one key in.
#[derive(Debug)]
pub struct GitSsh {
    directory: tempfile::TempDir,
    port: u16,
    process: Process,
    remote: PathBuf,
}

impl GitSsh {
    /// Serves a repository's remote to a freshly made key.
    #[track_caller]
    pub fn start(repo: &Repo) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let port = free_port();
        let at = |name: &str| directory.path().join(name).display().to_string();
        for name in ["host", "identity"] {
            run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &at(name)]));
        }
        std::fs::copy(at("identity.pub"), at("authorized_keys")).expect("ssh-keygen wrote it");
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\n",
            at("host"),
            at("authorized_keys")
        );
        std::fs::write(at("sshd_config"), config).expect("it is writable");
        // sshd insists on this directory when it runs as root.
        std::fs::create_dir_all("/run/sshd").ok();
        let sshd = ["/usr/sbin/sshd", "/usr/bin/sshd"].into_iter().find(|path| Path::new(path).exists());
        let mut command = Command::new(sshd.expect("openssh-server is installed (scripts/test installs it)"));
        command.args(["-D", "-e", "-f", &at("sshd_config")]);
        let process = Process::start(command, "KILL");
        eventually("sshd listens", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        Self { directory, port, process, remote: repo.remote() }
    }

    /// The repository's `ssh://` URL.
    pub fn url(&self) -> String {
        let user = run(Command::new("id").arg("-un"));
        format!("ssh://{}@127.0.0.1:{}{}", user.trim(), self.port, self.remote.display())
    }

    /// Path of the private key that is let in.
    pub fn identity(&self) -> PathBuf {
        self.directory.path().join("identity")
    }

    /// A `known_hosts` line that vouches for it.
    pub fn known_hosts(&self) -> String {
        let key = std::fs::read_to_string(self.directory.path().join("host.pub")).expect("ssh-keygen wrote it");
        format!("[127.0.0.1]:{} {key}", self.port)
    }

    /// Replaces the keys that are let in (lines of `authorized_keys`).
    pub fn authorize(&self, lines: &str) {
        std::fs::write(self.directory.path().join("authorized_keys"), lines).expect("it is writable");
    }

    /// Stops answering while connections stay open, and goes on.
    pub fn pause(&self) {
        self.process.signal("STOP");
    }

    /// Answers again after [`GitSsh::pause`].
    pub fn resume(&self) {
        self.process.signal("CONT");
    }
}
