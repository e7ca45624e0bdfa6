//! Image registries: the real `docker-registry` with images pushed over its own API, and a scripted HTTP server that plays
//! token services, clouds and registries that mean harm.

use super::controlplane::install_crypto;
use super::processes::{Process, free_port};
use super::servers::{TlsListener, tls_acceptor, write_certificates};
use super::{Reply, eventually, request, run};
use axum::body::{Body, Bytes};
use base64::Engine as _;
use futures::StreamExt as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// `sha256:…` of some content.
pub fn digest(content: &str) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(content)))
}

/// What an image says of itself.
#[derive(Debug, Clone)]
pub struct Image {
    /// Its configuration.
    pub config: Value,
    /// Media types of manifest and configuration.
    pub types: (&'static str, &'static str),
    /// Annotations of the manifest.
    pub annotations: Value,
}

impl Image {
    /// A schema 2 image made at that time.
    pub fn made(created: &str) -> Self {
        Self {
            config: json!({"architecture": "amd64", "os": "linux", "created": created, "rootfs": {"type": "layers"}}),
            types: (
                "application/vnd.docker.distribution.manifest.v2+json",
                "application/vnd.docker.container.image.v1+json",
            ),
            annotations: Value::Null,
        }
    }

    /// The same as an OCI image.
    pub fn oci(created: &str) -> Self {
        let types = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.config.v1+json");
        Self { types, ..Self::made(created) }
    }

    /// With a label, in the place (`config` or `container_config`) where the builder puts it.
    pub fn label(mut self, place: &str, name: &str, value: &str) -> Self {
        self.config[place]["Labels"][name] = json!(value);
        self
    }

    /// The manifest's text.
    pub fn manifest(&self) -> String {
        let config = self.config.to_string();
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": self.types.0,
            "config": {"mediaType": self.types.1, "size": config.len(), "digest": digest(&config)},
            "layers": [],
        });
        if !self.annotations.is_null() {
            manifest["annotations"] = self.annotations.clone();
        }
        manifest.to_string()
    }
}

/// A running `docker-registry` that keeps its images in a directory of its own.
#[derive(Debug)]
pub struct DockerRegistry {
    port: u16,
    login: Option<(String, String)>,
    _directory: tempfile::TempDir,
    _process: Process,
}

impl DockerRegistry {
    /// Starts one that lets everybody in.
    #[track_caller]
    pub fn start() -> Self {
        Self::with(None)
    }

    /// Starts one that asks for a user and password (basic authentication).
    #[track_caller]
    pub fn with_login(user: &str, password: &str) -> Self {
        Self::with(Some((user.to_owned(), password.to_owned())))
    }

    #[track_caller]
    fn with(login: Option<(String, String)>) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let port = free_port();
        let root = directory.path();
        let auth = login.as_ref().map_or_else(String::new, |(user, password)| {
            let line = run(Command::new("htpasswd").args(["-Bbn", user, password]));
            std::fs::write(root.join("htpasswd"), line).expect("it is writable");
            format!("auth:\n  htpasswd:\n    realm: registry\n    path: {}\n", root.join("htpasswd").display())
        });
        let config = format!(
            "version: 0.1\nlog:\n  level: error\n  accesslog:\n    disabled: true\n{auth}storage:\n  filesystem:\n    \
             rootdirectory: {}\n  delete:\n    enabled: true\nhttp:\n  addr: 127.0.0.1:{port}\n",
            root.join("data").display()
        );
        std::fs::write(root.join("config.yml"), config).expect("it is writable");
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(root.join("config.yml"));
        let process = Process::start(command, "KILL");
        let registry = Self { port, login, _directory: directory, _process: process };
        eventually("docker-registry answers", || registry.ask("GET", "/v2/", &[], "").map(drop));
        registry
    }

    /// `127.0.0.1:PORT`, the domain of its images.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Pushes an image under a tag and returns its digest.
    #[track_caller]
    pub fn push(&self, repository: &str, tag: &str, image: &Image) -> String {
        self.blob(repository, &image.config.to_string());
        self.manifest(repository, tag, image.types.0, &image.manifest())
    }

    /// Pushes an index of images, each with its platform as `OS/ARCHITECTURE`, and returns its digest.
    #[track_caller]
    pub fn push_index(&self, repository: &str, tag: &str, kind: &str, images: &[(&str, Image)]) -> String {
        let entry = |(platform, image): &(&str, Image)| {
            let (os, architecture) = platform.split_once('/').expect("OS/ARCHITECTURE");
            let manifest = image.manifest();
            self.push(repository, &digest(&manifest), image);
            json!({"mediaType": image.types.0, "size": manifest.len(), "digest": digest(&manifest),
                   "platform": {"os": os, "architecture": architecture}})
        };
        let entries: Vec<Value> = images.iter().map(entry).collect();
        let index = json!({"schemaVersion": 2, "mediaType": kind, "manifests": entries}).to_string();
        self.manifest(repository, tag, kind, &index)
    }

    #[track_caller]
    fn manifest(&self, repository: &str, reference: &str, kind: &str, manifest: &str) -> String {
        let path = format!("/v2/{repository}/manifests/{reference}");
        let reply = self.ask("PUT", &path, &[("Content-Type", kind)], manifest).expect("docker-registry answers");
        assert_eq!(reply.status, 201, "{}", reply.body);
        digest(manifest)
    }

    #[track_caller]
    fn blob(&self, repository: &str, content: &str) {
        let begun = self.ask("POST", &format!("/v2/{repository}/blobs/uploads/"), &[], "").expect("it answers");
        let location =
            begun.headers.lines().find_map(|line| line.strip_prefix("Location: ")).expect("a place to put it");
        let (_, path) = location.split_once(&self.host()).expect("it is at the registry");
        let path = format!("{}&digest={}", path.trim_end(), digest(content));
        let done =
            self.ask("PUT", &path, &[("Content-Type", "application/octet-stream")], content).expect("it answers");
        assert_eq!(done.status, 201, "{}", done.body);
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Option<Reply> {
        let auth = self.login.as_ref().map(|(user, password)| basic(user, password));
        let mut headers = headers.to_vec();
        headers.extend(auth.as_deref().map(|auth| ("Authorization", auth)));
        request(self.port, method, path, &headers, body)
    }
}

