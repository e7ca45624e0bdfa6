//! Waiting on real roll-outs, failing fast, timing out, being interrupted; failed Jobs run again.

use fluxd::operator::sets::Waited;

use super::*;
use crate::rig::eventually;

const LONG: Duration = Duration::from_secs(90);

async fn wait(fixture: &Fixture, objects: &[Arc<Object>], timeout: Duration) -> Waited<()> {
    let entries: Vec<Entry> = objects.iter().map(|object| entry(object)).collect();
    fixture.set().wait(&entries, timeout, std::future::pending()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_roll_out_is_waited_for_and_a_second_wait_asks_nothing() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "ready").await;
    let objects = [fixture.deployment("web", "example.org/a:1"), fixture.config_map("a", json!({}))];
    // Twice, so that both kinds are heard of.
    fixture.apply(&objects).await;
    fixture.apply(&objects).await;
    assert_eq!(wait(&fixture, &objects, LONG).await, Waited::Ready);
    let status = plane.get(&fixture.namespace, "deployment", "web").unwrap()["status"].clone();
    assert_eq!(status["availableReplicas"], 1, "{status}");
    crate::rig::eventually_async("a wait without a request", || async {
        fixture.take_requests();
        assert_eq!(wait(&fixture, &objects, LONG).await, Waited::Ready);
        fixture.take_requests().is_empty().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_fails_fast_and_names_what_failed() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "failed").await;
    let ns = &fixture.namespace;
    let job = fixture.object(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": ns},
        "spec": {"suspend": false, "backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "nodeSelector": {"none": "x"},
        "containers": [{"name": "c", "image": "example.org/a:1"}]}}}}));
    let objects = [job, fixture.config_map("a", json!({}))];
    assert_eq!(fixture.apply(&objects).await.error, None);
    fail_job(plane, ns, "a");
    let text = format!("failed early due to stalled resources: [Job/{ns}/a status: 'Failed']\n");
    assert_eq!(wait(&fixture, &objects, LONG).await, Waited::Failed(text));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_in_time_and_names_what_is_not_ready() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "late").await;
    let ns = &fixture.namespace;
    let claim = fixture.object(
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a", "namespace": ns},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    );
    assert_eq!(fixture.apply(std::slice::from_ref(&claim)).await.error, None);
    let objects = [claim, fixture.config_map("missing", json!({}))];
    let text = format!(
        "timeout waiting for: [PersistentVolumeClaim/{ns}/a status: 'InProgress', ConfigMap/{ns}/missing status: 'NotFound']\n"
    );
    assert_eq!(wait(&fixture, &objects, Duration::from_secs(2)).await, Waited::TimedOut(text));
    let entries: Vec<Entry> = objects.iter().map(|object| entry(object)).collect();
    let interrupted = fixture.set().wait(&entries, LONG, async { "ResourceSet/a/b" }).await;
    assert_eq!(interrupted, Waited::Interrupted("ResourceSet/a/b"));
}

/// Says that a Job has failed, as its controller would.
fn fail_job(plane: &ControlPlane, namespace: &str, name: &str) {
    let time = "2026-01-01T00:00:00Z";
    eventually("the job's controller has begun", || {
        plane.get(namespace, "job", name)?["status"]["startTime"].as_str().map(str::to_owned)
    });
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "message": "no luck",
        "lastTransitionTime": time, "lastProbeTime": time})
    };
    let status = json!({"status": {"failed": 1, "active": 0, "ready": 0, "terminating": 0,
        "uncountedTerminatedPods": {}, "conditions": [condition("FailureTarget"), condition("Failed")]}});
    let text = status.to_string();
    eventually("the job's status is ours to set", || {
        let args = ["-n", namespace, "patch", "job", name, "--subresource=status", "--type=merge", "-p", &text];
        plane.try_kubectl(&args).map_err(|e| eprintln!("{e}")).ok()
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_job_of_ours_runs_again_where_it_asks_for_it_and_others_are_left_alone() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "jobs").await;
    let ns = &fixture.namespace;
    let job = |name: &str, annotation: &str| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name,
        "namespace": ns, "annotations": {"fluxcd.controlplane.io/recreateOnFailure": annotation}},
        "spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "nodeSelector": {"none": "x"},
        "containers": [{"name": "c", "image": "example.org/a:1"}]}}}})
    };
    let objects: Vec<_> = [("asks", "enabled"), ("silent", "Enabled"), ("runs", "enabled"), ("foreign", "enabled")]
        .map(|(name, annotation)| fixture.object(job(name, annotation)))
        .to_vec();
    assert_eq!(fixture.apply(&objects).await.error, None);
    let uid = |name: &str| Some(plane.get(ns, "job", name)?["metadata"]["uid"].as_str()?.to_owned());
    let before = ["asks", "silent", "runs", "foreign"].map(uid);
    for name in ["asks", "silent", "foreign"] {
        fail_job(plane, ns, name);
    }
    plane.kubectl(&[
        "-n",
        ns,
        "label",
        "--overwrite",
        "job",
        "foreign",
        "resourceset.fluxcd.controlplane.io/name=another",
    ]);
    fixture.set().recreate_failed_jobs(&objects, &how()).await.unwrap();
    let after = ["asks", "silent", "runs", "foreign"].map(uid);
    assert_eq!(after[0], None, "it is gone before the apply begins");
    assert_eq!(after[1..], before[1..]);
    assert_eq!(fixture.apply(&objects[..1]).await.error, None);
    assert!(uid("asks").is_some_and(|now| Some(now) != before[0]));
}
