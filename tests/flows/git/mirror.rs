//! Following a remote, reading its files and history, and the marker.

use super::{Daemon, names, text};
use crate::rig;
use fluxd::source::git::{Error, Status};
use fluxd::tree::{Entry, Mode, Revision};
use std::sync::Arc;

fn rev(id: &str) -> Revision {
    Revision(id.into())
}

#[tokio::test]
async fn a_remote_becomes_ready_and_its_files_are_read_without_a_checkout() {
    let remote = rig::Repo::new();
    let head = remote.write("apps/web.yaml", "kind: X\n").write("README.md", "hello\n").push("first");
    let repo = Daemon::of(&remote).ready().await;
    assert_eq!(repo.status(), (Status::Ready, None));
    assert!(repo.ready().is_ok());
    assert_eq!(repo.head().await.unwrap().0.as_ref(), head);
    let tree = repo.tree(&rev(&head)).await.unwrap();
    assert_eq!(names(&tree), ["README.md", "apps"]);
    assert_eq!(text(&tree, "apps/web.yaml"), "kind: X\n");
    assert_eq!(remote.remote_git(&["tag", "-l"]), "", "the write check leaves no tag");
}

#[tokio::test]
async fn an_unchanged_remote_costs_no_fetch_and_unchanged_directories_are_shared() {
    let remote = rig::Repo::new();
    let first = remote.write("a/x.yaml", "1").write("b/y.yaml", "2").push("first");
    let repo = Daemon::of(&remote).ready().await;
    repo.refresh().await.unwrap();
    assert_eq!(repo.fetches(), 1);
    let second = remote.write("b/y.yaml", "3").push("second");
    repo.refresh().await.unwrap();
    assert_eq!(repo.fetches(), 2);
    let [old, new] = [repo.tree(&rev(&first)).await.unwrap(), repo.tree(&rev(&second)).await.unwrap()];
    let dir = |tree: &fluxd::tree::Tree, name: &str| match tree.entry(name) {
        Ok(Entry::Dir(dir)) => dir,
        other => panic!("{other:?}"),
    };
    assert!(Arc::ptr_eq(&dir(&old, "a"), &dir(&new, "a")) && !Arc::ptr_eq(&dir(&old, "b"), &dir(&new, "b")));
    assert_eq!((text(&old, "b/y.yaml"), text(&new, "b/y.yaml")), ("2".to_owned(), "3".to_owned()));
}

#[tokio::test]
async fn the_texts_before_the_first_clone_are_those_of_flux_v1() {
    let remote = rig::Repo::new();
    let repo = Daemon::of(&remote).repo();
    assert_eq!(repo.ready().unwrap_err().to_string(), "git repo not ready: git repo has not been cloned yet");
    assert!(matches!(repo.head().await, Err(Error::NotReady(_))));
    let none = Daemon::at("").repo();
    assert_eq!(none.ready().unwrap_err().to_string(), "git repo does not have valid config");
    assert_eq!(none.status().0, Status::Unconfigured);
    assert!(matches!(none.refresh().await, Err(Error::Unconfigured)));
}

#[tokio::test]
async fn an_empty_remote_and_an_unborn_branch_wait_for_their_first_commit() {
    let remote = rig::Repo::new();
    let daemon = Daemon::of(&remote);
    let repo = daemon.repo();
    let error = repo.refresh().await.unwrap_err().to_string();
    assert_eq!(error, "configured branch 'master' does not exist");
    assert_eq!(repo.status(), (Status::Cloned, Some(error)));
    remote.push("first");
    repo.refresh().await.unwrap();
    assert_eq!(repo.status().0, Status::Ready);

    let unborn = daemon.with(|s| s.branch = "later".into()).repo();
    assert!(matches!(unborn.refresh().await, Err(Error::BranchMissing(b)) if b == "later"));
}

#[tokio::test]
async fn an_empty_branch_setting_means_the_remotes_default() {
    let remote = rig::Repo::on_branch("trunk");
    let head = remote.push("first");
    let repo = Daemon::of(&remote).with(|s| s.branch = String::new()).ready().await;
    assert_eq!(repo.head().await.unwrap().0.as_ref(), head);
    assert_eq!(repo.resolve("HEAD").await.unwrap().0.as_ref(), head);
}

