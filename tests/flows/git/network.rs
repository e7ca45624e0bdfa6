//! HTTPS and ssh servers: credentials, certificates, keys, known hosts.

use super::Daemon;
use crate::rig::{self, GitHttp, GitHttpOptions, GitSsh};
use fluxd::runtime::Stop;
use fluxd::source::git::{KeyPair, KeyRing, KeySettings, SshSettings, Status};
use std::sync::{Arc, Mutex};

const PASSWORD: &str = "s3cret/p@ss";
const ENCODED: &str = "s3cret%2Fp%40ss";

fn https(remote: &rig::Repo, host: &str) -> GitHttp {
    let login = Some(("ann".to_owned(), PASSWORD.to_owned()));
    GitHttp::start(remote, GitHttpOptions { login, tls_host: Some(host.to_owned()) })
}

fn with_password(server: &GitHttp, password: &str) -> String {
    server.url().replacen("://", &format!("://ann:{password}@"), 1)
}

#[tokio::test]
async fn https_with_a_password_and_an_own_ca_reads_and_writes() {
    let remote = rig::Repo::new();
    let head = remote.push("first");
    let server = https(&remote, "localhost");
    let daemon = Daemon::at(&with_password(&server, ENCODED));
    daemon.gitconfig(&["http.sslCAInfo", server.ca_file().to_str().unwrap()]);
    let repo = daemon.ready().await;
    let head = repo.resolve(&head).await.unwrap();
    repo.write_marker(&head, "Sync pointer").await.unwrap();
    assert_eq!(remote.remote_ref("flux-sync").as_deref(), Some(&*head.0));
}

