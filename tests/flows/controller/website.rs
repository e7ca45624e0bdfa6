//! The guide's operator, run as an outsider runs it: a `Website` from its creation to its end, on a real control plane.

use fluxd::operator::{Action, CompositeOperator, CompositeSettings};
use fluxd::runtime::{Scoped, Stop, scoped};
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{CustomResourceExt as _, ResourceExt as _};
use serde_json::{Value, json};

use super::config;
use crate::rig::{ControlPlane, Verdict, Webhook, eventually_async};

#[path = "../../../examples/website.rs"]
mod example;

use example::{Website, WebsiteSpec, Websites};

struct World {
    plane: &'static ControlPlane,
    namespace: String,
    sites: Api<Website>,
}

/// An operator, as long as it lives; dropping it is a kill.
struct Operator {
    stop: Stop,
    task: Scoped<()>,
}

impl World {
    async fn new() -> Self {
        let plane = ControlPlane::shared();
        plane.apply(&serde_json::to_string(&Website::crd()).unwrap(), &["--server-side", "--force-conflicts"]);
        plane.kubectl(&["wait", "--for=condition=Established", "crd/websites.example.dev", "--timeout=60s"]);
        let namespace = plane.namespace("website");
        let sites: Api<Website> = Api::namespaced(plane.client().await, &namespace);
        eventually_async("the kind is served", || async { sites.list(&ListParams::default()).await.ok() }).await;
        Self { plane, namespace, sites }
    }

    async fn operate(&self) -> Operator {
        let settings = CompositeSettings::new("website", "example.dev").namespaces([self.namespace.clone()]);
        let operator = CompositeOperator::new(Websites, config(self.plane).await, settings).unwrap();
        let stop = Stop::new();
        let running = operator.run(stop.clone());
        Operator { stop, task: scoped(async move { running.await.unwrap() }) }
    }

    async fn create(&self, name: &str, spec: WebsiteSpec) {
        self.sites.create(&PostParams::default(), &Website::new(name, spec)).await.unwrap();
    }

