//! The process as a user of the command line meets it: exit codes, where output goes, start, probes and stop.

use crate::rig::{ControlPlane, Fluxd, Repo, eventually};
use std::process::{Command, Output};

fn fluxd(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fluxd"));
    command.env_clear().env("PATH", "/usr/bin:/bin").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The original printed the help on standard error too; `fluxd --help 2>&1` is what scripts have.
#[test]
fn help_goes_to_standard_error_and_the_version_to_standard_output_with_exit_code_0() {
    let (help, version) = (fluxd(&["--help"]), fluxd(&["--version"]));
    assert_eq!((help.status.code(), version.status.code()), (Some(0), Some(0)));
    assert!(text(&help.stderr).starts_with("DESCRIPTION\n  fluxd keeps a Kubernetes cluster equal"));
    assert_eq!(text(&version.stdout), concat!(env!("CARGO_PKG_VERSION"), "\n"));
    assert!(help.stdout.is_empty() && version.stderr.is_empty());
}

#[test]
fn a_wrong_flag_is_told_with_the_usage_on_standard_error_and_exit_code_2() {
    let output = fluxd(&["--k8s-in-cluster=true", "--nope"]);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.starts_with("Flag --k8s-in-cluster has been deprecated, "), "{told}");
    assert!(told.contains("\nError: unknown flag: --nope\n\nDESCRIPTION\n  fluxd keeps"), "{told}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_setting_that_cannot_be_is_logged_with_exit_code_1() {
    let output = fluxd(&["--git-path=/abs", "--log-format=json", "--memcached-port=1"]);
    assert_eq!(output.status.code(), Some(1));
    let lines: Vec<serde_json::Value> =
        text(&output.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(lines[1]["warning"], "--memcached-port has no effect: memcached is not used");
    let error = "subdirectory given as --git-path should not have leading forward slash: \"/abs\"";
    assert_eq!(lines[2]["err"], error);
}

#[test]
fn an_explicit_kubeconfig_that_is_missing_ends_the_process_with_exit_code_1() {
    let output = fluxd(&["--kube-config=/no/such/file"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("err=\"kubeconfig /no/such/file: "), "{}", text(&output.stderr));
}

#[test]
fn a_confined_command_reads_and_writes_only_where_it_may() {
    let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let own_file = own.path().join("file");
    let script = format!(
        "echo mine > {own} && cat {own}; echo no > {other}/file; cat /etc/passwd; exit 7",
        own = own_file.display(),
        other = other.path().display()
    );
    let mut args = vec!["--internal-launch"];
    for path in ["/bin", "/usr", "/lib", "/lib64"] {
        args.extend(["--read", path]);
    }
    args.extend(["--write", own.path().to_str().unwrap(), "--", "/bin/sh", "-c", &script]);
    let output = fluxd(&args);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "mine\n");
    assert!(!other.path().join("file").exists());
}

#[test]
fn it_starts_answers_its_probes_and_ends_on_sigterm_with_exit_code_0() {
    let repo = Repo::new();
    repo.write("cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: started}\n").push("one object");
    let mut fluxd = Fluxd::against(ControlPlane::shared()).git(&repo).arg("--git-label=process-flow").start();
    fluxd.wait_until_up();
    fluxd.wait_for_log(&["component=cluster", "version=kubernetes-v"]);
    fluxd.wait_for_log(&["url=file://", "sync-tag=process-flow", "notes-ref=process-flow"]);
    for probe in ["/healthz", "/readyz"] {
        eventually(&format!("{probe} is fine"), || fluxd.get(probe).filter(|reply| reply.status == 200));
    }
    let log = fluxd.log();
    assert!(log.iter().all(|line| line.starts_with("ts=") && line.contains(" caller=")), "{log:#?}");
    assert_eq!(fluxd.terminate().code(), Some(0));
}
