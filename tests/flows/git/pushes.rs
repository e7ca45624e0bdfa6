//! Pushes that are rejected, declined, or whose answer is lost, and several writers at once: every change lands once.

use super::commits::{note, push, writing};
use super::{Daemon, Live};
use crate::rig::{self, Answer, GitHttp, GitHttpOptions};
use fluxd::source::git::PushError;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

fn hook(remote: &rig::Repo, name: &str, script: &str) {
    let path = remote.remote().join("hooks").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn notes_of(remote: &rig::Repo) -> usize {
    remote.remote_git(&["notes", "--ref=flux", "list"]).lines().count()
}

#[tokio::test]
async fn a_commit_on_an_old_head_is_rejected_and_lands_when_made_again() {
    let remote = rig::Repo::new();
    remote.write("a", "1").push("first");
    let daemon = Daemon::of(&remote);
    let repo = daemon.ready().await;
    let theirs = remote.write("b", "theirs").push("someone was faster");
    let error = push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap_err();
    assert!(matches!(error, PushError::Rejected(_)), "{error}");
    assert!(error.to_string().starts_with(&format!("git push {} [master refs/notes/flux]: ", remote.url())), "{error}");
    assert_eq!(repo.find_note("job").await.unwrap(), None);
    repo.refresh().await.unwrap();
    assert_eq!(*repo.head().await.unwrap().0, *theirs);
    let old = repo.resolve("master~1").await.unwrap();
    let error = repo.push_commit(&old, writing(&[("a", "2")], "x"), note("job")).await.unwrap_err();
    assert!(matches!(error, PushError::Rejected(_)), "a base that is not the head: {error}");
    push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap();
    assert_eq!((remote.remote_file("master", "b"), remote.remote_file("master", "a")), ("theirs".into(), "2".into()));
    assert_eq!(notes_of(&remote), 1);
}

#[tokio::test]
async fn commits_that_were_taken_back_from_the_remote_do_not_return_with_ours() {
    let remote = rig::Repo::new();
    let first = remote.write("a", "1").push("first");
    remote.write("mistake", "secret").push("a mistake");
    let repo = Daemon::of(&remote).ready().await;
    remote.remote_git(&["update-ref", "refs/heads/master", &first]);
    let error = push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap_err();
    assert!(matches!(error, PushError::Rejected(_)), "{error}");
    assert_eq!(remote.remote_ref("master"), Some(first));
    repo.refresh().await.unwrap();
    push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap();
    assert_eq!(remote.remote_git(&["ls-tree", "--name-only", "master"]), "a\n");
}

#[tokio::test]
async fn notes_that_moved_alone_are_kept_too() {
    let remote = rig::Repo::new();
    remote.write("a", "1").push("first");
    let repo = Daemon::of(&remote).ready().await;
    remote.remote_git(&["notes", "--ref=flux", "add", "-m", "not ours", "master"]);
    let error = push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap_err();
    assert!(matches!(error, PushError::Rejected(_)), "{error}");
    repo.refresh().await.unwrap();
    push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap();
    assert_eq!(remote.remote_git(&["notes", "--ref=flux", "show", "master~1"]), "not ours\n");
    assert_eq!(remote.remote_git(&["notes", "--ref=flux", "show", "master"]).trim(), note("job"));
}

#[tokio::test]
async fn a_server_that_declines_is_told_and_nothing_of_the_commit_stays() {
    let remote = rig::Repo::new();
    let head = remote.write("a", "1").push("first");
    let repo = Daemon::of(&remote).ready().await;
    hook(&remote, "pre-receive", "echo 'reviews only'; exit 1");
    let error = push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap_err();
    assert!(matches!(error, PushError::Other(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("reviews only") && text.contains("(pre-receive hook declined)"), "{text}");
    assert_eq!((&*repo.head().await.unwrap().0, repo.find_note("job").await.unwrap()), (&*head, None));
    hook(&remote, "pre-receive", "exit 0");
    push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap();
    assert_eq!(notes_of(&remote), 1);
}

#[tokio::test]
async fn a_server_without_atomic_pushes_gets_both_refs_plainly() {
    let remote = rig::Repo::new();
    remote.write("a", "1").push("first");
    remote.remote_git(&["config", "receive.advertiseAtomic", "false"]);
    let repo = Daemon::of(&remote).ready().await;
    for n in ["2", "3"] {
        push(&repo, writing(&[("a", n)], "x"), n).await.unwrap();
    }
    assert_eq!((remote.remote_file("master", "a"), notes_of(&remote)), ("3".into(), 2));
    remote.git(&["pull", "-q", "origin", "master"]);
    remote.write("b", "theirs").push("someone was faster");
    let error = push(&repo, writing(&[("a", "4")], "x"), "4").await.unwrap_err();
    assert!(matches!(error, PushError::Rejected(_)), "{error}");
    repo.refresh().await.unwrap();
    push(&repo, writing(&[("a", "4")], "x"), "4").await.unwrap();
    assert_eq!(repo.find_note("4").await.unwrap().unwrap().0, repo.head().await.unwrap());
}

#[tokio::test]
async fn a_note_that_did_not_come_along_is_pushed_after() {
    let remote = rig::Repo::new();
    remote.write("a", "1").push("first");
    remote.remote_git(&["config", "receive.advertiseAtomic", "false"]);
    let repo = Daemon::of(&remote).ready().await;
    remote.remote_git(&["notes", "--ref=flux", "add", "-m", "not ours", "master"]);
    push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap();
    assert_eq!((remote.remote_file("master", "a"), notes_of(&remote)), ("2".into(), 2));
    assert!(repo.find_note("job").await.unwrap().is_some());
    // A server that never takes notes does not make the commit fail that it took.
    hook(&remote, "update", "case $1 in refs/notes/*) exit 1;; esac");
    push(&repo, writing(&[("a", "3")], "x"), "job-2").await.unwrap();
    assert_eq!((remote.remote_file("master", "a"), notes_of(&remote)), ("3".into(), 2));
}

#[tokio::test]
async fn a_push_whose_answer_was_lost_is_known_to_have_landed() {
    let remote = rig::Repo::new();
    remote.write("a", "1").push("first");
    let server = GitHttp::start(&remote, GitHttpOptions::default());
    let repo = Daemon::at(&server.url()).ready().await;
    server.answer(Answer::LosePushes);
    let head = push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap();
    assert_eq!(remote.remote_ref("master").as_deref(), Some(&*head.0));
    assert_eq!(repo.head().await.unwrap(), head);
    assert_eq!(repo.find_note("job").await.unwrap().unwrap().0, head);
}

#[tokio::test]
async fn a_job_that_landed_before_a_restart_is_found_by_its_note() {
    let remote = rig::Repo::new();
    remote.write("a", "1").push("first");
    let daemon = Daemon::of(&remote);
    let head = push(&daemon.ready().await, writing(&[("a", "2")], "x"), "job").await.unwrap();
    remote.git(&["pull", "-q", "origin", "master"]);
    remote.write("b", "later").push("later");
    let restarted = daemon.ready().await;
    assert_eq!(restarted.find_note("job").await.unwrap(), Some((head, format!("{}\n", note("job")))));
}

#[tokio::test]
async fn a_server_that_is_away_is_no_rejection_and_nothing_is_lost() {
    let remote = rig::Repo::new();
    remote.write("a", "1").push("first");
    let server = GitHttp::start(&remote, GitHttpOptions::default());
    let repo = Daemon::at(&server.url()).ready().await;
    server.answer(Answer::Unavailable);
    let error = push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap_err();
    assert!(matches!(&error, PushError::Other(_)) && error.to_string().contains("503"), "{error}");
    server.answer(Answer::Serve);
    push(&repo, writing(&[("a", "2")], "x"), "job").await.unwrap();
    assert_eq!(notes_of(&remote), 1);
}

#[tokio::test]
async fn a_remote_that_was_cloned_shallow_takes_commits() {
    let remote = rig::Repo::new();
    remote.write("a", "1").push("first");
    remote.write("a", "2").push("second");
    let shallow = rig::Repo::new();
    std::fs::remove_dir_all(shallow.remote()).unwrap();
    let (from, to) = (remote.url(), shallow.remote());
    remote.git(&["clone", "-q", "--bare", "--depth=1", &from, to.to_str().unwrap()]);
    let repo = Daemon::of(&shallow).ready().await;
    push(&repo, writing(&[("a", "3")], "x"), "job").await.unwrap();
    assert_eq!((shallow.remote_file("master", "a"), notes_of(&shallow)), ("3".into(), 1));
    let head = repo.head().await.unwrap();
    assert_eq!(repo.commits(None, &head, &[]).await.unwrap().len(), 2);
}

/// Adds a line to a file that all writers change, until it is on the remote; as the daemon does it.
async fn land(repo: &Live, line: &str) {
    for _ in 0..200 {
        let head = repo.head().await.unwrap();
        let tree = repo.tree(&head).await.unwrap();
        let all = format!("{}{line}\n", super::text(&tree, "all"));
        let own = format!("own/{line}");
        match repo.push_commit(&head, writing(&[("all", &all), (&own, line)], line), note(line)).await {
            Ok(_) => return,
            Err(PushError::Rejected(_)) => {
                tokio::time::sleep(Duration::from_millis(rand::random::<u64>() % 50)).await;
                repo.refresh().await.unwrap();
            }
            Err(error) => panic!("{line}: {error}"),
        }
    }
    panic!("{line} never landed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_writers_lose_and_double_nothing() {
    const WRITERS: usize = 5;
    const ROUNDS: usize = 15;
    let remote = rig::Repo::new();
    remote.write("all", "").push("first");
    let writers = (0..WRITERS).map(|writer| {
        let daemon = Daemon::of(&remote);
        async move {
            let repo = daemon.ready().await;
            for round in 0..ROUNDS {
                land(&repo, &format!("{writer}-{round}")).await;
                if round % 5 == 0 {
                    repo.write_marker(&repo.head().await.unwrap(), "Sync pointer").await.unwrap();
                }
            }
            repo
        }
    });
    let repos = futures::future::join_all(writers).await;
    let mut lines: Vec<String> = remote.remote_file("master", "all").lines().map(str::to_owned).collect();
    lines.sort();
    let mut want: Vec<String> = (0..WRITERS).flat_map(|w| (0..ROUNDS).map(move |r| format!("{w}-{r}"))).collect();
    want.sort();
    assert_eq!(lines, want);
    assert_eq!(remote.remote_git(&["rev-list", "--count", "master"]).trim(), (want.len() + 1).to_string());
    assert_eq!(remote.remote_git(&["rev-list", "--count", "--merges", "master"]).trim(), "0");
    assert_eq!(notes_of(&remote), want.len());
    repos[0].refresh().await.unwrap();
    for job in &want {
        assert!(repos[0].find_note(job).await.unwrap().is_some(), "{job}");
    }
}
