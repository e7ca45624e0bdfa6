//! The Helm chart takes the values of Flux v1's chart (fluxd-v1 §12.1): each of them is rendered into what the table of
//! rows says, the arguments are ones that the built `fluxd` takes, and a whole values file of old is installed by Helm on
//! a real control plane, over a release of the same name that has v1's labels.

mod rows;

use crate::rig::{ControlPlane, eventually, run, tool};
use rows::Expect::{Arg, Field, NoArg, NoObject, Object};
use rows::{Expect, Row};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The values of Flux v1's chart, as the page on compatibility lists them.
pub(crate) fn values() -> &'static [&'static str] {
    rows::VALUES
}

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/chart")
}

fn old_values() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/chart/old-values.yaml")
}

fn helm() -> Command {
    Command::new(tool("helm", "helm"))
}

/// What `helm template` makes of a release `flux` in the namespace `ops`.
#[track_caller]
fn render(values: &str) -> Vec<Value> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), values).unwrap();
    let text = run(helm().args(["template", "flux", "--namespace=ops", "-f"]).arg(file.path()).arg(chart()));
    let objects = serde_saphyr::from_multiple::<Value>(&text);
    objects.unwrap_or_else(|error| panic!("not YAML ({error}):\n{text}"))
}

/// Finds `Kind` or `Kind/name`.
fn find<'a>(objects: &'a [Value], object: &str) -> Option<&'a Value> {
    let (kind, name) = object.split_once('/').map_or((object, None), |(kind, name)| (kind, Some(name)));
    objects.iter().find(|o| o["kind"] == kind && name.is_none_or(|name| o["metadata"]["name"] == name))
}

fn args(objects: &[Value]) -> Vec<String> {
    let deployment = find(objects, "Deployment").expect("there is always a Deployment");
    let args = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().expect("it has arguments");
    args.iter().map(|arg| arg.as_str().expect("text").to_owned()).collect()
}

/// Whether `whole` has all that `part` has: of objects each field, of lists some element each.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|found| holds(found, value)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            part.iter().all(|value| whole.iter().any(|found| holds(found, value)))
        }
        _ => whole == part,
    }
}

fn met(expect: &Expect, objects: &[Value]) -> bool {
    match expect {
        Arg(arg) => args(objects).iter().any(|found| found == arg),
        NoArg(flag) => args(objects).iter().all(|found| found != flag && !found.starts_with(&format!("{flag}="))),
        Object(object) => find(objects, object).is_some(),
        NoObject(object) => find(objects, object).is_none(),
        Field(object, pointer, value) => {
            let found = find(objects, object).and_then(|object| object.pointer(pointer));
            let expected: Value = serde_saphyr::from_str(value).expect("the table has YAML");
            found.is_some_and(|found| holds(found, &expected))
        }
    }
}

