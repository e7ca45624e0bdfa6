//! `fluxctl rset` and `fluxctl rsip` against a real API server and from files.

use super::{config_maps, plane, wait_until_ready};
use crate::rig::{ControlPlane, Controllers};
use std::io::Write as _;
use std::process::{Command, Stdio};

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn fluxctl(kubeconfig: Option<&std::path::Path>, args: &[&str], stdin: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fluxctl"));
    command.env_clear().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(path) = kubeconfig {
        command.env("KUBECONFIG", path);
    }
    let mut child = command.spawn().unwrap();
    // A verb that reads nothing closes its end early.
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).ok();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

#[track_caller]
fn good(plane: &ControlPlane, args: &[&str]) -> String {
    let ran = fluxctl(Some(&plane.kubeconfig()), args, "");
    assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.out, ran.err);
    ran.out + &ran.err
}

fn bad(args: &[&str], stdin: &str) -> String {
    let ran = fluxctl(None, args, stdin);
    assert_eq!(ran.code, Some(1), "{args:?}: {}", ran.out);
    ran.err
}

#[test]
fn a_set_is_shown_suspended_resumed_and_reconciled() {
    let plane = plane();
    let namespace = plane.namespace("verbs");
    let mut controllers = Controllers::against(plane).only(&[&namespace]).start();
    controllers.wait_until_up();
    plane.apply(&config_maps(&namespace, "apps", &["a", "b"]), &[]);
    wait_until_ready(plane, &namespace, "apps");
    let at = |args: &[&str]| good(plane, &[args, &["-n", &namespace]].concat());

    let table = at(&["rset", "get"]);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["NAME", "READY", "RESOURCES", "MESSAGE"]);
    assert_eq!(lines[1][..3], ["apps", "True", "2"], "{table}");
    let json: serde_json::Value = serde_json::from_str(&at(&["rset", "get", "apps", "-o", "json"])).unwrap();
    assert_eq!((&json["kind"], &json["metadata"]["name"]), (&"ResourceSet".into(), &"apps".into()));
    let tree = at(&["rset", "tree", "apps"]);
    assert_eq!(
        tree,
        format!(
            "ResourceSet/{namespace}/apps Current\n├── ConfigMap/{namespace}/a Current\n└── ConfigMap/{namespace}/b Current\n"
        )
    );

    at(&["rset", "suspend", "apps"]);
    let of = |key: &str| plane.get(&namespace, "resourceset", "apps").unwrap()["metadata"]["annotations"][key].clone();
    assert_eq!(of("fluxcd.controlplane.io/reconcile"), "disabled");
    assert!(at(&["rset", "get", "--ready-status=Suspended"]).contains("apps"));
    let ran = fluxctl(Some(&plane.kubeconfig()), &["rset", "reconcile", "apps", "-n", &namespace], "");
    assert!(ran.code == Some(1) && ran.err.contains("is suspended"), "{}", ran.err);
    plane.kubectl(&["-n", &namespace, "delete", "configmap", "a"]);
    assert!(at(&["rset", "resume", "apps"]).contains("Reconciliation finished in"));
    assert_eq!(of("fluxcd.controlplane.io/reconcile"), "enabled");
    assert!(plane.get(&namespace, "configmap", "a").is_some(), "put right by the pass that was waited for");

    assert!(at(&["rset", "reconcile", "apps"]).contains("Reconciliation finished in"));
    let asked = of("reconcile.fluxcd.io/requestedAt");
    let set = plane.get(&namespace, "resourceset", "apps").unwrap();
    assert_eq!(set["status"]["lastHandledReconcileAt"], asked);
    assert!(asked.as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{asked}");
}

#[test]
fn a_pass_that_fails_ends_the_wait_with_its_reason() {
    let plane = plane();
    let namespace = plane.namespace("fails");
    let mut controllers = Controllers::against(plane).only(&[&namespace]).start();
    controllers.wait_until_up();
    let text = config_maps(&namespace, "apps", &["a"]).replace("<< inputs.name >>", "<< inputs.nope >>");
    plane.apply(&text, &[]);
    super::wait_for(plane, (&namespace, "apps"), "False", "BuildFailed");
    let ran = fluxctl(Some(&plane.kubeconfig()), &["rset", "reconcile", "apps", "-n", &namespace], "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("ResourceSet apps: BuildFailed: "), "{}", ran.err);
}

#[test]
fn mistakes_are_told_with_what_was_expected() {
    assert!(bad(&["rset", "build"], "").contains("please name the ResourceSet's file with --filename"));
    assert!(bad(&["rset", "build", "-f", "-"], "kind: ConfigMap\n").contains("- has 0 ResourceSets; expected one"));
    assert!(bad(&["rset", "tree"], "").contains("please give one name"));
    assert!(bad(&["rset", "nope"], "").contains("unknown command \"nope\" for \"fluxctl rset\""));
    let set = config_maps("n", "a", &["x"]);
    assert!(bad(&["rset", "build", "-f", "-", "more"], &set).contains("the file is given with --filename"));
}
