//! What the daemon was told to do: checked values, made once from flags and environment by `cli`.

use std::time::Duration;

/// Where the sync marker is kept (fluxd-v1 §2.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerStore {
    /// An annotated tag in the repository.
    Git,
    /// An annotation on the daemon's secret.
    Secret,
}

/// Settings of the git loop. Those of git itself, of generation and of the engine are given to their own rooms.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Repository address as the user gave it; may hold a password and is never shown.
    pub url: String,
    /// Branch that is synced; empty means the remote's default.
    pub branch: String,
    /// Paths below the repository root, in the user's order; empty means the root.
    pub paths: Vec<String>,
    /// Never push.
    pub readonly: bool,
    /// Name of the marker tag.
    pub sync_tag: String,
    /// Where the marker is kept.
    pub marker: MarkerStore,
    /// Whether `.flux.yaml` files are honoured; commits outside of `paths` then count as well.
    pub manifest_generation: bool,
    /// Bound on a sync and on each job.
    pub sync_timeout: Duration,
    /// The objects are applied at least this often.
    pub sync_interval: Duration,
    /// Whether signatures are verified.
    pub verify_signatures: bool,
    /// Namespace the daemon runs in; `None` out of a cluster.
    pub own_namespace: Option<String>,
    /// Secret with the deploy key and, with [`MarkerStore::Secret`], the marker.
    pub secret_name: String,
    /// Namespace of objects that name none.
    pub default_namespace: String,
    /// Namespaces that are served; empty means all.
    pub allow_namespaces: Vec<String>,
    /// Whether Kubernetes events are recorded.
    pub events: bool,
    /// Whether images are looked for.
    pub scanning: bool,
    /// Automated workloads are looked at at least this often.
    pub automation_interval: Duration,
    /// What is appended to every commit message, as it is.
    pub ci_skip: String,
    /// Version that the API and `--version` report.
    pub version: String,
}