    async fn edit(&self, name: &str, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.sites.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn annotate(&self, name: &str, key: &str, value: &str) {
        let patch = json!({ "metadata": { "annotations": { key: value } } });
        self.sites.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Waits until Ready has this status and reason at the present generation; gives its message.
    async fn is(&self, name: &str, status: &str, reason: &str) -> String {
        let ask = || async {
            let site = self.sites.get(name).await.unwrap();
            let conditions = site.status?.composite.conditions;
            let ready = conditions.into_iter().find(|c| c.type_ == "Ready")?;
            let fits = ready.status == status && ready.reason == reason;
            (fits && ready.observed_generation == site.metadata.generation).then_some(ready.message)
        };
        eventually_async(&format!("{name} is Ready={status} {reason}"), ask).await
    }

    fn live(&self, kind: &str, name: &str) -> Option<Value> {
        self.plane.get(&self.namespace, kind, name)
    }

    async fn inventory(&self, name: &str) -> Vec<String> {
        let status = self.sites.get(name).await.unwrap().status.unwrap_or_default();
        status.composite.inventory.unwrap_or_default().entries.into_iter().map(|entry| entry.id).collect()
    }
}

fn page(html: &str) -> WebsiteSpec {
    WebsiteSpec { html: html.into(), replicas: None, pictures: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_website_is_served_kept_changed_and_removed() {
    let world = World::new().await;
    let operator = world.operate().await;
    world.create("a", page("<p>one</p>")).await;
    assert_eq!(world.is("a", "True", "ReconciliationSucceeded").await, "3 objects are applied and ready");
    let ns = &world.namespace;
    let ids = [format!("{ns}_a__ConfigMap"), format!("{ns}_a__Service"), format!("{ns}_a_apps_Deployment")];
    assert_eq!(world.inventory("a").await, ids);
    let site = world.sites.get("a").await.unwrap();
    assert_eq!(site.finalizers(), ["example.dev/finalizer"]);
    assert_eq!(site.status.unwrap().url, Some(format!("http://a.{ns}.svc/")));
    assert_eq!(world.live("deployment", "a").unwrap()["status"]["availableReplicas"], 1, "it is ready when it serves");

    let maps: Api<ConfigMap> = Api::namespaced(world.plane.client().await, ns);
    let text = || async { maps.get_opt("a").await.unwrap()?.data?.remove("index.html") };
    let drift = json!({ "data": { "index.html": "hacked" } });
    maps.patch("a", &PatchParams::default(), &Patch::Merge(drift)).await.unwrap();
    let restored = || async { text().await.filter(|text| text == "<p>one</p>") };
    eventually_async("what others changed is put right", restored).await;
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    eventually_async("what others deleted is back", restored).await;

    world.edit("a", json!({ "html": "<p>two</p>", "replicas": 2 })).await;
    world.is("a", "True", "ReconciliationSucceeded").await;
    assert_eq!(text().await.as_deref(), Some("<p>two</p>"));
    assert_eq!(world.live("deployment", "a").unwrap()["status"]["availableReplicas"], 2);

    let events: Api<Event> = Api::namespaced(world.plane.client().await, ns);
    let told = || async {
        let events = events.list(&ListParams::default()).await.unwrap().items;
        let ours = events.into_iter().filter(|e| e.involved_object.kind.as_deref() == Some("Website"));
        ours.filter_map(|e| e.message).find(|m| m.contains(&format!("ConfigMap/{ns}/a created")))
    };
    eventually_async("an event tells what was applied", told).await;

    world.sites.delete("a", &DeleteParams::default()).await.unwrap();
    let gone = || async { world.sites.get_opt("a").await.unwrap().is_none().then_some(()) };
    eventually_async("the website is gone", gone).await;
    for kind in ["configmap", "deployment", "service"] {
        assert!(world.live(kind, "a").is_none(), "{kind}: what it owned went before it did");
    }
    operator.stop.stop();
    operator.task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_website_waits_for_its_pictures_and_is_woken_by_them() {
    let world = World::new().await;
    let _operator = world.operate().await;
    world.create("a", WebsiteSpec { pictures: Some("pics".into()), ..page("<p>one</p>") }).await;
    let message = world.is("a", "False", "DependencyNotReady").await;
    assert!(
        message.starts_with(&format!("dependency v1/ConfigMap/{}/pics cannot be found", world.namespace)),
        "{message}"
    );
    assert!(world.live("deployment", "a").is_none(), "nothing is applied before");
    world.plane.kubectl(&["-n", &world.namespace, "create", "configmap", "pics"]);
    world.is("a", "True", "ReconciliationSucceeded").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_website_that_cannot_be_is_stalled_until_it_is_changed() {
    let world = World::new().await;
    let _operator = world.operate().await;
    world.create("a", page("no page")).await;
    let message = world.is("a", "False", "BuildFailed").await;
    assert_eq!(message, "spec.html has no element; write at least <p>text</p>");
    let site = world.sites.get("a").await.unwrap();
    let kinds: Vec<String> = site.status.unwrap().composite.conditions.into_iter().map(|c| c.type_).collect();
    assert_eq!(kinds, ["Stalled", "Ready"]);
    world.edit("a", json!({ "html": "<p/>" })).await;
    world.is("a", "True", "ReconciliationSucceeded").await;
    let site = world.sites.get("a").await.unwrap();
    assert_eq!(site.status.unwrap().composite.conditions.len(), 1, "Ready alone is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_killed_midway_has_written_down_what_it_was_about_to_apply() {
    let world = World::new().await;
    let webhook = Webhook::start(world.plane, &world.namespace);
    webhook.set(|operation, name| if (operation, name) == ("CREATE", "a") { Verdict::Hold } else { Verdict::Allow });
    let first = world.operate().await;
    world.create("a", page("<p>one</p>")).await;
    webhook.wait_until_held(1);
    drop(first);
    webhook.set(|_, _| Verdict::Allow);
    assert_eq!(world.inventory("a").await.len(), 3, "the inventory was there before the first object");
    let second = world.operate().await;
    world.is("a", "True", "ReconciliationSucceeded").await;
    drop(second);
    world.sites.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(world.live("deployment", "a").is_some(), "without an operator everything stays");
    let _third = world.operate().await;
    let gone = || async { world.sites.get_opt("a").await.unwrap().is_none().then_some(()) };
    eventually_async("the website is gone", gone).await;
    assert!(world.live("deployment", "a").is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_without_a_change_writes_nothing() {
    let world = World::new().await;
    let _operator = world.operate().await;
    world.create("a", page("<p>one</p>")).await;
    world.is("a", "True", "ReconciliationSucceeded").await;
    let versions = || {
        let version = |kind: &str| world.live(kind, "a").map(|o| o["metadata"]["resourceVersion"].clone());
        [version("configmap"), version("service")]
    };
    let before = versions();
    let handled = || async { world.sites.get("a").await.unwrap().status.unwrap().composite.last_handled_reconcile_at };
    assert_eq!(handled().await, None);
    world.annotate("a", "reconcile.fluxcd.io/requestedAt", "now").await;
    eventually_async("the request is answered", handled).await;
    let poke = json!({ "metadata": { "annotations": { "example.dev/poke": "1" } } });
    let poked = world.sites.patch("a", &PatchParams::default(), &Patch::Merge(poke)).await.unwrap();
    let settings = CompositeSettings::new("website", "example.dev").namespaces([world.namespace.clone()]);
    let handle = CompositeOperator::new(Websites, config(world.plane).await, settings).unwrap().handle();
    let plan = handle.plan(&poked, &Stop::new()).await.unwrap();
    assert!(plan.is_empty(), "{plan:?}");
    let mut changed = poked.clone();
    changed.spec.html = "<p>two</p>".into();
    let plan = handle.plan(&changed, &Stop::new()).await.unwrap();
    let writes: Vec<&str> =
        plan.steps.iter().filter(|s| s.action != Action::Keep).map(|s| s.target.key.kind.as_str()).collect();
    assert_eq!(writes, ["ConfigMap"], "{plan:?}");
    assert_eq!(versions(), before);
    assert_eq!(world.sites.get("a").await.unwrap().resource_version(), poked.resource_version(), "no status either");
}
