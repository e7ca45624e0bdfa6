//! Typed reads of the cluster for the library's users, and the few writes that concern no managed object: a process's own
//! secret, and Kubernetes events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event as KubeEvent, EventType, Recorder, Reporter};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::cluster::{Cluster, KindInfo, RequestError, Settings};
use crate::object::{GC_MARK_LABEL, Gvk, Key};
use crate::report::is_add_on;

use super::Error;

mod accounts;
mod workloads;

pub use accounts::{AccountToken, ServiceAccount};
pub use workloads::ImageUser;

/// Longest time for one read.
const DEADLINE: Duration = Duration::from_secs(30);

/// A door to the cluster for reads.
#[derive(Clone)]
pub struct Reads {
    cluster: Cluster,
    recorder: Arc<Recorder>,
}

/// A Kubernetes event about an object; the same event again raises its count.
#[derive(Clone, Debug)]
pub struct Event {
    /// What it is about.
    pub about: Key,
    /// `true` for `Warning`, `false` for `Normal`.
    pub warning: bool,
    /// One word in camel case, at most 128 characters.
    pub reason: String,
    /// A sentence; cut at 1,000 bytes.
    pub message: String,
}

/// Data and annotations of a secret. Never printed.
#[derive(Clone, Default)]
pub struct Secret {
    /// Its type, such as `kubernetes.io/dockerconfigjson`.
    pub kind: String,
    /// Its data, decoded.
    pub data: BTreeMap<String, Vec<u8>>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({} keys)", self.data.len())
    }
}

/// When a read that begins now must have ended.
pub(super) fn until() -> Instant {
    Instant::now() + DEADLINE
}

pub(super) fn failed(e: RequestError) -> Error {
    Error::Cluster(e.to_string())
}

impl Reads {
    /// Makes one; an empty list of namespaces allows all. `reporter` names this process in events.
    pub fn new(client: kube::Client, allow_namespaces: Vec<String>, reporter: &str) -> Self {
        let nothing = Arc::new(|_: &Key, _: &str| false);
        let settings = Settings { allow_namespaces, ..Settings::new(reporter, GC_MARK_LABEL, nothing) };
        let recorder = Recorder::new(client.clone(), Reporter { controller: reporter.to_owned(), instance: None });
        Self { cluster: Cluster::new(client, settings), recorder: Arc::new(recorder) }
    }

    pub(super) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Asks whether the API server answers.
    ///
    /// # Errors
    /// [`Error::Cluster`] when it does not.
    pub async fn ping(&self) -> Result<(), Error> {
        self.cluster.ping(until()).await.map_err(failed)
    }

    /// The API server's version, such as `v1.36.3`.
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn server_version(&self) -> Result<String, Error> {
        self.cluster.server_version(until()).await.map_err(failed)
    }

    /// Names of the namespaces we may touch and that exist.
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn list_namespaces(&self) -> Result<Vec<String>, Error> {
        self.cluster.namespaces(until()).await.map_err(failed)
    }

    /// Namespaces we may touch, each followed by its workloads, as whole objects.
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn export(&self) -> Result<Vec<Value>, Error> {
        let mut objects = Vec::new();
        let kind = core_kind("Namespace", "namespaces", false);
        for name in self.list_namespaces().await? {
            let key = Key { group: String::new(), kind: "Namespace".into(), namespace: None, name: name.clone() };
            objects.extend(self.cluster.get(&kind, &key, until()).await.map_err(failed)?);
            let workloads = self.cluster.workloads(Some(&name), until()).await.map_err(failed)?;
            objects.extend(workloads.into_iter().filter(|o| !is_add_on(o)));
        }
        Ok(objects)
    }

    /// The data of a secret; `None` when it does not exist.
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn get_secret(&self, namespace: &str, name: &str) -> Result<Option<Secret>, Error> {
        let (kind, key) = secret_key(namespace, name);
        let found = self.cluster.get(&kind, &key, until()).await.map_err(failed)?;
        Ok(found.map(|value| Secret {
            kind: value["type"].as_str().unwrap_or_default().to_owned(),
            data: strings(&value["data"]).filter_map(|(k, v)| Some((k, STANDARD.decode(v).ok()?))).collect(),
            annotations: strings(&value["metadata"]["annotations"]).collect(),
        }))
    }

    /// Sets some keys and annotations of an existing secret and leaves the others alone.
    ///
    /// # Errors
    /// [`Error::Cluster`], also when it does not exist.
    pub async fn patch_secret(&self, namespace: &str, name: &str, patch: &Secret) -> Result<(), Error> {
        let (kind, key) = secret_key(namespace, name);
        let mut body = Map::new();
        if !patch.data.is_empty() {
            let data: BTreeMap<&String, String> = patch.data.iter().map(|(k, v)| (k, STANDARD.encode(v))).collect();
            body.insert("data".into(), json!(data));
        }
        if !patch.annotations.is_empty() {
            body.insert("metadata".into(), json!({ "annotations": patch.annotations }));
        }
        self.cluster.merge(&kind, &key, &Value::Object(body), until()).await.map(|_| ()).map_err(failed)
    }

    /// Records a Kubernetes event; the same one again within six minutes raises its count only.
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn record_event(&self, event: Event) -> Result<(), Error> {
        let mut note = event.message;
        note.truncate(note.floor_char_boundary(1_000));
        let reference = ObjectReference {
            api_version: (!event.about.group.is_empty()).then(|| event.about.group.clone()),
            kind: Some(event.about.kind),
            name: Some(event.about.name),
            namespace: event.about.namespace,
            ..ObjectReference::default()
        };
        let event = KubeEvent {
            type_: if event.warning { EventType::Warning } else { EventType::Normal },
            reason: event.reason,
            note: Some(note),
            action: "Sync".into(),
            secondary: None,
        };
        match tokio::time::timeout(DEADLINE, self.recorder.publish(&event, &reference)).await {
            Ok(published) => published.map_err(|e| Error::Cluster(e.to_string())),
            Err(_) => Err(Error::Cluster("recording an event: no answer in time".into())),
        }
    }
}

fn core_kind(kind: &str, plural: &str, namespaced: bool) -> KindInfo {
    let gvk = Gvk { group: String::new(), version: "v1".into(), kind: kind.into() };
    KindInfo { gvk, plural: plural.into(), namespaced, verbs: vec!["get".into(), "patch".into()] }
}

fn secret_key(namespace: &str, name: &str) -> (KindInfo, Key) {
    let key = Key { group: String::new(), kind: "Secret".into(), namespace: Some(namespace.into()), name: name.into() };
    (core_kind("Secret", "secrets", true), key)
}

fn strings(value: &Value) -> impl Iterator<Item = (String, String)> {
    value.as_object().into_iter().flatten().filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())))
}
