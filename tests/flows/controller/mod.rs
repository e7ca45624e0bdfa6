//! Controllers on a real API server, through the public library: when passes run, with what they are given, and what becomes
//! of their answers. The kind and its reconciler are an outsider's.

mod lifecycle;
mod waking;
mod website;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fluxd::operator::controller::{
    Controller, ControllerSettings, Finalize, Next, Pass, Reconcile, Series, SeriesDetails, Store,
};
use fluxd::runtime::{Scoped, Stop, scoped};
use futures::future::BoxFuture;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{CustomResource, CustomResourceExt as _, ResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::rig::{ControlPlane, eventually_async};

/// What a test's object asks for.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "flows.test", version = "v1", kind = "Sample", namespaced, status = "SampleStatus")]
pub(super) struct SampleSpec {
    /// Anything.
    #[serde(default)]
    pub word: String,
}

/// What a test's reconciler says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(super) struct SampleStatus {
    /// The word seen last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// Passes, as the reconciler counts them from the status it is given.
    #[serde(default)]
    pub passes: i64,
}

pub(super) async fn config(plane: &ControlPlane) -> kube::Config {
    let kubeconfig = kube::config::Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap()
}

/// Installs the kind, once per control plane and idempotently.
pub(super) async fn install(plane: &ControlPlane) {
    plane.apply(&serde_json::to_string(&Sample::crd()).unwrap(), &["--server-side", "--force-conflicts"]);
    plane.kubectl(&["wait", "--for=condition=Established", "crd/samples.flows.test", "--timeout=60s"]);
    let api: Api<Sample> = Api::all(plane.client().await);
    eventually_async("the kind is served", || async { api.list(&Default::default()).await.ok() }).await;
}

type Act<T> = Box<dyn for<'a> Fn(Arc<Sample>, &'a Pass<Sample>) -> BoxFuture<'a, T> + Send + Sync>;

/// A reconciler whose passes the test writes, and that keeps a journal.
pub(super) struct Scripted {
    journal: Journal,
    reconcile: Act<Next>,
    finalize: Act<Finalize>,
}

/// What happened, by name of the object.
#[derive(Clone, Default)]
pub(super) struct Journal(Arc<Mutex<BTreeMap<String, Vec<String>>>>);

impl Journal {
    pub(super) fn note(&self, name: &str, line: impl Into<String>) {
        self.0.lock().unwrap().entry(name.to_owned()).or_default().push(line.into());
    }

    pub(super) fn of(&self, name: &str) -> Vec<String> {
        self.0.lock().unwrap().get(name).cloned().unwrap_or_default()
    }

    /// Waits until so many lines stand there.
    pub(super) async fn lines(&self, name: &str, count: usize) -> Vec<String> {
        let enough = || async { Some(self.of(name)).filter(|lines| lines.len() >= count) };
        eventually_async(&format!("{count} lines about {name}"), enough).await
    }
}

impl Scripted {
    pub(super) fn new(
        reconcile: impl for<'a> Fn(Arc<Sample>, &'a Pass<Sample>) -> BoxFuture<'a, Next> + Send + Sync + 'static,
    ) -> Self {
        let done: Act<Finalize> = Box::new(|_, _| Box::pin(async { Finalize::Done }));
        Self { journal: Journal::default(), reconcile: Box::new(reconcile), finalize: done }
    }

    pub(super) fn finalizing(
        mut self,
        finalize: impl for<'a> Fn(Arc<Sample>, &'a Pass<Sample>) -> BoxFuture<'a, Finalize> + Send + Sync + 'static,
    ) -> Self {
        self.finalize = Box::new(finalize);
        self
    }

    pub(super) fn journal(&self) -> Journal {
        self.journal.clone()
    }
}

impl Reconcile for Scripted {
    type Kind = Sample;

    async fn reconcile(&self, object: Arc<Sample>, cx: &Pass<Sample>) -> Next {
        let trigger = cx.trigger().map_or_else(|| "-".to_owned(), ToString::to_string);
        self.journal.note(&object.name_any(), format!("pass {trigger}"));
        (self.reconcile)(object, cx).await
    }

    fn series(&self, object: &Sample) -> Option<Series> {
        let text = |text: &str| text.to_owned();
        Some(Series {
            uid: object.uid().unwrap_or_default(),
            kind: text("Sample"),
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            ready: text("Unknown"),
            reason: text(""),
            suspended: false,
            details: SeriesDetails::Object,
        })
    }

    async fn finalize(&self, object: Arc<Sample>, cx: &Pass<Sample>) -> Finalize {
        self.journal.note(&object.name_any(), "finalize");
        (self.finalize)(object, cx).await
    }
}

/// A running controller, confined to a namespace of its own.
pub(super) struct Running {
    pub stop: Stop,
    pub journal: Journal,
    pub store: Store<Sample>,
    pub api: Api<Sample>,
    pub task: Scoped<()>,
}

pub(super) fn settings(namespace: &str) -> ControllerSettings {
    let namespaces = vec![namespace.to_owned()];
    ControllerSettings {
        finalizer: Some("flows.test/finalizer".into()),
        namespaces,
        ..ControllerSettings::new("sample", "sample-operator")
    }
}

pub(super) async fn start(plane: &ControlPlane, reconciler: Scripted, settings: ControllerSettings) -> Running {
    start_with(plane, reconciler, settings, |controller| controller).await
}

pub(super) async fn start_with(
    plane: &ControlPlane,
    reconciler: Scripted,
    settings: ControllerSettings,
    more: impl FnOnce(Controller<Scripted>) -> Controller<Scripted>,
) -> Running {
    let (client, journal) = (plane.client().await, reconciler.journal());
    let api = Api::namespaced(client.clone(), &settings.namespaces[0]);
    let controller = more(Controller::new(reconciler, client, settings));
    let (store, stop) = (controller.store(), Stop::new());
    let ends = stop.clone();
    let task = scoped(async move { controller.run(ends).await.unwrap() });
    Running { stop, journal, store, api, task }
}

impl Running {
    pub(super) async fn create(&self, name: &str) -> Sample {
        self.api.create(&PostParams::default(), &Sample::new(name, SampleSpec::default())).await.unwrap()
    }

    pub(super) async fn patch(&self, name: &str, patch: Value) -> Sample {
        self.api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap()
    }

    pub(super) async fn annotate(&self, name: &str, value: &str) {
        self.patch(name, json!({ "metadata": { "annotations": { "flows.test/poke": value } } })).await;
    }

    pub(super) async fn gone(&self, name: &str) {
        let gone = || async { self.api.get_opt(name).await.unwrap().is_none().then_some(()) };
        eventually_async(&format!("{name} is gone"), gone).await;
    }
}
