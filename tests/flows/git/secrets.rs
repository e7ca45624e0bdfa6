//! Files hidden with git-secret.

use super::{Daemon, environment, text};
use crate::rig;
use std::process::Command;

/// Hides a file of a remote's working copy with a fresh key of a home directory, and pushes.
pub(super) fn hide(remote: &rig::Repo, home: &std::path::Path) -> String {
    let run = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(remote.work()).env_clear().envs(environment(home));
        rig::run(command.args(args))
    };
    run("gpg", &["--batch", "--passphrase", "", "--quick-gen-key", "ann@example.com", "default", "default", "never"]);
    run("git", &["secret", "init"]);
    run("git", &["secret", "tell", "ann@example.com"]);
    remote.write("apps/secret.yaml", "password: hidden\n").write("apps/plain.yaml", "a: 1\n");
    run("git", &["secret", "add", "apps/secret.yaml"]);
    run("git", &["secret", "hide"]);
    remote.push("hide a file")
}

#[tokio::test]
async fn hidden_files_are_revealed_in_trees_and_exports() {
    let remote = rig::Repo::new();
    let daemon = Daemon::of(&remote).with(|s| s.git_secret = true);
    let head = hide(&remote, daemon.home());
    assert!(!remote.remote_git(&["ls-tree", "-r", "--name-only", "master"]).contains("apps/secret.yaml\n"));
    let repo = daemon.ready().await;
    let head = repo.resolve(&head).await.unwrap();
    let tree = repo.tree(&head).await.unwrap();
    assert_eq!(text(&tree, "apps/secret.yaml"), "password: hidden\n");
    assert_eq!(text(&tree, "apps/plain.yaml"), "a: 1\n");
    let to = daemon.home().join("out");
    repo.export(&tree, &to).await.unwrap();
    assert_eq!(std::fs::read_to_string(to.join("apps/secret.yaml")).unwrap(), "password: hidden\n");
}

#[tokio::test]
async fn a_repository_without_hidden_files_is_an_error() {
    let remote = rig::Repo::new();
    let head = remote.push("first");
    let repo = Daemon::of(&remote).with(|s| s.git_secret = true).ready().await;
    let error = repo.tree(&repo.resolve(&head).await.unwrap()).await.unwrap_err().to_string();
    assert!(error.starts_with("git secret reveal -f: "), "{error}");
}
