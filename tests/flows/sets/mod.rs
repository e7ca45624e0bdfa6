//! `operator::sets` against a real control plane, used as an outsider would: the crate's public doors and nothing else.

mod adopt;
mod apply;
mod prune;
mod refused;
mod steady;
mod wait;
mod who;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fluxd::object::{Object, Origin};
use fluxd::operator::sets::{ApplyHow, ChangeAction, Entry, Identity, Owner, Set, SetOutcome, SetSettings, Sets};
use fluxd::runtime::Stop;
use serde_json::{Value, json};

use crate::rig::{ControlPlane, fresh_name};

/// Verbs and statuses of the requests of some sets, in the order they ended.
type Requests = Arc<Mutex<Vec<(&'static str, u16)>>>;

/// The sets of one controller, running, and the set of one owner.
struct Fixture {
    sets: Sets,
    owner: Owner,
    namespace: String,
    requests: Requests,
    stop: Stop,
}

impl Fixture {
    /// In a namespace of its own.
    async fn new(plane: &'static ControlPlane, prefix: &str) -> Self {
        let namespace = plane.namespace(prefix);
        Self::within(plane, &namespace, SetSettings::resource_set()).await
    }

    async fn within(plane: &'static ControlPlane, namespace: &str, settings: SetSettings) -> Self {
        let requests = Requests::default();
        let noted = Arc::clone(&requests);
        let on_request = Arc::new(move |verb, status| noted.lock().unwrap().push((verb, status)));
        let settings = SetSettings { on_request, ..settings };
        let kubeconfig = kube::config::Kubeconfig::read_from(plane.kubeconfig()).unwrap();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
        let client = fluxd::operator::client(config.clone()).unwrap();
        let sets = Sets::new(&config, client, settings).unwrap();
        let stop = Stop::new();
        let (running, stopped) = (sets.clone(), stop.clone());
        tokio::spawn(async move { running.run(stopped).await });
        let owner = Owner { kind: "ResourceSet".into(), namespace: namespace.into(), name: fresh_name("owner") };
        Self { sets, owner, namespace: namespace.to_owned(), requests, stop }
    }

    fn set(&self) -> Set {
        self.sets.set(self.owner.clone(), Identity::Own)
    }

    /// A manifest with the owner's labels.
    fn object(&self, mut value: Value) -> Arc<Object> {
        let labels = &mut value["metadata"]["labels"];
        labels["resourceset.fluxcd.controlplane.io/name"] = json!(self.owner.name);
        labels["resourceset.fluxcd.controlplane.io/namespace"] = json!(self.owner.namespace);
        object(&value)
    }

    fn config_map(&self, name: &str, data: Value) -> Arc<Object> {
        self.object(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace}, "data": data}))
    }

    fn deployment(&self, name: &str, image: &str) -> Arc<Object> {
        self.object(json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": image}]}}}}))
    }

    async fn apply(&self, objects: &[Arc<Object>]) -> SetOutcome {
        self.set().apply(objects, &how()).await
    }

    /// Applies what has to succeed, and gives lines of what was done.
    #[track_caller]
    fn lines(outcome: &SetOutcome) -> Vec<String> {
        assert_eq!(outcome.error, None);
        outcome.changes.iter().map(ToString::to_string).collect()
    }

    /// The requests since the last call.
    fn take_requests(&self) -> Vec<(&'static str, u16)> {
        let all = std::mem::take(&mut *self.requests.lock().unwrap());
        all.into_iter().filter(|(verb, _)| *verb != "watch").collect()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop.abort();
    }
}

fn how() -> ApplyHow {
    ApplyHow::within(Duration::from_secs(120), &Stop::new())
}

fn object(value: &Value) -> Arc<Object> {
    Arc::new(Object::new(value, Origin { file: "set".into(), line: 1, generated: true }).unwrap())
}

fn entry(object: &Object) -> Entry {
    Entry { key: object.key(object.namespace()), version: object.gvk().version.clone() }
}

fn actions(outcome: &SetOutcome) -> Vec<ChangeAction> {
    outcome.changes.iter().map(|change| change.action).collect()
}
