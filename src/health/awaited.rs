//! Jobs and Flux Operator's own kinds as its waits read them (resourceset §7.5). These readers stand before the rules for all
//! kinds.

use serde_json::Value;

use super::fields::{condition_with, list, number, text};
use super::verdict::Assessment;

/// The reader's verdict; `None` for kinds without one.
pub(super) fn assess(object: &Value) -> Option<Assessment> {
    let group = text(object, &["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
    match (group, text(object, &["kind"])) {
        ("batch", "Job") => Some(job(object)),
        ("fluxcd.controlplane.io", "FluxInstance" | "ResourceSet" | "ResourceSetInputProvider") => Some(ours(object)),
        _ => None,
    }
}

fn job(object: &Value) -> Assessment {
    if object["spec"]["suspend"] == true {
        return Assessment::current("JobSuspended", "the Job is suspended");
    }
    if condition_with(object, "Complete", "True").is_some() {
        return Assessment::current("JobCompleted", "the Job is complete");
    }
    match condition_with(object, "Failed", "True") {
        Some(failed) => Assessment::failed("JobFailed", text(failed, &["message"])),
        None => Assessment::progressing("JobInProgress", "the Job runs"),
    }
}

fn ours(object: &Value) -> Assessment {
    let generation = number(object, &["metadata", "generation"]);
    let mut ready = list(object, &["status", "conditions"]).iter().filter(|c| text(c, &["type"]) == "Ready").peekable();
    let is_true = |c: &Value| text(c, &["status"]) == "True" && number(c, &["observedGeneration"]) == generation;
    if ready.peek().is_some() && ready.all(is_true) {
        Assessment::current("Ready", "it is ready")
    } else {
        Assessment::progressing("NotReady", "it is not ready for its latest generation")
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::super::{Rules, Verdict};

    fn verdict(object: serde_json::Value) -> Verdict {
        let rules = Rules { awaited: true, ..Rules::at(Timestamp::UNIX_EPOCH) };
        super::super::assess(&object, &rules).verdict
    }

    #[test]
    fn a_wait_sees_suspended_jobs_as_done_and_running_ones_as_not() {
        let job = |spec, conditions| {
            json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generation": 2},
            "spec": spec, "status": {"conditions": conditions, "startTime": "2026-01-01T00:00:00Z"}})
        };
        let condition = |kind: &str| json!([{"type": kind, "status": "True"}]);
        for (object, want) in [
            (job(json!({}), json!([])), Verdict::Progressing),
            (job(json!({"suspend": true}), json!([])), Verdict::Current),
            (job(json!({}), condition("Complete")), Verdict::Current),
            (job(json!({}), condition("Failed")), Verdict::Failed),
        ] {
            assert_eq!(verdict(object.clone()), want, "{object}");
        }
    }

    #[test]
    fn a_resource_set_is_ready_when_its_condition_is_of_its_generation() {
        let set = |status: serde_json::Value| {
            json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
            "metadata": {"generation": 2}, "status": status})
        };
        let ready = |status: &str, generation: i64| json!({"conditions": [{"type": "Ready", "status": status, "observedGeneration": generation}]});
        assert_eq!(verdict(set(ready("True", 2))), Verdict::Current);
        let stalled = json!({"conditions": [{"type": "Stalled", "status": "True"}]});
        for status in [ready("True", 1), ready("False", 2), stalled, json!({})] {
            assert_eq!(verdict(set(status.clone())), Verdict::Progressing, "{status}");
        }
    }
}
