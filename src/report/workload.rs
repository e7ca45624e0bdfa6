//! A live workload as the API tells of it, before git's part is added. Pure: a function of the object.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::health::{Rollout, rollout};
use crate::object::{ObjectId, Policies, workload};

/// Annotations that name the HelmRelease which made a workload, the newer first.
const ANTECEDENT: [&str; 2] = ["helm.fluxcd.io/antecedent", "flux.weave.works/antecedent"];

/// A workload as it is in the cluster, before git's part is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Identity.
    pub id: ObjectId,
    /// Containers, init containers last, or why they cannot be read.
    pub containers: Result<Vec<WorkloadContainer>, String>,
    /// v1's status word.
    pub status: String,
    /// Numbers of its roll-out.
    pub rollout: Rollout,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// From the annotation `helm.fluxcd.io/antecedent`.
    pub antecedent: Option<ObjectId>,
    /// Policies on the live object.
    pub policies: BTreeMap<String, String>,
}

/// A container of a live workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadContainer {
    /// Its name.
    pub name: String,
    /// Its image, as written.
    pub image: String,
}

impl Workload {
    /// Makes one of a live object; `None` for objects that are no workloads or have no name. One that is a workload because
    /// it declares where its images are has no numbers.
    pub fn from_live(object: &Value) -> Option<Self> {
        let kind = object["kind"].as_str().filter(|_| workload::is_workload(object))?;
        let meta = &object["metadata"];
        let name = meta["name"].as_str().filter(|n| !n.is_empty())?;
        let progress = rollout(object).unwrap_or_default();
        let annotations = meta["annotations"].as_object();
        let antecedent =
            annotations.and_then(|a| ANTECEDENT.iter().find_map(|key| a.get(*key)?.as_str()?.parse().ok()));
        let policies = annotations.map(Policies::from_annotations).unwrap_or_default();
        Some(Self {
            id: ObjectId::new(meta["namespace"].as_str(), kind, name),
            containers: containers(object),
            status: progress.status,
            rollout: progress.rollout,
            labels: texts(&meta["labels"]),
            antecedent,
            policies: policies.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
        })
    }
}

/// Whether an object belongs to the cluster itself, so that no list shows it (fluxd-v1 §5.9).
pub fn is_add_on(object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    object["metadata"]["namespace"] == "kube-system"
        && (labels["kubernetes.io/cluster-service"] == "true"
            || matches!(labels["addonmanager.kubernetes.io/mode"].as_str(), Some("EnsureExists" | "Reconcile")))
}

fn texts(map: &Value) -> BTreeMap<String, String> {
    let pairs = map.as_object().into_iter().flatten();
    pairs.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect()
}

/// One image that cannot be read leaves the workload without any, with the reason (fluxd-v1 §3.4).
fn containers(object: &Value) -> Result<Vec<WorkloadContainer>, String> {
    let one = |c: workload::Container| Ok(WorkloadContainer { name: c.name, image: c.image?.full() });
    workload::containers(object).into_iter().map(one).collect()
}
