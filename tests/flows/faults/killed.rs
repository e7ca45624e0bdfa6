//! The daemon is killed (SIGKILL) at each point of a sync and started again. Every time the cluster becomes what git says,
//! objects that stay keep their lives, and the marker ends where it belongs. A webhook, a hook of the remote and a
//! generator hold the sync at the chosen point, so nothing depends on how fast the machine is.

use super::{config_map, marker, uid, until_gone, until_synced, until_value, value};
use crate::rig::{
    Answer, ControlPlane, Fluxd, FluxdBuilder, GitHttp, GitHttpOptions, Repo, Verdict, Webhook, eventually,
};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// Where the sync is when the daemon is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    Fetch,
    Generate,
    BeforeFirstApply,
    MidApply,
    BeforeLastApply,
    BeforeDelete,
    MidDelete,
    BeforeMarker,
    AfterMarker,
}

const CHANGING: usize = 6;
const GOING: usize = 2;

/// A repository that was synced once, and the means to hold the next sync.
struct Scene<'a> {
    plane: &'a ControlPlane,
    namespace: String,
    repo: Repo,
    server: GitHttp,
    webhook: Webhook<'a>,
}

impl<'a> Scene<'a> {
    fn new(plane: &'a ControlPlane) -> Self {
        let namespace = plane.namespace("killed");
        let repo = Repo::new();
        for name in ["stays-0", "stays-1"] {
            repo.write(&format!("{name}.yaml"), &config_map(&namespace, name, "one"));
        }
        for (name, count) in [("changes", CHANGING), ("goes", GOING)] {
            for n in 0..count {
                repo.write(&format!("{name}-{n}.yaml"), &config_map(&namespace, &format!("{name}-{n}"), "one"));
            }
        }
        plane.kubectl(&["-n", &namespace, "create", "configmap", "foreign", "--from-literal=key=theirs"]);
        let server = GitHttp::start(&repo, GitHttpOptions::default());
        let webhook = Webhook::start(plane, &namespace);
        Self { plane, namespace, repo, server, webhook }
    }

    fn daemon(&self) -> FluxdBuilder {
        let url = format!("--git-url={}", self.server.url());
        Fluxd::against(self.plane).args(super::ARGS).args(&[&url, "--git-branch=master", "--manifest-generation"])
    }

    /// A file beside the remote by which its hook and the generator are steered.
    fn sign(&self, name: &str) -> PathBuf {
        self.repo.root().join(name)
    }

    /// A script that says `asked` and goes on when `hold` is gone.
    fn wait_script(&self) -> String {
        let (hold, asked) = (self.sign("hold"), self.sign("asked"));
        format!(
            "while [ -e {hold} ]; do touch {asked}; sleep 0.05; done",
            hold = hold.display(),
            asked = asked.display()
        )
    }

    fn install_generator(&self) {
        let text = format!(
            "version: 1\ncommandUpdated:\n  generators:\n  - command: '{}; for f in *.yaml; do echo ---; cat $f; done'\n",
            self.wait_script()
        );
        self.repo.write(".flux.yaml", &text);
    }

