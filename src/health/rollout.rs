//! v1's roll-out numbers and status words of workloads (fluxd-v1 §5.9), which `fluxctl` prints and `release --watch` waits on.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::fields::{count, list, text};
use super::kinds::replicas;

/// Numbers of a roll-out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Rollout {
    /// Pods that should run.
    pub desired: i64,
    /// Pods of the newest template.
    pub updated: i64,
    /// Pods that are ready.
    pub ready: i64,
    /// Pods that have been ready long enough.
    pub available: i64,
    /// Pods of older templates.
    pub outdated: i64,
    /// What hinders the roll-out. Written as `null` when there is nothing: `fluxctl release --watch` takes any list for a
    /// failure, an empty one too.
    #[serde(serialize_with = "null_when_empty")]
    pub messages: Vec<String>,
}

fn null_when_empty<S: Serializer>(list: &[String], s: S) -> Result<S::Ok, S::Error> {
    if list.is_empty() { s.serialize_none() } else { list.serialize(s) }
}

/// A workload's numbers with v1's word for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutStatus {
    /// `started`, `updating`, `ready`, `error`, or a HelmRelease's own word.
    pub status: String,
    /// The numbers.
    pub rollout: Rollout,
}

/// The roll-out of a workload; `None` for kinds that are no workloads.
pub fn rollout(object: &Value) -> Option<RolloutStatus> {
    let kind = object["kind"].as_str()?;
    match kind {
        "Deployment" => Some(with_generation(object, deployment(object))),
        "DaemonSet" => Some(with_generation(object, daemon_set(object))),
        "StatefulSet" => Some(with_generation(object, stateful_set(object))),
        "CronJob" => Some(RolloutStatus { status: "ready".to_owned(), rollout: Rollout::default() }),
        "HelmRelease" => {
            let status = object["status"]["releaseStatus"].as_str().unwrap_or_default().to_owned();
            Some(RolloutStatus { status, rollout: Rollout::default() })
        }
        _ => None,
    }
}

/// Numbers, and whether they mean that the roll-out is over.
type Numbers = (Rollout, bool);

fn with_generation(object: &Value, (rollout, done): Numbers) -> RolloutStatus {
    let seen = count(object, &["status", "observedGeneration"]);
    let status = if seen < count(object, &["metadata", "generation"]) {
        "started"
    } else if !rollout.messages.is_empty() {
        "error"
    } else if done {
        "ready"
    } else {
        "updating"
    };
    RolloutStatus { status: status.to_owned(), rollout }
}

fn deployment(object: &Value) -> Numbers {
    let updated = status(object, "updatedReplicas");
    let rollout = Rollout {
        desired: replicas(object),
        updated,
        ready: status(object, "readyReplicas"),
        available: status(object, "availableReplicas"),
        outdated: status(object, "replicas") - updated,
        messages: deployment_messages(object),
    };
    let done = rollout.updated == rollout.desired && rollout.available == rollout.desired && rollout.outdated == 0;
    (rollout, done)
}

fn deployment_messages(object: &Value) -> Vec<String> {
    let hinders = |c: &&Value| {
        let state = (text(c, &["type"]), text(c, &["status"]));
        matches!(state, ("Progressing", "False") | ("ReplicaFailure", "True"))
    };
    list(object, &["status", "conditions"]).iter().filter(hinders).map(|c| text(c, &["message"]).to_owned()).collect()
}

fn daemon_set(object: &Value) -> Numbers {
    let updated = status(object, "updatedNumberScheduled");
    let rollout = Rollout {
        desired: status(object, "desiredNumberScheduled"),
        updated,
        ready: status(object, "numberReady"),
        available: status(object, "numberAvailable"),
        outdated: status(object, "currentNumberScheduled") - updated,
        messages: Vec::new(),
    };
    let done = rollout.updated == rollout.desired && rollout.available == rollout.desired && rollout.outdated == 0;
    (rollout, done)
}

/// A partition keeps the first pods on the old template, so they are not desired to be new; readiness counts all of them.
fn stateful_set(object: &Value) -> Numbers {
    let all = replicas(object);
    let partition = count(object, &["spec", "updateStrategy", "rollingUpdate", "partition"]);
    let desired = (all - partition).max(0);
    let under_way = object["status"]["currentRevision"] != object["status"]["updateRevision"];
    let updated = status(object, if under_way { "updatedReplicas" } else { "currentReplicas" });
    let ready = status(object, "readyReplicas");
    let rollout =
        Rollout { desired, updated, ready, available: ready, outdated: desired - updated, messages: Vec::new() };
    let done = rollout.updated == desired && ready == all && rollout.outdated == 0;
    (rollout, done)
}

fn status(object: &Value, field: &str) -> i64 {
    count(object, &["status", field])
}
