//! Signed commits: ours are signed, and nothing is committed on top of a head that nobody trusts (fluxd-v1 §2.10).

use super::{deployment, fluxctl, start};
use crate::flows::git::{environment, gpg_key};
use crate::rig::{ControlPlane, Fluxd, Repo, eventually, run};
use std::process::Command;

#[test]
fn commits_are_signed_and_an_unsigned_head_is_left_alone() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("signed");
    let repo = Repo::new();
    let builder = Fluxd::against(plane).git(&repo);
    let home = builder.home().to_owned();
    let key = gpg_key(&home, "ann@example.com");
    repo.write("web.yaml", &deployment(&namespace, "web", "example.org/web:1")).git(&["add", "-A"]);
    let people = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
    let signing = format!("user.signingKey={key}");
    let mut commit = Command::new("git");
    commit.current_dir(repo.work()).env_clear().envs(environment(&home)).args(people).args(["-c", &signing]);
    run(commit.args(["commit", "-q", "-S", "-m", "signed by Ann"]));
    repo.git(&["push", "-q", "origin", "HEAD:master"]);
    let key = format!("--git-signing-key={key}");
    let flags = ["--git-verify-signatures-mode=all", "--registry-disable-scanning", &key];
    let fluxd = start(builder, &flags);
    let is_synced = || (repo.remote_ref("flux-sync") == repo.remote_ref("master")).then_some(());
    eventually("the signed commit is synced", is_synced);

    let workload = ["-n", namespace.as_str(), "-w", "deployment/web"];
    let printed = fluxctl(plane, &fluxd, &repo, &[&["automate"], &workload[..]].concat());
    assert!(printed.ok, "{printed:?}");
    let mut check = Command::new("git");
    check.current_dir(repo.remote()).env_clear().envs(environment(&home));
    assert_eq!(run(check.args(["log", "-2", "--format=%G?", "master"])), "G\nG\n");
    eventually("our own commit is synced", is_synced);

    repo.git(&["pull", "-q", "--rebase", "origin", "master"]);
    repo.push("not signed");
    let printed = fluxctl(plane, &fluxd, &repo, &["sync"]);
    assert!(printed.ok && printed.text.contains("is not verified"), "{printed:?}");
    let printed = fluxctl(plane, &fluxd, &repo, &[&["deautomate"], &workload[..]].concat());
    assert!(!printed.ok && printed.text.contains("Error: HEAD revision is unsigned"), "{printed:?}");
}
