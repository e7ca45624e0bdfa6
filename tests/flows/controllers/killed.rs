//! The controllers are killed (SIGKILL) at each step of applying, collecting garbage and finalizing, and started again.
//! Every time the set becomes what its spec says, objects that stay keep their lives, and at no time is anything live and
//! ours that no inventory lists. A webhook holds the pass at the chosen step, so nothing depends on the machine's speed.

use super::{config_maps, plane, wait_until_gone, wait_until_ready};
use crate::rig::{ControlPlane, Controllers, ControllersBuilder, Verdict, Webhook, eventually};
use std::collections::BTreeSet;

/// Where the pass is when the controllers are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    DryRun,
    BeforeFirstApply,
    MidApply,
    BeforeDelete,
    MidDelete,
    AfterAll,
}

const SET: &str = "apps";

struct Scene<'a> {
    plane: &'a ControlPlane,
    namespace: String,
    webhook: Webhook<'a>,
}

impl<'a> Scene<'a> {
    fn new(plane: &'a ControlPlane) -> Self {
        let namespace = plane.namespace("killed");
        let webhook = Webhook::start(plane, &namespace);
        Self { plane, namespace, webhook }
    }

    fn controllers(&self) -> ControllersBuilder {
        Controllers::against(self.plane).only(&[&self.namespace])
    }

    fn apply(&self, inputs: &[&str]) {
        self.plane.apply(&config_maps(&self.namespace, SET, inputs), &[]);
    }

    fn arm(&self, point: Point) {
        self.webhook.decide(move |review| {
            let write = !review.dry_run;
            let hold = match point {
                Point::DryRun => review.dry_run,
                Point::BeforeFirstApply => write && review.operation != "DELETE",
                Point::MidApply => write && review.name == "new-1",
                Point::BeforeDelete => write && review.operation == "DELETE",
                Point::MidDelete => write && review.operation == "DELETE" && review.name == "goes-1",
                Point::AfterAll => false,
            };
            if hold { Verdict::Hold } else { Verdict::Allow }
        });
    }

    fn wait_for(&self, point: Point) {
        match point {
            Point::DryRun | Point::BeforeFirstApply | Point::BeforeDelete | Point::MidDelete => {
                self.webhook.wait_until_held(1);
            }
            Point::MidApply => {
                self.webhook.wait_until_held(1);
                self.until_live("new-0");
            }
            Point::AfterAll => drop(wait_until_ready(self.plane, &self.namespace, SET)),
        }
        if point == Point::MidDelete {
            wait_until_gone(self.plane, &self.namespace, "configmap", "goes-2");
        }
    }

    fn until_live(&self, name: &str) {
        eventually(&format!("{name} is live"), || self.plane.get(&self.namespace, "configmap", name));
    }

