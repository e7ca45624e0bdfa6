//! Tells notification-controller about events (resourceset §7.9). A slow or absent one holds up nobody: its queue is bounded
//! and its own.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::runtime::Backoff;

use super::events::{Forward, Told};

/// Posts that may wait.
const QUEUE: usize = 1024;
/// Longest time for one post.
const DEADLINE: Duration = Duration::from_secs(5);
const TRIES: u32 = 4;
/// Annotations of an object that go along.
const PREFIX: &str = "event.toolkit.fluxcd.io/";

/// The near end of the queue of posts.
#[derive(Clone, Debug)]
pub(super) struct Forwarder {
    posts: mpsc::Sender<Value>,
    component: String,
    instance: String,
}

/// The far end.
pub(super) struct Postman {
    posts: mpsc::Receiver<Value>,
    address: watch::Receiver<Option<String>>,
    http: reqwest::Client,
}

impl Forwarder {
    /// Makes both ends; `component` names the controller in what is posted.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub(super) fn new(forward: &Forward, component: &str) -> Result<(Self, Postman), reqwest::Error> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // somebody else was first: just as well
            rustls::crypto::ring::default_provider().install_default().ok();
        }
        let (posts, receiver) = mpsc::channel(QUEUE);
        let http = reqwest::Client::builder()
            .timeout(DEADLINE)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()?;
        let forwarder = Self { posts, component: component.to_owned(), instance: forward.instance.clone() };
        Ok((forwarder, Postman { posts: receiver, address: forward.address.clone(), http }))
    }

    pub(super) fn push(&self, told: &Told) {
        if self.posts.try_send(self.body(told)).is_err() {
            tracing::warn!(reason = told.event.reason, "an event is not forwarded: too many wait");
        }
    }

    fn body(&self, told: &Told) -> Value {
        let mut metadata: BTreeMap<&String, &String> = told.event.metadata.iter().collect();
        metadata.extend(told.annotations.iter().filter(|(key, _)| key.starts_with(PREFIX)));
        json!({
            "involvedObject": told.about,
            "severity": if told.event.warning { "error" } else { "info" },
            "timestamp": told.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "message": told.event.message,
            "reason": told.event.reason,
            "metadata": metadata,
            "reportingController": self.component,
            "reportingInstance": self.instance,
        })
    }
}

impl Postman {
    /// Posts until there can be no more.
    pub(super) async fn run(mut self) {
        while let Some(body) = self.posts.recv().await {
            let address = self.address.borrow().clone();
            if let Some(address) = address {
                self.post(&address, &body).await;
            }
        }
    }

    async fn post(&self, address: &str, body: &Value) {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        let mut problem = String::new();
        for _ in 0..TRIES {
            match self.http.post(address).json(body).send().await {
                Ok(answer) if answer.status().is_server_error() => problem = answer.status().to_string(),
                Ok(answer) => {
                    // 429 says that it knows this event already.
                    if answer.status().is_client_error() && answer.status().as_u16() != 429 {
                        tracing::warn!(status = %answer.status(), "notification-controller refused an event");
                    }
                    return;
                }
                Err(error) => problem = error.without_url().to_string(),
            }
            backoff.wait(None).await;
        }
        tracing::warn!(error = problem, "notification-controller could not be told of an event");
    }
}
