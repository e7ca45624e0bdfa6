//! The exposition, as Prometheus reads it.

use std::io::Write;
use std::time::Duration;

use std::sync::Arc;

use crate::apply::{Done, ObjectResult, Outcome, Stage};
use crate::object::{Gvk, Key};
use crate::plan::{Reach, Target};
use crate::report::Metrics;

fn exposition(metrics: &Metrics) -> String {
    String::from_utf8(metrics.expose().unwrap()).unwrap()
}

fn outcome(reach: Reach) -> Outcome {
    let key = Key { group: String::new(), kind: "ConfigMap".into(), namespace: None, name: "x".into() };
    let target = Arc::new(Target {
        id: key.id(),
        key,
        gvk: Gvk::new("v1", "ConfigMap"),
        class: Target::class_of("", "ConfigMap"),
        origin: None,
        want: None,
    });
    let result = |done| ObjectResult { target: Arc::clone(&target), done, elapsed: Duration::ZERO, warnings: vec![] };
    Outcome {
        reach,
        results: vec![result(Done::Unchanged), result(Done::Configured), result(Done::Created), result(Done::Deleted)],
        ended: Some("2026-01-01T00:00:00.5Z".parse().unwrap()),
        stages: vec![(Stage::Apply, Duration::from_millis(30))],
        ..Outcome::default()
    }
}

fn used() -> Metrics {
    let metrics = Metrics::new("1.2.3").unwrap();
    metrics.sync_duration(true, Duration::from_secs(7));
    metrics.sync_manifests(3, 1);
    metrics.job(Duration::from_secs(1), false);
    metrics.queued(Duration::from_millis(200));
    metrics.queue_length(2);
    metrics.git_ready(true);
    metrics.request("GET", "Version", 200, Duration::from_millis(1));
    metrics.pass(&outcome(Reach::Whole));
    metrics.pass(&outcome(Reach::Drift));
    metrics.api_request("PATCH", 201);
    metrics.api_request("EXOTIC", 0);
    metrics.generator(Duration::from_secs(1), true);
    metrics.paused(false);
    metrics.shed();
    metrics
}

#[test]
fn a_series_appears_after_its_first_use() {
    let unused = exposition(&Metrics::new("1.2.3").unwrap());
    assert!(!unused.contains("flux_daemon_sync_duration_seconds"), "{unused}");
    assert!(unused.contains("fluxd_build_info{version=\"1.2.3\"} 1"), "{unused}");
    assert!(unused.contains("process_resident_memory_bytes"), "{unused}");
}

#[test]
fn v1_series_keep_their_names_labels_and_buckets() {
    let text = exposition(&used());
    for line in [
        "flux_daemon_sync_duration_seconds_bucket{success=\"true\",le=\"5\"} 0",
        "flux_daemon_sync_duration_seconds_bucket{success=\"true\",le=\"10\"} 1",
        "flux_daemon_sync_duration_seconds_count{success=\"true\"} 1",
        "flux_daemon_sync_manifests{success=\"false\"} 1",
        "flux_daemon_sync_manifests{success=\"true\"} 3",
        "flux_daemon_job_duration_seconds_bucket{success=\"false\",le=\"0.1\"} 0",
        "flux_daemon_queue_duration_seconds_bucket{le=\"0.5\"} 1",
        "flux_daemon_queue_length_count 2",
        "flux_git_ready 1",
        "flux_request_duration_seconds_count{method=\"GET\",route=\"Version\",status_code=\"200\",ws=\"false\"} 1",
        "fluxd_api_requests_total{code=\"2xx\",verb=\"patch\"} 1",
        "fluxd_api_requests_total{code=\"none\",verb=\"other\"} 1",
        "fluxd_objects{state=\"synced\"} 3",
        "fluxd_objects{state=\"failed\"} 0",
        "fluxd_gc_held 0",
        "fluxd_drift_corrections_total 2",
        "fluxd_pass_stage_duration_seconds_bucket{stage=\"apply\",le=\"0.02\"} 0",
        "fluxd_pass_stage_duration_seconds_count{stage=\"apply\"} 2",
        "fluxd_last_sync_timestamp_seconds{success=\"true\"} 1767225600",
    ] {
        assert!(text.lines().any(|l| l == line), "missing {line} in\n{text}");
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "promtool is run by the test alone")]
fn promtool_accepts_the_exposition() {
    let started = std::process::Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn();
    let Ok(mut promtool) = started else {
        println!("promtool is not installed; the exposition is checked by the other tests only");
        return;
    };
    promtool.stdin.take().unwrap().write_all(exposition(&used()).as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    // v1's names are what they are: a gauge that ends in _count is the one complaint that stays.
    let complaints: Vec<_> =
        said.lines().filter(|l| !l.is_empty() && !l.starts_with("flux_daemon_queue_length_count")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn kept_tokens_are_counted_by_object_until_that_is_gone() {
    let metrics = Metrics::new("1.2.3").unwrap();
    assert!(!exposition(&metrics).contains("flux_token_cache"), "nobody keeps tokens");
    let controller = metrics.controller("resourcesetinputprovider", 1);
    let tokens = metrics.token_cache();
    tokens.looked(false, "ResourceSetInputProvider", "apps", "a");
    tokens.looked(true, "ResourceSetInputProvider", "apps", "a");
    tokens.requested(true);
    tokens.kept(3);
    let shown = exposition(&metrics);
    let of_the_object = r#"kind="ResourceSetInputProvider",name="a",namespace="apps",operation="reconcile"} 1"#;
    for line in [
        &format!(r#"flux_token_cache_events_total{{event_type="cache_hit",{of_the_object}"#),
        &format!(r#"flux_token_cache_events_total{{event_type="cache_miss",{of_the_object}"#),
        r#"flux_token_cache_requests_total{status="success"} 1"#,
        r#"flux_token_cache_requests_total{status="failure"} 0"#,
        "flux_token_cached_items 3",
        "flux_token_cache_evictions_total 0",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line} in {shown}");
    }
    controller.forget("ResourceSetInputProvider", "apps", "a");
    assert!(!exposition(&metrics).contains("flux_token_cache_events_total{"));
}
