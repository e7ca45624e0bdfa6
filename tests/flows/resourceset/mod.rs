//! ResourceSets against a real API server: the controllers run in this process, through their public doors.

mod definitions;
mod dependencies;
mod inputs;
mod lifecycle;
mod sources;
mod steps;

use fluxd::controllers::{inputprovider, resourceset};
use fluxd::operator::controller::ControllerSettings;
use fluxd::runtime::{Scoped, Stop, scoped};
use serde_json::{Value, json};

use crate::rig::{ControlPlane, eventually};

/// The controllers at work in one namespace.
pub(super) struct Running {
    pub(super) plane: &'static ControlPlane,
    pub(super) namespace: String,
    stop: Stop,
    _tasks: Vec<Scoped<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

fn running(name: &'static str, namespace: &str) -> ControllerSettings {
    ControllerSettings {
        namespaces: vec![namespace.to_owned()],
        jitter_percentage: 0,
        ..ControllerSettings::new(name, "flux-operator")
    }
}

/// Starts the controllers for a fresh namespace.
pub(super) async fn start(prefix: &str) -> Running {
    start_with(prefix, resourceset::Settings::default()).await
}

pub(super) async fn start_with(prefix: &str, settings: resourceset::Settings) -> Running {
    let plane = definitions::plane();
    let namespace = plane.namespace(prefix);
    start_in(plane, namespace, settings).await
}

pub(super) async fn start_in(
    plane: &'static ControlPlane,
    namespace: String,
    settings: resourceset::Settings,
) -> Running {
    let kubeconfig = kube::config::Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    let client = kube::Client::try_from(config.clone()).unwrap();
    let stop = Stop::new();
    let sets = resourceset::controller(&config, client.clone(), settings, running("resourceset", &namespace)).unwrap();
    let settings = inputprovider::Settings::default();
    let providers =
        inputprovider::controller(config, client, settings, running("resourcesetinputprovider", &namespace)).unwrap();
    let (first, second) = (stop.clone(), stop.clone());
    let tasks = vec![
        scoped(async move { sets.run(first).await.unwrap() }),
        scoped(async move { providers.run(second).await.unwrap() }),
    ];
    Running { plane, namespace, stop, _tasks: tasks }
}

impl Running {
    /// Applies a ResourceSet with this spec.
    #[track_caller]
    pub(super) fn set(&self, name: &str, spec: Value) {
        self.annotated(name, json!({}), spec);
    }

    #[track_caller]
    pub(super) fn annotated(&self, name: &str, annotations: Value, spec: Value) {
        self.apply(json!({ "apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
            "metadata": { "name": name, "namespace": self.namespace, "annotations": annotations }, "spec": spec }));
    }

    /// Applies an object; its namespace is ours unless it has one.
    #[track_caller]
    pub(super) fn apply(&self, object: Value) {
        self.plane.apply(&object.to_string(), &["--server-side", "--force-conflicts", "-n", &self.namespace]);
    }

    #[track_caller]
    pub(super) fn delete(&self, kind: &str, name: &str) {
        self.plane.kubectl(&["delete", kind, name, "-n", &self.namespace, "--wait=false"]);
    }

    pub(super) fn get(&self, kind: &str, name: &str) -> Option<Value> {
        self.plane.get(&self.namespace, kind, name)
    }

    #[track_caller]
    pub(super) fn until_gone(&self, kind: &str, name: &str) {
        eventually(&format!("{kind}/{name} is gone"), || self.get(kind, name).is_none().then_some(()));
    }

    #[track_caller]
    pub(super) fn until_there(&self, kind: &str, name: &str) -> Value {
        eventually(&format!("{kind}/{name} is there"), || self.get(kind, name))
    }

    pub(super) fn condition(&self, name: &str, kind: &str) -> Option<Value> {
        let object = self.get("resourceset", name)?;
        let conditions = object["status"]["conditions"].as_array()?;
        let found = conditions.iter().find(|c| c["type"] == kind)?;
        (found["observedGeneration"] == object["metadata"]["generation"]).then(|| found.clone())
    }

    /// Waits until Ready has this reason for the newest generation, and gives its message.
    #[track_caller]
    pub(super) fn until(&self, name: &str, reason: &str) -> String {
        let end = std::time::Instant::now() + crate::rig::DEADLINE;
        loop {
            if let Some(found) = self.condition(name, "Ready").filter(|c| c["reason"] == reason) {
                return found["message"].as_str().unwrap().to_owned();
            }
            let seen = || self.get("resourceset", name).map(|o| o["status"].clone());
            assert!(std::time::Instant::now() < end, "{name} never became {reason}: {:?}", seen());
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }

    #[track_caller]
    pub(super) fn until_ready(&self, name: &str) -> Value {
        self.until(name, "ReconciliationSucceeded");
        self.get("resourceset", name).unwrap()["status"].clone()
    }

    /// Asks for a pass and waits until it is over.
    #[track_caller]
    pub(super) fn reconcile(&self, name: &str) -> Value {
        let token = crate::rig::fresh_name("now");
        let annotation = format!("reconcile.fluxcd.io/requestedAt={token}");
        self.plane.kubectl(&["annotate", "--overwrite", "resourceset", name, "-n", &self.namespace, &annotation]);
        eventually("the request is handled", || {
            let object = self.get("resourceset", name)?;
            (object["status"]["lastHandledReconcileAt"] == token).then(|| object["status"].clone())
        })
    }

    /// Reason and message of the events about an object, oldest first.
    pub(super) fn events(&self, name: &str) -> Vec<(String, String)> {
        let list = self.plane.kubectl(&["get", "events", "-n", &self.namespace, "-o", "json"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        let mut found: Vec<Value> = list["items"].as_array().unwrap().clone();
        found.retain(|e| e["involvedObject"]["name"] == name && e["involvedObject"]["kind"] == "ResourceSet");
        found.sort_by_key(|e| {
            let version = e["metadata"]["resourceVersion"].as_str().unwrap_or_default();
            version.parse::<u64>().unwrap_or_default()
        });
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        found.iter().map(|e| (text(&e["reason"]), text(&e["message"]))).collect()
    }

    #[track_caller]
    pub(super) fn until_event(&self, name: &str, reason: &str, part: &str) -> String {
        eventually(&format!("an event {reason} with {part:?}"), || {
            self.events(name).into_iter().find(|(r, m)| r == reason && m.contains(part)).map(|(_, m)| m)
        })
    }
}

/// The identities of an inventory.
pub(super) fn ids(status: &Value) -> Vec<String> {
    let entries = status["inventory"]["entries"].as_array().cloned().unwrap_or_default();
    entries.iter().map(|e| e["id"].as_str().unwrap().to_owned()).collect()
}

pub(super) fn config_map(name: &str, data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "<< inputs.provider.namespace >>" },
        "data": data })
}
