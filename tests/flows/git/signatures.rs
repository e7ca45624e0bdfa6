//! Commits and tags signed with throw-away GPG and ssh keys, judged by the real git.

use super::{Daemon, environment};
use crate::rig;
use fluxd::runtime::Stop;
use fluxd::source::git::{Error, Repo, Verify, import_gpg_keys};
use fluxd::tree::Revision;
use std::path::Path;
use std::process::Command;

fn rev(id: &str) -> Revision {
    Revision(id.into())
}

/// Makes a GPG key in a home directory and gives its fingerprint.
pub(in crate::flows) fn gpg_key(home: &Path, mail: &str) -> String {
    let gpg = |args: &[&str]| {
        rig::run(
            Command::new("gpg").env_clear().envs(environment(home)).args(["--batch", "--passphrase", ""]).args(args),
        )
    };
    gpg(&["--quick-gen-key", mail, "ed25519", "sign", "never"]);
    let list = gpg(&["--with-colons", "--list-keys", mail]);
    list.lines().find_map(|l| l.strip_prefix("fpr:::::::::")).unwrap().trim_end_matches(':').to_owned()
}

/// Commits in the remote's working copy with a home directory's keys, and pushes.
fn signed(remote: &rig::Repo, home: &Path, message: &str, options: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(remote.work()).env_clear().envs(environment(home));
    command.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]).args(options);
    rig::run(command.args(["commit", "-q", "--allow-empty", "-S", "-m", message]));
    remote.git(&["push", "-q", "--force", "origin", "HEAD:master"]);
    remote.head()
}

async fn valid(repo: &Repo, marker: Option<&str>) -> (Option<String>, Option<String>) {
    repo.refresh().await.unwrap();
    let verified = repo.latest_valid(marker.map(rev).as_ref()).await.unwrap();
    (verified.revision.map(|r| r.0.to_string()), verified.offender.map(|o| o.revision.0.to_string()))
}

