//! The doors: all sets of a controller, and one of them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::cluster::{Client, Cluster};
use crate::object::{Gvk, Object};
use crate::plan::Plan;
use crate::runtime::Stop;

use super::{ApplyHow, Entry, Identity, Owner, Pruned, ReadError, SetOutcome, SetSettings, Waited};

/// Sets could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetsError {
    /// The connection acts as somebody else already.
    #[error("the configuration of the connection impersonates somebody, so it cannot impersonate service accounts")]
    Impersonating,
}

/// All sets of one controller: one index of what is live, one memory of what was applied. Clones share everything.
#[derive(Clone)]
pub struct Sets {
    shared: Arc<Shared>,
}

struct Shared {
    cluster: Cluster,
    settings: SetSettings,
}

/// The set of one owner, as one identity.
#[derive(Clone)]
pub struct Set {
    shared: Arc<Shared>,
    owner: Owner,
    identity: Identity,
}

impl Sets {
    /// Makes them; nothing is asked of the API server yet. `config` is what `client` was made from.
    ///
    /// # Errors
    /// When the connection itself impersonates somebody.
    pub fn new(config: &kube::Config, client: Client, settings: SetSettings) -> Result<Self, SetsError> {
        if config.auth_info.impersonate.is_some() {
            return Err(SetsError::Impersonating);
        }
        let label = settings.owner_name_label.clone();
        let cluster =
            Cluster::new(client, crate::cluster::Settings::new(&settings.field_manager, &label, Arc::new(|_, _| true)));
        Ok(Self { shared: Arc::new(Shared { cluster, settings }) })
    }

    /// Drives the shared watches until the stop.
    pub async fn run(&self, stop: Stop) {
        stop.or(self.shared.cluster.run_watches()).await;
    }

    /// The set of an owner.
    pub fn set(&self, owner: Owner, identity: Identity) -> Set {
        Set { shared: Arc::clone(&self.shared), owner, identity }
    }
}

impl Set {
    /// The entries of wanted objects, each in the namespace that it will really have: what has to be written down before the
    /// first [`Set::apply`]. Of a kind that nobody knows yet, the namespace is taken as written.
    pub async fn entries(&self, objects: &[Arc<Object>]) -> Vec<Entry> {
        objects.iter().map(|o| Entry { key: o.key(o.namespace()), version: o.gvk().version.clone() }).collect()
    }

    /// Applies objects in stages (resourceset §7.4). They carry the owner labels already.
    pub async fn apply(&self, _objects: &[Arc<Object>], _how: &ApplyHow) -> SetOutcome {
        SetOutcome { error: Some(self.missing("apply")), ..SetOutcome::default() }
    }

    /// Deletes failed Jobs that ask for it and are ours, and waits until they are gone (resourceset §7.4.1).
    ///
    /// # Errors
    /// When one cannot be read or deleted, or does not vanish in time.
    pub async fn recreate_failed_jobs(&self, _objects: &[Arc<Object>], _how: &ApplyHow) -> Result<(), String> {
        Err(self.missing("recreate"))
    }

    /// Waits until all entries are ready, one has failed, the time is over, or `interrupt` ends (resourceset §7.5). A wait
    /// holds nothing but its own memory.
    pub async fn wait<T>(
        &self,
        _entries: &[Entry],
        _timeout: Duration,
        _interrupt: impl Future<Output = T>,
    ) -> Waited<T> {
        Waited::Failed(self.missing("wait"))
    }

    /// Deletes objects of an inventory that are still the owner's (resourceset §7.6).
    pub async fn prune(&self, entries: &[Entry], _how: &ApplyHow) -> Pruned {
        Pruned { changes: Vec::new(), error: Some(self.missing("prune")), left: entries.to_vec() }
    }

    /// Reads one live object.
    ///
    /// # Errors
    /// When it does not exist ([`ReadError::not_found`]) or cannot be read.
    pub async fn get(&self, _gvk: &Gvk, _namespace: Option<&str>, _name: &str) -> Result<Value, ReadError> {
        Err(ReadError { not_found: false, reason: String::new(), message: self.missing("get") })
    }

    /// What [`Set::apply`] and [`Set::prune`] would do, by fresh dry runs. Changes nothing.
    ///
    /// # Errors
    /// When the cluster cannot be read, or refuses an object.
    pub async fn plan(&self, _objects: &[Arc<Object>], _inventory: &[Entry], _how: &ApplyHow) -> Result<Plan, String> {
        Err(self.missing("plan"))
    }

    fn missing(&self, what: &str) -> String {
        format!(
            "{what} of {:?} as {:?} by {} is not built yet",
            self.owner, self.identity, self.shared.settings.field_manager
        )
    }
}