#[test]
fn every_value_of_the_old_chart_is_rendered_as_its_table_says() {
    let mut wrong = Vec::new();
    for Row { value, yaml, expects } in rows::ROWS {
        let objects = render(yaml);
        for expect in expects.iter().filter(|expect| !met(expect, &objects)) {
            wrong.push(format!("{value} ({yaml}): {expect:?} not met by {:?}", args(&objects)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `--version` ends the process after all other arguments were parsed.
#[test]
fn fluxd_takes_every_argument_that_the_chart_can_render() {
    let mut all: Vec<String> = rows::ROWS.iter().flat_map(|row| args(&render(row.yaml))).collect();
    all.sort();
    all.dedup();
    assert!(all.len() > 60, "{all:?}");
    run(Command::new(env!("CARGO_BIN_EXE_fluxd")).args(&all).arg("--version"));
}

#[test]
fn controllers_and_their_definitions_come_only_when_asked_for() {
    let without = render("");
    assert!(find(&without, "CustomResourceDefinition").is_none());
    assert!(args(&without).iter().all(|arg| !arg.starts_with("--controllers")));
    let with = render("controllers: {resourceset: true, defaultServiceAccount: tenant}");
    let definition = find(&with, "CustomResourceDefinition/resourcesets.fluxcd.controlplane.io").unwrap();
    assert_eq!(definition["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    assert!(args(&with).iter().any(|arg| arg == "--controllers=resourceset"));
    assert!(args(&with).iter().any(|arg| arg == "--default-service-account=tenant"));
    run(Command::new(env!("CARGO_BIN_EXE_fluxd")).args(args(&with)).arg("--version"));
    let bare = render("controllers: {resourceset: true, createCRDs: false}");
    assert!(find(&bare, "CustomResourceDefinition").is_none());
}

#[test]
fn every_value_of_the_old_chart_has_a_row_and_a_default() {
    let defaults: Value =
        serde_saphyr::from_str(&std::fs::read_to_string(chart().join("values.yaml")).unwrap()).unwrap();
    for value in rows::VALUES {
        assert!(rows::ROWS.iter().any(|row| row.value == *value), "{value} has no row");
        assert!(defaults.pointer(&format!("/{}", value.replace('.', "/"))).is_some(), "{value} has no default");
    }
}

#[test]
fn the_chart_passes_helms_own_checks_and_names_this_version() {
    let output = run(helm().arg("lint").arg("--strict").arg(chart()).arg("-f").arg(old_values()));
    assert!(!output.contains("WARNING") && !output.contains("ERROR"), "{output}");
    let about: Value = serde_saphyr::from_str(&std::fs::read_to_string(chart().join("Chart.yaml")).unwrap()).unwrap();
    assert_eq!(about["appVersion"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_value_of_the_wrong_shape_is_refused_with_its_name() {
    for (values, name) in [
        ("git: {pollInterval: 20}", "/git/pollInterval"),
        ("sync: {state: tag}", "/sync/state"),
        ("replicaCount: many", "/replicaCount"),
        ("additionalArgs: --drift=off", "/additionalArgs"),
    ] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), values).unwrap();
        let output = helm().args(["template", "flux", "-f"]).arg(file.path()).arg(chart()).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(name), "{values}: {error}");
    }
}

/// What Flux v1's chart left behind, as far as an upgrade can fail on it: the Deployment's selector cannot change, the
/// Secret holds the deploy key, and all of it belongs to a Helm release.
fn old_release(release: &str, namespace: &str) -> String {
    let owned = format!(
        "namespace: {namespace}, labels: {{app: flux, release: {release}, app.kubernetes.io/managed-by: Helm}}, \
         annotations: {{meta.helm.sh/release-name: {release}, meta.helm.sh/release-namespace: {namespace}}}"
    );
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {release}-flux-git-deploy, {owned}}}\nstringData: {{identity: \
         the-key}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {release}-flux, {owned}}}\nspec:\n  \
         selector: {{matchLabels: {{app: flux, release: {release}}}}}\n  strategy: {{type: Recreate}}\n  template:\n    \
         metadata: {{labels: {{app: flux, release: {release}}}}}\n    spec:\n      containers:\n      - {{name: flux, image: \
         'docker.io/fluxcd/flux:1.25.4', args: [--memcached-hostname={release}-flux-memcached]}}\n"
    )
}

#[test]
fn a_values_file_of_old_is_installed_over_the_old_release_and_rolls_out() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("chart");
    let release = "gitops";
    plane.apply(&old_release(release, &namespace), &[]);
    plane.apply(&std::fs::read_to_string(chart().join("../../tests/data/deploy/crds.yaml")).unwrap(), &[]);
    plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);

    let mut command = helm();
    command.env("KUBECONFIG", plane.kubeconfig()).args(["upgrade", "--install", release, "-n", &namespace]);
    let wide = format!("clusterRole.name={namespace}"); // its name is the only one without a namespace
    let notes = run(command.args(["--set", &wide, "-f"]).arg(old_values()).arg(chart()));
    let deployment = format!("deployment/{release}-flux");
    plane.kubectl(&["-n", &namespace, "rollout", "status", &deployment, "--timeout=90s"]);

    let pods: Value =
        serde_json::from_str(&plane.kubectl(&["-n", &namespace, "get", "pods", "-l", "app=flux", "-o", "json"]))
            .unwrap();
    let images: Vec<&Value> =
        pods["items"].as_array().unwrap().iter().map(|pod| &pod["spec"]["containers"][0]["image"]).collect();
    assert_eq!(images, [&format!("fluxd:{}", env!("CARGO_PKG_VERSION"))], "one Pod, and not of the old image");
    let secret = plane.get(&namespace, "secret", "gitops-flux-git-deploy").expect("it is still there");
    assert_eq!(secret["data"]["identity"], "dGhlLWtleQ==", "the deploy key outlives the upgrade");
    for absent in ["deployment", "service"] {
        assert!(plane.get(&namespace, absent, "gitops-flux-memcached").is_none(), "no memcached");
    }
    eventually("the service account may do everything", || {
        let account = format!("--as=system:serviceaccount:{namespace}:gitops-flux");
        plane.try_kubectl(&["auth", "can-i", "*", "*", "--all-namespaces", &account]).ok()
    });
    for said in [
        "logs deployment/gitops-flux | grep identity.pub | cut -d '\"' -f2",
        "memcached is not needed any more",
        "docker.io/fluxcd/flux:1.21.0 is Flux v1's",
        "rbac.pspEnabled",
        "registry.cacheExpiry has no effect",
        "allowedNamespaces counts only with clusterRole.create=false",
        "helmOperator: this chart installs no helm-operator",
    ] {
        assert!(notes.contains(said), "{said:?} is not in the notes:\n{notes}");
    }
    assert!(!notes.contains("swordfish"), "no password in the notes:\n{notes}");
}

/// Rights without a ClusterRole of all rights are enough to read kinds, and no more than the namespaces named.
#[test]
fn without_its_cluster_role_the_release_has_rights_in_its_namespaces_only() {
    let plane = ControlPlane::shared();
    let (own, team, other) = (plane.namespace("own"), plane.namespace("team"), plane.namespace("other"));
    let values = format!("clusterRole: {{create: false}}\nallowedNamespaces: [{team}]\n");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), values).unwrap();
    let mut command = helm();
    command.env("KUBECONFIG", plane.kubeconfig()).args(["install", &own, "-n", &own, "-f"]);
    run(command.arg(file.path()).arg(chart()));
    let can = |namespace: &str, verb: &str, resource: &str| {
        let account = format!("--as=system:serviceaccount:{own}:{own}-flux");
        plane.try_kubectl(&["auth", "can-i", verb, resource, "-n", namespace, &account]).is_ok()
    };
    eventually("rights in the namespace allowed", || can(&team, "delete", "secrets").then_some(()));
    assert!(can(&own, "patch", "secrets") && can(&own, "list", "namespaces"));
    assert!(can(&other, "list", "customresourcedefinitions") && !can(&other, "get", "secrets"));
}
