//! What git holds is wrong, empty, or too much: nothing is deleted by mistake, and the way out is told.

use super::{config_map, daemon, marker, until_gone, until_held, until_synced, until_value, value};
use crate::rig::{ControlPlane, Fluxd, Repo, Verdict, Webhook, eventually, run};
use std::process::Command;

const BROKEN: &str = "apiVersion: v1\nkind: ConfigMap\n  metadata: {name: broken}\n";

#[test]
fn one_broken_file_among_good_ones_stops_all_until_it_is_mended() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("files");
    let repo = Repo::new();
    repo.write("a.yaml", &config_map(&ns, "a", "one")).write("goes.yaml", &config_map(&ns, "goes", "one"));
    let first = repo.push("the first");
    let mut fluxd = daemon(plane, &repo).start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);
    let services = format!("/api/flux/v11/services?namespace={ns}");
    assert_eq!(fluxd.get(&services).expect("it answers").status, 200);

    repo.write("a.yaml", &config_map(&ns, "a", "two")).write("broken.yaml", BROKEN).remove("goes.yaml").push("broken");
    fluxd.notify(&repo, &repo.url());
    fluxd.wait_for_log(&["loading resources from repo", "broken.yaml"]);
    let reply = fluxd.get(&services).expect("it answers");
    assert_eq!(reply.status, 422, "{reply:?}");
    assert!(reply.body.contains("broken.yaml"), "{reply:?}");
    let status = fluxd.get("/api/fluxd/v1/status").expect("it answers").json();
    assert!(status["error"].as_str().is_some_and(|error| error.contains("broken.yaml")), "{status}");
    assert_eq!(value(plane, &ns, "a").as_deref(), Some("one"), "nothing is applied");
    assert_eq!(value(plane, &ns, "goes").as_deref(), Some("one"), "nothing is deleted");
    assert_eq!(marker(&repo), Some(first));

    let mended = repo.write("broken.yaml", &config_map(&ns, "broken", "three")).push("mended");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &mended);
    until_value(plane, &ns, "a", "two");
    until_value(plane, &ns, "broken", "three");
    until_gone(plane, &ns, "configmap", "goes");
    assert_eq!(fluxd.get(&services).expect("it answers").status, 200);
}

#[test]
fn files_that_do_not_load_are_left_out_where_that_is_asked_for_and_nothing_is_deleted_meanwhile() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("files");
    let repo = Repo::new();
    repo.write("a.yaml", &config_map(&ns, "a", "one")).write("goes.yaml", &config_map(&ns, "goes", "one"));
    let first = repo.write("b.yaml", &config_map(&ns, "b", "one")).push("the first");
    let mut fluxd = daemon(plane, &repo).arg("--load-errors=skip").start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);

    repo.write("a.yaml", &config_map(&ns, "a", "two")).write("b.yaml", BROKEN).remove("goes.yaml");
    let second = repo.push("broken");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &second);
    assert_eq!(value(plane, &ns, "a").as_deref(), Some("two"), "the others go on");
    assert_eq!(value(plane, &ns, "b").as_deref(), Some("one"), "what does not load stays as it is");
    assert_eq!(value(plane, &ns, "goes").as_deref(), Some("one"), "nothing is deleted");
    fluxd.wait_for_log(&["b.yaml", "left out of this sync"]);
    let outcome = fluxd.get("/api/fluxd/v1/outcome").expect("it answers").json();
    assert!(outcome["gcOff"].is_string(), "{outcome}");

    let third = repo.write("b.yaml", &config_map(&ns, "b", "three")).push("mended");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &third);
    until_value(plane, &ns, "b", "three");
    until_gone(plane, &ns, "configmap", "goes");
}

