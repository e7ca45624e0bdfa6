//! `install` prints what `deploy/base` says, with the flags in it.

use super::fluxctl;
use crate::rig::{run, tool};
use fluxd::object::yaml::{self, Dialect, Limits};
use serde_json::Value;
use std::process::Command;

/// Objects by kind, the daemon's arguments in the order of the alphabet.
fn objects(manifests: &str) -> Vec<Value> {
    let documents = yaml::read(manifests.as_bytes(), Dialect::Kubernetes, &Limits::default()).unwrap();
    let mut objects: Vec<Value> = documents.into_iter().map(|document| document.value).collect();
    for object in &mut objects {
        if let Some(args) = object.pointer_mut("/spec/template/spec/containers/0/args").and_then(Value::as_array_mut) {
            args.sort_by_key(ToString::to_string);
        }
    }
    objects.sort_by_key(|object| object["kind"].to_string());
    objects
}

#[test]
fn install_with_the_values_of_deploy_base_is_deploy_base() {
    let base = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/base");
    let built = objects(&run(Command::new(tool("etcd-kwok-kustomize", "kustomize")).args(["build", base])));
    let deployment = built.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let args = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
    let told = ["--git-url=", "--git-branch=", "--git-user=", "--git-email=", "--git-label="];
    let flags =
        args.iter().map(|arg| arg.as_str().unwrap()).filter(|arg| told.iter().any(|flag| arg.starts_with(flag)));
    let flags: Vec<&str> = ["install"].into_iter().chain(flags).collect();
    assert_eq!(flags.len(), 6, "{flags:?}");
    let printed = fluxctl("", &flags);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert_eq!(objects(&printed.stdout), built);
}

#[test]
fn install_names_what_is_missing_and_writes_files_where_told() {
    let missing = fluxctl("", &["install", "--git-url=u"]);
    let told = "Error: please supply a valid --git-email argument\nRun 'fluxctl install --help' for usage.\n";
    assert_eq!((missing.code, missing.stderr.as_str()), (Some(1), told));
    let printed = fluxctl("", &["install", "--git-url=u", "--git-email=e"]);
    let directory = tempfile::tempdir().unwrap();
    let out = format!("--output-dir={}", directory.path().display());
    assert_eq!(fluxctl("", &["install", "--git-url=u", "--git-email=e", &out]).code, Some(0));
    let files: String = ["namespace", "account", "secret", "deployment", "service"]
        .map(|name| std::fs::read_to_string(directory.path().join(format!("{name}.yaml"))).unwrap())
        .concat();
    assert_eq!(files, printed.stdout);
}
