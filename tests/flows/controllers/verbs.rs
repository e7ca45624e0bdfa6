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
    let other = config_maps(&namespace, "apps", &["a", "new"]).replace("of: <<", "was: <<");
    let ran = fluxctl(Some(&plane.kubeconfig()), &["rset", "diff", "-f", "-", "--exit-code"], &other);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for line in [":configmap/a (changed)\n", ":configmap/new (new)\n", "    +   was: new\n", "2 to apply, 1 to delete"]
    {
        assert!(ran.out.contains(line), "{line} in {}", ran.out);
    }
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
    let tree = good(plane, &["rset", "tree", "apps", "-n", &namespace]);
    assert!(tree.starts_with(&format!("ResourceSet/{namespace}/apps Failed: build failed: ")), "{tree}");
    let ran = fluxctl(Some(&plane.kubeconfig()), &["rset", "reconcile", "apps", "-n", &namespace], "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("ResourceSet apps: BuildFailed: "), "{}", ran.err);
}

#[test]
fn a_set_whose_input_provider_is_missing_is_not_compared_as_if_it_had_no_inputs() {
    let plane = plane();
    let namespace = plane.namespace("missing");
    let set = config_maps(&namespace, "apps", &["a"]).replace("spec:", "spec:\n  inputsFrom: [{name: nobody}]");
    let ran = fluxctl(Some(&plane.kubeconfig()), &["rset", "diff", "-f", "-"], &set);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    let expected = format!("ResourceSet apps: input provider {namespace}/nobody does not exist");
    assert!(ran.err.contains(&expected), "{}", ran.err);
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

/// A file with a text, for as long as the value lives.
fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

fn path(file: &tempfile::NamedTempFile) -> &str {
    file.path().to_str().unwrap()
}

#[test]
fn a_set_is_built_from_files_with_the_inputs_of_static_providers() {
    let set = file(
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: apps, namespace: team}\nspec:\n  \
         commonMetadata: {labels: {'resourceset.fluxcd.controlplane.io/name': other, team: red}}\n  inputsFrom: [{selector: \
         {matchLabels: {of: apps}}}]\n  steps:\n  - name: first\n    resources: [{apiVersion: v1, kind: ConfigMap, metadata: \
         {name: app-<< inputs.id >>, namespace: team}}]\n  - name: second\n    resourcesTemplate: |\n      # nothing\n",
    );
    let provider = file(
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider\nmetadata: {name: foo, labels: {of: apps}}\nspec: \
         {type: Static, defaultValues: {x: 1}}\n---\napiVersion: fluxcd.controlplane.io/v1\nkind: \
         ResourceSetInputProvider\nmetadata: {name: unasked}\nspec: {type: Static}\n",
    );
    let ran = fluxctl(None, &["rset", "build", "-f", path(&set), "--inputs-from-provider", path(&provider)], "");
    let expected = "# step: first\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels:\n    \
                    resourceset.fluxcd.controlplane.io/name: apps\n    resourceset.fluxcd.controlplane.io/namespace: team\n    \
                    team: red\n  name: app-42074437\n  namespace: team\n---\n# step: second\n";
    assert_eq!((ran.out.as_str(), ran.code), (expected, Some(0)), "{}", ran.err);
    assert!(bad(&["rset", "build", "-f", path(&set)], "").contains("no file gives its inputs"));
    let inputs = file("- {id: one}\n- {id: two}\n");
    let ran = fluxctl(None, &["rset", "build", "-f", path(&set), "--inputs-from", path(&inputs)], "");
    assert_eq!(ran.out.matches("kind: ConfigMap").count(), 2, "{}", ran.err);
    let nothing = config_maps("team", "a", &["x"]).replace("  resources:", "  resourcesTemplate: '# x' #");
    let nothing = nothing.lines().take_while(|line| !line.contains("- apiVersion")).collect::<Vec<_>>().join("\n");
    assert!(bad(&["rset", "build", "-f", "-"], &nothing).contains("generates no objects"));
}

#[test]
fn two_files_and_a_file_and_the_cluster_are_compared() {
    let plane = plane();
    let namespace = plane.namespace("diff");
    let mut controllers = Controllers::against(plane).only(&[&namespace]).start();
    controllers.wait_until_up();
    let (old, new) = (config_maps(&namespace, "apps", &["a", "b"]), config_maps(&namespace, "apps", &["b", "c"]));
    let (old, new) = (file(&old), file(&new));
    let ran = fluxctl(None, &["rset", "diff", "-f", path(&new), "--against", path(&old), "--exit-code"], "");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for line in [format!("+ {namespace}:configmap/c (new)"), format!("- {namespace}:configmap/a")] {
        assert!(ran.out.lines().any(|l| l.starts_with(&line)), "{line} in\n{}", ran.out);
    }
    let same = fluxctl(None, &["rset", "diff", "-f", path(&old), "--against", path(&old), "--exit-code"], "");
    assert_eq!(same.code, Some(0), "{}{}", same.out, same.err);

    plane.apply(&std::fs::read_to_string(old.path()).unwrap(), &[]);
    wait_until_ready(plane, &namespace, "apps");
    let kubeconfig = plane.kubeconfig();
    let against = |file: &tempfile::NamedTempFile| {
        fluxctl(Some(&kubeconfig), &["rset", "diff", "-f", path(file), "--exit-code"], "")
    };
    let nothing = against(&old);
    assert_eq!(nothing.code, Some(0), "{}{}", nothing.out, nothing.err);
    let ran = against(&new);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    for line in [format!("+ {namespace}:configmap/c"), format!("- {namespace}:configmap/a")] {
        assert!(ran.out.lines().any(|l| l.starts_with(&line)), "{line} in\n{}", ran.out);
    }
    assert!(plane.get(&namespace, "configmap", "c").is_none(), "nothing was changed");
}
