//! The processes: start, probes, metrics, exit codes, and both loops in one.

use super::{config_maps, plane, wait_until_ready};
use crate::rig::{Controllers, Fluxd, Repo, eventually, request};
use std::process::Command;

fn fluxd(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_fluxd")).args(args).env_clear().output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn help_is_printed_and_mistakes_end_with_2() {
    let (code, out, _) = fluxd(&["controllers", "--help"]);
    assert_eq!(code, Some(0));
    for flag in ["--concurrent", "--default-service-account", "--kubeconfig", "--health-addr", "--leader-elect"] {
        assert!(out.contains(flag), "{flag}");
    }
    let (code, _, error) = fluxd(&["controllers", "--nope"]);
    assert_eq!(code, Some(2));
    assert!(error.starts_with("Error: unknown flag: --nope\n"), "{error}");
    let (code, _, error) = fluxd(&["controllers", "extra"]);
    assert_eq!(
        (code, error.lines().next()),
        (Some(2), Some("Error: fluxd controllers takes flags only, not \"extra\""))
    );
    let (code, _, error) = fluxd(&["controllers", "--concurrent=0", "--kubeconfig=/dev/null"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("--concurrent must be from 1 to 10000"), "{error}");
}

#[test]
fn a_controller_that_nobody_has_is_refused_by_the_daemon() {
    let (code, _, error) = fluxd(&["--controllers=imageupdate"]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("--controllers value \\\"imageupdate\\\" is not in possible values {resourceset}"),
        "{error}"
    );
}

#[test]
fn a_cluster_that_cannot_be_reached_ends_the_process_with_1() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: k, cluster: {server: \
                'http://127.0.0.1:9'}}], contexts: [{name: c, context: {cluster: k, user: u}}], users: [{name: u, user: {}}]}";
    std::fs::write(file.path(), text).unwrap();
    let kubeconfig = format!("--kubeconfig={}", file.path().display());
    let (code, _, error) = fluxd(&["controllers", &kubeconfig, "--health-addr=0", "--metrics-addr=0"]);
    assert_eq!(code, Some(1), "{error}");
}

#[test]
fn the_controllers_run_alone_with_probes_and_metrics_and_end_when_asked() {
    let plane = plane();
    let namespace = plane.namespace("alone");
    let mut controllers = Controllers::against(plane).only(&[&namespace]).start();
    controllers.wait_until_up();
    assert_eq!(controllers.probe("/healthz").unwrap().body, "ok\n");
    plane.apply(&config_maps(&namespace, "alone", &["a", "b"]), &[]);
    wait_until_ready(plane, &namespace, "alone");
    assert!(plane.get(&namespace, "configmap", "b").is_some());
    let of_set = [format!("exported_namespace=\"{namespace}\""), "name=\"alone\"".to_owned()];
    let of_set: Vec<&str> = of_set.iter().map(String::as_str).collect();
    eventually("the set's one series says that it is ready", || {
        let metrics = controllers.metrics();
        let ready =
            metrics.sum("flux_resourceset_info", &[&of_set[..], &["ready=\"True\"", "resources=\"2\""]].concat());
        (ready == 1.0 && metrics.sum("flux_resourceset_info", &of_set) == 1.0).then_some(())
    });
    let passes = controllers.metrics().sum("controller_runtime_reconcile_total", &["controller=\"resourceset\""]);
    assert!(passes >= 1.0, "{passes}");
    plane.kubectl(&["-n", &namespace, "delete", "resourceset", "alone"]);
    super::wait_until_gone(plane, &namespace, "configmap", "a");
    eventually("the series goes with the set", || {
        (controllers.metrics().sum("flux_resourceset_info", &of_set) == 0.0).then_some(())
    });
    assert_eq!(controllers.terminate().code(), Some(0));
}

#[test]
fn both_loops_run_in_one_process() {
    let plane = plane();
    let namespace = plane.namespace("beside");
    let only = format!("--watch-namespaces={namespace}");
    let repo = Repo::new();
    repo.write("set.yaml", &config_maps(&namespace, "from-git", &["one"]));
    repo.push("A ResourceSet");
    let mut fluxd = Fluxd::against(plane).git(&repo).arg("--controllers=resourceset").arg(&only).start();
    fluxd.wait_until_up();
    wait_until_ready(plane, &namespace, "from-git");
    assert!(plane.get(&namespace, "configmap", "one").is_some());
    let metrics = request(fluxd.port(), "GET", "/metrics", &[], "").unwrap().body;
    for name in
        ["flux_daemon_sync_duration_seconds_count", "flux_resourceset_info", "controller_runtime_reconcile_total"]
    {
        assert!(metrics.contains(name), "{name} is on the daemon's own listener");
    }
    assert_eq!(fluxd.terminate().code(), Some(0));
}
