//! The controllers as processes: `fluxd controllers`, beside the git loop, `fluxctl rset`, and what they do when things break.

mod faults;
mod killed;
mod running;
mod tenants;
mod verbs;

use crate::rig::{ControlPlane, eventually};
use serde_json::Value;
use std::sync::OnceLock;

/// The shared control plane, knowing our definitions.
pub(super) fn plane() -> &'static ControlPlane {
    static KNOWS: OnceLock<()> = OnceLock::new();
    let plane = ControlPlane::shared();
    KNOWS.get_or_init(|| define(plane));
    plane
}

/// Makes a control plane know our definitions.
#[track_caller]
pub(super) fn define(plane: &ControlPlane) {
    let crds = crate::rig::source_root().join("deploy/crds");
    plane.kubectl(&["apply", "--server-side", "--force-conflicts", "-k", &crds.display().to_string()]);
    for name in ["resourcesets", "resourcesetinputproviders"] {
        let name = format!("{name}.fluxcd.controlplane.io");
        plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", &name]);
    }
}

/// The Ready condition of a ResourceSet, if it has one for the generation that it has.
pub(super) fn ready(plane: &ControlPlane, namespace: &str, name: &str) -> Option<Value> {
    let object = plane.get(namespace, "resourceset", name)?;
    let conditions = object["status"]["conditions"].as_array()?;
    let ready = conditions.iter().find(|c| c["type"] == "Ready")?;
    (ready["observedGeneration"] == object["metadata"]["generation"]).then(|| ready.clone())
}

/// Waits until a ResourceSet has this status and reason of Ready, and gives the condition's message.
#[track_caller]
pub(super) fn wait_for(plane: &ControlPlane, (namespace, name): (&str, &str), status: &str, reason: &str) -> String {
    let mut last = Value::Null;
    let end = std::time::Instant::now() + crate::rig::DEADLINE;
    loop {
        if let Some(ready) = ready(plane, namespace, name) {
            if ready["status"] == status && ready["reason"] == reason {
                return ready["message"].as_str().unwrap_or_default().to_owned();
            }
            last = ready;
        }
        assert!(std::time::Instant::now() < end, "{namespace}/{name} is not {status}/{reason} but {last}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// Waits until it is Ready.
#[track_caller]
pub(super) fn wait_until_ready(plane: &ControlPlane, namespace: &str, name: &str) -> String {
    wait_for(plane, (namespace, name), "True", "ReconciliationSucceeded")
}

/// Waits until an object is gone.
#[track_caller]
pub(super) fn wait_until_gone(plane: &ControlPlane, namespace: &str, kind: &str, name: &str) {
    eventually(&format!("{kind} {name} is gone"), || {
        let text = plane.try_kubectl(&["-n", namespace, "get", kind, name, "-o", "name", "--ignore-not-found"]).ok()?;
        text.trim().is_empty().then_some(())
    });
}

/// A ResourceSet of one ConfigMap for each of the given names.
pub(super) fn config_maps(namespace: &str, name: &str, inputs: &[&str]) -> String {
    let inputs: String = inputs.iter().map(|input| format!("  - name: {input}\n")).collect();
    format!(
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
         inputs:\n{inputs}  resources:\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata: {{name: << inputs.name >>, \
         namespace: {namespace}}}\n    data: {{of: << inputs.name >>}}\n"
    )
}