    /// Pushes of tags wait; while `refuse` exists they are refused afterwards.
    fn install_hook(&self) {
        let hook = self.repo.remote().join("hooks/pre-receive");
        let text = format!(
            "#!/bin/sh\nwhile read -r _ _ ref; do case $ref in refs/tags/*) {}; [ ! -e {} ] || exit 1;; esac; done\n",
            self.wait_script(),
            self.sign("refuse").display()
        );
        std::fs::create_dir_all(hook.parent().expect("it has one")).expect("the remote is writable");
        std::fs::write(&hook, text).expect("the remote is writable");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    fn push_second(&self) -> String {
        for n in 0..CHANGING {
            self.repo.write(&format!("changes-{n}.yaml"), &config_map(&self.namespace, &format!("changes-{n}"), "two"));
            self.repo.write(&format!("new-{n}.yaml"), &config_map(&self.namespace, &format!("new-{n}"), "two"));
        }
        for n in 0..GOING {
            self.repo.remove(&format!("goes-{n}.yaml"));
        }
        self.repo.push("the second")
    }

    fn value(&self, name: &str) -> Option<String> {
        value(self.plane, &self.namespace, name)
    }

    /// Makes the next sync wait at a point.
    fn arm(&self, point: Point) {
        let hold = |rule: fn(&str, &str) -> bool| {
            self.webhook.set(move |operation, name| match rule(operation, name) {
                true => Verdict::Hold,
                false => Verdict::Allow,
            });
        };
        let file = |name: &str| std::fs::write(self.sign(name), "").expect("it is writable");
        match point {
            Point::Fetch => self.server.answer(Answer::Hang),
            Point::Generate => file("hold"),
            Point::BeforeFirstApply => hold(|operation, _| operation != "DELETE"),
            Point::MidApply => hold(|_, name| name == "changes-3" || name == "new-5"),
            Point::BeforeLastApply => hold(|_, name| name == "changes-5"),
            Point::BeforeDelete => hold(|operation, _| operation == "DELETE"),
            Point::MidDelete => hold(|operation, name| operation == "DELETE" && name == "goes-1"),
            Point::BeforeMarker => ["hold", "refuse"].into_iter().for_each(file),
            Point::AfterMarker => (),
        }
    }

    /// Waits until the sync is there, and checks what is live then.
    fn wait_for(&self, point: Point, head: &str, requests: usize) {
        let live = |names: &[&str], wanted: &str| {
            names.iter().for_each(|name| until_value(self.plane, &self.namespace, name, wanted));
        };
        match point {
            Point::Fetch => eventually("git is asked", || (self.server.requests() > requests).then_some(())),
            Point::Generate | Point::BeforeMarker => {
                eventually("the hook or the command waits", || self.sign("asked").exists().then_some(()))
            }
            Point::BeforeFirstApply => self.webhook.wait_until_held(2 * CHANGING),
            Point::MidApply => {
                self.webhook.wait_until_held(2);
                live(&["changes-0", "changes-5", "new-0"], "two");
                assert_eq!((self.value("changes-3").as_deref(), self.value("new-5")), (Some("one"), None));
            }
            Point::BeforeLastApply => {
                self.webhook.wait_until_held(1);
                live(&["changes-4", "new-5"], "two");
            }
            Point::BeforeDelete => self.webhook.wait_until_held(GOING),
            Point::MidDelete => {
                self.webhook.wait_until_held(1);
                until_gone(self.plane, &self.namespace, "configmap", "goes-0");
            }
            Point::AfterMarker => until_synced(&self.repo, head),
        }
        if point != Point::AfterMarker {
            assert_ne!(marker(&self.repo).as_deref(), Some(head), "the marker moves last");
        }
        let deletes_begun = matches!(point, Point::BeforeMarker | Point::AfterMarker);
        assert!(deletes_begun || self.value("goes-1").is_some(), "deletes come after the applies");
        if deletes_begun || matches!(point, Point::BeforeDelete | Point::MidDelete) {
            assert_eq!(self.value("changes-5").as_deref(), Some("two"), "all is applied before anything is deleted");
        }
    }

    /// Takes the fault away: nothing waits any more, and what waited comes to nothing.
    fn release(&self) {
        self.server.answer(Answer::Serve);
        self.webhook.set(|_, _| Verdict::Allow);
        std::fs::remove_file(self.sign("hold")).ok();
    }
}

fn a_killed_daemon_catches_up(point: Point) {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane);
    if point == Point::Generate {
        scene.install_generator();
    }
    let first = scene.repo.push("the first");
    let mut fluxd = scene.daemon().start();
    fluxd.wait_until_up();
    until_synced(&scene.repo, &first);
    if point == Point::BeforeMarker {
        scene.install_hook();
    }
    let kept = ["stays-0", "stays-1", "changes-0", "changes-5", "foreign"];
    let lives = kept.map(|name| uid(plane, &scene.namespace, "configmap", name));

