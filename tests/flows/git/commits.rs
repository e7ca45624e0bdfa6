//! What our commits look like to people: author, message, modes, signature, and the note that git shows.

use super::{Daemon, Live, environment, names, text};
use crate::rig::{self, GitHttp, GitHttpOptions, GitSsh};
use bytes::Bytes;
use fluxd::source::git::{NewCommit, PushError, SshSettings};
use fluxd::tree::{FileChange, Mode, Revision};
use std::process::Command;

/// A commit that writes files.
pub(super) fn writing(files: &[(&str, &str)], message: &str) -> NewCommit {
    let change = |text: &str| FileChange::Write { bytes: Bytes::copy_from_slice(text.as_bytes()), mode: None };
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), change(text))).collect();
    NewCommit { files, message: message.to_owned(), author: None }
}

pub(super) fn note(job: &str) -> String {
    format!(
        r#"{{"jobID":"{job}","spec":{{"type":"policy","cause":{{"Message":"","User":""}},"spec":{{}}}},"result":null}}"#
    )
}

/// Commits on the head that the mirror knows.
pub(super) async fn push(repo: &Live, commit: NewCommit, job: &str) -> Result<Revision, PushError> {
    let head = repo.head().await.unwrap();
    repo.push_commit(&head, commit, note(job)).await
}

fn by(author: &str) -> NewCommit {
    // Each author's commit must change something.
    NewCommit { author: Some(author.to_owned()), ..writing(&[("author", author)], "By someone") }
}

#[tokio::test]
async fn a_commit_over_https_has_its_author_message_mode_and_note() {
    let remote = rig::Repo::new();
    remote.write("apps/run.sh", "old").write("apps/a.yaml", "a: 1\n").write("gone/x", "x");
    rig::run(Command::new("chmod").arg("+x").arg(remote.work().join("apps/run.sh")));
    let base = remote.push("first");
    let login = Some(("ann".to_owned(), "s3cret".to_owned()));
    let server = GitHttp::start(&remote, GitHttpOptions { login, tls_host: Some("localhost".to_owned()) });
    let daemon = Daemon::at(&server.url_with_login()).with(|s| s.set_author = true);
    daemon.gitconfig(&["http.sslCAInfo", server.ca_file().to_str().unwrap()]);
    let repo = daemon.ready().await;
    let (fetches, changes) = (repo.fetches(), *repo.changes().borrow());
    let mut commit = writing(&[("apps/run.sh", "new"), ("apps/new.yaml", "n")], "Automated: x\n\n\n[ci skip]  \n\n");
    commit.files.insert("gone/x".to_owned(), FileChange::Remove);
    commit.author = Some("Ann Smith <ann@example.com>".to_owned());
    let head = push(&repo, commit, "job-1").await.unwrap();
    assert_eq!(remote.remote_ref("master").as_deref(), Some(&*head.0));
    let shown =
        remote.remote_git(&["log", "-1", "--format=%an <%ae>|%cn <%ce>|%ad|%P|%B", "--date=format:%z", "master"]);
    let who = "Ann Smith <ann@example.com>|Weave Flux <support@weave.works>|+0000";
    assert_eq!(shown, format!("{who}|{base}|Automated: x\n\n[ci skip]\n\n"));
    let changed = remote.remote_git(&["show", "--format=", "--raw", "--no-abbrev", "master"]);
    assert!(changed.contains(":100755 100755 ") && changed.contains("D\tgone/x"), "{changed}");
    assert_eq!(remote.remote_git(&["notes", "--ref=flux", "show", "master"]), format!("{}\n", note("job-1")));
    let about = remote.remote_git(&["log", "-1", "--format=%an <%ae>|%B", "refs/notes/flux"]);
    assert_eq!(about, "Weave Flux <support@weave.works>|Notes added by 'git notes add'\n\n");
    // The mirror has it all without another fetch.
    assert_eq!((repo.fetches(), repo.head().await.unwrap()), (fetches, head.clone()));
    assert!(*repo.changes().borrow() > changes);
    let tree = repo.tree(&head).await.unwrap();
    assert_eq!((names(&tree), text(&tree, "apps/run.sh")), (vec!["apps".to_owned()], "new".to_owned()));
    assert_eq!(repo.find_note("job-1").await.unwrap(), Some((head, format!("{}\n", note("job-1")))));
    assert_eq!(repo.find_note("job-2").await.unwrap(), None);
}

