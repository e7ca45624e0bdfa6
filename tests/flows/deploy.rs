//! `deploy/` is taken by a real API server, its alert rules by promtool, and its known hosts are the forges' own.

use crate::rig::{ControlPlane, run};
use std::path::{Path, PathBuf};
use std::process::Command;

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/deploy").join(name)
}

fn apply(plane: &ControlPlane, directory: &str) {
    let path = deploy().join(directory);
    plane.kubectl(&["apply", "--server-side", "-k", &path.display().to_string()]);
}

/// What `kubectl auth can-i` answers for fluxd's service account.
fn can_i(plane: &ControlPlane, namespace: &str, verb: &str, resource: &str) -> bool {
    let account = "--as=system:serviceaccount:flux:flux";
    plane.try_kubectl(&["auth", "can-i", verb, resource, "-n", namespace, account]).is_ok()
}

fn rolled_out(plane: &ControlPlane) {
    plane.kubectl(&["-n", "flux", "rollout", "status", "deployment/flux", "--timeout=90s"]);
}

/// The manifests have fixed names and rights on the whole cluster, so they get a control plane of their own; they are
/// applied one over the other, as a user moves between overlays.
#[test]
fn every_directory_of_deploy_is_applied_to_a_real_control_plane() {
    let plane = ControlPlane::start();

    apply(&plane, "base");
    rolled_out(&plane);
    assert!(can_i(&plane, "default", "create", "namespaces"));

    apply(&plane, "overlays/ha");
    rolled_out(&plane);
    let deployment = plane.get("flux", "deployment", "flux").unwrap();
    assert_eq!(deployment["status"]["readyReplicas"], 2);
    assert_eq!(deployment["spec"]["strategy"]["type"], "RollingUpdate");
    assert!(deployment["spec"]["template"]["spec"]["containers"][0]["args"].to_string().contains("--leader-elect"));

    plane.kubectl(&["delete", "namespace", "flux", "--wait=true"]);
    apply(&plane, "overlays/restricted");
    rolled_out(&plane);
    let refused = plane.try_kubectl(&["-n", "flux", "run", "root", "--image=example.org/x:1"]);
    assert!(refused.is_err_and(|error| error.contains("violates PodSecurity \"restricted")));

    plane.kubectl(&["apply", "--server-side", "-f", &data("crds.yaml").display().to_string()]);
    plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
    apply(&plane, "monitoring");
    assert!(plane.get("flux", "prometheusrule", "flux").is_some());

    apply(&plane, "controllers");
    plane.kubectl(&["-n", "flux", "rollout", "status", "deployment/fluxd-controllers", "--timeout=90s"]);
    plane.kubectl(&[
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd",
        "resourcesets.fluxcd.controlplane.io",
    ]);
    beside_the_git_loop(&plane);

    plane.kubectl(&["delete", "clusterrole,clusterrolebinding", "flux"]);
    apply(&plane, "examples/least-privilege");
    rolled_out(&plane);
    assert!(can_i(&plane, "team-a", "patch", "deployments.apps"));
    assert!(can_i(&plane, "team-a", "list", "namespaces"));
    assert!(can_i(&plane, "flux", "patch", "secrets/flux-git-deploy"));
    assert!(!can_i(&plane, "flux", "get", "secrets/other"));
    assert!(!can_i(&plane, "team-a", "get", "secrets"));
    assert!(!can_i(&plane, "default", "patch", "deployments.apps"));
}