/// The header that basic authentication sends.
pub fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}")))
}

/// A request that a [`Double`] has seen.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The `Host` header.
    pub host: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    /// All headers, by lower-case name.
    pub headers: std::collections::BTreeMap<String, String>,
    /// The body as text.
    pub body: String,
}

/// What a [`Double`] answers.
#[derive(Debug, Clone)]
pub struct Scripted {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    drips: bool,
}

impl Scripted {
    /// A status with a body.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), drips: false }
    }

    /// 200 with JSON.
    pub fn json(body: &Value) -> Self {
        Self::new(200, body.to_string()).header("Content-Type", "application/json")
    }

    /// With a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The body comes byte by byte, and never ends.
    pub fn dripping(mut self) -> Self {
        self.drips = true;
        self
    }

    fn response(self) -> axum::response::Response {
        let mut response = axum::response::Response::builder().status(self.status);
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        let body = if self.drips {
            let drops = futures::stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                Some((Ok::<_, std::io::Error>(Bytes::from_static(b" ")), ()))
            });
            Body::from_stream(drops.boxed())
        } else {
            Body::from(self.body)
        };
        response.body(body).expect("a valid response")
    }
}

type Script = Arc<dyn Fn(&Seen) -> Scripted + Send + Sync>;

/// A scripted HTTP(S) server on loopback that remembers what it was asked.
pub struct Double {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    authority: Option<String>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
}

impl Double {
    /// Serves plain HTTP.
    pub fn start(script: impl Fn(&Seen) -> Scripted + Send + Sync + 'static) -> Self {
        Self::serve(Arc::new(script), None)
    }

    /// Serves HTTPS with a certificate that nobody trusts.
    pub fn with_tls(script: impl Fn(&Seen) -> Scripted + Send + Sync + 'static) -> Self {
        Self::serve(Arc::new(script), Some("registry.test"))
    }

    /// Serves HTTPS under a host name, with a certificate that [`Double::authority`] vouches for.
    pub fn with_certificate(host: &str, script: impl Fn(&Seen) -> Scripted + Send + Sync + 'static) -> Self {
        Self::serve(Arc::new(script), Some(host))
    }

    /// The PEM certificate of who vouches for it.
    #[track_caller]
    pub fn authority(&self) -> &str {
        self.authority.as_deref().expect("started with TLS")
    }