#[tokio::test]
async fn no_error_shows_the_password() {
    let remote = rig::Repo::new();
    remote.push("first");
    let server = https(&remote, "localhost");
    let wrong = Daemon::at(&with_password(&server, "wr0ng-pass"));
    wrong.gitconfig(&["http.sslCAInfo", server.ca_file().to_str().unwrap()]);
    let refused = wrong.repo().refresh().await.unwrap_err().to_string();
    assert!(refused.contains("Authentication failed") && !refused.contains("wr0ng-pass"), "{refused}");
    let unknown = Daemon::at(&with_password(&server, ENCODED)).repo();
    let untrusted = unknown.refresh().await.unwrap_err().to_string();
    assert!(untrusted.starts_with("git clone --mirror: fatal: unable to access 'https://localhost"), "{untrusted}");
    assert!(untrusted.contains("certificate") && !untrusted.contains("s3cret"), "{untrusted}");
    assert_eq!(unknown.status(), (Status::New, Some(untrusted)));
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused() {
    let remote = rig::Repo::new();
    remote.push("first");
    let server = https(&remote, "git.example.org");
    let daemon = Daemon::at(&with_password(&server, ENCODED).replace("git.example.org", "localhost"));
    daemon.gitconfig(&["http.sslCAInfo", server.ca_file().to_str().unwrap()]);
    let error = daemon.repo().refresh().await.unwrap_err().to_string();
    assert!(error.contains("SSL") || error.contains("certificate"), "{error}");
}

#[tokio::test]
async fn the_users_gitconfig_is_honoured() {
    let remote = rig::Repo::new();
    remote.push("first");
    let daemon = Daemon::at("https://git.example.org/remote.git");
    daemon.gitconfig(&[&format!("url.file://{}/.insteadOf", remote.root().display()), "https://git.example.org/"]);
    daemon.ready().await;
}

#[tokio::test]
async fn a_name_that_cannot_be_resolved_is_unreachable() {
    let repo = Daemon::at("https://host.invalid/x.git").repo();
    let error = repo.refresh().await.unwrap_err().to_string();
    assert_eq!(repo.status(), (Status::Unreachable, Some(error)));
}

#[tokio::test]
async fn ssh_uses_the_deploy_key_and_trusts_only_known_hosts() {
    let remote = rig::Repo::new();
    let head = remote.push("first");
    let server = GitSsh::start(&remote);
    let daemon = Daemon::at(&server.url());
    let known = daemon.home().join("known_hosts");
    std::fs::write(&known, "").unwrap();
    // A mounted secret may be read by others, which ssh would refuse.
    let mounted = daemon.home().join("mounted");
    std::fs::copy(server.identity(), &mounted).unwrap();
    rig::run(std::process::Command::new("chmod").arg("0644").arg(&mounted));
    let ssh = SshSettings { identities: vec![mounted], known_hosts: vec![known.clone()], config: None };
    let daemon = daemon.with(|s| s.ssh = Some(ssh));
    let repo = daemon.repo();
    let error = repo.refresh().await.unwrap_err().to_string();
    assert!(error.contains("Host key verification failed"), "{error}");
    std::fs::write(&known, server.known_hosts()).unwrap();
    repo.refresh().await.unwrap();
    let head = repo.resolve(&head).await.unwrap();
    repo.write_marker(&head, "Sync pointer").await.unwrap();
    server.authorize("");
    remote.push("second");
    let error = repo.refresh().await.unwrap_err().to_string();
    assert!(error.contains("Permission denied"), "{error}");
}

#[tokio::test]
async fn the_users_ssh_configuration_wins() {
    let remote = rig::Repo::new();
    remote.push("first");
    let server = GitSsh::start(&remote);
    let real = server.url().split_once('@').unwrap().1.split_once('/').unwrap().0.to_owned();
    let daemon = Daemon::at(&server.url().replace(&real, "alias"));
    let (known, config) = (daemon.home().join("known"), daemon.home().join("config"));
    std::fs::write(&known, server.known_hosts()).unwrap();
    let port = real.split_once(':').unwrap().1;
    let hosts = known.display();
    let text = format!("Host alias\n  HostName 127.0.0.1\n  Port {port}\n  UserKnownHostsFile {hosts}\nHost other\n");
    std::fs::write(&config, text).unwrap();
    let identities = vec![server.identity()];
    let ssh = SshSettings { identities, known_hosts: vec!["/nonexistent".into()], config: Some(config) };
    daemon.with(|s| s.ssh = Some(ssh)).ready().await;
}

fn key_settings(home: &std::path::Path) -> KeySettings {
    KeySettings {
        mount: home.join("mount"),
        data_key: "deploy".into(),
        directory: home.join("keygen"),
        bits: None,
        kind: Some("ed25519".into()),
        format: None,
        env: super::environment(home),
    }
}

#[tokio::test]
async fn an_identity_is_made_once_stored_and_found_again() {
    let home = tempfile::tempdir().unwrap();
    let secret: Arc<Mutex<Option<KeyPair>>> = Arc::default();
    let (read, write) = (Arc::clone(&secret), Arc::clone(&secret));
    let load: fluxd::source::git::LoadKey = Arc::new(move || {
        let key = read.lock().unwrap().as_ref().map(|pair| pair.private.clone());
        Box::pin(async move { Ok(key) })
    });
    let store: fluxd::source::git::StoreKey = Arc::new(move |pair| {
        *write.lock().unwrap() = Some(pair);
        Box::pin(async { Ok(()) })
    });
    let stop = Stop::new();
    let open = || KeyRing::open(key_settings(home.path()), load.clone(), store.clone(), &stop);
    let ring = open().await.unwrap();
    let shown = serde_json::to_value(ring.public_key()).unwrap();
    assert!(shown["key"].as_str().unwrap().starts_with("ssh-ed25519 "), "{shown}");
    assert_eq!(shown["fingerprints"]["md5"]["hash"].as_str().unwrap().len(), 47);
    assert!(shown["fingerprints"]["sha256"]["randomart"].as_str().unwrap().starts_with("+--"), "{shown}");
    let stored = secret.lock().unwrap().clone().unwrap();
    assert_eq!(stored.data_key, "deploy");
    std::fs::remove_dir_all(home.path().join("keygen")).unwrap();
    let again = open().await.unwrap();
    let first_words = |key: &str| key.split(' ').take(2).collect::<Vec<_>>().join(" ");
    assert_eq!(first_words(again.public_key().key.trim()), first_words(ring.public_key().key.trim()));
    again.regenerate(&stop).await.unwrap();
    assert_ne!(first_words(again.public_key().key.trim()), first_words(ring.public_key().key.trim()));
}

#[tokio::test]
async fn a_key_that_cannot_be_stored_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let load: fluxd::source::git::LoadKey = Arc::new(|| Box::pin(async { Ok(None) }));
    let store: fluxd::source::git::StoreKey = Arc::new(|_| Box::pin(async { Err("secret not found".to_owned()) }));
    let error = KeyRing::open(key_settings(home.path()), load, store, &Stop::new()).await.err().unwrap();
    assert_eq!(error.to_string(), "storing the new ssh identity in its secret: secret not found");
    assert!(!home.path().join("keygen/identity").exists());
}