#[tokio::test]
async fn force_pushes_and_deletions_are_followed() {
    let remote = rig::Repo::new();
    remote.write("a", "1").push("first");
    let gone = remote.write("a", "2").push("second");
    let repo = Daemon::of(&remote).ready().await;
    remote.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let head = remote.write("a", "3").push("other second");
    repo.refresh().await.unwrap();
    assert_eq!(repo.head().await.unwrap().0.as_ref(), head);
    let since = repo.commits(Some(&rev(&gone)), &rev(&head), &[]).await.unwrap();
    assert_eq!(since.iter().map(|c| c.subject.as_str()).collect::<Vec<_>>(), ["other second"]);

    remote.remote_git(&["update-ref", "-d", "refs/heads/master"]);
    let error = repo.refresh().await.unwrap_err();
    assert!(matches!(error, Error::BranchMissing(_)), "{error}");
    assert_eq!(repo.status().0, Status::Cloned);
    assert!(repo.tree(&rev(&head)).await.is_ok(), "what is known stays readable");
    remote.push("again");
    repo.refresh().await.unwrap();
}

#[tokio::test]
async fn the_marker_is_an_annotated_tag_that_moves_anywhere() {
    let remote = rig::Repo::new();
    let first = remote.push("first");
    let second = remote.push("second");
    let daemon = Daemon::of(&remote);
    let repo = daemon.ready().await;
    assert_eq!(repo.read_marker().await.unwrap(), None);
    repo.write_marker(&rev(&second), "Sync pointer").await.unwrap();
    assert_eq!(repo.read_marker().await.unwrap(), Some(rev(&second)));
    assert_eq!(remote.remote_ref("refs/tags/flux-sync"), Some(second));
    let tag = remote.remote_git(&["cat-file", "-p", "refs/tags/flux-sync"]);
    assert!(tag.contains("tagger Weave Flux <support@weave.works>") && tag.ends_with("Sync pointer\n"), "{tag}");
    repo.write_marker(&rev(&first), "Sync pointer").await.unwrap();
    repo.refresh().await.unwrap();
    assert_eq!(repo.read_marker().await.unwrap(), Some(rev(&first)));
    remote.remote_git(&["tag", "-d", "flux-sync"]);
    repo.refresh().await.unwrap();
    assert_eq!(repo.read_marker().await.unwrap(), None, "a tag deleted by hand starts anew");
}

#[tokio::test]
async fn a_marker_that_cannot_be_pushed_stays_where_it_was() {
    let remote = rig::Repo::new();
    let first = remote.push("first");
    let repo = Daemon::of(&remote).ready().await;
    repo.write_marker(&rev(&first), "Sync pointer").await.unwrap();
    let second = remote.push("second");
    repo.refresh().await.unwrap();
    let hook = remote.remote().join("hooks/pre-receive");
    std::fs::write(&hook, "#!/bin/sh\necho protected tag\nexit 1\n").unwrap();
    rig::run(std::process::Command::new("chmod").arg("+x").arg(&hook));
    let error = repo.write_marker(&rev(&second), "Sync pointer").await.unwrap_err().to_string();
    assert!(error.starts_with("pushing tag to origin: git push file://"), "{error}");
    assert!(error.contains("protected tag"), "{error}");
    assert_eq!(repo.read_marker().await.unwrap(), Some(rev(&first)));
}

#[tokio::test]
async fn a_read_only_repository_is_never_written_to() {
    let remote = rig::Repo::new();
    let head = remote.push("first");
    let hook = remote.remote().join("hooks/pre-receive");
    std::fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    rig::run(std::process::Command::new("chmod").arg("+x").arg(&hook));
    let writable = Daemon::of(&remote).repo();
    let error = writable.refresh().await.unwrap_err().to_string();
    assert!(error.starts_with("attempt to push tag: "), "{error}");
    assert_eq!(writable.status(), (Status::Cloned, Some(error)));
    let repo = Daemon::of(&remote).with(|s| s.readonly = true).ready().await;
    let error = repo.write_marker(&rev(&head), "Sync pointer").await.unwrap_err();
    assert_eq!(error.to_string(), "cannot make a working clone of a read-only git repo");
}