#[test]
fn a_generator_that_fails_applies_and_deletes_nothing_and_its_words_are_told() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("generator");
    let repo = Repo::new();
    let generator = |command: &str| {
        let text = format!("version: 1\ncommandUpdated:\n  generators:\n  - command: \"{command}\"\n");
        repo.write("made/.flux.yaml", &text);
    };
    generator("cat a.in");
    repo.write("made/a.in", &config_map(&ns, "a", "one"));
    repo.write("plain/b.yaml", &config_map(&ns, "b", "one"));
    let first = repo.push("the first");
    let args = ["--manifest-generation", "--git-path=made,plain"];
    let mut fluxd = daemon(plane, &repo).args(&args).start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);

    generator("echo the cupboard is bare >&2; exit 7");
    repo.write("plain/b.yaml", &config_map(&ns, "b", "two")).push("no luck");
    fluxd.notify(&repo, &repo.url());
    fluxd.wait_for_log(&["the cupboard is bare", "made/.flux.yaml"]);
    assert_eq!((value(plane, &ns, "a").as_deref(), value(plane, &ns, "b").as_deref()), (Some("one"), Some("one")));
    assert_eq!(marker(&repo), Some(first));

    generator("true");
    let third = repo.push("it makes nothing, and says so");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &third);
    until_value(plane, &ns, "b", "two");
    until_gone(plane, &ns, "configmap", "a");
}

#[test]
fn the_step_to_nothing_waits_for_an_approval() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("empty");
    let repo = Repo::new();
    repo.write("deploy/README.md", "Here.\n");
    repo.write("deploy/a.yaml", &config_map(&ns, "a", "one")).write("deploy/b.yaml", &config_map(&ns, "b", "one"));
    let first = repo.push("the first");
    let mut fluxd = daemon(plane, &repo).arg("--git-path=deploy").start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);

    let head = repo.remove("deploy/a.yaml").remove("deploy/b.yaml").push("nothing");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &head);
    let (digest, count) = until_held(&fluxd);
    assert_eq!(count, 2);
    fluxd.wait_for_log(&["deletes are held", &digest]);
    assert!(value(plane, &ns, "a").is_some() && value(plane, &ns, "b").is_some());
    assert_eq!(fluxd.post("/api/fluxd/v1/deletes/0000/approve", "").expect("it answers").status, 404);
    assert_eq!(fluxd.post(&format!("/api/fluxd/v1/deletes/{digest}/approve"), "").expect("it answers").status, 202);
    until_gone(plane, &ns, "configmap", "a");
    until_gone(plane, &ns, "configmap", "b");
    eventually("nothing is held any more", || {
        let held = fluxd.get("/api/fluxd/v1/deletes")?.json();
        held.as_array()?.is_empty().then_some(())
    });
}

#[test]
fn more_deletes_than_the_budget_wait_while_the_rest_of_the_commit_goes_live() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("budget");
    let repo = Repo::new();
    (0..6).for_each(|n| {
        repo.write(&format!("c{n}.yaml"), &config_map(&ns, &format!("c{n}"), "one"));
    });
    let first = repo.push("the first");
    let mut fluxd = daemon(plane, &repo).arg("--sync-gc-budget=2").start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);

    let second = repo.remove("c1.yaml").remove("c2.yaml").push("two less");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &second);
    until_gone(plane, &ns, "configmap", "c1");
    until_gone(plane, &ns, "configmap", "c2");

    repo.remove("c3.yaml").remove("c4.yaml").remove("c5.yaml").write("c0.yaml", &config_map(&ns, "c0", "two"));
    let third = repo.push("three less");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &third);
    until_value(plane, &ns, "c0", "two");
    let (digest, count) = until_held(&fluxd);
    assert_eq!(count, 3);
    assert_eq!(fluxd.metrics().sum("fluxd_gc_held", &[]), 3.0);
    (3..6).for_each(|n| assert!(value(plane, &ns, &format!("c{n}")).is_some()));

    // An unrelated commit leaves the approval valid.
    let fourth = repo.write("c0.yaml", &config_map(&ns, "c0", "three")).push("unrelated");
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &fourth);
    assert_eq!(fluxd.post(&format!("/api/fluxd/v1/deletes/{digest}/approve"), "").expect("it answers").status, 202);
    (3..6).for_each(|n| until_gone(plane, &ns, "configmap", &format!("c{n}")));
    assert_eq!(value(plane, &ns, "c0").as_deref(), Some("three"));
}

