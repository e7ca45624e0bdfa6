//! `install`: the manifests of `deploy/base`, changed as the flags say. Nothing is sent to a cluster.

use std::path::Path;

use serde_json::{Value, json};

use super::super::flags::Given;
use super::problem::Problem;
use super::terminal::out;
use crate::object::yaml::{self, Dialect, Limits};

/// The manifests with their files' names, in the order that an apply wants.
const TEMPLATES: &[(&str, &str)] = &[
    ("namespace.yaml", include_str!("../../../deploy/base/namespace.yaml")),
    ("account.yaml", include_str!("../../../deploy/base/account.yaml")),
    ("secret.yaml", include_str!("../../../deploy/base/secret.yaml")),
    ("deployment.yaml", include_str!("../../../deploy/base/deployment.yaml")),
    ("service.yaml", include_str!("../../../deploy/base/service.yaml")),
];

/// The definitions of ResourceSets and input providers, for `--controllers`.
const DEFINITIONS: &[(&str, &str)] = &[
    ("resourcesets.yaml", include_str!("../../../deploy/crds/fluxcd.controlplane.io_resourcesets.yaml")),
    (
        "resourcesetinputproviders.yaml",
        include_str!("../../../deploy/crds/fluxcd.controlplane.io_resourcesetinputproviders.yaml"),
    ),
];

/// The namespace that the templates are written for.
const NAMESPACE: &str = "flux";
/// Kinds in them that have none.
const CLUSTER_SCOPED: &[&str] = &["Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"];
/// Arguments of the daemon that flags set, whatever the template says of them.
const REPLACED: &[&str] = &["--git-url", "--git-branch", "--git-user", "--git-email", "--git-label", "--git-path"];

/// Prints the manifests, or writes them into `--output-dir`.
pub(super) fn run(given: &Given) -> Result<(), Problem> {
    for flag in ["git-url", "git-email"] {
        if given.text(flag).is_empty() {
            return Err(Problem::Usage(format!("please supply a valid --{flag} argument")));
        }
    }
    let files = manifests(given)?;
    let directory = given.text("output-dir");
    if directory.is_empty() {
        return files.iter().try_for_each(|(_, text)| out(text));
    }
    let directory = Path::new(&directory);
    if !directory.is_dir() {
        return Err(Problem::Usage(format!("{} is not a directory; make it first", directory.display())));
    }
    files.iter().try_for_each(|(name, text)| {
        let file = directory.join(name);
        std::fs::write(&file, text).map_err(Problem::io(format!("writing {}", file.display())))?;
        out(&format!("wrote {}\n", file.display()))
    })
}

/// The manifests as text, by file.
fn manifests(given: &Given) -> Result<Vec<(&'static str, String)>, Problem> {
    let namespace = Some(given.text("namespace")).filter(|n| !n.is_empty()).unwrap_or_else(|| NAMESPACE.to_owned());
    let broken = |name: &str, why: String| Problem::Usage(format!("the built-in manifest {name}: {why}"));
    let definitions = if given.bool("controllers") { DEFINITIONS } else { &[] };
    definitions
        .iter()
        .chain(TEMPLATES)
        .map(|(name, template)| {
            let documents = yaml::read(template.as_bytes(), Dialect::Kubernetes, &Limits::default());
            let documents = documents.map_err(|e| broken(name, e.to_string()))?;
            let mut text = String::new();
            for mut object in documents.into_iter().map(|document| document.value) {
                place(&mut object, &namespace);
                if object["kind"] == "Deployment" {
                    adjust(&mut object, given).ok_or_else(|| broken(name, "no container named flux".to_owned()))?;
                }
                text.push_str(&format!("---\n{}", yaml::write(&object)));
            }
            Ok((*name, text))
        })
        .collect()
}

/// Puts an object into the namespace, as kustomize does it for `deploy/base`.
fn place(object: &mut Value, namespace: &str) {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if kind == "Namespace" {
        object["metadata"]["name"] = json!(namespace);
    }
    if !CLUSTER_SCOPED.contains(&kind.as_str()) {
        object["metadata"]["namespace"] = json!(namespace);
    }
    for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        subject["namespace"] = json!(namespace);
    }
}

