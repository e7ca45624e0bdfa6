//! The rules of the kinds that keep replicas: the first number that is not reached gives the reason.

use serde_json::Value;

use super::fields::{condition, condition_with, count, is_condition, number, text};
use super::kinds::replicas;
use super::verdict::Assessment;

/// The first shortfall among `(reason, what, have, want)`.
fn short_of(checks: &[(&str, &str, i64, i64)]) -> Option<Assessment> {
    let (reason, what, have, want) = checks.iter().find(|(_, _, have, want)| have < want)?;
    Some(Assessment::progressing(reason, format!("{what}: {have}/{want}")))
}

fn too_many(have: i64, want: i64) -> Option<Assessment> {
    (have > want).then(|| Assessment::progressing("ExtraReplicas", format!("waiting for {} to end", have - want)))
}

pub(super) fn deployment(object: &Value) -> Assessment {
    let status = |field| count(object, &["status", field]);
    let want = replicas(object);
    let progressing = condition(object, "Progressing");
    if let Some(c) = progressing.filter(|c| text(c, &["reason"]) == "ProgressDeadlineExceeded") {
        return Assessment::failed("ProgressDeadlineExceeded", text(c, &["message"]));
    }
    let (all, updated) = (status("replicas"), status("updatedReplicas"));
    short_of(&[("LessReplicas", "replicas", all, want), ("LessUpdated", "updated", updated, want)])
        .or_else(|| too_many(all, want))
        .or_else(|| {
            let (available, ready) = (status("availableReplicas"), status("readyReplicas"));
            short_of(&[("LessAvailable", "available", available, updated), ("LessReady", "ready", ready, want)])
        })
        .or_else(|| not_rolled_out(object, progressing))
        .unwrap_or_else(|| Assessment::current("Available", format!("available, replicas: {want}")))
}

/// Without a deadline no condition tells of progress; the numbers must do then.
fn not_rolled_out(object: &Value, progressing: Option<&Value>) -> Option<Assessment> {
    let rolled_out =
        progressing.is_some_and(|c| is_condition(c, "True") && text(c, &["reason"]) == "NewReplicaSetAvailable");
    if !rolled_out && number(object, &["spec", "progressDeadlineSeconds"]).is_some_and(|s| s != i64::from(i32::MAX)) {
        return Some(Assessment::progressing("ReplicaSetNotAvailable", "the new ReplicaSet is not available"));
    }
    let available = condition_with(object, "Available", "True").is_some();
    (!available).then(|| Assessment::progressing("DeploymentNotAvailable", "the Deployment is not available"))
}

pub(super) fn replica_set(object: &Value) -> Assessment {
    let status = |field| count(object, &["status", field]);
    let want = replicas(object);
    if let Some(c) = condition_with(object, "ReplicaFailure", "True") {
        return Assessment::progressing("ReplicaFailure", text(c, &["message"]));
    }
    short_of(&[
        ("LessLabelled", "labelled", status("fullyLabeledReplicas"), want),
        ("LessAvailable", "available", status("availableReplicas"), want),
        ("LessReady", "ready", status("readyReplicas"), want),
    ])
    .or_else(|| too_many(status("replicas"), want))
    .unwrap_or_else(|| Assessment::current("Available", format!("available, replicas: {want}")))
}

pub(super) fn daemon_set(object: &Value) -> Assessment {
    let status = |field| count(object, &["status", field]);
    let seen = number(object, &["metadata", "generation"]).and(number(object, &["status", "observedGeneration"]));
    let Some(want) = seen.and(number(object, &["status", "desiredNumberScheduled"])) else {
        return Assessment::progressing("NoDesiredNumber", "its controller has not counted the nodes yet");
    };
    short_of(&[
        ("LessCurrent", "current", status("currentNumberScheduled"), want),
        ("LessUpdated", "updated", status("updatedNumberScheduled"), want),
        ("LessAvailable", "available", status("numberAvailable"), want),
        ("LessReady", "ready", status("numberReady"), want),
    ])
    .unwrap_or_else(|| Assessment::current("Available", format!("available, pods: {want}")))
}

pub(super) fn stateful_set(object: &Value) -> Assessment {
    let status = |field| count(object, &["status", field]);
    if text(object, &["spec", "updateStrategy", "type"]) == "OnDelete" {
        return Assessment::current("OnDelete", "its pods change when somebody deletes them");
    }
    let want = replicas(object);
    let unsettled = short_of(&[
        ("LessReplicas", "replicas", status("replicas"), want),
        ("LessReady", "ready", status("readyReplicas"), want),
    ])
    .or_else(|| too_many(status("replicas"), want));
    if let Some(unsettled) = unsettled {
        return unsettled;
    }
    if let Some(partition) =
        number(object, &["spec", "updateStrategy", "rollingUpdate", "partition"]).filter(|p| *p > 0)
    {
        let new = (want - partition).max(0);
        return short_of(&[("PartitionRollout", "updated", status("updatedReplicas"), new)])
            .unwrap_or_else(|| Assessment::current("PartitionRolloutComplete", format!("updated: {new} of {want}")));
    }
    if let Some(short) = short_of(&[("LessCurrent", "current", status("currentReplicas"), want)]) {
        return short;
    }
    let revision = |field| text(object, &["status", field]);
    if revision("currentRevision") != revision("updateRevision") {
        let message = format!("waiting for revision {}", revision("updateRevision"));
        return Assessment::progressing("RolloutInProgress", message);
    }
    Assessment::current("Available", format!("all pods are ready, replicas: {want}"))
}
