//! Input providers on a real control plane: passes, conditions, events, schedules, failures (cases P1-P18 of resourceset
//! §11). What the hosts answer is played at the wire.

mod artifacts;
mod listings;
mod passes;
mod previews;
mod rules;
mod schedules;

use std::time::Duration;

use fluxd::controllers::inputprovider::{Settings, controller};
use fluxd::operator::controller::ControllerSettings;
use fluxd::provider;
use fluxd::runtime::Stop;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use super::controllers::plane;
use crate::rig::{ControlPlane, DEADLINE, eventually};

/// The controller, looking after some namespaces of the shared control plane until the test ends.
struct Running {
    plane: &'static ControlPlane,
    client: kube::Client,
    namespace: String,
    stop: Stop,
}

impl Running {
    /// Starts one for a namespace of its own.
    async fn start() -> Self {
        let namespace = plane().namespace("rsip");
        Self::over(&[&namespace], |_| {}).await
    }

    /// Starts one over namespaces, of which the first is the test's own.
    async fn over(namespaces: &[&str], change: impl FnOnce(&mut Settings)) -> Self {
        let plane = plane();
        let kubeconfig = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let mut settings = Settings {
            providers: provider::Settings {
                first_pause: Duration::from_millis(1),
                longest_pause: Duration::from_millis(20),
                ..provider::Settings::default()
            },
            ..Settings::default()
        };
        change(&mut settings);
        let running = ControllerSettings {
            namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
            min_retry_delay: Duration::from_millis(200),
            max_retry_delay: Duration::from_secs(1),
            ..ControllerSettings::new("resourcesetinputprovider", "flux-operator")
        };
        let controller = controller(config, plane.client().await, settings, running).unwrap();
        let stop = Stop::new();
        let until = stop.clone();
        tokio::spawn(async move { controller.run(until).await });
        Self { plane, client: plane.client().await, namespace: namespaces[0].to_owned(), stop }
    }

    /// Creates or changes a provider with this metadata and spec.
    #[track_caller]
    fn apply(&self, name: &str, annotations: Value, spec: Value) {
        let object = self.object(name, annotations, spec);
        let object = serde_json::from_value(object).unwrap();
        let params = PatchParams::apply("test").force();
        wait_for(self.api().patch(name, &params, &Patch::Apply::<DynamicObject>(object))).unwrap();
    }

    fn api(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource())
    }

    fn object(&self, name: &str, annotations: Value, spec: Value) -> Value {
        json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
               "metadata": {"name": name, "namespace": self.namespace, "annotations": annotations}, "spec": spec})
    }

    #[track_caller]
    fn secret(&self, name: &str, data: Value) {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": self.namespace},
                            "stringData": data});
        self.plane.apply(&secret.to_string(), &[]);
    }

    /// The object as it is.
    fn get(&self, name: &str) -> Option<Value> {
        wait_for(self.api().get_opt(name)).unwrap().map(|object| serde_json::to_value(object).unwrap())
    }

    /// Waits until the object's status satisfies the condition, and returns the object.
    #[track_caller]
    fn wait(&self, name: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let end = std::time::Instant::now() + DEADLINE;
        loop {
            let object = self.get(name).unwrap_or_default();
            if holds(&object) {
                return object;
            }
            assert!(std::time::Instant::now() < end, "{what}: {object:#}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until it is ready with the generation that it has, for another reason than a schedule.
    #[track_caller]
    fn ready(&self, name: &str) -> Value {
        self.wait(name, "it is ready", |object| {
            let ready = condition(object, "Ready");
            ready["reason"] == "ReconciliationSucceeded"
                && ready["observedGeneration"] == object["metadata"]["generation"]
                && condition(object, "Reconciling").is_null()
        })
    }

    /// Waits until it is not ready for this reason, with a message that holds this.
    #[track_caller]
    fn refused(&self, name: &str, reason: &str, said: &str) -> Value {
        self.wait(name, &format!("{reason}: {said}"), |object| {
            let ready = condition(object, "Ready");
            ready["status"] == "False"
                && ready["reason"] == reason
                && ready["message"].as_str().is_some_and(|message| message.contains(said))
        })
    }

    /// Asks for a pass, and waits until it is over.
    #[track_caller]
    fn request(&self, name: &str, token: &str) -> Value {
        self.annotate(name, json!({"reconcile.fluxcd.io/requestedAt": token}));
        self.wait(name, "the request was handled", |object| object["status"]["lastHandledReconcileAt"] == token)
    }

    /// Adds annotations.
    #[track_caller]
    fn annotate(&self, name: &str, annotations: Value) {
        let patch = json!({"metadata": {"annotations": annotations}});
        wait_for(self.api().patch(name, &PatchParams::default(), &Patch::Merge(patch))).unwrap();
    }

    /// Type, reason and message of the events about an object.
    fn events(&self, name: &str) -> Vec<(String, String, String)> {
        let params = ListParams::default().fields(&format!("involvedObject.name={name}"));
        let list = wait_for(Api::<Event>::namespaced(self.client.clone(), &self.namespace).list(&params)).unwrap();
        let text = |text: Option<String>| text.unwrap_or_default();
        list.items.into_iter().map(|e| (text(e.type_), text(e.reason), text(e.message))).collect()
    }

    /// Waits for an event of this kind whose message holds this.
    #[track_caller]
    fn event(&self, name: &str, kind: &str, reason: &str, said: &str) {
        eventually(&format!("an event {kind} {reason} {said}"), || {
            let found = self.events(name);
            found.iter().any(|(k, r, m)| k == kind && r == reason && m.contains(said)).then_some(())
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

fn resource() -> ApiResource {
    ApiResource::erase::<fluxd::api::inputprovider::ResourceSetInputProvider>(&())
}

/// Waits for an answer in the middle of what is no asynchronous function.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(future))
}

/// A condition of an object.
fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

/// The exported inputs.
fn exported(object: &Value) -> Value {
    object["status"]["exportedInputs"].clone()
}
