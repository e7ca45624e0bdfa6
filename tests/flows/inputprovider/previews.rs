//! One preview environment per pull request, with both controllers in a process of their own: a pull request is opened, its
//! objects live; it is closed, and they are gone. While the host fails, nothing goes.

use std::sync::{Arc, Mutex};

use super::*;
use crate::flows::controllers::{wait_until_gone, wait_until_ready};
use crate::rig::{Controllers, Double, Scripted};

fn pull(number: u64, sha: &str) -> Value {
    json!({"number": number, "title": "T", "user": {"login": "ann"}, "labels": [{"name": "preview"}],
           "head": {"ref": format!("feat-{number}"), "sha": sha}})
}

fn objects(namespace: &str, url: &str) -> String {
    format!(
        "apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSetInputProvider
metadata:
  name: pulls
  namespace: {namespace}
  annotations: {{fluxcd.controlplane.io/reconcileEvery: 1s}}
spec:
  type: GitHubPullRequest
  url: {url}/ann/shop
  filter: {{labels: [preview]}}
---
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSet
metadata:
  name: previews
  namespace: {namespace}
spec:
  inputsFrom:
    - name: pulls
  resources:
    - apiVersion: v1
      kind: ConfigMap
      metadata:
        name: preview-<< inputs.id >>
        namespace: {namespace}
      data:
        commit: << inputs.sha | quote >>
        branch: << inputs.branch | quote >>
"
    )
}

#[test]
fn a_pull_request_has_its_objects_as_long_as_it_is_open() {
    let plane = plane();
    let namespace = plane.namespace("previews");
    let open = Arc::new(Mutex::new(Scripted::json(&json!([pull(1, "a")]))));
    let answer = Arc::clone(&open);
    let double = Double::start(move |_| answer.lock().unwrap().clone());
    let mut controllers = Controllers::against(plane).only(&[&namespace]).start();
    controllers.wait_until_up();
    plane.apply(&objects(&namespace, &double.url()), &[]);
    let commit =
        |number: u64| Some(plane.get(&namespace, "configmap", &format!("preview-{number}"))?["data"]["commit"].clone());
    let is = |number: u64, sha: &str| {
        eventually(&format!("the preview of {number} at {sha}"), || (commit(number)? == json!(sha)).then_some(()));
    };
    is(1, "a");
    *open.lock().unwrap() = Scripted::json(&json!([pull(2, "x"), pull(1, "b")]));
    is(1, "b");
    is(2, "x");
    wait_until_ready(plane, &namespace, "previews");
    *open.lock().unwrap() = Scripted::new(200, "<html>maintenance</html>");
    eventually("the failure is told", || {
        let provider = plane.get(&namespace, "rsip", "pulls")?;
        (condition(&provider, "Ready")["status"] == "False").then_some(())
    });
    assert_eq!((commit(1), commit(2)), (Some(json!("b")), Some(json!("x"))));
    *open.lock().unwrap() = Scripted::json(&json!([pull(2, "x")]));
    wait_until_gone(plane, &namespace, "configmap", "preview-1");
    is(2, "x");
    *open.lock().unwrap() = Scripted::json(&json!([]));
    wait_until_gone(plane, &namespace, "configmap", "preview-2");
    wait_until_ready(plane, &namespace, "previews");
}