#[test]
fn a_history_that_is_rewritten_during_a_sync_ends_at_the_new_head() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("rewritten");
    let webhook = Webhook::start(plane, &ns);
    let repo = Repo::new();
    repo.write("a.yaml", &config_map(&ns, "a", "one")).write("b.yaml", &config_map(&ns, "b", "one"));
    let first = repo.push("the first");
    let mut fluxd = daemon(plane, &repo).start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);

    webhook.set(|_, name| if name == "a" { Verdict::Hold } else { Verdict::Allow });
    repo.write("a.yaml", &config_map(&ns, "a", "two")).write("lost.yaml", &config_map(&ns, "lost", "two"));
    let lost = repo.push("soon forgotten");
    fluxd.notify(&repo, &repo.url());
    webhook.wait_until_held(1);
    repo.git(&["reset", "-q", "--hard", &first]);
    let head = repo.write("a.yaml", &config_map(&ns, "a", "three")).push("another second");
    assert_ne!(head, lost);
    fluxd.notify(&repo, &repo.url());
    webhook.set(|_, _| Verdict::Allow);
    until_synced(&repo, &head);
    until_value(plane, &ns, "a", "three");
    until_gone(plane, &ns, "configmap", "lost");
    assert_eq!(value(plane, &ns, "b").as_deref(), Some("one"));
}

/// A file system of a few megabytes, unmounted at the end. Only root can have one.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(at: std::path::PathBuf) -> Option<Self> {
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"]).arg(&at).status();
        status.is_ok_and(|s| s.success()).then_some(Self(at))
    }

    fn grow(&self) {
        run(Command::new("mount").args(["-o", "remount,size=64m"]).arg(&self.0));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run(Command::new("umount").arg("--lazy").arg(&self.0));
    }
}

#[test]
fn a_full_disk_under_the_clone_is_told_and_leaves_the_cluster_as_it_is() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("disk");
    let repo = Repo::new();
    repo.write("a.yaml", &config_map(&ns, "a", "one")).write("goes.yaml", &config_map(&ns, "goes", "one"));
    let first = repo.push("the first");
    let builder = daemon(plane, &repo);
    let Some(disk) = SmallDisk::mount(builder.home().join("tmp")) else {
        eprintln!("not tested: mounting a small disk needs root");
        return;
    };
    let mut fluxd: Fluxd = builder.start();
    fluxd.wait_until_up();
    until_synced(&repo, &first);

    let noise: String = (0..400_000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    repo.write("noise", &noise).write("a.yaml", &config_map(&ns, "a", "two")).remove("goes.yaml");
    let head = repo.push("too big");
    fluxd.notify(&repo, &repo.url());
    fluxd.wait_for_log(&["the disk with the scratch directory", "is full"]);
    let status = fluxd.get("/api/fluxd/v1/status").expect("it answers").json();
    assert!(status["git"]["error"].as_str().is_some_and(|error| error.contains("is full")), "{status}");
    assert_eq!(value(plane, &ns, "a").as_deref(), Some("one"));
    assert_eq!(value(plane, &ns, "goes").as_deref(), Some("one"));
    plane.kubectl(&["-n", &ns, "delete", "configmap", "a"]);
    until_value(plane, &ns, "a", "one");

    disk.grow();
    fluxd.notify(&repo, &repo.url());
    until_synced(&repo, &head);
    until_value(plane, &ns, "a", "two");
    until_gone(plane, &ns, "configmap", "goes");
    drop(fluxd);
    drop(disk);
}
