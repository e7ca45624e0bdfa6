//! The cluster breaks: definitions go, namespaces end, the API server is away. And sets that would cost too much.

use super::{config_maps, define, plane, wait_for, wait_until_gone, wait_until_ready};
use crate::rig::{ControlPlane, Controllers, eventually, fresh_name};

fn ask(plane: &ControlPlane, namespace: &str, name: &str) {
    let token = format!("reconcile.fluxcd.io/requestedAt={}", fresh_name("t"));
    plane.kubectl(&["-n", namespace, "annotate", "--overwrite", "resourceset", name, &token]);
}

fn definition(group: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: widgets.{group}}}\nspec:\n  \
         group: {group}\n  scope: Namespaced\n  names: {{kind: Widget, plural: widgets}}\n  versions:\n  - name: v1\n    \
         served: true\n    storage: true\n    schema: {{openAPIV3Schema: {{type: object, \
         x-kubernetes-preserve-unknown-fields: true}}}}\n"
    )
}

#[test]
fn a_definition_that_goes_fails_its_set_alone_and_coming_back_mends_it() {
    let plane = plane();
    let namespace = plane.namespace("crd");
    let group = format!("{}.example.org", fresh_name("widgets"));
    let install = || {
        plane.apply(&definition(&group), &[]);
        plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", &format!("widgets.{group}")]);
    };
    install();
    let mut controllers = Controllers::against(plane).only(&[&namespace]).arg("--max-retry-delay=2s").start();
    controllers.wait_until_up();
    let set = format!(
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {{name: widgets, namespace: {namespace}}}\nspec:\n  \
         resources:\n  - apiVersion: {group}/v1\n    kind: Widget\n    metadata: {{name: one, namespace: {namespace}}}\n    \
         spec: {{size: 1}}\n"
    );
    plane.apply(&set, &[]);
    plane.apply(&config_maps(&namespace, "others", &["a"]), &[]);
    wait_until_ready(plane, &namespace, "widgets");
    wait_until_ready(plane, &namespace, "others");

    plane.kubectl(&["delete", "crd", &format!("widgets.{group}")]);
    ask(plane, &namespace, "widgets");
    let message = wait_for(plane, (&namespace, "widgets"), "False", "ReconciliationFailed");
    assert!(
        message.contains("Widget") && (message.contains("no matches for kind") || message.contains("not found")),
        "{message}"
    );
    let listed = plane.get(&namespace, "resourceset", "widgets").unwrap()["status"]["inventory"].to_string();
    assert!(listed.contains("Widget"), "what cannot be read is still listed: {listed}");
    plane.kubectl(&["-n", &namespace, "delete", "configmap", "a"]);
    ask(plane, &namespace, "others");
    eventually("the other set is served", || plane.get(&namespace, "configmap", "a"));

    install();
    wait_until_ready(plane, &namespace, "widgets");
    assert!(plane.get(&namespace, &format!("widgets.{group}"), "one").is_some());
    plane.kubectl(&["delete", "crd", &format!("widgets.{group}")]);
    plane.kubectl(&["-n", &namespace, "delete", "resourceset", "widgets", "--timeout=60s"]);
}

