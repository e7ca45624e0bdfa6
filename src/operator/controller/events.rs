//! Events on their way out: a bounded queue that no pass ever waits for. Who writes and forwards them is elsewhere.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::sync::mpsc;
use tokio::sync::watch;

use super::{Event, Managed};

/// Events that may wait.
const QUEUE: usize = 4096;

/// An event with what it is about.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) about: ObjectReference,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) event: Event,
    pub(super) at: Timestamp,
}

/// Where events are forwarded to: notification-controller.
#[derive(Clone, Debug)]
pub struct Forward {
    /// Its address, such as `http://notification-controller.flux-system.svc.cluster.local./`; `None` while there is none.
    pub address: watch::Receiver<Option<String>>,
    /// The name of this process, such as its host name.
    pub instance: String,
}

impl Forward {
    /// Forwards to one address for ever.
    pub fn to(address: impl Into<String>, instance: impl Into<String>) -> Self {
        let (_, address) = watch::channel(Some(address.into()));
        Self { address, instance: instance.into() }
    }
}

/// The near end of the queue.
#[derive(Clone, Debug)]
pub(super) struct EventQueue {
    sender: mpsc::Sender<Told>,
}

impl EventQueue {
    pub(super) fn new() -> (Self, mpsc::Receiver<Told>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Self { sender }, receiver)
    }

    pub(super) fn push<K: Managed>(&self, object: &K, event: Event) {
        let meta = object.meta();
        let about = ObjectReference {
            api_version: Some(K::api_version(&()).into_owned()),
            kind: Some(K::kind(&()).into_owned()),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            field_path: None,
        };
        let annotations = meta.annotations.clone().unwrap_or_default();
        let told = Told { about, annotations, event, at: Timestamp::now() };
        if let Err(error) = self.sender.try_send(told) {
            let reason = match &error {
                mpsc::error::TrySendError::Full(told) | mpsc::error::TrySendError::Closed(told) => &told.event.reason,
            };
            tracing::warn!(reason, "an event is lost: too many wait to be recorded");
        }
    }
}
