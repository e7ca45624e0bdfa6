//! Faults around the whole daemon: it is killed, the API server goes away, admission says no, files are wrong, disks are
//! full. Each test shows what a user sees, that nothing is lost by mistake, and that all is well once the fault is gone.

mod admission;
mod api_server;
mod content;
mod killed;
mod neighbours;

use crate::rig::{ControlPlane, Fluxd, FluxdBuilder, Repo, eventually};
use serde_json::Value;

/// Garbage collection on; syncs only at the start, when asked, and to try again.
const ARGS: &[&str] =
    &["--sync-garbage-collection", "--registry-disable-scanning", "--git-poll-interval=1h", "--sync-interval=1h"];

/// A daemon for a repository over `file://`.
fn daemon(plane: &ControlPlane, repo: &Repo) -> FluxdBuilder {
    Fluxd::against(plane).git(repo).args(ARGS)
}

fn config_map(namespace: &str, name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{key: {value}}}\n"
    )
}

fn value(plane: &ControlPlane, namespace: &str, name: &str) -> Option<String> {
    plane.get(namespace, "configmap", name)?["data"]["key"].as_str().map(str::to_owned)
}

#[track_caller]
fn until_value(plane: &ControlPlane, namespace: &str, name: &str, wanted: &str) {
    eventually(&format!("{name} is {wanted}"), || (value(plane, namespace, name)? == wanted).then_some(()));
}

#[track_caller]
fn until_gone(plane: &ControlPlane, namespace: &str, kind: &str, name: &str) {
    eventually(&format!("{kind} {name} is gone"), || plane.get(namespace, kind, name).is_none().then_some(()));
}

#[track_caller]
fn uid(plane: &ControlPlane, namespace: &str, kind: &str, name: &str) -> String {
    let object = plane.get(namespace, kind, name).unwrap_or_else(|| panic!("{kind} {name} is not live"));
    object["metadata"]["uid"].as_str().expect("a live object has a uid").to_owned()
}

fn marker(repo: &Repo) -> Option<String> {
    repo.remote_ref("refs/tags/flux-sync")
}

#[track_caller]
fn until_synced(repo: &Repo, head: &str) {
    eventually("the sync marker is at the head", || (marker(repo)? == head).then_some(()));
}

/// What the API says of one object after the last sync.
fn told(fluxd: &Fluxd, id_end: &str) -> Option<Value> {
    let outcome = fluxd.get("/api/fluxd/v1/outcome?all=true")?.json();
    outcome["objects"].as_array()?.iter().find(|o| o["id"].as_str().is_some_and(|id| id.ends_with(id_end))).cloned()
}

/// Waits until the API tells an error of an object, and gives its text.
#[track_caller]
fn until_error(fluxd: &Fluxd, id_end: &str) -> String {
    eventually(&format!("an error of {id_end}"), || {
        told(fluxd, id_end)?["error"]["message"].as_str().map(str::to_owned)
    })
}

/// Waits until deletes are held, and gives their digest with how many they are.
#[track_caller]
fn until_held(fluxd: &Fluxd) -> (String, usize) {
    eventually("deletes are held", || {
        let held = fluxd.get("/api/fluxd/v1/deletes")?.json();
        let first = held.as_array()?.first()?.clone();
        Some((first["digest"].as_str()?.to_owned(), first["deletes"].as_array()?.len()))
    })
}