    fn serve(script: Script, tls: Option<&str>) -> Self {
        install_crypto();
        let certificates = tls.map(write_certificates);
        let read = |directory: &tempfile::TempDir| std::fs::read_to_string(directory.path().join("ca.crt"));
        let authority = certificates.as_ref().map(|directory| read(directory).expect("openssl wrote it"));
        let acceptor = certificates.as_ref().map(|directory| tls_acceptor(directory.path()));
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (tell_port, port) = mpsc::channel();
        let record = Arc::clone(&seen);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let socket = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback has free ports");
                tell_port.send(socket.local_addr().expect("it is bound").port()).expect("the starter waits");
                let answer = move |request: axum::extract::Request| {
                    let (script, record) = (Arc::clone(&script), Arc::clone(&record));
                    async move {
                        let seen = look(request).await;
                        record.lock().expect("never poisoned").push(seen.clone());
                        script(&seen).response()
                    }
                };
                let router = axum::Router::new().fallback(answer);
                let serving = async {
                    match acceptor {
                        Some(acceptor) => axum::serve(TlsListener { socket, acceptor }, router).await,
                        None => axum::serve(socket, router).await,
                    }
                };
                tokio::select! { result = serving => result.expect("the server runs"), _ = stopped => () }
            });
        });
        Self { port: port.recv().expect("the server starts"), seen, authority, stop: Some(stop) }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.host())
    }

    /// What it was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("never poisoned").clone()
    }

    /// How many requests had a path that contains `part`.
    pub fn count(&self, part: &str) -> usize {
        self.seen().iter().filter(|seen| seen.path.contains(part)).count()
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
    }
}

async fn look(request: axum::extract::Request) -> Seen {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let header = |name: &str| parts.headers.get(name).map(text);
    Seen {
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string),
        host: header("host").or_else(|| parts.uri.host().map(str::to_owned)).unwrap_or_default(),
        authorization: header("authorization"),
        headers: parts.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
    }
}

/// A registry as a script: tags and images of one repository, without credentials. Wrap it to add mischief.
pub fn scripted_registry(repository: &str, images: &[(&str, Image)]) -> impl Fn(&Seen) -> Scripted + Clone + use<> {
    let base = format!("/v2/{repository}/");
    let images: Vec<(String, Image)> = images.iter().map(|(tag, image)| ((*tag).to_owned(), image.clone())).collect();
    move |seen| {
        if seen.path == "/v2/" {
            return Scripted::json(&json!({}));
        }
        let found = |text: String, kind: &str| {
            Scripted::new(200, text.clone())
                .header("Content-Type", kind)
                .header("Docker-Content-Digest", &digest(&text))
        };
        let unknown = json!({"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}).to_string();
        let rest = seen.path.strip_prefix(&base).unwrap_or_default();
        if rest == "tags/list" {
            return Scripted::json(&json!({"tags": images.iter().map(|(tag, _)| tag).collect::<Vec<_>>()}));
        }
        let wanted = rest.rsplit('/').next().unwrap_or_default();
        for (tag, image) in &images {
            let (manifest, config) = (image.manifest(), image.config.to_string());
            if rest.starts_with("manifests/") && (wanted == tag || wanted == digest(&manifest)) {
                return found(manifest, image.types.0);
            }
            if rest.starts_with("blobs/") && wanted == digest(&config) {
                return found(config, "application/octet-stream");
            }
        }
        Scripted::new(404, unknown)
    }
}

/// A proxy that leads every `CONNECT` to one port on loopback, whatever host was asked for, and remembers the hosts.
pub struct Tunnel {
    port: u16,
    hosts: Arc<Mutex<Vec<String>>>,
}

impl Tunnel {
    /// Starts one; it ends with the test process.
    pub fn to(target: u16) -> Self {
        let socket = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
        let port = socket.local_addr().expect("it is bound").port();
        let hosts: Arc<Mutex<Vec<String>>> = Arc::default();
        let record = Arc::clone(&hosts);
        std::thread::spawn(move || {
            for stream in socket.incoming().flatten() {
                let record = Arc::clone(&record);
                std::thread::spawn(move || tunnel(stream, target, &record));
            }
        });
        Self { port, hosts }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The hosts that were asked for, with ports.
    pub fn hosts(&self) -> Vec<String> {
        self.hosts.lock().expect("never poisoned").clone()
    }
}

fn tunnel(mut client: TcpStream, target: u16, hosts: &Mutex<Vec<String>>) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    hosts.lock().expect("never poisoned").push(head.split(' ').nth(1)?.to_owned());
    let mut server = TcpStream::connect(("127.0.0.1", target)).ok()?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let (mut from_client, mut to_server) = (client.try_clone().ok()?, server.try_clone().ok()?);
    std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
    std::io::copy(&mut server, &mut client).ok().map(drop)
}
