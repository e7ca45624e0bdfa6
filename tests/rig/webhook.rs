//! A validating webhook over HTTPS that a test steers while requests come in: it lets an object through, denies it, or
//! keeps the API server waiting. The way to stop the daemon's client at a chosen object without guessing at times.

use super::servers::{TlsListener, tls_acceptor, write_certificates};
use super::{ControlPlane, eventually, fresh_name};
use axum::Json;
use axum::extract::State;
use base64::Engine as _;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes through.
    Allow,
    /// It is refused.
    Deny,
    /// It waits until the rule says otherwise.
    Hold,
}

/// What a webhook is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub operation: String,
    /// Name of the object.
    pub name: String,
    /// Whether nothing will be written.
    pub dry_run: bool,
}

/// Decides about one request.
type Rule = Box<dyn Fn(&Review) -> Verdict + Send>;

/// A webhook for the config maps of one namespace.
pub struct Webhook<'a> {
    plane: &'a ControlPlane,
    name: String,
    desk: Arc<Desk>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
}

struct Desk {
    rule: Mutex<Rule>,
    waiting: Mutex<Vec<String>>,
}

impl<'a> Webhook<'a> {
    /// Starts one that allows everything, and waits until the API server asks it.
    #[track_caller]
    pub fn start(plane: &'a ControlPlane, namespace: &str) -> Self {
        super::controlplane::install_crypto();
        let certificates = write_certificates("127.0.0.1");
        let acceptor = tls_acceptor(certificates.path());
        let desk = Arc::new(Desk { rule: Mutex::new(Box::new(|_| Verdict::Allow)), waiting: Mutex::default() });
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (tell_port, port) = mpsc::channel();
        let state = desk.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let socket = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback has free ports");
                tell_port.send(socket.local_addr().expect("it is bound").port()).expect("the starter waits");
                let router = axum::Router::new().fallback(review).with_state(state);
                let serving = async { axum::serve(TlsListener { socket, acceptor }, router).await };
                tokio::select! { result = serving => result.expect("the server runs"), _ = stopped => () }
            });
        });
        let port = port.recv().expect("the server starts");
        let ca = std::fs::read(certificates.path().join("ca.crt")).expect("openssl wrote it");
        let webhook = Self { plane, name: fresh_name("webhook"), desk, stop: Some(stop) };
        plane.apply(&configuration(&webhook.name, namespace, port, &ca).to_string(), &[]);
        webhook.set(|_, name| if name == "probe" { Verdict::Deny } else { Verdict::Allow });
        let probe = ["-n", namespace, "create", "configmap", "probe", "--dry-run=server"];
        eventually("the API server asks the webhook", || plane.try_kubectl(&probe).is_err().then_some(()));
        webhook
    }

    /// Replaces the rule, by operation (`CREATE`, `UPDATE`, `DELETE`) and name; requests that are held are decided again.
    pub fn set(&self, rule: impl Fn(&str, &str) -> Verdict + Send + 'static) {
        self.decide(move |review| rule(&review.operation, &review.name));
    }

    /// The same for rules that tell dry runs from writes.
    pub fn decide(&self, rule: impl Fn(&Review) -> Verdict + Send + 'static) {
        self.desk.waiting.lock().expect("never poisoned").clear();
        *self.desk.rule.lock().expect("never poisoned") = Box::new(rule);
    }

    /// Waits until so many different requests are held.
    #[track_caller]
    pub fn wait_until_held(&self, count: usize) {
        let waiting = || {
            let mut names = self.desk.waiting.lock().expect("never poisoned").clone();
            names.sort();
            names.dedup();
            names.len()
        };
        eventually(&format!("{count} requests wait at the webhook"), || (waiting() >= count).then_some(()));
    }
}

impl Drop for Webhook<'_> {
    fn drop(&mut self) {
        self.plane.try_kubectl(&["delete", "validatingwebhookconfiguration", &self.name]).ok();
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
    }
}

async fn review(State(desk): State<Arc<Desk>>, Json(body): Json<Value>) -> Json<Value> {
    let request = &body["request"];
    let text = |field: &str| request[field].as_str().unwrap_or_default().to_owned();
    let dry_run = request["dryRun"] == true;
    let review = Review { operation: text("operation"), name: text("name"), dry_run };
    let verdict = loop {
        let verdict = (desk.rule.lock().expect("never poisoned"))(&review);
        if verdict != Verdict::Hold {
            break verdict;
        }
        desk.waiting.lock().expect("never poisoned").push(format!("{} {}", review.operation, review.name));
        tokio::time::sleep(Duration::from_millis(25)).await;
    };
    Json(json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": { "uid": request["uid"], "allowed": verdict == Verdict::Allow,
                      "status": { "message": "the webhook of the test says no" } },
    }))
}

/// The registration of a webhook for the config maps of a namespace.
pub fn configuration(name: &str, namespace: &str, port: u16, ca: &[u8]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": name },
        "webhooks": [{
            "name": "faults.example.org", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Fail", "timeoutSeconds": 30,
            "clientConfig": {
                "url": format!("https://127.0.0.1:{port}/"),
                "caBundle": base64::engine::general_purpose::STANDARD.encode(ca),
            },
            "rules": [{ "operations": ["CREATE", "UPDATE", "DELETE"], "apiGroups": [""], "apiVersions": ["v1"],
                        "resources": ["configmaps"] }],
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
        }],
    })
}
