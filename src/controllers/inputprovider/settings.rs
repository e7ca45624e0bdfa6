//! What the controller of input providers is told from outside.

use crate::provider;

/// Settings of the controller of input providers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How remote services are reached.
    pub providers: provider::Settings,
    /// The account whose rights reads of ExternalArtifacts have when an object names none (`--default-service-account`).
    pub default_service_account: Option<String>,
    /// The account whose identity clouds see when an object names none (`--default-workload-identity-service-account`).
    pub default_workload_identity_service_account: Option<String>,
    /// Listings at a time. They hold no worker slot, so that slow services do not keep other objects from their turn.
    pub concurrent_calls: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            providers: provider::Settings::default(),
            default_service_account: None,
            default_workload_identity_service_account: None,
            concurrent_calls: 50,
        }
    }
}