#[test]
fn a_namespace_that_ends_fails_its_set_until_it_is_there_again() {
    let plane = plane();
    let (home, target) = (plane.namespace("home"), plane.namespace("target"));
    let mut controllers = Controllers::against(plane).only(&[&home]).arg("--max-retry-delay=2s").start();
    controllers.wait_until_up();
    let set = config_maps(&target, "apps", &["a"]).replacen(
        &format!("namespace: {target}"),
        &format!("namespace: {home}"),
        1,
    );
    plane.apply(&set, &[]);
    wait_until_ready(plane, &home, "apps");
    let holder = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: holder, namespace: {target}, finalizers: [example.org/hold]}}\n"
    );
    plane.apply(&holder, &[]);
    plane.kubectl(&["delete", "namespace", &target, "--wait=false"]);
    wait_until_gone(plane, &target, "configmap", "a");
    ask(plane, &home, "apps");
    let message = wait_for(plane, (&home, "apps"), "False", "ReconciliationFailed");
    assert!(message.contains("being terminated"), "{message}");
    plane.kubectl(&[
        "-n",
        &target,
        "patch",
        "configmap",
        "holder",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
    eventually("the namespace is gone", || plane.try_kubectl(&["get", "namespace", &target]).is_err().then_some(()));
    plane.kubectl(&["create", "namespace", &target]);
    wait_until_ready(plane, &home, "apps");
    assert!(plane.get(&target, "configmap", "a").is_some());
}

#[test]
fn a_namespace_with_sets_can_be_deleted() {
    let plane = plane();
    let namespace = plane.namespace("ends");
    let mut controllers = Controllers::against(plane).only(&[&namespace]).start();
    controllers.wait_until_up();
    plane.apply(&config_maps(&namespace, "apps", &["a", "b"]), &[]);
    wait_until_ready(plane, &namespace, "apps");
    plane.kubectl(&["delete", "namespace", &namespace, "--timeout=90s"]);
}

#[test]
fn an_api_server_that_stops_or_dies_is_used_again_when_it_answers() {
    let plane = ControlPlane::start();
    define(&plane);
    let namespace = plane.namespace("away");
    let mut controllers = Controllers::against(&plane).arg("--max-retry-delay=2s").start();
    controllers.wait_until_up();
    plane.apply(&config_maps(&namespace, "apps", &["a"]), &[]);
    wait_until_ready(&plane, &namespace, "apps");

    plane.pause_api_server();
    // The fault itself: so long nobody answers.
    std::thread::sleep(std::time::Duration::from_secs(10));
    assert_eq!(controllers.probe("/healthz").expect("it answers").status, 200, "waiting is no reason to be restarted");
    plane.resume_api_server();
    plane.apply(&config_maps(&namespace, "apps", &["a", "b"]), &[]);
    wait_until_ready(&plane, &namespace, "apps");
    assert!(plane.get(&namespace, "configmap", "b").is_some());

    plane.restart_api_server();
    plane.apply(&config_maps(&namespace, "apps", &["b", "c"]), &[]);
    wait_until_ready(&plane, &namespace, "apps");
    wait_until_gone(&plane, &namespace, "configmap", "a");
    assert!(plane.get(&namespace, "configmap", "c").is_some());
    controllers.wait_until_up();
}

/// Resident memory of a process, in MiB.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// Each would take minutes, or all memory there is, if nobody counted.
#[test]
fn bombs_fail_alone_and_soon_and_the_process_goes_on() {
    let plane = plane();
    let namespace = plane.namespace("bombs");
    let mut controllers = Controllers::against(plane).only(&[&namespace]).arg("--max-retry-delay=2s").start();
    controllers.wait_until_up();
    let set = |name: &str, spec: &str| {
        let head = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet";
        plane.apply(&format!("{head}\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n{spec}"), &[]);
    };
    let template = |text: &str| format!("  resourcesTemplate: |\n    {text}\n");
    set("loop", &template("<< range $i := until 100000 >><< range $j := until 100000 >>x<< end >><< end >>"));
    set("size", &template("<< repeat 1000000000 \"0123456789\" >>"));
    set("recursion", &template("<< define \"a\" >><< template \"a\" >><< end >><< template \"a\" >>"));
    set(
        "doubling",
        &template("<< $s := repeat 1000 \"x\" >><< range until 60 >><< $s = cat $s $s >><< end >><< $s >>"),
    );
    for name in ["loop", "size", "recursion", "doubling"] {
        wait_for(plane, (&namespace, name), "False", "BuildFailed");
    }
    plane.kubectl(&["-n", &namespace, "create", "configmap", "dep"]);
    let list = (0..40).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let nested = (0..5).fold("metadata.name != ''".to_owned(), |inner, n| format!("[{list}].all(v{n}, {inner})"));
    set(
        "cel",
        &format!(
            "  dependsOn: [{{apiVersion: v1, kind: ConfigMap, name: dep, namespace: {namespace}, ready: true, readyExpr: \
             \"{nested}\"}}]\n  resources: []\n  resourcesTemplate: \"# none\"\n"
        ),
    );
    // Whether its size or its running gives it away first is no matter of this test.
    eventually("the expression is given up", || {
        super::ready(plane, &namespace, "cel").filter(|c| c["status"] == "False")
    });

    plane.apply(&config_maps(&namespace, "apps", &["a"]), &[]);
    wait_until_ready(plane, &namespace, "apps");
    controllers.wait_until_up();
    let used = memory(controllers.pid());
    assert!(used < 400, "{used} MiB");
}