#[tokio::test]
async fn ranges_are_filtered_by_path_as_git_log_does() {
    let remote = rig::Repo::new();
    let base = remote.write("a/x", "0").write("b/y", "0").push("base");
    remote.git(&["checkout", "-q", "-b", "side"]);
    remote.write("a/x", "side").commit("side changes a");
    remote.git(&["checkout", "-q", "master"]);
    remote.write("b/y", "1").commit("main changes b");
    remote.git(&["merge", "-q", "--no-ff", "-m", "merge side", "side"]);
    let head = remote.write("ab", "1").push("main adds ab");
    let repo = Daemon::of(&remote).ready().await;
    for paths in [vec![], vec!["a"], vec!["b"], vec!["a", "b"], vec!["ab"], vec!["missing"]] {
        let owned: Vec<String> = paths.iter().map(ToString::to_string).collect();
        let range = format!("{base}..{head}");
        let mut args = vec!["log", "--format=%H", &range, "--"];
        args.extend(&paths);
        let ours = repo.commits(Some(&rev(&base)), &rev(&head), &owned).await.unwrap();
        let ours: Vec<&str> = ours.iter().map(|c| c.revision.0.as_ref()).collect();
        let gits = remote.git(&args);
        let mut gits: Vec<&str> = gits.lines().collect();
        assert_eq!(ours.first(), gits.first());
        let mut ours = ours;
        ours.sort_unstable();
        gits.sort_unstable();
        assert_eq!(ours, gits, "paths {paths:?}");
    }
    assert_eq!(repo.commits(None, &rev(&head), &[]).await.unwrap().len(), 5);
    assert_eq!(repo.resolve(&head[..7]).await.unwrap(), rev(&head));
    let error = repo.resolve("nothing").await.unwrap_err().to_string();
    assert_eq!(error, "fatal: bad revision 'nothing'");
}

#[tokio::test]
async fn notes_are_read_from_the_configured_ref() {
    let remote = rig::Repo::new();
    let [first, second] = [remote.push("first"), remote.push("second")];
    let repo = Daemon::of(&remote).ready().await;
    assert!(repo.notes(&[rev(&first)]).await.unwrap().is_empty());
    remote.git(&["notes", "--ref", "flux", "add", "-m", "{\"jobID\":\"x\"}", &second]);
    remote.git(&["push", "-q", "origin", "refs/notes/flux"]);
    repo.refresh().await.unwrap();
    let notes = repo.notes(&[rev(&first), rev(&second)]).await.unwrap();
    assert_eq!(notes.into_iter().collect::<Vec<_>>(), [(rev(&second), "{\"jobID\":\"x\"}\n".to_owned())]);
}

#[tokio::test]
async fn an_export_has_the_files_and_nothing_that_leads_out() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let remote = rig::Repo::new();
    remote.write("d/run.sh", "#!/bin/sh\n").write("d/big", "version https://git-lfs.github.com/spec/v1\noid x\n");
    let link = |target: &str, name: &str| symlink(target, remote.work().join(name)).unwrap();
    link("d/run.sh", "inside");
    link("/etc/passwd", "absolute");
    link("../../outside", "climbs");
    link("..", "d/up");
    link("d/up/..", "climbs-through-a-link");
    rig::run(std::process::Command::new("chmod").arg("+x").arg(remote.work().join("d/run.sh")));
    remote.git(&["add", "-A"]);
    let id = remote.push("base");
    remote.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},module")]);
    remote.git(&["commit", "-q", "-m", "a submodule"]);
    let head = remote.head();
    remote.git(&["push", "-q", "origin", "HEAD:master"]);
    let daemon = Daemon::of(&remote);
    let repo = daemon.ready().await;
    let tree = repo.tree(&rev(&head)).await.unwrap();
    assert!(matches!(tree.entry("module"), Ok(Entry::Leaf { mode: Mode::Submodule, .. })));
    let to = daemon.home().join("out");
    repo.export(&tree, &to).await.unwrap();
    let mut found: Vec<String> =
        std::fs::read_dir(&to).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, ["d", "inside", "module"]);
    assert_eq!(std::fs::read_link(to.join("d/up")).unwrap().to_str(), Some(".."));
    assert_eq!(std::fs::metadata(to.join("inside")).unwrap().permissions().mode() & 0o111, 0o111);
    assert!(std::fs::read_to_string(to.join("d/big")).unwrap().starts_with("version https://git-lfs"));
}

#[tokio::test]
async fn a_tree_that_repeats_itself_endlessly_is_refused() {
    let remote = rig::Repo::new();
    remote.write("l0/f", "x").push("base");
    let mut tree = remote.git(&["rev-parse", "HEAD:l0"]).trim().to_owned();
    for _ in 0..12 {
        let list: String = (0..10).map(|n| format!("040000 tree {tree}\td{n}\n")).collect();
        let mktree = "printf '%s' \"$1\" | git mktree";
        let mut command = std::process::Command::new("sh");
        command.current_dir(remote.work()).args(["-c", mktree, "sh", &list]);
        tree = rig::run(&mut command).trim().to_owned();
    }
    let bomb = remote.git(&["commit-tree", "-m", "bomb", &tree]).trim().to_owned();
    remote.git(&["push", "-q", "--force", "origin", &format!("{bomb}:refs/heads/master")]);
    let repo = Daemon::of(&remote).ready().await;
    let error = repo.tree(&rev(&bomb)).await.unwrap_err();
    assert!(matches!(&error, Error::Refused { .. }), "{error}");
}