#[tokio::test]
async fn commits_over_ssh_follow_each_other() {
    let remote = rig::Repo::new();
    remote.push("first");
    let server = GitSsh::start(&remote);
    let daemon = Daemon::at(&server.url());
    let known = daemon.home().join("known_hosts");
    std::fs::write(&known, server.known_hosts()).unwrap();
    let ssh = SshSettings { identities: vec![server.identity()], known_hosts: vec![known], config: None };
    let repo = daemon.with(|s| s.ssh = Some(ssh)).ready().await;
    for n in 0..3 {
        push(&repo, writing(&[("a", &n.to_string())], "Change"), &format!("job-{n}")).await.unwrap();
    }
    assert_eq!(remote.remote_git(&["rev-list", "--count", "master"]), "4\n");
    assert_eq!(remote.remote_git(&["notes", "--ref=flux", "list"]).lines().count(), 3);
    repo.write_marker(&repo.head().await.unwrap(), "Sync pointer").await.unwrap();
    let other = Daemon::of(&remote).ready().await;
    assert_eq!(other.find_note("job-0").await.unwrap().unwrap().0, other.resolve("master~2").await.unwrap());
}

#[tokio::test]
async fn a_signed_commit_is_verified_by_git_whatever_kind_of_key() {
    let remote = rig::Repo::new();
    remote.push("first");
    let daemon = Daemon::of(&remote).with(|s| s.set_author = true);
    let verify = |what: &str| {
        let mut command = Command::new("git");
        command.current_dir(remote.remote()).env_clear().envs(environment(daemon.home()));
        rig::run(command.args(["log", "-1", "--format=%G? %an <%ae> %cn%n%B", what]))
    };
    let gpg = super::signatures::gpg_key(daemon.home(), "flux@example.com");
    let settings =
        |key: &str| fluxd::source::git::Settings { signing_key: Some(key.to_owned()), ..daemon.settings.clone() };
    let repo = Live { repo: fluxd::source::git::Repo::new(settings(&gpg)), _home: daemon.home.clone() };
    repo.refresh().await.unwrap();
    let ann = "Ann <ann@example.com>";
    push(&repo, NewCommit { message: "Signed\n\n[ci skip]".into(), ..by(ann) }, "job").await.unwrap();
    assert_eq!(verify("master"), format!("G {ann} Weave Flux\nSigned\n\n[ci skip]\n\n"));
    let key = daemon.home().join("key");
    rig::run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key));
    let (allowed, public) =
        (daemon.home().join("allowed"), std::fs::read_to_string(key.with_extension("pub")).unwrap());
    std::fs::write(&allowed, format!("support@weave.works {public}")).unwrap();
    daemon.gitconfig(&["gpg.format", "ssh"]);
    daemon.gitconfig(&["gpg.ssh.allowedSignersFile", allowed.to_str().unwrap()]);
    let repo =
        Live { repo: fluxd::source::git::Repo::new(settings(key.to_str().unwrap())), _home: daemon.home.clone() };
    repo.refresh().await.unwrap();
    push(&repo, writing(&[("b", "1")], "Signed again"), "job").await.unwrap();
    assert!(verify("master").starts_with("G Weave Flux"), "{}", verify("master"));
}

#[tokio::test]
async fn a_key_that_is_not_there_is_told_in_gits_words() {
    let remote = rig::Repo::new();
    let head = remote.push("first");
    let repo = Daemon::of(&remote).with(|s| s.signing_key = Some("none@example.com".into())).ready().await;
    let error = push(&repo, writing(&[("a", "1")], "x"), "job").await.unwrap_err().to_string();
    assert!(error.starts_with("git commit: ") && error.contains("gpg failed to sign the data"), "{error}");
    assert_eq!(remote.remote_ref("master").unwrap(), head);
}