    fn uid(&self, name: &str) -> String {
        let object = self.plane.get(&self.namespace, "configmap", name).unwrap_or_else(|| panic!("{name} is not live"));
        object["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Names of config maps that are live and carry the owner label.
    fn live(&self) -> BTreeSet<String> {
        let selector = format!("resourceset.fluxcd.controlplane.io/name={SET}");
        let text = self.plane.kubectl(&["-n", &self.namespace, "get", "configmap", "-l", &selector, "-o", "name"]);
        text.lines().filter_map(|line| line.strip_prefix("configmap/")).map(str::to_owned).collect()
    }

    /// Names in the inventory.
    fn listed(&self) -> BTreeSet<String> {
        let set = self.plane.get(&self.namespace, "resourceset", SET).unwrap_or_default();
        let entries = set["status"]["inventory"]["entries"].as_array().cloned().unwrap_or_default();
        let ids = entries.iter().filter_map(|entry| entry["id"].as_str()?.split('_').nth(1).map(str::to_owned));
        ids.collect()
    }

    #[track_caller]
    fn nothing_is_unlisted(&self) {
        // First what is live: an object that comes later is listed earlier.
        let (live, listed) = (self.live(), self.listed());
        assert!(live.is_subset(&listed), "live and ours: {live:?}; listed: {listed:?}");
    }

    fn release(&self) {
        self.webhook.set(|_, _| Verdict::Allow);
    }

    /// The pass through a first and a second spec, killed within the second.
    fn killed_at(point: Point) {
        let plane = plane();
        let scene = Scene::new(plane);
        let mut controllers = scene.controllers().start();
        controllers.wait_until_up();
        scene.apply(&["stays", "goes-0", "goes-1", "goes-2"]);
        wait_until_ready(plane, &scene.namespace, SET);
        let life = scene.uid("stays");

        scene.arm(point);
        scene.apply(&["stays", "new-0", "new-1", "new-2"]);
        scene.wait_for(point);
        let again = controllers.kill();
        scene.nothing_is_unlisted();
        scene.release();

        let mut controllers = again.start();
        controllers.wait_until_up();
        let wanted: BTreeSet<String> = ["stays", "new-0", "new-1", "new-2"].map(str::to_owned).into();
        eventually("exactly what is wanted is live and listed", || {
            (scene.live() == wanted && scene.listed() == wanted).then_some(())
        });
        wait_until_ready(plane, &scene.namespace, SET);
        scene.nothing_is_unlisted();
        assert_eq!(scene.uid("stays"), life, "what stays keeps its life");
    }

    /// The deletion of a set, killed within.
    fn killed_while_finalizing(point: Point) {
        let plane = plane();
        let scene = Scene::new(plane);
        let mut controllers = scene.controllers().start();
        controllers.wait_until_up();
        scene.apply(&["goes-0", "goes-1", "goes-2"]);
        wait_until_ready(plane, &scene.namespace, SET);
        scene.arm(point);
        plane.kubectl(&["-n", &scene.namespace, "delete", "resourceset", SET, "--wait=false"]);
        scene.wait_for(point);
        let again = controllers.kill();
        scene.nothing_is_unlisted();
        scene.release();
        let mut controllers = again.start();
        controllers.wait_until_up();
        wait_until_gone(plane, &scene.namespace, "resourceset", SET);
        assert_eq!(scene.live(), BTreeSet::new(), "the set goes last");
    }
}

#[test]
fn killed_while_it_tries_what_it_will_apply_it_converges() {
    Scene::killed_at(Point::DryRun);
}

#[test]
fn killed_before_the_first_apply_it_converges() {
    Scene::killed_at(Point::BeforeFirstApply);
}

#[test]
fn killed_between_applies_it_converges() {
    Scene::killed_at(Point::MidApply);
}

#[test]
fn killed_before_any_delete_it_converges() {
    Scene::killed_at(Point::BeforeDelete);
}

#[test]
fn killed_between_deletes_it_converges() {
    Scene::killed_at(Point::MidDelete);
}

#[test]
fn killed_after_a_whole_pass_it_stays_converged() {
    Scene::killed_at(Point::AfterAll);
}

#[test]
fn killed_before_it_deletes_for_a_set_that_goes_it_finishes_that() {
    Scene::killed_while_finalizing(Point::BeforeDelete);
}

#[test]
fn killed_while_it_deletes_for_a_set_that_goes_it_finishes_that() {
    Scene::killed_while_finalizing(Point::MidDelete);
}

#[test]
fn killed_in_the_very_first_pass_of_a_set_nothing_is_orphaned() {
    let plane = plane();
    let scene = Scene::new(plane);
    let mut controllers = scene.controllers().start();
    controllers.wait_until_up();
    scene.arm(Point::MidApply);
    scene.apply(&["new-0", "new-1"]);
    scene.wait_for(Point::MidApply);
    let again = controllers.kill();
    scene.nothing_is_unlisted();
    scene.release();
    scene.apply(&["other"]);
    let mut controllers = again.start();
    controllers.wait_until_up();
    wait_until_ready(plane, &scene.namespace, SET);
    assert_eq!(scene.live(), BTreeSet::from(["other".to_owned()]), "what only the killed pass applied is gone");
}

/// The follower waits for the whole duration of the lease that the killed leader holds.
#[test]
fn another_replica_takes_over_from_a_leader_killed_in_the_middle_of_a_pass() {
    let plane = plane();
    let scene = Scene::new(plane);
    let replica = || scene.controllers().arg(&format!("--leader-elect-namespace={}", scene.namespace));
    let mut first = replica().start();
    first.wait_until_up().wait_for_log(&["leader=true"]);
    let mut second = replica().start();
    second.wait_until_up();
    scene.apply(&["stays", "goes-0"]);
    wait_until_ready(plane, &scene.namespace, SET);
    scene.arm(Point::MidApply);
    scene.apply(&["stays", "new-0", "new-1"]);
    scene.wait_for(Point::MidApply);
    assert!(!second.log().iter().any(|line| line.contains("leader=true")), "one leads at a time");
    drop(first.kill());
    scene.nothing_is_unlisted();
    scene.release();
    second.wait_for_log(&["leader=true"]);
    let wanted: BTreeSet<String> = ["stays", "new-0", "new-1"].map(str::to_owned).into();
    eventually("exactly what is wanted is live and listed", || {
        (scene.live() == wanted && scene.listed() == wanted).then_some(())
    });
    wait_until_ready(plane, &scene.namespace, SET);
}
