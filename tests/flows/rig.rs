//! The harness keeps its own promises: what later tests rest on is shown here once.

use crate::rig::{Answer, ControlPlane, Fluxd, GitHttp, GitHttpOptions, GitSsh, Repo, eventually, run};
use std::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn the_control_plane_rolls_out_a_deployment() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("rig");
    plane.kubectl(&["-n", &namespace, "create", "deployment", "web", "--image=example.org/web:1", "--replicas=2"]);
    plane.kubectl(&["-n", &namespace, "rollout", "status", "deployment/web", "--timeout=60s"]);
    let version = plane.client().await.apiserver_version().await.unwrap();
    assert_eq!(version.git_version, "v1.36.3");
}

#[test]
fn a_private_control_plane_survives_the_death_of_its_api_server() {
    let plane = ControlPlane::start();
    plane.kubectl(&["create", "namespace", "kept"]);
    plane.restart_api_server();
    assert!(plane.get("default", "namespace", "kept").is_some());
}

#[test]
fn repositories_are_served_over_file_https_and_ssh() {
    let repo = Repo::new();
    let commit = repo.write("a.yaml", "a: 1\n").push("one file");
    assert_eq!(repo.remote_ref("master").as_deref(), Some(commit.as_str()));

    let login = Some(("ann".to_owned(), "secret".to_owned()));
    let https = GitHttp::start(&repo, GitHttpOptions { login, tls_host: Some("localhost".to_owned()) });
    let seen = ls_remote(&[("GIT_SSL_CAINFO", https.ca_file().to_str().unwrap())], &https.url_with_login());
    assert!(seen.as_ref().is_ok_and(|refs| refs.contains(&commit)), "{seen:?}");
    assert!(ls_remote(&[("GIT_SSL_CAINFO", https.ca_file().to_str().unwrap())], &https.url()).is_err());
    https.answer(Answer::Unavailable);
    assert!(ls_remote(&[("GIT_SSL_CAINFO", https.ca_file().to_str().unwrap())], &https.url_with_login()).is_err());
    assert!(https.requests() >= 3);

    let ssh = GitSsh::start(&repo);
    let hosts = repo.root().join("known_hosts");
    std::fs::write(&hosts, ssh.known_hosts()).unwrap();
    let command = format!("ssh -F /dev/null -i {} -o UserKnownHostsFile={}", ssh.identity().display(), hosts.display());
    let seen = ls_remote(&[("GIT_SSH_COMMAND", &command)], &ssh.url());
    assert!(seen.as_ref().is_ok_and(|refs| refs.contains(&commit)), "{seen:?}");
}

#[test]
fn a_process_of_the_harness_dies_with_its_value() {
    let mut command = Command::new("sleep");
    command.arg("1000");
    let process = crate::rig::Process::start(command, "KILL");
    let status = format!("/proc/{}/status", process.id());
    assert!(std::path::Path::new(&status).exists());
    drop(process);
    eventually("the process is gone", || (!std::path::Path::new(&status).exists()).then_some(()));
}

fn ls_remote(env: &[(&str, &str)], url: &str) -> Result<String, String> {
    let mut command = Command::new("git");
    command.args(["ls-remote", url]).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_TERMINAL_PROMPT", "0");
    let output = command.envs(env.iter().copied()).output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The original is the peer of the upgrade tests; here it shows that the process wrapper, the repository and the plane fit.
#[test]
fn the_original_fluxd_syncs_in_and_out_of_a_pod() {
    let plane = ControlPlane::shared();
    for in_pod in [false, true] {
        let namespace = plane.namespace("peer");
        let repo = Repo::new();
        let yaml =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: {namespace}}}\ndata: {{k: v}}\n");
        let commit = repo.write("a.yaml", &yaml).push("one");
        let mut builder = Fluxd::against(plane).original().git(&repo).arg("--git-label").arg(&namespace);
        if in_pod {
            builder = builder.in_cluster(plane, &namespace);
        }
        let mut fluxd = builder.start();
        eventually("the tag is at the commit", || {
            (repo.remote_ref(&format!("refs/tags/{namespace}")).as_ref() == Some(&commit)).then_some(())
        });
        assert_eq!(plane.get(&namespace, "configmap", "a").unwrap()["data"]["k"], "v");
        fluxd.wait_until_up().notify(&repo, &repo.url());
        assert!(fluxd.metrics().sum("flux_daemon_sync_duration_seconds_count", &["success=\"true\""]) >= 1.0);
        fluxd.terminate();
    }
}

#[test]
fn commands_that_succeed_give_their_output() {
    assert_eq!(run(Command::new("echo").arg("hello")), "hello\n");
}