#[tokio::test]
async fn authors_are_read_as_git_reads_them() {
    let remote = rig::Repo::new();
    remote.push("first, by Ann");
    let daemon = Daemon::of(&remote).with(|s| s.set_author = true);
    let repo = daemon.ready().await;
    let flux = "Weave Flux <support@weave.works>";
    for (author, want) in [
        ("Bob <bob@example.com>", "Bob <bob@example.com>"),
        ("Bob\nparent: x <bob@example.com>", "Bobparent: x <bob@example.com>"),
        ("Bob Smith <>", "Bob Smith <>"),
        ("bob smith", "Bob Smith <>"),
        ("ann@example", "Ann <ann@example.com>"),
        ("", flux),
    ] {
        push(&repo, by(author), "job").await.unwrap();
        assert_eq!(remote.remote_git(&["log", "-1", "--format=%an <%ae>", "master"]).trim(), want, "{author}");
    }
    let error = push(&repo, by("Nobody"), "job").await.unwrap_err().to_string();
    let line = "fatal: --author 'Nobody' is not 'Name <email>' and matches no existing author";
    assert_eq!(error, format!("git commit: {line}, full output:\n {line}\n"));
    let error = push(&repo, by("<x@example.com>"), "job").await.unwrap_err().to_string();
    assert!(error.starts_with("git commit: fatal: empty ident name (for <x@example.com>) not allowed"), "{error}");
    let plain = daemon.with(|s| s.set_author = false).ready().await;
    push(&plain, by("Eve <eve@example.com>"), "job").await.unwrap();
    assert_eq!(remote.remote_git(&["log", "-1", "--format=%an <%ae>", "master"]).trim(), flux);
}

#[tokio::test]
async fn nothing_is_committed_without_a_change_a_message_or_the_leave_to_write() {
    let remote = rig::Repo::new();
    let head = remote.write("a", "1").push("first");
    let daemon = Daemon::of(&remote);
    let repo = daemon.ready().await;
    let error = push(&repo, writing(&[("a", "1")], "Same"), "job").await.unwrap_err();
    assert!(matches!(error, PushError::NoChanges), "{error}");
    assert_eq!(error.to_string(), "no changes made in repo");
    let error = push(&repo, writing(&[("a", "2")], " \n\n"), "job").await.unwrap_err().to_string();
    assert_eq!(error, "git commit: Aborting commit due to empty commit message.");
    for path in [".git/config", "x/.GIT/hooks/y", "../x", "/etc/passwd", ""] {
        assert!(push(&repo, writing(&[(path, "2")], "Bad"), "job").await.is_err(), "{path}");
    }
    let reader = daemon.with(|s| s.readonly = true).ready().await;
    let error = push(&reader, writing(&[("a", "2")], "Change"), "job").await.unwrap_err();
    assert!(matches!(error, PushError::ReadOnly), "{error}");
    assert_eq!(error.to_string(), "cannot make a working clone of a read-only git repo");
    assert_eq!((remote.remote_ref("master").unwrap(), remote.remote_ref("refs/notes/flux")), (head, None));
}

#[tokio::test]
async fn notes_go_to_the_ref_that_git_would_choose() {
    for (given, full) in [("x", "refs/notes/x"), ("notes/x/y", "refs/notes/x/y"), ("refs/notes/z", "refs/notes/z")] {
        let remote = rig::Repo::on_branch("main");
        remote.push("first");
        let repo = Daemon::of(&remote).with(|s| (s.notes_ref, s.branch) = (given.to_owned(), "main".to_owned()));
        let repo = repo.ready().await;
        let head = push(&repo, writing(&[("a", "1")], "x"), "job").await.unwrap();
        let listed = remote.remote_git(&["for-each-ref", "--format=%(refname)", "refs/notes"]);
        assert_eq!(listed.trim(), full);
        assert_eq!(remote.remote_git(&["notes", "--ref", given, "show", "main"]).trim(), note("job"));
        assert_eq!(repo.find_note("job").await.unwrap().unwrap().0, head);
    }
}

