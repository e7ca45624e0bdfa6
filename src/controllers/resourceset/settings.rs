//! What the controller of ResourceSets is told from outside (resourceset §7.10).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::operator::sets::OnRequest;

/// Settings of the controller of ResourceSets.
#[derive(Clone)]
pub struct Settings {
    /// Time between two looks at a dependency that is not ready (`--requeue-dependency`).
    pub requeue_dependency: Duration,
    /// The service account of ResourceSets that name none (`--default-service-account`); without one, they act with the
    /// rights of this process.
    pub default_service_account: Option<String>,
    /// Managers whose fields are taken over beside the usual ones (`--override-manager`).
    pub override_managers: Vec<String>,
    /// Selector of the ConfigMaps and Secrets whose changes are followed (`--watch-configs-label-selector`).
    pub watch_selector: String,
    /// Hears of every request about objects: its verb, and the HTTP status or 0.
    pub on_request: OnRequest,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            requeue_dependency: Duration::from_secs(5),
            default_service_account: None,
            override_managers: Vec::new(),
            watch_selector: "reconcile.fluxcd.io/watch=Enabled".to_owned(),
            on_request: Arc::new(|_, _| {}),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("requeue_dependency", &self.requeue_dependency)
            .field("default_service_account", &self.default_service_account)
            .field("override_managers", &self.override_managers)
            .field("watch_selector", &self.watch_selector)
            .finish_non_exhaustive()
    }
}