    scene.arm(point);
    let requests = scene.server.requests();
    let head = scene.push_second();
    fluxd.notify(&scene.repo, &scene.server.url());
    scene.wait_for(point, &head, requests);
    let again = fluxd.kill();
    scene.release();
    if point == Point::BeforeMarker {
        // The hook of the killed push ends with a refusal before another push is made.
        eventually("the killed push is over", || {
            let lock = scene.repo.remote().join("refs/tags/flux-sync.lock");
            (!lock.exists()).then_some(())
        });
        assert_eq!(marker(&scene.repo).as_deref(), Some(first.as_str()));
        std::fs::remove_file(scene.repo.remote().join("hooks/pre-receive")).expect("it was installed");
    }

    let mut fluxd = again.start();
    fluxd.wait_until_up();
    until_synced(&scene.repo, &head);
    eventually("a sync of the head succeeded", || {
        let last = fluxd.get("/api/fluxd/v1/status")?.json()["lastSync"].clone();
        (last["success"] == true && last["revision"] == head).then_some(())
    });
    for n in 0..CHANGING {
        assert_eq!(scene.value(&format!("changes-{n}")).as_deref(), Some("two"));
        assert_eq!(scene.value(&format!("new-{n}")).as_deref(), Some("two"));
    }
    for n in 0..GOING {
        until_gone(plane, &scene.namespace, "configmap", &format!("goes-{n}"));
    }
    let now = kept.map(|name| uid(plane, &scene.namespace, "configmap", name));
    assert_eq!(now, lives, "what stays keeps its life");
    assert_eq!(scene.value("foreign").as_deref(), Some("theirs"));
}

#[test]
fn killed_while_it_fetches_it_catches_up() {
    a_killed_daemon_catches_up(Point::Fetch);
}

#[test]
fn killed_while_a_generator_runs_it_catches_up() {
    a_killed_daemon_catches_up(Point::Generate);
}

#[test]
fn killed_before_the_first_apply_it_catches_up() {
    a_killed_daemon_catches_up(Point::BeforeFirstApply);
}

#[test]
fn killed_between_applies_it_catches_up() {
    a_killed_daemon_catches_up(Point::MidApply);
}

#[test]
fn killed_before_the_last_apply_it_catches_up() {
    a_killed_daemon_catches_up(Point::BeforeLastApply);
}

#[test]
fn killed_after_the_last_apply_and_before_any_delete_it_catches_up() {
    a_killed_daemon_catches_up(Point::BeforeDelete);
}

#[test]
fn killed_between_deletes_it_catches_up() {
    a_killed_daemon_catches_up(Point::MidDelete);
}

#[test]
fn killed_while_it_pushes_the_marker_it_catches_up() {
    a_killed_daemon_catches_up(Point::BeforeMarker);
}

#[test]
fn killed_after_the_marker_moved_it_stays_in_sync() {
    a_killed_daemon_catches_up(Point::AfterMarker);
}

#[test]
fn killed_in_its_very_first_sync_it_finishes_it_the_next_time() {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane);
    scene.webhook.set(|_, name| if name.starts_with("changes") { Verdict::Hold } else { Verdict::Allow });
    let head = scene.repo.push("the first");
    let fluxd = scene.daemon().start();
    scene.webhook.wait_until_held(CHANGING);
    until_value(plane, &scene.namespace, "stays-0", "one");
    let life = uid(plane, &scene.namespace, "configmap", "stays-0");
    let again = fluxd.kill();
    assert_eq!(marker(&scene.repo), None);
    scene.release();

    let _fluxd = again.start();
    until_synced(&scene.repo, &head);
    (0..CHANGING).for_each(|n| until_value(plane, &scene.namespace, &format!("changes-{n}"), "one"));
    assert_eq!(uid(plane, &scene.namespace, "configmap", "stays-0"), life);
}