#[tokio::test]
async fn a_job_is_found_on_the_configured_branch_and_not_on_the_default_one() {
    let remote = rig::Repo::on_branch("main");
    remote.push("first");
    remote.git(&["push", "-q", "origin", "HEAD:refs/heads/deploy"]);
    let on = |branch: &'static str| Daemon::of(&remote).with(move |s| s.branch = branch.to_owned());
    let deploy = on("deploy").ready().await;
    let head = push(&deploy, writing(&[("a", "1")], "x"), "job").await.unwrap();
    assert_eq!(deploy.find_note("job").await.unwrap().unwrap().0, head);
    assert_eq!(on("main").ready().await.find_note("job").await.unwrap(), None);
}

#[tokio::test]
async fn an_edit_through_a_link_changes_the_file_it_leads_to() {
    let remote = rig::Repo::new();
    remote.write("base/a.yaml", "a: 1\n").write("apps/b.yaml", "b: 1\n");
    std::os::unix::fs::symlink("../base/a.yaml", remote.work().join("apps/a.yaml")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", remote.work().join("apps/out.yaml")).unwrap();
    remote.push("links");
    let repo = Daemon::of(&remote).ready().await;
    push(&repo, writing(&[("apps/a.yaml", "a: 2\n")], "x"), "job").await.unwrap();
    assert_eq!(remote.remote_file("master", "base/a.yaml"), "a: 2\n");
    assert_eq!(remote.remote_file("master", "apps/a.yaml"), "../base/a.yaml");
    let error = push(&repo, writing(&[("apps/out.yaml", "x")], "x"), "job").await.unwrap_err().to_string();
    assert!(
        error.ends_with("apps/out.yaml is a symbolic link to \"/etc/passwd\", which leaves the repository"),
        "{error}"
    );
}

#[tokio::test]
async fn what_commands_did_to_an_export_is_committed_as_it_is() {
    let remote = rig::Repo::new();
    remote.write(".gitignore", "*.tmp\n").write("a.yaml", "a: 1\n").write("b.yaml", "b: 1\n").push("first");
    let repo = Daemon::of(&remote).ready().await;
    let tree = repo.tree(&repo.head().await.unwrap()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    repo.export(&tree, dir.path()).await.unwrap();
    assert!(repo.collect(&tree, dir.path()).await.unwrap().is_empty());
    std::fs::write(dir.path().join("a.yaml"), "a: 2\n").unwrap();
    std::fs::write(dir.path().join("patch.yaml"), "p: 1\n").unwrap();
    std::fs::write(dir.path().join("x.tmp"), "left over").unwrap();
    std::fs::remove_file(dir.path().join("b.yaml")).unwrap();
    let files = repo.collect(&tree, dir.path()).await.unwrap();
    assert_eq!(files.get("b.yaml"), Some(&FileChange::Remove));
    assert!(matches!(files.get("a.yaml"), Some(FileChange::Write { mode: Some(Mode::File), .. })));
    push(&repo, NewCommit { files, message: "Collected".into(), author: None }, "job").await.unwrap();
    let listed = remote.remote_git(&["ls-tree", "-r", "--name-only", "master"]);
    assert_eq!(listed, ".gitignore\na.yaml\npatch.yaml\n");
}

#[tokio::test]
async fn a_file_hidden_with_git_secret_is_never_committed_in_plain_text() {
    let remote = rig::Repo::new();
    let daemon = Daemon::of(&remote).with(|s| s.git_secret = true);
    super::secrets::hide(&remote, daemon.home());
    let repo = daemon.ready().await;
    let tree = repo.tree(&repo.head().await.unwrap()).await.unwrap();
    assert_eq!(text(&tree, "apps/secret.yaml"), "password: hidden\n");
    let both = [("apps/secret.yaml", "password: new\n"), ("apps/plain.yaml", "a: 2\n")];
    push(&repo, writing(&both, "Both"), "job").await.unwrap();
    assert_eq!(remote.remote_file("master", "apps/plain.yaml"), "a: 2\n");
    let listed = remote.remote_git(&["ls-tree", "-r", "--name-only", "master"]);
    assert!(listed.contains("apps/secret.yaml.secret") && !listed.contains("apps/secret.yaml\n"), "{listed}");
    let error = push(&repo, writing(&both[..1], "Hidden alone"), "job").await.unwrap_err();
    assert!(matches!(error, PushError::NoChanges), "{error}");
}
