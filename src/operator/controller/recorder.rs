//! Writes events to the API server as core/v1 Events, whose messages may be long, and raises the count of one that is told
//! again. It works on its own task and gives up on an event rather than fall behind for ever.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use k8s_openapi::api::core::v1::Event as KubeEvent;

use crate::runtime::Backoff;

use super::events::Told;
use super::forward::Forwarder;

/// Events that are remembered so that their count can be raised (as many as client-go remembers).
const REMEMBERED: usize = 4096;
/// After so long an event is told anew, since the API server forgets them after an hour.
const REMEMBERED_FOR: Duration = Duration::from_mins(50);
/// Longest message. What the API server takes is bounded by the size of a whole object, 1.5 MiB.
const LONGEST_MESSAGE: usize = 1_000_000;
const TRIES: u32 = 4;
const DEADLINE: Duration = Duration::from_secs(10);

/// What makes two events the same.
type Identity = (String, bool, String, String);

struct Recorded {
    name: String,
    count: i32,
    first: Timestamp,
}

/// The far end of the queue.
pub(super) struct Recorder {
    pub(super) client: kube::Client,
    /// The source component of all events.
    pub(super) component: String,
    pub(super) forwarder: Option<Forwarder>,
    recorded: HashMap<Identity, Recorded>,
    order: VecDeque<Identity>,
}

impl Recorder {
    pub(super) fn new(client: kube::Client, component: String, forwarder: Option<Forwarder>) -> Self {
        Self { client, component, forwarder, recorded: HashMap::new(), order: VecDeque::new() }
    }

    /// Writes events until there can be no more.
    pub(super) async fn run(mut self, mut events: mpsc::Receiver<Told>) {
        while let Some(told) = events.recv().await {
            if let Some(forwarder) = self.forwarder.as_ref().filter(|_| told.event.forward) {
                forwarder.push(&told);
            }
            self.record(told).await;
        }
    }

    async fn record(&mut self, mut told: Told) {
        cut(&mut told.event.message, LONGEST_MESSAGE);
        let key = identity(&told);
        let young = |recorded: &Recorded| {
            Duration::try_from(told.at.duration_since(recorded.first)).is_ok_and(|age| age < REMEMBERED_FOR)
        };
        let again = self.recorded.get(&key).filter(|recorded| young(recorded)).map(|r| (r.name.clone(), r.count + 1));
        if let Some((name, count)) = again
            && self.count_again(&told, &name, count).await
        {
            if let Some(recorded) = self.recorded.get_mut(&key) {
                recorded.count = count;
            }
            return;
        }
        let name = event_name(&told);
        if self.create(&told, &name).await {
            self.remember(key, Recorded { name, count: 1, first: told.at });
        }
    }

    fn remember(&mut self, key: Identity, recorded: Recorded) {
        if self.recorded.insert(key.clone(), recorded).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.recorded.remove(&oldest);
        }
    }

    /// Raises the count; `false` when the event is gone and has to be made anew.
    async fn count_again(&self, told: &Told, name: &str, count: i32) -> bool {
        let body = json!({
            "count": count, "lastTimestamp": seconds(told.at), "message": told.event.message,
            "metadata": { "annotations": told.event.metadata },
        });
        let api = self.api(told);
        let sent = self.tried(told, || async { api.patch(name, &PatchParams::default(), &Patch::Merge(&body)).await });
        sent.await
    }

    async fn create(&self, told: &Told, name: &str) -> bool {
        let body = self.body(told, name);
        let event: KubeEvent = match serde_json::from_value(body) {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(%error, "an event cannot be written");
                return false;
            }
        };
        let api = self.api(told);
        self.tried(told, || async { api.create(&PostParams::default(), &event).await }).await
    }

    fn body(&self, told: &Told, name: &str) -> Value {
        let at = seconds(told.at);
        json!({
            "metadata": {
                "name": name, "namespace": namespace(told),
                "annotations": if told.event.metadata.is_empty() { Value::Null } else { json!(told.event.metadata) },
            },
            "involvedObject": told.about,
            "type": if told.event.warning { "Warning" } else { "Normal" },
            "reason": told.event.reason,
            "message": told.event.message,
            "source": { "component": self.component },
            "reportingComponent": self.component,
            "reportingInstance": "",
            "firstTimestamp": at, "lastTimestamp": at, "count": 1,
        })
    }

    fn api(&self, told: &Told) -> Api<KubeEvent> {
        Api::namespaced(self.client.clone(), namespace(told))
    }

    /// Tries a write a few times; what the API server refuses is not tried again.
    async fn tried<F, W>(&self, told: &Told, write: F) -> bool
    where
        F: Fn() -> W,
        W: Future<Output = Result<KubeEvent, kube::Error>>,
    {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
        for _ in 0..TRIES {
            let problem = match tokio::time::timeout(DEADLINE, write()).await {
                Ok(Ok(_)) => return true,
                Ok(Err(kube::Error::Api(status))) if status.code < 500 && status.code != 429 => {
                    tracing::debug!(reason = told.event.reason, error = %status, "an event was refused");
                    return false;
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer in time".to_owned(),
            };
            tracing::debug!(reason = told.event.reason, error = problem, "an event was not recorded yet");
            backoff.wait(None).await;
        }
        tracing::warn!(reason = told.event.reason, "an event could not be recorded");
        false
    }
}

/// Events about objects without a namespace live in `default`.
fn namespace(told: &Told) -> &str {
    told.about.namespace.as_deref().unwrap_or("default")
}

fn identity(told: &Told) -> Identity {
    let about = &told.about;
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    let object = [&about.kind, &about.namespace, &about.name, &about.uid].map(part).join("/");
    (object, told.event.warning, told.event.reason.clone(), told.event.message.clone())
}

/// The object's name and the moment, as everyone names events; never longer than a name may be.
fn event_name(told: &Told) -> String {
    let mut name = told.about.name.clone().unwrap_or_default();
    name.truncate(name.floor_char_boundary(230));
    format!("{name}.{:x}", told.at.as_nanosecond())
}

/// Times of core/v1 Events have whole seconds.
fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Cuts a text to so many bytes, and says so.
pub(super) fn cut(text: &mut String, limit: usize) {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit.saturating_sub(3)));
        text.push_str("...");
    }
}
