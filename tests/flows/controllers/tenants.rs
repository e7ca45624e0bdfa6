//! Two tenants, each confined to a namespace by the rights of its own service account. Whatever one of them refers to in the
//! other's namespace is refused, and the API server's audit log shows that no request for a tenant left without the
//! tenant's identity. Each field that can refer to something has a row.

use super::{define, wait_for, wait_until_ready};
use crate::rig::{ControlPlane, Controllers, eventually, run};
use serde_json::Value;
use std::path::PathBuf;

const TENANTS: [(&str, &str); 2] = [("red", "blue"), ("blue", "red")];

/// The user of the controllers, who may do everything.
const CONTROLLERS: &str = "system:serviceaccount:ops:controllers";

struct Scene {
    plane: ControlPlane,
    kubeconfig: tempfile::NamedTempFile,
}

impl Scene {
    fn new() -> Self {
        let plane = ControlPlane::audited();
        define(&plane);
        plane.apply(&artifacts(), &[]);
        plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
        plane.kubectl(&["create", "namespace", "ops"]);
        plane.kubectl(&["-n", "ops", "create", "serviceaccount", "controllers"]);
        let subject = "--serviceaccount=ops:controllers";
        plane.kubectl(&["create", "clusterrolebinding", "controllers", "--clusterrole=cluster-admin", subject]);
        for (tenant, _) in TENANTS {
            plane.apply(&belongings(tenant), &[]);
        }
        let kubeconfig = kubeconfig(&plane);
        Self { plane, kubeconfig }
    }

    fn controllers(&self) -> Controllers {
        let path: PathBuf = self.kubeconfig.path().to_owned();
        let mut controllers = Controllers::against(&self.plane)
            .kubeconfig(&path)
            .arg("--default-service-account=tenant")
            .arg("--max-retry-delay=2s")
            .start();
        controllers.wait_until_up();
        controllers
    }

    fn set(&self, tenant: &str, name: &str, spec: &str) {
        let head = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet";
        self.plane.apply(&format!("{head}\nmetadata: {{name: {name}, namespace: {tenant}}}\nspec:\n{spec}"), &[]);
    }

    fn provider(&self, tenant: &str, name: &str, spec: &str) {
        let head = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider";
        self.plane.apply(&format!("{head}\nmetadata: {{name: {name}, namespace: {tenant}}}\nspec:\n{spec}"), &[]);
    }

    fn ready_of_provider(&self, tenant: &str, name: &str) -> Option<Value> {
        let provider = self.plane.get(tenant, "resourcesetinputprovider", name)?;
        let conditions = provider["status"]["conditions"].as_array()?;
        conditions.iter().find(|c| c["type"] == "Ready").cloned()
    }
}

/// A kubeconfig of the controllers' own account.
fn kubeconfig(plane: &ControlPlane) -> tempfile::NamedTempFile {
    let token = plane.kubectl(&["-n", "ops", "create", "token", "controllers", "--duration=2h"]);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::copy(plane.kubeconfig(), file.path()).unwrap();
    let set = |args: &[&str]| {
        let mut command = plane.kubectl_command();
        run(command.env("KUBECONFIG", file.path()).args(["config"]).args(args));
    };
    set(&["set-credentials", "controllers", "--token", token.trim()]);
    set(&["set-context", "--current", "--user=controllers"]);
    file
}

/// A namespace with an account that may do everything there and nothing elsewhere, and things worth reading.
fn belongings(tenant: &str) -> String {
    format!(
        r#"
apiVersion: v1
kind: Namespace
metadata: {{name: {tenant}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: tenant, namespace: {tenant}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: only-{tenant}, namespace: {tenant}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: tenant, namespace: {tenant}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}
subjects:
- {{kind: ServiceAccount, name: tenant, namespace: {tenant}}}
- {{kind: ServiceAccount, name: only-{tenant}, namespace: {tenant}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: treasure, namespace: {tenant}}}
stringData: {{gold: "treasure of {tenant}", kubeconfig: "{{}}"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: map, namespace: {tenant}}}
data: {{gold: "map of {tenant}"}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: ExternalArtifact
metadata: {{name: goods, namespace: {tenant}, labels: {{of: {tenant}}}}}
---
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSetInputProvider
metadata: {{name: inputs-of-{tenant}, namespace: {tenant}}}
spec: {{type: Static, defaultValues: {{gold: "inputs of {tenant}"}}}}
"#
    )
}

fn artifacts() -> String {
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: \
     externalartifacts.source.toolkit.fluxcd.io}\nspec:\n  group: source.toolkit.fluxcd.io\n  scope: Namespaced\n  names: \
     {kind: ExternalArtifact, plural: externalartifacts}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    \
     schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n    subresources: {status: {}}\n"
        .to_owned()
}

fn copy(tenant: &str, kind: &str, annotation: &str) -> String {
    format!(
        "  resources:\n  - apiVersion: v1\n    kind: {kind}\n    metadata:\n      name: loot\n      namespace: {tenant}\n      \
         annotations: {{'fluxcd.controlplane.io/{annotation}'}}\n"
    )
}

/// A field, the spec that uses it to reach for the other tenant, the reason of Ready that follows, and words of its message.
type Row = (&'static str, fn(&str, &str) -> String, &'static str, &'static [&'static str]);

