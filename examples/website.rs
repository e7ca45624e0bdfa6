//! An operator in 100 lines: each `Website` becomes a ConfigMap with its page, a Deployment that serves it, and a Service.
//! `docs/library.md` walks through it.
//!
//! `cargo run --example website -- crd | kubectl apply -f -`, then `cargo run --example website`

use fluxd::object::Gvk;
use fluxd::operator::controller::Dependency;
use fluxd::operator::{Composite, CompositeOperator, CompositeSettings, CompositeStatus, Context, Desired, Error};
use fluxd::runtime::Stop;
use kube::{CustomResource, CustomResourceExt, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a user writes.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.dev", version = "v1", kind = "Website", namespaced, status = "WebsiteStatus")]
pub struct WebsiteSpec {
    /// The page.
    pub html: String,
    /// How many servers there are; one if not said.
    pub replicas: Option<u32>,
    /// A ConfigMap with pictures that must be there first.
    pub pictures: Option<String>,
}

/// What the operator answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct WebsiteStatus {
    /// Conditions, inventory and revision: kept by the library.
    #[serde(flatten)]
    pub composite: CompositeStatus,
    /// Where the page is, once it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The author's part.
pub struct Websites;

impl Composite for Websites {
    type Kind = Website;

    async fn desired(&self, site: &Website, _: &Context) -> Result<Desired, Error> {
        if !site.spec.html.contains('<') {
            return Err(Error::Invalid("spec.html has no element; write at least <p>text</p>".into()));
        }
        let (name, labels) = (site.name_any(), json!({ "website": site.name_any() }));
        let metadata = json!({ "name": name, "namespace": site.namespace(), "labels": labels });
        let mut volumes = vec![json!({ "name": "page", "configMap": { "name": name } })];
        let mut mounts = vec![json!({ "name": "page", "mountPath": "/usr/share/nginx/html" })];
        if let Some(pictures) = &site.spec.pictures {
            volumes.push(json!({ "name": "pictures", "configMap": { "name": pictures } }));
            mounts.push(json!({ "name": "pictures", "mountPath": "/usr/share/nginx/html/pictures" }));
        }
        let server = json!({ "name": "web", "image": "nginx:1.29", "volumeMounts": mounts });
        let mut desired = Desired::none();
        desired.add(&json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "index.html": site.spec.html },
        }))?;
        desired.add(&json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": {
                "replicas": site.spec.replicas.unwrap_or(1), "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": { "containers": [server], "volumes": volumes } },
            },
        }))?;
        desired.add(&json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": { "selector": labels, "ports": [{ "port": 80 }] },
        }))?;
        Ok(desired)
    }

    fn dependencies(&self, site: &Website) -> Vec<Dependency> {
        let (kind, namespace) = (Gvk::new("v1", "ConfigMap"), site.namespace().unwrap_or_default());
        site.spec.pictures.iter().map(|name| Dependency::new(&kind, &namespace, name)).collect()
    }

    fn publish(&self, site: &Website) -> Value {
        json!({ "url": format!("http://{}.{}.svc/", site.name_any(), site.namespace().unwrap_or_default()) })
    }
}

#[allow(dead_code, clippy::print_stdout, reason = "the tests run the operator without this; definitions are printed")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("crd") {
        println!("{}", serde_json::to_string_pretty(&Website::crd())?);
        return Ok(());
    }
    let settings = CompositeSettings::new("website", "example.dev");
    let operator = CompositeOperator::new(Websites, kube::Config::infer().await?, settings)?;
    let (stop, signal) = (Stop::new(), tokio::signal::ctrl_c());
    let interrupted = async { signal.await.map(|()| stop.stop()) };
    let (ended, heard) = tokio::join!(operator.run(stop.clone()), interrupted);
    heard?;
    Ok(ended?)
}
