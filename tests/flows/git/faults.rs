//! Remotes that vanish, hang or lie, disks that are full, mirrors that are damaged: a clear error, then recovery.

use super::{Daemon, text};
use crate::rig::{self, Answer, GitHttp, GitHttpOptions, GitSsh, eventually_async};
use fluxd::runtime::Stop;
use fluxd::source::git::{Error, SshSettings, Status, sanitise_url};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn mirrors(scratch: &Path) -> Vec<PathBuf> {
    let root = std::fs::read_dir(scratch).unwrap().next().unwrap().unwrap().path();
    let all = std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path());
    all.filter(|p| p.file_name().unwrap().to_string_lossy().starts_with("mirror-")).collect()
}

#[tokio::test]
async fn a_remote_that_is_gone_for_a_while_is_picked_up_again_without_a_new_clone() {
    let remote = rig::Repo::new();
    let head = remote.write("a", "1").push("first");
    let server = GitHttp::start(&remote, GitHttpOptions::default());
    let daemon = Daemon::at(&server.url());
    let repo = daemon.ready().await;
    let before = mirrors(&daemon.settings.scratch);
    server.answer(Answer::Unavailable);
    for _ in 0..5 {
        let error = repo.refresh().await.unwrap_err().to_string();
        assert!(error.starts_with("git fetch --tags origin: fatal: "), "{error}");
        assert_eq!(repo.status(), (Status::New, Some(error)));
    }
    let tree = repo.tree(&repo.resolve(&head).await.unwrap()).await.unwrap();
    assert_eq!(text(&tree, "a"), "1", "reads go on");
    server.answer(Answer::Serve);
    remote.push("second");
    repo.refresh().await.unwrap();
    assert_eq!((repo.status().0, mirrors(&daemon.settings.scratch)), (Status::Ready, before));
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_at_the_timeout() {
    let remote = rig::Repo::new();
    remote.push("first");
    let server = GitHttp::start(&remote, GitHttpOptions::default());
    let repo = Daemon::at(&server.url()).with(|s| s.timeout = Duration::from_secs(2)).repo();
    server.answer(Answer::Hang);
    let error = repo.refresh().await.unwrap_err().to_string();
    let text = "git clone --mirror: running git command: git [ls-remote --symref origin]: context deadline exceeded";
    assert_eq!(error, text);
}

#[tokio::test]
async fn a_hanging_ssh_is_killed_with_all_it_started() {
    let remote = rig::Repo::new();
    remote.push("first");
    let daemon = Daemon::at("ssh://git@example.org/x.git").with(|s| s.timeout = Duration::from_secs(1));
    let (ssh, pid) = (daemon.home().join("ssh"), daemon.home().join("pid"));
    std::fs::write(&ssh, format!("#!/bin/sh\nsleep 1000 &\necho $! > '{}'\nwait\n", pid.display())).unwrap();
    rig::run(std::process::Command::new("chmod").arg("+x").arg(&ssh));
    daemon.gitconfig(&["core.sshCommand", ssh.to_str().unwrap()]);
    // The user's own command is left in place even when a deploy key is configured.
    let settings = SshSettings { identities: Vec::new(), known_hosts: Vec::new(), config: None };
    let daemon = daemon.with(|s| s.ssh = Some(settings));
    let error = daemon.repo().refresh().await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    let child = std::fs::read_to_string(&pid).unwrap();
    let stat = format!("/proc/{}/stat", child.trim());
    let is_gone = || async { std::fs::read_to_string(&stat).map_or(true, |s| s.contains(") Z ")).then_some(()) };
    eventually_async("the grandchild is gone", is_gone).await;
}

#[tokio::test]
async fn an_ssh_server_that_stops_answering_is_given_up_and_used_again() {
    let remote = rig::Repo::new();
    remote.push("first");
    let server = GitSsh::start(&remote);
    let daemon = Daemon::at(&server.url()).with(|s| s.timeout = Duration::from_secs(5));
    let known = daemon.home().join("known_hosts");
    std::fs::write(&known, server.known_hosts()).unwrap();
    let ssh = SshSettings { identities: vec![server.identity()], known_hosts: vec![known], config: None };
    let repo = daemon.with(|s| s.ssh = Some(ssh)).repo();
    server.pause();
    assert!(repo.refresh().await.is_err());
    server.resume();
    eventually_async("ssh works again", || async { repo.refresh().await.ok() }).await;
}

#[tokio::test]
async fn a_mirror_without_configuration_is_replaced() {
    let remote = rig::Repo::new();
    remote.push("first");
    let daemon = Daemon::of(&remote);
    let repo = daemon.ready().await;
    let [mirror] = mirrors(&daemon.settings.scratch).try_into().unwrap();
    std::fs::write(mirror.join("config"), "").unwrap();
    let mut tries = 0;
    while repo.refresh().await.is_err() {
        tries += 1;
        assert!(tries < 5, "{:?}", repo.status());
    }
}

#[tokio::test]
async fn a_scratch_directory_that_was_wiped_is_made_again() {
    let remote = rig::Repo::new();
    let head = remote.write("a", "1").push("first");
    let daemon = Daemon::of(&remote);
    let repo = daemon.ready().await;
    std::fs::remove_dir_all(&daemon.settings.scratch).unwrap();
    repo.refresh().await.unwrap();
    let tree = repo.tree(&repo.resolve(&head).await.unwrap()).await.unwrap();
    assert_eq!(text(&tree, "a"), "1");
}

#[tokio::test]
async fn the_loop_polls_hears_notifications_and_stops() {
    let remote = rig::Repo::new();
    remote.push("first");
    let daemon = Daemon::of(&remote);
    let repo = daemon.repo();
    let (stop, mut changes) = (Stop::new(), repo.changes());
    let running = tokio::spawn((*repo).clone().run(stop.clone()));
    changes.changed().await.unwrap();
    let head = remote.push("second");
    repo.notify();
    let seen = || async { (repo.head().await.ok()?.0.as_ref() == head).then_some(()) };
    eventually_async("the notified commit is seen", seen).await;
    stop.stop();
    running.await.unwrap().unwrap();
    drop(repo);
    assert_eq!(std::fs::read_dir(&daemon.settings.scratch).unwrap().count(), 0, "nothing is left behind");
}

#[tokio::test]
async fn a_damaged_mirror_is_replaced_and_removed() {
    let remote = rig::Repo::new();
    remote.write("a", "1").push("first");
    let daemon = Daemon::of(&remote);
    let repo = daemon.ready().await;
    let [mirror] = mirrors(&daemon.settings.scratch).try_into().unwrap();
    std::fs::remove_file(mirror.join("HEAD")).unwrap();
    std::fs::remove_dir_all(mirror.join("objects")).unwrap();
    let head = remote.write("a", "2").push("second");
    let mut tries = 0;
    while repo.refresh().await.is_err() {
        tries += 1;
        assert!(tries < 10, "{:?}", repo.status());
    }
    let tree = repo.tree(&repo.resolve(&head).await.unwrap()).await.unwrap();
    assert_eq!(text(&tree, "a"), "2");
    assert!(!mirror.exists(), "the damaged one is gone");
}

/// A file system of a few megabytes, unmounted at the end. Only root can have one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = std::process::Command::new("mount");
        let status = mount.args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(dir.path()).status();
        status.is_ok_and(|s| s.success()).then_some(Self(dir))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        rig::run(std::process::Command::new("umount").arg("--lazy").arg(self.0.path()));
    }
}

