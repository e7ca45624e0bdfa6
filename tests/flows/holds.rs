//! Deletes that are held however few they are: with a namespace, a definition or a volume claim more would be lost than left
//! git. An approval lets them through; with the budget off nothing is held, as in Flux v1.

use crate::rig::{ControlPlane, Fluxd, Repo, eventually, fresh_name};
use serde_json::Value;

/// A daemon on a repository whose file `going.yaml` holds what will leave it.
struct Flow {
    plane: &'static ControlPlane,
    home: String,
    repo: Repo,
    fluxd: Fluxd,
}

impl Flow {
    #[track_caller]
    fn start(going: &str, args: &[&str]) -> Self {
        let plane = ControlPlane::shared();
        let home = plane.namespace("holds");
        let repo = Repo::new();
        let kept = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: kept, namespace: {home}}}}}\n");
        let head = repo.write("kept.yaml", &kept).write("going.yaml", going).push("all");
        let all = ["--sync-garbage-collection", "--git-poll-interval=1h", "--sync-interval=1h"];
        let fluxd = Fluxd::against(plane).git(&repo).args(&all).args(args).start();
        let flow = Self { plane, home, repo, fluxd };
        flow.until_synced(&head);
        flow
    }

    #[track_caller]
    fn until_synced(&self, head: &str) {
        eventually("the marker is at the head", || {
            (self.repo.remote_ref("refs/tags/flux-sync")? == head).then_some(())
        });
    }

    /// Takes the file out of git.
    #[track_caller]
    fn remove(&self) {
        let head = self.repo.remove("going.yaml").push("without");
        self.fluxd.notify(&self.repo, &self.repo.url());
        self.until_synced(&head);
    }

    fn held(&self) -> Vec<Value> {
        let reply = self.fluxd.get("/api/fluxd/v1/deletes").expect("it answers");
        reply.json().as_array().expect("a list").clone()
    }

    /// What is held and why, and that an approval lets it through.
    #[track_caller]
    fn is_held_until_approved(&self, id: &str, kind: &str, name: &str, reason: &str) {
        self.remove();
        let held = eventually("the delete is held", || self.held().first().cloned());
        assert_eq!(held["deletes"].as_array().map(Vec::len), Some(1), "{held}");
        assert_eq!(held["deletes"][0]["id"], id);
        assert!(held["reason"].as_str().is_some_and(|text| text.contains(reason)), "{held}");
        let live = self.plane.get(&self.home, kind, name).expect("it is live");
        assert!(live["metadata"]["deletionTimestamp"].is_null(), "it is not being deleted");

        let digest = held["digest"].as_str().expect("a text");
        let reply = self.fluxd.post(&format!("/api/fluxd/v1/deletes/{digest}/approve"), "").expect("it answers");
        assert_eq!(reply.status, 202);
        self.until_gone(kind, name);
        eventually("nothing is held any more", || self.held().is_empty().then_some(()));
    }

    #[track_caller]
    fn until_gone(&self, kind: &str, name: &str) {
        let gone =
            || self.plane.get(&self.home, kind, name).is_none_or(|o| !o["metadata"]["deletionTimestamp"].is_null());
        eventually(&format!("{kind} {name} goes"), || gone().then_some(()));
    }
}

fn namespace(name: &str) -> String {
    format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}\n")
}

fn definition(group: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: toys.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{kind: Toy, plural: toys, singular: toy, listKind: ToyList}}
  versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]
"
    )
}

fn claim(namespace: &str) -> String {
    format!(
        "apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data, namespace: {namespace}}}
spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
"
    )
}

#[test]
fn a_namespace_that_holds_what_others_made_waits_for_an_approval() {
    let name = fresh_name("held");
    let flow = Flow::start(&namespace(&name), &[]);
    flow.plane.kubectl(&["-n", &name, "create", "configmap", "theirs"]);
    let id = format!("<cluster>:namespace/{name}");
    flow.is_held_until_approved(&id, "namespace", &name, "the namespace holds objects");
}

#[test]
fn a_namespace_that_goes_with_all_it_holds_waits_for_nobody() {
    let name = fresh_name("whole");
    let inside = format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: ours, namespace: {name}}}}}\n");
    let flow = Flow::start(&(namespace(&name) + &inside), &[]);
    flow.remove();
    flow.until_gone("namespace", &name);
    assert!(flow.held().is_empty());
}

#[test]
fn a_definition_of_objects_that_others_made_waits_for_an_approval() {
    let group = format!("{}.example.org", fresh_name("held"));
    let flow = Flow::start(&definition(&group), &[]);
    let toy = format!("{{apiVersion: {group}/v1, kind: Toy, metadata: {{name: theirs, namespace: {}}}}}", flow.home);
    flow.plane.apply(&toy, &[]);
    let (id, name) = (format!("<cluster>:customresourcedefinition/toys.{group}"), format!("toys.{group}"));
    flow.is_held_until_approved(&id, "customresourcedefinition", &name, "objects of this definition");
}

#[test]
fn a_volume_claim_waits_for_an_approval() {
    let name = ControlPlane::shared().namespace("claims");
    let flow = Flow { home: name.clone(), ..Flow::start(&claim(&name), &[]) };
    let id = format!("{name}:persistentvolumeclaim/data");
    flow.is_held_until_approved(&id, "persistentvolumeclaim", "data", "the data of the volume");
}

#[test]
fn with_the_budget_off_nothing_is_held() {
    let (name, claims) = (fresh_name("free"), ControlPlane::shared().namespace("claims"));
    let group = format!("{name}.example.org");
    let going = [namespace(&name), definition(&group), claim(&claims)].join("---\n");
    let flow = Flow { home: claims, ..Flow::start(&going, &["--sync-gc-budget=off"]) };
    flow.plane.kubectl(&["-n", &name, "create", "configmap", "theirs"]);
    let toy = format!("{{apiVersion: {group}/v1, kind: Toy, metadata: {{name: theirs, namespace: {}}}}}", flow.home);
    flow.plane.apply(&toy, &[]);
    flow.remove();
    flow.until_gone("namespace", &name);
    flow.until_gone("customresourcedefinition", &format!("toys.{group}"));
    flow.until_gone("persistentvolumeclaim", "data");
    assert!(flow.held().is_empty());
}