const ROWS: &[Row] = &[
    (
        "copy-secret",
        |me, other| copy(me, "Secret", &format!("copyFrom': '{other}/treasure")),
        "ReconciliationFailed",
        &["failed to copy data from Secret/", "cannot get resource \"secrets\""],
    ),
    (
        "copy-map",
        |me, other| copy(me, "ConfigMap", &format!("copyFrom': '{other}/map")),
        "ReconciliationFailed",
        &["failed to copy data from ConfigMap/", "cannot get resource \"configmaps\""],
    ),
    (
        "kubeconfig",
        |me, other| copy(me, "ConfigMap", &format!("convertKubeConfigFrom': '{other}/treasure")),
        "ReconciliationFailed",
        &["failed to get kubeconfig Secret/", "cannot get resource \"secrets\""],
    ),
    (
        "checksum",
        |me, other| copy(me, "ConfigMap", &format!("checksumFrom': 'Secret/{other}/treasure")),
        "ReconciliationFailed",
        &["failed to resolve", "cannot get resource \"secrets\""],
    ),
    (
        "checksum-map",
        |me, other| copy(me, "ConfigMap", &format!("checksumFrom': 'ConfigMap/{other}/map")),
        "ReconciliationFailed",
        &["failed to resolve", "cannot get resource \"configmaps\""],
    ),
    (
        "depends-on",
        |me, other| {
            format!(
                "  dependsOn: [{{apiVersion: v1, kind: Secret, name: treasure, namespace: {other}, ready: true, readyExpr: \
                 \"data.gold != ''\"}}]\n  resources: [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: loot, namespace: \
                 {me}}}}}]\n"
            )
        },
        "DependencyNotReady",
        &["data"],
    ),
    (
        "inputs-from",
        |me, other| {
            format!(
                "  inputsFrom: [{{name: inputs-of-{other}}}]\n  resources: [{{apiVersion: v1, kind: ConfigMap, metadata: \
                 {{name: loot, namespace: {me}}}, data: {{gold: << inputs.gold >>}}}}]\n"
            )
        },
        "BuildFailed",
        &["failed to compute inputs: failed to get provider"],
    ),
    (
        "target",
        |_, other| {
            format!(
                "  resources: [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: intruder, namespace: {other}}}}}]\n"
            )
        },
        "ReconciliationFailed",
        &["ConfigMap/", "intruder", "forbidden"],
    ),
    (
        "overwrite",
        |_, other| {
            format!(
                "  resources: [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: map, namespace: {other}}}, data: {{gold: mine}}}}]\n"
            )
        },
        "ReconciliationFailed",
        &["ConfigMap/", "forbidden"],
    ),
    (
        "account",
        |me, other| {
            format!(
                "  serviceAccountName: only-{other}\n  resources: [{{apiVersion: v1, kind: ConfigMap, metadata: {{name: loot, \
                 namespace: {me}}}}}]\n"
            )
        },
        "ReconciliationFailed",
        &["forbidden"],
    ),
    (
        "cluster",
        |me, _| {
            format!(
                "  resources: [{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {{name: root-{me}}}, \
                 roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}, subjects: [{{kind: \
                 ServiceAccount, name: tenant, namespace: {me}}}]}}]\n"
            )
        },
        "ReconciliationFailed",
        &["forbidden"],
    ),
];