#[tokio::test]
async fn a_full_disk_is_named_and_used_again_once_there_is_room() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("not tested: mounting a small disk needs root");
        return;
    };
    let remote = rig::Repo::new();
    let first = remote.write("a", "1").push("first");
    let scratch = disk.0.path().to_owned();
    let repo = Daemon::of(&remote).with(|s| s.scratch = scratch.clone()).ready().await;
    std::fs::write(disk.0.path().join("ballast"), vec![7; 1 << 20]).unwrap();
    let noise: String = (0..200_000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    let second = remote.write("big", &noise).push("too big");
    for _ in 0..4 {
        let error = repo.refresh().await.unwrap_err().to_string();
        let expected = format!("the disk with the scratch directory {} is full", scratch.display());
        assert!(error.contains(&expected), "{error}");
    }
    let tree = repo.tree(&repo.resolve(&first).await.unwrap()).await.unwrap();
    assert_eq!(text(&tree, "a"), "1", "what was read before stays readable");
    std::fs::remove_file(disk.0.path().join("ballast")).unwrap();
    remote.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let third = remote.write("a", "3").push("small again");
    repo.refresh().await.unwrap();
    assert_eq!(repo.head().await.unwrap().0.as_ref(), third);
    assert!(repo.resolve(&second).await.is_err());
}

#[tokio::test]
async fn locks_and_half_packs_of_a_killed_git_do_not_stop_the_next() {
    let remote = rig::Repo::new();
    remote.push("first");
    let server = GitHttp::start(&remote, GitHttpOptions::default());
    let daemon = Daemon::at(&server.url());
    let repo = daemon.ready().await;
    let [mirror] = mirrors(&daemon.settings.scratch).try_into().unwrap();
    server.answer(Answer::Unavailable);
    repo.refresh().await.unwrap_err();
    for leftover in ["packed-refs.lock", "HEAD.lock", "refs/heads/master.lock", "objects/pack/tmp_pack_x"] {
        std::fs::write(mirror.join(leftover), "").unwrap();
    }
    server.answer(Answer::Serve);
    remote.push("second");
    repo.refresh().await.unwrap();
    assert!(!mirror.join("objects/pack/tmp_pack_x").exists() && !mirror.join("packed-refs.lock").exists());
}

#[tokio::test]
async fn urls_that_would_run_something_are_refused_before_git_sees_them() {
    for url in ["ext::sh -c touch% /tmp/x", "--upload-pack=touch x", "ssh://-oProxyCommand=x/y", "EXT::x", "a\nb"] {
        let error = Daemon::at(url).repo().refresh().await.unwrap_err();
        assert!(matches!(error, Error::Url { .. }), "{url:?}: {error}");
    }
    assert_eq!(sanitise_url("https://u:pw@h/x"), "https://u@h/x");
}
