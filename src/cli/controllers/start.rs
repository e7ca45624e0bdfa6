//! Puts the controllers together and starts their tasks, in whichever process.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::counted;
use super::settings::{Common, Notify};
use crate::api::FIELD_MANAGER;
use crate::controllers::{inputprovider, notifier, resourceset};
use crate::operator::controller::{ControllerSettings, Forward};
use crate::report::Metrics;
use crate::runtime::{Stop, TaskError, Tasks};

/// How long running passes have to end after a signal, or after the lease is lost. Less than what is left of a lease when
/// leadership ends (4 s of the daemon's, 5 s of the controllers' own): another replica may write then.
const GRACE: Duration = Duration::from_secs(3);

/// The cluster that the controllers work on, and what the process lends them.
pub(in crate::cli) struct Cluster {
    /// What clients, also those of other identities, are made of.
    pub(in crate::cli) config: kube::Config,
    pub(in crate::cli) metrics: Arc<Metrics>,
    /// Whether this process may write; `None` when no leader is elected.
    pub(in crate::cli) leading: Option<watch::Receiver<bool>>,
}

/// Starts the controllers.
///
/// # Errors
/// When settings cannot be used.
pub(in crate::cli) fn start(common: Common, cluster: Cluster, tasks: &Tasks, stop: &Stop) -> Result<(), TaskError> {
    let client = counted::client(cluster.config.clone(), Arc::clone(&cluster.metrics))?;
    let forward = forward(&common, &client, tasks, stop);
    let running = |name| running(name, &common, &cluster, forward.clone());
    let settings = inputprovider::Settings {
        providers: common.providers.clone(),
        default_service_account: common.default_account.clone(),
        default_workload_identity_service_account: common.default_workload_account.clone(),
        ..inputprovider::Settings::default()
    };
    let (config, own) = (cluster.config.clone(), client.clone());
    let mut providers = inputprovider::controller(config, own, settings, running("resourcesetinputprovider"))?;
    if let Some(leading) = &cluster.leading {
        providers = providers.with_leadership(leading.clone());
    }
    let requests = Arc::clone(&cluster.metrics);
    let settings = resourceset::Settings {
        requeue_dependency: common.requeue_dependency,
        default_service_account: common.default_account.clone(),
        override_managers: common.override_managers.clone(),
        watch_selector: common.configs.clone(),
        on_request: Arc::new(move |verb, status| requests.api_request(verb, status)),
    };
    let mut sets = resourceset::controller(&cluster.config, client, settings, running("resourceset"))?;
    if let Some(leading) = &cluster.leading {
        sets = sets.with_leadership(leading.clone());
    }
    let token = stop.clone();
    tasks.spawn("input providers", async move { Ok(providers.run(token).await?) });
    let token = stop.clone();
    tasks.spawn("resource sets", async move { Ok(sets.run(token).await?) });
    Ok(())
}

/// What both controllers have in common.
fn running(name: &'static str, common: &Common, cluster: &Cluster, forward: Option<Forward>) -> ControllerSettings {
    ControllerSettings {
        concurrency: common.concurrency,
        min_retry_delay: common.retry.0,
        max_retry_delay: common.retry.1,
        jitter_percentage: common.jitter,
        grace: GRACE,
        shard: common.shard.clone(),
        namespaces: common.namespaces.clone(),
        label_selector: common.selector.clone(),
        metrics: Some((*cluster.metrics).clone()),
        forward,
        ..ControllerSettings::new(name, FIELD_MANAGER)
    }
}

/// Where events go beside Kubernetes; an address that nobody gave is looked for.
fn forward(common: &Common, client: &kube::Client, tasks: &Tasks, stop: &Stop) -> Option<Forward> {
    match &common.notify {
        Notify::Off => None,
        Notify::At(address) => Some(Forward::to(address.clone(), common.instance.clone())),
        Notify::Found => {
            let (tell, address) = watch::channel(None);
            let (client, stop) = (client.clone(), stop.clone());
            tasks.spawn("notifier", async move {
                notifier::follow(client, tell, stop).await;
                Ok(())
            });
            Some(Forward { address, instance: common.instance.clone() })
        }
    }
}
