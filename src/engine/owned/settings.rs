//! What the owners of sets need differently, as values: names, marks, whose fields are taken over, bounds.

use std::sync::Arc;
use std::time::Duration;

use crate::cluster::{Adoption, Keyed, OnRequest, Taken, Validation};

/// How the sets of one controller are applied.
#[derive(Clone)]
pub struct SetSettings {
    /// Field manager of everything that is written.
    pub field_manager: String,
    /// Label that carries the owner's name; watches select by it.
    pub owner_name_label: String,
    /// Label that carries the owner's namespace.
    pub owner_namespace_label: String,
    /// Managers whose fields become ours when an object is adopted or edited by hand.
    pub take_over: Vec<Taken>,
    /// Annotations of other tools that leave an object with their fields.
    pub strip_annotations: Vec<String>,
    /// Labels of other tools that leave an object with their fields.
    pub strip_labels: Vec<String>,
    /// How strictly fields are checked.
    pub validation: Validation,
    /// Annotation by which a wanted object is left alone, whatever is live.
    pub off: Keyed,
    /// Label or annotation by which a live object is never deleted.
    pub prune_off: Keyed,
    /// Label or annotation by which an object is made anew where a field of it cannot be changed.
    pub force: Keyed,
    /// Annotation by which a failed Job is deleted before it is applied.
    pub recreate: Keyed,
    /// Requests in flight for one set.
    pub concurrency: usize,
    /// Requests in flight for all sets together.
    pub total_concurrency: usize,
    /// Time for one read or one object's write, retries included.
    pub deadline: Duration,
    /// Time until a stage that others rest on (definitions, namespaces, classes) has to be ready, and for objects to vanish.
    pub stage_timeout: Duration,
    /// Longest time between two looks at an object that is waited for.
    pub poll: Duration,
    /// Hears of every request: its verb, and the HTTP status or 0.
    pub on_request: OnRequest,
}

impl SetSettings {
    /// The values of ResourceSets (resourceset §2.5, §7.4-7.6).
    pub fn resource_set() -> Self {
        let on = |key: &str, value: &str| Keyed::new(&format!("fluxcd.controlplane.io/{key}"), value);
        Self {
            field_manager: "flux-operator".into(),
            owner_name_label: "resourceset.fluxcd.controlplane.io/name".into(),
            owner_namespace_label: "resourceset.fluxcd.controlplane.io/namespace".into(),
            take_over: vec![
                Taken::applied("kustomize-controller"),
                Taken::updated("helm"),
                Taken { prefix: true, update: true, apply: true, ..Taken::updated("kubectl") },
                Taken { prefix: true, ..Taken::updated("before-first-apply") },
            ],
            strip_annotations: ["kubectl.kubernetes.io/last-applied-configuration"]
                .into_iter()
                .chain(["meta.helm.sh/release-name", "meta.helm.sh/release-namespace"])
                .map(str::to_owned)
                .collect(),
            strip_labels: ["name", "namespace"].map(|n| format!("kustomize.toolkit.fluxcd.io/{n}")).to_vec(),
            validation: Validation::Ignore,
            off: on("reconcile", "disabled"),
            prune_off: on("prune", "disabled"),
            force: on("force", "enabled"),
            recreate: on("recreateOnFailure", "enabled"),
            concurrency: 32,
            total_concurrency: 64,
            deadline: Duration::from_secs(60),
            stage_timeout: Duration::from_secs(60),
            poll: Duration::from_secs(5),
            on_request: Arc::new(|_, _| {}),
        }
    }

    /// What leaves other tools when an object becomes the owner's.
    pub(super) fn adoption(&self) -> Adoption {
        Adoption {
            taken: self.take_over.clone(),
            recorded: false,
            annotations: self.strip_annotations.clone(),
            labels: self.strip_labels.clone(),
            alone: true,
        }
    }

    /// Takes over the fields of one more manager, by its exact name (`--override-manager`).
    #[must_use]
    pub fn override_manager(mut self, manager: &str) -> Self {
        self.take_over.push(Taken { apply: true, ..Taken::updated(manager) });
        self
    }
}