/// Changes the daemon's arguments and contexts; nothing when the Deployment is not what it should be.
fn adjust(deployment: &mut Value, given: &Given) -> Option<()> {
    let pod = deployment.pointer_mut("/spec/template/spec")?;
    let contexts = given.bool("add-security-context");
    if !contexts {
        pod.as_object_mut()?.remove("securityContext");
    }
    let container = pod["containers"].as_array_mut()?.iter_mut().find(|c| c["name"] == "flux")?;
    if !contexts {
        container.as_object_mut()?.remove("securityContext");
    }
    let args = container["args"].as_array_mut()?;
    args.retain(|arg| {
        let name = arg.as_str().unwrap_or_default().split('=').next().unwrap_or_default();
        !REPLACED.contains(&name)
    });
    args.extend(arguments(given).into_iter().map(Value::String));
    Some(())
}

/// The arguments that flags set.
fn arguments(given: &Given) -> Vec<String> {
    let text = |flag: &str| format!("--{flag}={}", given.text(flag));
    let mut args: Vec<String> = ["git-url", "git-branch", "git-user", "git-email"].map(text).into();
    let paths = given.list("git-path");
    // As in v1: several daemons of one repository have a path each and must name their own label, so it is not defaulted.
    if paths.is_empty() || given.is_given("git-label") {
        args.push(text("git-label"));
    }
    if !paths.is_empty() {
        args.push(format!("--git-path={}", paths.join(",")));
    }
    let flags = [
        ("controllers", "--controllers=resourceset"),
        ("git-readonly", "--git-readonly"),
        ("manifest-generation", "--manifest-generation=true"),
        ("registry-disable-scanning", "--registry-disable-scanning"),
    ];
    args.extend(flags.iter().filter(|(flag, _)| given.bool(flag)).map(|(_, arg)| (*arg).to_owned()));
    args
}

#[cfg(test)]
mod tests {
    use super::super::command_line;
    use super::*;

    fn text(args: &[&str]) -> String {
        let args = [&["install", "--git-url=git@h:t/r", "--git-email=a@b.c"], args].concat();
        let call = command_line::read(args.iter().map(Into::into).collect()).unwrap();
        manifests(&call.given).unwrap().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn flags_become_arguments_of_the_daemon() {
        let all = text(&["--git-path=a,b", "--git-readonly", "--manifest-generation", "--git-user=X Y"]);
        for arg in [
            "--git-url=git@h:t/r",
            "--git-branch=master",
            "--git-user=X Y",
            "--git-email=a@b.c",
            "--git-path=a,b",
            "--git-readonly",
            "--manifest-generation=true",
        ] {
            assert_eq!(
                all.matches(&format!("- '{arg}'\n")).count() + all.matches(&format!("- {arg}\n")).count(),
                1,
                "{arg} in\n{all}"
            );
        }
        assert!(!all.contains("--git-label") && !all.contains("--registry-disable-scanning"), "{all}");
        assert!(text(&[]).contains("- '--git-label=flux'\n"));
        assert!(!all.contains("memcached\n") && all.contains("- '--memcached-service='\n"), "{all}");
    }

    #[test]
    fn controllers_come_with_their_definitions_and_only_when_asked_for() {
        assert!(!text(&[]).contains("CustomResourceDefinition") && !text(&[]).contains("--controllers"));
        let with = text(&["--controllers"]);
        assert_eq!(with.matches("kind: CustomResourceDefinition\n").count(), 2);
        assert!(with.contains("- '--controllers=resourceset'\n"), "{with}");
    }

    #[test]
    fn another_namespace_is_everywhere() {
        let all = text(&["--namespace=other"]);
        assert!(!all.contains("namespace: flux\n"), "{all}");
        assert_eq!(
            all.matches("namespace: other\n").count(),
            5,
            "account, subject, secret, deployment, service:\n{all}"
        );
    }

    #[test]
    fn security_contexts_can_be_left_out() {
        assert!(text(&[]).contains("runAsNonRoot"));
        assert!(!text(&["--add-security-context=false"]).contains("securityContext"));
    }
}