#[tokio::test]
async fn an_unsigned_commit_stops_the_sync_before_it() {
    let remote = rig::Repo::new();
    let daemon = Daemon::of(&remote).with(|s| s.verify = Verify::All);
    let key = gpg_key(daemon.home(), "ann@example.com");
    let key = format!("user.signingKey={key}");
    let good = signed(&remote, daemon.home(), "good", &["-c", &key]);
    let repo = daemon.repo();
    assert_eq!(valid(&repo, None).await, (Some(good.clone()), None));
    let bad = remote.push("not signed");
    let later = signed(&remote, daemon.home(), "good again", &["-c", &key]);
    assert_eq!(valid(&repo, None).await, (Some(good.clone()), Some(bad.clone())));
    assert_eq!(valid(&repo, Some(&good)).await, (Some(good), Some(bad.clone())));
    assert_eq!(valid(&repo, Some(&later)).await, (Some(later), None));
    let error = repo.latest_valid(Some(&rev(&bad))).await.unwrap_err();
    let text = format!("failed to verify signature of last sync'ed revision: failed to verify commit {bad}");
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn nothing_is_valid_when_the_first_commit_is_unsigned_or_its_key_unknown() {
    let remote = rig::Repo::new();
    let stranger = tempfile::tempdir().unwrap();
    let key = format!("user.signingKey={}", gpg_key(stranger.path(), "eve@example.com"));
    let bad = signed(&remote, stranger.path(), "signed by a stranger", &["-c", &key]);
    let repo = Daemon::of(&remote).with(|s| s.verify = Verify::All).repo();
    assert_eq!(valid(&repo, None).await, (None, Some(bad)));
}

#[tokio::test]
async fn first_parent_mode_does_not_look_at_merged_branches() {
    let remote = rig::Repo::new();
    let daemon = Daemon::of(&remote);
    let key = format!("user.signingKey={}", gpg_key(daemon.home(), "ann@example.com"));
    let base = signed(&remote, daemon.home(), "base", &["-c", &key]);
    remote.git(&["checkout", "-q", "-b", "side"]);
    let unsigned = remote.commit("unsigned");
    remote.git(&["checkout", "-q", "master"]);
    remote.git(&["merge", "-q", "--no-ff", "--no-commit", "side"]);
    let merge = signed(&remote, daemon.home(), "merge", &["-c", &key]);
    let daemon = daemon.with(|s| s.verify = Verify::FirstParent);
    assert_eq!(valid(&daemon.repo(), Some(&base)).await, (Some(merge), None));
    let daemon = daemon.with(|s| s.verify = Verify::All);
    assert_eq!(valid(&daemon.repo(), Some(&base)).await, (Some(base), Some(unsigned)));
}

#[tokio::test]
async fn the_marker_is_signed_and_an_unsigned_one_blocks() {
    let remote = rig::Repo::new();
    let daemon = Daemon::of(&remote).with(|s| s.verify = Verify::All);
    let key = gpg_key(daemon.home(), "ann@example.com");
    let head = signed(&remote, daemon.home(), "good", &["-c", &format!("user.signingKey={key}")]);
    let daemon = daemon.with(|s| s.signing_key = Some(key));
    let repo = daemon.ready().await;
    assert_eq!(repo.read_marker().await.unwrap(), None);
    repo.write_marker(&rev(&head), "Sync pointer").await.unwrap();
    assert_eq!(repo.read_marker().await.unwrap(), Some(rev(&head)));
    remote.git(&["tag", "--force", "-a", "-m", "forged", "flux-sync", &head]);
    remote.git(&["push", "-q", "--force", "origin", "refs/tags/flux-sync"]);
    repo.refresh().await.unwrap();
    let error = repo.read_marker().await.unwrap_err().to_string();
    assert!(error.starts_with("verifying tag flux-sync: "), "{error}");
}

#[tokio::test]
async fn ssh_signatures_count_when_the_user_trusts_their_keys() {
    let remote = rig::Repo::new();
    let daemon = Daemon::of(&remote).with(|s| s.verify = Verify::All);
    let key = daemon.home().join("key");
    rig::run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key));
    let options = ["-c", "gpg.format=ssh", "-c", &format!("user.signingKey={}", key.display())];
    let head = signed(&remote, daemon.home(), "signed with ssh", &options);
    let repo = daemon.repo();
    assert_eq!(valid(&repo, None).await, (None, Some(head.clone())));
    let allowed = daemon.home().join("allowed");
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    std::fs::write(&allowed, format!("ann@example.com {public}")).unwrap();
    daemon.gitconfig(&["gpg.ssh.allowedSignersFile", allowed.to_str().unwrap()]);
    assert_eq!(valid(&repo, None).await, (Some(head), None));
}

#[tokio::test]
async fn imported_keys_are_trusted_unless_one_import_failed() {
    let remote = rig::Repo::new();
    let signer = tempfile::tempdir().unwrap();
    let key = gpg_key(signer.path(), "ann@example.com");
    let head = signed(&remote, signer.path(), "good", &["-c", &format!("user.signingKey={key}")]);
    let daemon = Daemon::of(&remote).with(|s| s.verify = Verify::All);
    let keys = daemon.home().join("import");
    std::fs::create_dir(&keys).unwrap();
    let export = ["--batch", "--armor", "--export"];
    let public = rig::run(Command::new("gpg").env_clear().envs(environment(signer.path())).args(export));
    std::fs::write(keys.join("ann.asc"), public).unwrap();
    let paths = [keys, daemon.home().join("missing")];
    let env = environment(daemon.home());
    let failures = import_gpg_keys(&paths, true, &env, &Stop::new()).await;
    assert_eq!(failures.len(), 1);
    assert!(failures[0].to_string().contains("missing: No such file"), "{}", failures[0]);
    let repo = daemon.repo();
    assert_eq!(valid(&repo, None).await.0, None, "known but not trusted");
    assert!(import_gpg_keys(&paths[..1], true, &env, &Stop::new()).await.is_empty());
    assert_eq!(valid(&repo, None).await, (Some(head), None));
}

#[tokio::test]
async fn nothing_is_verified_when_not_asked_for() {
    let remote = rig::Repo::new();
    let head = remote.push("unsigned");
    let repo = Daemon::of(&remote).repo();
    assert_eq!(valid(&repo, Some(&"0".repeat(40))).await, (Some(head), None));
    assert!(matches!(
        repo.commits(Some(&rev(&"0".repeat(40))), &repo.head().await.unwrap(), &[]).await,
        Err(Error::UnknownRevision(_))
    ));
}
