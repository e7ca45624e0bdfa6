//! What a pass does differently for its users, as values.

use std::path::PathBuf;
use std::time::Duration;

use crate::cluster::Validation;
use crate::object::{Glob, ObjectId, SyncSet};

/// Whose marks the objects carry.
#[derive(Clone, Debug)]
pub enum Identity {
    /// A repository, branch and paths, marked as Flux v1 did.
    SyncSet(SyncSet),
    /// Anything else that owns objects, by a name that is its own in the cluster.
    Owner(String),
}

impl Identity {
    /// The sync set that marks are computed from.
    pub fn sync_set(&self) -> SyncSet {
        match self {
            Self::SyncSet(set) => set.clone(),
            Self::Owner(name) => SyncSet::new(&format!("owner/{name}"), "", &[]),
        }
    }
}

/// Whether objects are deleted that are no longer wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Gc {
    /// Nothing is deleted.
    #[default]
    Off,
    /// It is only told what would be deleted.
    DryRun,
    /// They are deleted.
    On,
}

/// How many deletes one pass may make before they wait for an approval.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Budget {
    /// The larger of 20 % of the managed objects and 10.
    #[default]
    Default,
    /// A number of objects.
    Objects(usize),
    /// Per cent of the managed objects.
    Percent(u8),
    /// No limit; also lifts the other holds, as Flux v1 had none.
    Off,
}

/// When changes made by others are put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Drift {
    /// When they happen.
    #[default]
    Watch,
    /// At the next sync.
    Interval,
    /// Only when the manifest changes.
    Off,
}

/// What a pass goes by.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Field manager of our writes.
    pub field_manager: String,
    /// Whose marks the objects carry.
    pub identity: Identity,
    /// Namespace of objects that have none in their manifest.
    pub default_namespace: String,
    /// Namespaces we may touch; empty for all (fluxd-v1 §5.8).
    pub allow_namespaces: Vec<String>,
    /// Group versions (`apps/v1/`) and kinds (`apps/v1/Deployment`) that are never read (`--k8s-unsafe-exclude-resource`).
    pub exclude_resources: Vec<Glob>,
    /// Whether objects are deleted that are no longer wanted.
    pub gc: Gc,
    /// How many deletes one pass may make.
    pub gc_budget: Budget,
    /// When changes made by others are put right.
    pub drift: Drift,
    /// Requests in flight.
    pub concurrency: usize,
    /// Time one pass has.
    pub deadline: Duration,
    /// Time between two syncs when nothing else asks for one.
    pub interval: Duration,
    /// Time between two syncs that look for our marks on every kind.
    pub full_interval: Duration,
    /// What happens to unknown fields.
    pub validation: Validation,
    /// File that remembers what was applied last; it may be deleted at any time.
    pub cache: Option<PathBuf>,
    /// Namespace this process runs in; it is never deleted.
    pub self_namespace: Option<String>,
    /// Objects this process runs on; they are never deleted.
    pub self_objects: Vec<ObjectId>,
}

impl Settings {
    /// Settings with Flux v1's defaults for an identity.
    pub fn new(identity: Identity) -> Self {
        Self {
            field_manager: "fluxd".into(),
            identity,
            default_namespace: "default".into(),
            allow_namespaces: Vec::new(),
            exclude_resources: Vec::new(),
            gc: Gc::Off,
            gc_budget: Budget::Default,
            drift: Drift::Watch,
            concurrency: 32,
            deadline: Duration::from_secs(60),
            interval: Duration::from_secs(300),
            full_interval: Duration::from_secs(3600),
            validation: Validation::Strict,
            cache: None,
            self_namespace: None,
            self_objects: Vec::new(),
        }
    }
}