#[test]
fn what_belongs_to_another_tenant_is_refused_by_every_field_and_no_request_leaves_without_its_identity() {
    let scene = Scene::new();
    let controllers = scene.controllers();
    let plane = &scene.plane;
    for (me, other) in TENANTS {
        scene.set(me, "own", &copy(me, "Secret", &format!("copyFrom': '{me}/treasure")).replace("loot", "own-copy"));
        for (name, spec, _, _) in ROWS {
            scene.set(me, name, &spec(me, other).replace("name: loot", &format!("name: loot-{name}")));
        }
        let reach = format!("  type: ExternalArtifact\n  selectors: [{{name: goods, namespace: {other}}}]\n");
        scene.provider(me, "artifacts", &reach);
        scene.provider(me, "all-artifacts", "  type: ExternalArtifact\n  selectors: [{name: '*', namespace: '*'}]\n");
        let own = format!("  type: ExternalArtifact\n  selectors: [{{name: goods, namespace: {me}}}]\n");
        scene.provider(me, "own-artifacts", &own);
    }
    for (me, _) in TENANTS {
        wait_until_ready(plane, me, "own");
        for (name, _, reason, words) in ROWS {
            let message = wait_for(plane, (me, name), "False", reason);
            for word in *words {
                assert!(message.contains(word), "{me}/{name}: {word:?} is not in {message}");
            }
            assert!(!message.contains("treasure of") && !message.contains("map of"), "{message}");
        }
        for name in ["artifacts", "all-artifacts"] {
            let ready = eventually("the provider was refused", || {
                scene.ready_of_provider(me, name).filter(|ready| ready["status"] == "False")
            });
            assert!(ready["message"].as_str().unwrap().contains("lacks permissions"), "{ready}");
        }
        eventually("its own artifacts are exported", || {
            scene.ready_of_provider(me, "own-artifacts").filter(|ready| ready["status"] == "True")
        });
        let names = plane.kubectl(&["-n", me, "get", "configmap,secret", "-o", "name"]);
        assert!(!names.contains("loot") && !names.contains("intruder"), "{names}");
        let map = plane.get(me, "configmap", "map").unwrap();
        assert_eq!(map["data"]["gold"], format!("map of {me}"), "nobody wrote over it");
    }
    for (me, _) in TENANTS {
        let binding = format!("root-{me}");
        assert!(plane.try_kubectl(&["get", "clusterrolebinding", &binding]).is_err(), "{binding}");
        plane.kubectl(&["-n", me, "delete", "resourceset", "own", "--timeout=60s"]);
    }
    drop(controllers);
    audited(plane);
}

/// Reads the audit log: what the controllers asked under their own name, and what under a tenant's.
fn audited(plane: &ControlPlane) {
    let (mut own, mut of_tenants) = (0, 0);
    let mut wrong = Vec::new();
    for entry in plane.audit().iter().filter(|entry| entry["user"]["username"] == CONTROLLERS) {
        let place = &entry["objectRef"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let namespace = text(&place["namespace"]);
        match entry["impersonatedUser"]["username"].as_str() {
            Some(user) => {
                of_tenants += 1;
                let known =
                    TENANTS.iter().any(|(tenant, _)| user.starts_with(&format!("system:serviceaccount:{tenant}:")));
                let home = user.split(':').nth(2).unwrap_or_default();
                let refused = entry["responseStatus"]["code"] == 403;
                let elsewhere = !namespace.is_empty() && namespace != home;
                if !known || (elsewhere && !refused) {
                    wrong.push(entry.to_string());
                }
            }
            None => {
                own += 1;
                if !is_the_controllers_own(entry) {
                    wrong.push(entry.to_string());
                }
            }
        }
    }
    assert!(own > 20 && of_tenants > 20, "{own} {of_tenants}");
    assert!(wrong.is_empty(), "{} requests without the right identity:\n{}", wrong.len(), wrong.join("\n"));
}

/// What needs no tenant: the controllers' own objects and their status, events, leases, what kinds there are, watches of
/// metadata, and the objects that sets depend on (resourceset §7.11).
fn is_the_controllers_own(entry: &Value) -> bool {
    let place = &entry["objectRef"];
    let verb = entry["verb"].as_str().unwrap_or_default();
    let resource = place["resource"].as_str().unwrap_or_default();
    let uri = entry["requestURI"].as_str().unwrap_or_default();
    match resource {
        "" => verb == "get",
        "resourcesets" | "resourcesetinputproviders" | "events" | "leases" => true,
        "fluxinstances" => matches!(verb, "get" | "list" | "watch"),
        "customresourcedefinitions" => matches!(verb, "get" | "list" | "watch"),
        // The row of dependsOn: read for its existence and condition, its data withheld from the expression.
        "secrets" if verb == "get" => uri.ends_with("/secrets/treasure"),
        // The metadata of the kind that sets depend on, which wakes them.
        "secrets" if matches!(verb, "list" | "watch") => true,
        // Whether an account is still there, before a set that goes is pruned with its rights.
        "serviceaccounts" => verb == "get",
        // By label, for drift, and of ConfigMaps and Secrets that sets read: metadata only.
        _ => matches!(verb, "list" | "watch") && uri.contains("labelSelector="),
    }
}