/// An overlay of a user's own, with the component that adds the controllers to the daemon.
fn beside_the_git_loop(plane: &ControlPlane) {
    let overlay = tempfile::tempdir_in(deploy()).unwrap();
    let text = "resources: [../base]\ncomponents: [../components/controllers]\n";
    std::fs::write(overlay.path().join("kustomization.yaml"), text).unwrap();
    plane.kubectl(&["apply", "--server-side", "-k", &overlay.path().display().to_string()]);
    rolled_out(plane);
    let deployment = plane.get("flux", "deployment", "flux").unwrap();
    let args = deployment["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    assert!(args.contains("--controllers=resourceset"), "{args}");
}

/// The files that people apply are what the program prints and the chart brings.
#[test]
fn the_definitions_in_deploy_and_in_the_chart_are_those_that_fluxd_prints() {
    let printed = run(Command::new(env!("CARGO_BIN_EXE_fluxd")).arg("crd"));
    let documents: Vec<&str> = printed.split("---\n").filter(|text| !text.is_empty()).collect();
    assert_eq!(documents.len(), 2, "{printed}");
    for text in documents {
        let definition: serde_json::Value = serde_saphyr::from_str(text).unwrap();
        let plural = definition["spec"]["names"]["plural"].as_str().unwrap();
        for directory in ["crds", "chart/files/crds"] {
            let file = deploy().join(directory).join(format!("fluxcd.controlplane.io_{plural}.yaml"));
            if std::env::var_os("UPDATE_CRDS").is_some() {
                std::fs::write(&file, text).unwrap();
            }
            let kept = std::fs::read_to_string(&file).unwrap_or_default();
            assert_eq!(kept, text, "{} is not what fluxd crd prints; UPDATE_CRDS=1 rewrites it", file.display());
        }
    }
}

#[test]
fn alerts_fire_when_they_should_and_only_then() {
    let directory = tempfile::tempdir().unwrap();
    let rules = alert_rules();
    std::fs::write(directory.path().join("rules.yaml"), serde_json::to_string(&rules["spec"]).unwrap()).unwrap();
    std::fs::copy(data("alerts_test.yaml"), directory.path().join("test.yaml")).unwrap();
    run(Command::new("promtool").current_dir(directory.path()).args(["check", "rules", "rules.yaml"]));
    run(Command::new("promtool").current_dir(directory.path()).args(["test", "rules", "test.yaml"]));
}

fn alert_rules() -> serde_json::Value {
    let text = std::fs::read_to_string(deploy().join("monitoring/alerts.yaml")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

#[test]
fn alerts_and_dashboard_name_only_metrics_that_fluxd_has() {
    let files = ["mod.rs", "images.rs", "controllers.rs"].map(|file| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/metrics").join(file);
        std::fs::read_to_string(path).unwrap()
    });
    let defined = files.concat();
    let dashboard = std::fs::read_to_string(deploy().join("chart/files/dashboard.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let mut expressions = Vec::new();
    collect_expressions(&alert_rules(), &mut expressions);
    collect_expressions(&dashboard, &mut expressions);
    assert!(expressions.len() > 20, "{expressions:?}");
    for name in expressions.iter().flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')) {
        let ours = ["flux_", "fluxd_", "controller_runtime_", "workqueue_", "rest_client_"];
        if ours.iter().any(|prefix| name.starts_with(prefix)) {
            let base = name.trim_end_matches("_bucket").trim_end_matches("_count").trim_end_matches("_sum");
            let known = [name, base].iter().any(|name| defined.contains(&format!("\"{name}\"")));
            assert!(known, "{name} is not a metric of src/report/metrics");
        }
    }
}

fn collect_expressions(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            into.extend(map.get("expr").and_then(|expr| expr.as_str()).map(str::to_owned));
            map.values().for_each(|value| collect_expressions(value, into));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|value| collect_expressions(value, into)),
        _ => (),
    }
}

/// The fingerprints as the forges publish them, so that a key changed by mistake or by somebody is seen.
#[test]
fn known_hosts_of_the_image_have_the_published_fingerprints() {
    let listed = run(Command::new("ssh-keygen").arg("-lf").arg(deploy().join("image/known_hosts")));
    let seen: Vec<String> =
        listed.lines().map(|line| line.split(' ').skip(1).take(2).collect::<Vec<_>>().join(" ")).collect();
    let published = [
        "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU github.com",
        "SHA256:p2QAMXNIC1TJYWeIOttrVc98/R1BUFWu3/LiyKgUfQM github.com",
        "SHA256:uNiVztksCsDhcc0u9e8BujQXVUpKZIDTMczCvj3tD2s github.com",
        "SHA256:eUXGGm1YGsMAS7vkcx6JOJdOGHPem5gQp4taiCfCLB8 gitlab.com",
        "SHA256:HbW3g8zUjNSksFbqTiUWPWg2Bq1x8xdGUrliXFzSnUw gitlab.com",
        "SHA256:ROQFvPThGrW4RuWLoL9tq9I9zJ42fK4XywyRtbOz/EQ gitlab.com",
        "SHA256:ybgmFkzwOSotHTHLJgHO0QN8L0xErw6vd0VhFA9m3SM bitbucket.org",
        "SHA256:FC73VB6C4OQLSCrjEayhMp9UMxS97caD/Yyi2bhW/J0 bitbucket.org",
        "SHA256:46OSHA1Rmj8E8ERTC6xkNcmGOw9oFxYr0WF6zWW8l1E bitbucket.org",
        "SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og ssh.dev.azure.com",
        "SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og vs-ssh.visualstudio.com",
        "SHA256:AGvEpqYNMqsRNIviwyk4J4HM0lEylomDBKOWZsBn434 [source.developers.google.com]:2022",
    ];
    assert_eq!(seen, published);
}
