//! The table by kind.

use serde_json::Value;

use super::fields::{condition, condition_with, count, is_condition, list, number, text};
use super::verdict::{Assessment, Rules, RunningJob, Verdict};
use super::workloads;

/// How long the scheduler may look for a node before a Pod counts as one that none can take, in seconds.
const SCHEDULING_SECONDS: i64 = 15;

/// The kind's own rule; `None` for kinds that have none.
pub(super) fn assess(object: &Value, rules: &Rules) -> Option<Assessment> {
    let api_version = text(object, &["apiVersion"]);
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let assessment = match (group, text(object, &["kind"])) {
        ("", "ConfigMap" | "Secret") => Assessment::current("Exists", "it exists"),
        ("", "Namespace") => namespace(object),
        ("", "Service") => service(object),
        ("", "Pod") => pod(object, rules),
        ("", "PersistentVolumeClaim") => claim(object),
        ("", "PersistentVolume") => volume(object),
        ("apps" | "extensions", "Deployment") => workloads::deployment(object),
        ("apps" | "extensions", "ReplicaSet") => workloads::replica_set(object),
        ("apps" | "extensions", "DaemonSet") => workloads::daemon_set(object),
        ("apps", "StatefulSet") => workloads::stateful_set(object),
        ("batch", "CronJob") => Assessment::current("Scheduled", "its schedule is in force"),
        ("batch", "Job") => job(object, rules),
        ("policy", "PodDisruptionBudget") => Assessment::current("Computed", "its allowed disruptions are computed"),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object),
        ("apiregistration.k8s.io", "APIService") => api_service(object),
        _ => return None,
    };
    Some(assessment)
}

fn namespace(object: &Value) -> Assessment {
    match text(object, &["status", "phase"]) {
        "Terminating" => Assessment::new(Verdict::Terminating, "Terminating", "being deleted"),
        _ => Assessment::current("Active", "it is active"),
    }
}

/// The outside address of a load balancer is not waited for: many clusters never give one.
fn service(object: &Value) -> Assessment {
    let balancer = text(object, &["spec", "type"]) == "LoadBalancer";
    if balancer && text(object, &["spec", "clusterIP"]).is_empty() {
        return Assessment::progressing("NoIPAssigned", "the load balancer's Service has no cluster IP yet");
    }
    Assessment::current("Ready", "the Service is ready")
}

fn pod(object: &Value, rules: &Rules) -> Assessment {
    match text(object, &["status", "phase"]) {
        "Succeeded" => Assessment::current("PodCompleted", "the Pod has completed"),
        "Failed" => Assessment::current("PodFailed", "the Pod has ended with a failure"),
        "Running" => running_pod(object),
        "Pending" => pending_pod(object, rules),
        phase => Assessment::progressing("PhaseUnknown", format!("the Pod's phase is \"{phase}\"")),
    }
}

fn running_pod(object: &Value) -> Assessment {
    if condition_with(object, "Ready", "True").is_some() {
        return Assessment::current("PodReady", "the Pod is ready");
    }
    let statuses = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
    let looping = statuses
        .iter()
        .flat_map(|field| list(object, &["status", field]))
        .filter(|c| text(c, &["state", "waiting", "reason"]) == "CrashLoopBackOff")
        .map(|c| text(c, &["name"]));
    let looping: Vec<_> = looping.collect();
    if looping.is_empty() {
        return Assessment::progressing("PodRunningNotReady", "the Pod runs but is not ready");
    }
    Assessment::failed("ContainerCrashLooping", format!("containers crash again and again: {}", looping.join(", ")))
}

fn pending_pod(object: &Value, rules: &Rules) -> Assessment {
    let unschedulable =
        condition_with(object, "PodScheduled", "False").filter(|c| text(c, &["reason"]) == "Unschedulable");
    let Some(condition) = unschedulable else {
        return Assessment::progressing("PodPending", "the Pod is pending");
    };
    let created = text(object, &["metadata", "creationTimestamp"]).parse::<jiff::Timestamp>();
    let age = created.map_or(0, |created| rules.now.as_second() - created.as_second());
    let message = format!("no node can take the Pod: {}", text(condition, &["message"]));
    if age > SCHEDULING_SECONDS {
        Assessment::failed("PodUnschedulable", message)
    } else {
        Assessment::progressing("PodNotScheduled", message)
    }
}

fn claim(object: &Value) -> Assessment {
    match text(object, &["status", "phase"]) {
        "Bound" => Assessment::current("Bound", "the claim is bound"),
        phase => Assessment::progressing("NotBound", format!("the claim is not bound; its phase is \"{phase}\"")),
    }
}

fn volume(object: &Value) -> Assessment {
    match text(object, &["status", "phase"]) {
        "Failed" => Assessment::failed("Failed", text(object, &["status", "message"])),
        phase @ ("Available" | "Bound" | "Released") => Assessment::current(phase, "the volume is there"),
        phase => Assessment::progressing("NotAvailable", format!("the volume's phase is \"{phase}\"")),
    }
}

fn job(object: &Value, rules: &Rules) -> Assessment {
    let status = |field| count(object, &["status", field]);
    if condition_with(object, "Complete", "True").is_some() {
        return Assessment::current("JobCompleted", format!("the Job is complete; succeeded: {}", status("succeeded")));
    }
    if let Some(failed) = condition_with(object, "Failed", "True") {
        let message = format!("the Job has failed; pods failed: {}: {}", status("failed"), text(failed, &["message"]));
        return Assessment::failed("JobFailed", message);
    }
    let numbers =
        || format!("active: {}, succeeded: {}, failed: {}", status("active"), status("succeeded"), status("failed"));
    let (reason, message) =
        if object["spec"]["suspend"] == true && condition_with(object, "Suspended", "True").is_some() {
            ("JobSuspended", "the Job is suspended".to_owned())
        } else if text(object, &["status", "startTime"]).is_empty() {
            return Assessment::progressing("JobNotStarted", "the Job has not started");
        } else {
            ("JobInProgress", format!("the Job runs; {}", numbers()))
        };
    match rules.running_job {
        RunningJob::Progressing => Assessment::progressing(reason, message),
        RunningJob::Current => Assessment::current(reason, message),
    }
}

fn definition(object: &Value) -> Assessment {
    if let Some(refused) = condition_with(object, "NamesAccepted", "False") {
        return Assessment::from_condition(Verdict::Failed, refused);
    }
    match condition(object, "Established") {
        Some(c) if is_condition(c, "True") => Assessment::current("Established", "the kind is served"),
        Some(c) if is_condition(c, "False") && text(c, &["reason"]) != "Installing" => {
            Assessment::from_condition(Verdict::Failed, c)
        }
        Some(_) | None => Assessment::progressing("Installing", "the kind is being installed"),
    }
}

fn api_service(object: &Value) -> Assessment {
    match condition(object, "Available") {
        Some(c) if is_condition(c, "True") => Assessment::from_condition(Verdict::Current, c),
        Some(c) => Assessment::from_condition(Verdict::Progressing, c),
        None => Assessment::progressing("Unknown", "nobody has looked whether the API answers"),
    }
}

/// The desired number of replicas; the API server's default is one.
pub(super) fn replicas(object: &Value) -> i64 {
    number(object, &["spec", "replicas"]).unwrap_or(1)
}
