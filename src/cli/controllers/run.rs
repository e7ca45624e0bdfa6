//! The life of `fluxd controllers`, from settings to the last log line.

use std::sync::Arc;

use super::super::connect::{self, Connection};
use super::super::ending::{DRAIN, Reason, signals};
use super::super::environment::Environment;
use super::super::leader::{Release, lead};
use super::settings::Settings;
use super::start::{Cluster, start};
use crate::operator::reads::Reads;
use crate::report::Metrics;
use crate::runtime::{Stop, TaskError, TaskFailure, Tasks, scoped};
use crate::serve::{Endpoints, Probes};

/// What readiness waits for.
const CLUSTER: &str = "cluster";

/// How long the lease's release may take.
const RELEASE: std::time::Duration = std::time::Duration::from_secs(2);

/// Runs controllers until a signal or a failure.
pub(super) async fn run(settings: Settings, env: &Environment) -> Result<(), TaskError> {
    let (stop, reason) = (Stop::new(), Reason::default());
    let tasks = Tasks::new(stop.clone());
    let _signals = scoped(signals(stop.clone(), Arc::clone(&reason))?);
    let release = match stop.or(begin(settings, env, &tasks, &stop)).await {
        Some(begun) => begun?,
        None => None,
    };
    let ended = tasks.join(DRAIN).await;
    if let Some((release, election)) = release {
        // Only now, with every writer ended, may another replica begin.
        release.stop();
        tokio::time::timeout(RELEASE, election).await.ok();
    }
    conclude(ended, reason.get().copied())
}

async fn begin(
    settings: Settings,
    env: &Environment,
    tasks: &Tasks,
    stop: &Stop,
) -> Result<Option<Release>, TaskError> {
    let probes = Probes::default();
    probes.readiness.wait_for(CLUSTER, "the API server has not answered yet");
    let metrics = Arc::new(Metrics::new(env!("CARGO_PKG_VERSION"))?);
    let endpoints = Endpoints::bind(&settings.health, &settings.metrics, probes.clone(), Arc::clone(&metrics)).await?;
    let told = |address: Option<std::net::SocketAddr>| address.map_or_else(|| "none".to_owned(), |a| a.to_string());
    let (health, shown) = endpoints.addresses();
    tracing::info!(health = told(health), metrics = told(shown), "listening");
    let serving = stop.clone();
    tasks.spawn("http", async move {
        endpoints.run(serving).await;
        Ok(())
    });
    let Connection { client, config } = connect::connect(settings.kubeconfig.as_deref(), env).await?;
    let reads = Reads::new(client.clone(), Vec::new(), "flux-operator");
    let version = reads.server_version().await?;
    tracing::info!(host = %config.cluster_url, version = format!("kubernetes-{version}"), "connected");
    probes.readiness.done(CLUSTER);
    let (leading, release) = match settings.election {
        Some(election) => {
            let (leading, release) = lead(election, client.clone());
            (Some(leading), Some(release))
        }
        None => {
            tracing::warn!("no leader is elected: run one replica only, or give --leader-elect-namespace");
            (None, None)
        }
    };
    start(settings.common, Cluster { config, metrics, leading }, tasks, stop)?;
    Ok(release)
}

/// Logs why the process ends and decides whether that is a failure.
fn conclude(ended: Result<(), TaskFailure>, reason: Option<&str>) -> Result<(), TaskError> {
    let exiting = reason.unwrap_or("stopped");
    match ended {
        Ok(()) => tracing::info!(exiting),
        // A part that does not end in time after a signal was cut off; the signal is still why the process ends.
        Err(overdue @ TaskFailure::Overdue { .. }) => tracing::warn!(exiting, "{overdue}"),
        Err(failure) => {
            tracing::error!(exiting = %failure);
            return Err(failure.into());
        }
    }
    Ok(())
}
