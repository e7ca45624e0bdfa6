//! From flags to settings: defaults, overrides in order, texts of mistakes.

use std::time::Duration;

use super::super::flags::{Parsed, parse};
use super::*;

fn flags(args: &[&str]) -> Given {
    match parse(args.iter().map(Into::into), &mut Vec::new()) {
        Ok(Parsed::Run { given, .. }) => given,
        other => panic!("{args:?}: {other:?}"),
    }
}

fn in_cluster() -> Environment {
    Environment { in_cluster: true, own_namespace: Some("flux".into()), ..Environment::default() }
}

fn build_with(args: &[&str], env: &Environment) -> (Result<Settings, String>, Vec<Notice>) {
    let mut notices = Vec::new();
    let built = build(&flags(args), env, &mut notices).map_err(|e| e.to_string());
    (built, notices)
}

fn settings(args: &[&str]) -> Settings {
    build_with(args, &in_cluster()).0.unwrap_or_else(|e| panic!("{args:?}: {e}"))
}

fn warnings(notices: &[Notice]) -> Vec<&str> {
    notices.iter().filter_map(|n| if let Notice::Warning(text) = n { Some(text.as_str()) } else { None }).collect()
}

#[test]
fn without_flags_the_settings_are_flux_v1s_defaults() {
    let built = settings(&[]);
    assert_eq!((built.serve.listen.as_str(), built.serve.listen_metrics), (":3030", None));
    assert_eq!(
        (built.git.branch.as_str(), built.git.sync_tag.as_str(), built.git.notes_ref.as_str()),
        ("master", "flux-sync", "flux")
    );
    assert_eq!((built.daemon.marker, built.operator.gc, built.git.verify), (MarkerStore::Git, Gc::Off, Verify::None));
    assert_eq!((built.operator.interval, built.operator.deadline), (Duration::from_secs(300), Duration::from_secs(60)));
    assert_eq!((built.operator.gc_budget, built.operator.drift), (Budget::Default, Drift::Watch));
}

#[test]
fn a_readonly_repository_keeps_its_marker_in_the_secret_and_names_pointless_flags() {
    let (built, notices) = build_with(&["--git-readonly", "--git-user=me", "--git-sync-tag=t"], &in_cluster());
    assert_eq!(built.unwrap().daemon.marker, MarkerStore::Secret);
    assert_eq!(
        warnings(&notices),
        [
            "--git-readonly prevents use of --sync-state=git. Forcing to --sync-state=secret",
            "Configuring any of {git-user, git-email, git-sync-tag, git-set-author, git-ci-skip, git-ci-skip-message} has no \
             effect when --git-readonly is set; given: --git-user and --git-sync-tag",
        ]
    );
}

#[test]
fn the_label_replaces_tag_and_notes_ref_also_when_empty() {
    for label in ["mine", ""] {
        let (built, notices) = build_with(&[&format!("--git-label={label}"), "--git-sync-tag=x"], &in_cluster());
        let built = built.unwrap();
        assert_eq!((built.git.sync_tag.as_str(), built.git.notes_ref.as_str()), (label, label));
        assert_eq!(built.daemon.sync_tag, label);
        let overridden = Notice::Overridden { flag: "git-sync-tag", value: label.to_owned() };
        assert!(
            notices.contains(&overridden)
                && notices.iter().filter(|n| matches!(n, Notice::Overridden { .. })).count() == 1
        );
    }
}

#[test]
fn signature_modes_are_flux_v1s() {
    let cases: &[(&[&str], Verify)] = &[
        (&["--git-verify-signatures"], Verify::All),
        (&["--git-verify-signatures", "--git-verify-signatures-mode=none"], Verify::None),
        (&["--git-verify-signatures-mode=all"], Verify::All),
        (&["--git-verify-signatures-mode=first-parent"], Verify::FirstParent),
        (&["--git-verify-signatures-mode="], Verify::None),
    ];
    for (args, expected) in cases {
        assert_eq!(settings(args).git.verify, *expected, "{args:?}");
    }
}

#[test]
fn garbage_collection_dry_run_implies_garbage_collection() {
    let cases: &[(&[&str], Gc)] = &[
        (&["--sync-garbage-collection"], Gc::On),
        (&["--sync-garbage-collection-dry"], Gc::DryRun),
        (&["--sync-garbage-collection", "--sync-garbage-collection-dry"], Gc::DryRun),
    ];
    for (args, expected) in cases {
        assert_eq!(settings(args).operator.gc, *expected, "{args:?}");
    }
}

#[test]
fn mistakes_are_told_in_flux_v1s_order() {
    let mistakes = [
        ("--git-verify-signatures-mode=some", "'some' is not a valid git-verify-signatures-mode"),
        ("--git-path=/abs", "subdirectory given as --git-path should not have leading forward slash: \"/abs\""),
        ("--registry-require=gcr", "--registry-require value \"gcr\" is not in possible values {ecr}"),
        ("--sync-state=file", "unknown sync state mode: \"file\"; it is git or secret"),
        ("--generator-env=some", "--generator-env must be one of inherit, clean, not \"some\""),
        (
            "--sync-gc-budget=lots",
            "--sync-gc-budget must be a number, a percentage such as 30%, 20%,10 or off, not \"lots\"",
        ),
        ("--drift=never", "--drift must be one of watch, interval, off, not \"never\""),
        ("--sync-concurrency=0", "--sync-concurrency must be from 1 to 1000, not 0"),
    ];
    for first in 0..mistakes.len() {
        let args: Vec<&str> = mistakes[first..].iter().map(|(arg, _)| *arg).collect();
        assert_eq!(build_with(&args, &in_cluster()).0.unwrap_err(), mistakes[first].1);
    }
}

#[test]
fn the_secret_state_needs_a_namespace() {
    let error = build_with(&["--sync-state=secret"], &Environment::default()).0.unwrap_err();
    assert!(error.contains("--sync-state=secret works only in a cluster"), "{error}");
}

#[test]
fn budgets_are_numbers_percentages_or_off() {
    let cases =
        [("5", Budget::Objects(5)), ("0", Budget::Objects(0)), ("30%", Budget::Percent(30)), ("off", Budget::Off)];
    for (text, expected) in cases {
        assert_eq!(budget(text), Ok(expected), "{text}");
    }
    for text in ["101%", "-1", "", "20%,11", "%"] {
        assert!(budget(text).is_err(), "{text}");
    }
}

#[test]
fn both_lists_of_namespaces_count() {
    let built = settings(&["--k8s-allow-namespace=a,b", "--k8s-namespace-whitelist=c"]);
    assert_eq!(built.operator.allow_namespaces, ["a", "b", "c"]);
    assert_eq!(built.daemon.allow_namespaces, ["a", "b", "c"]);
}

#[test]
fn the_keygen_directory_falls_back_to_the_mount_for_ssh_urls_only() {
    assert_eq!(settings(&["--git-url=git@host:repo"]).deploy_key.directory, Path::new("/etc/fluxd/ssh"));
    assert_eq!(settings(&["--git-url=https://host/repo"]).deploy_key.directory, Path::new(""));
    assert_eq!(settings(&["--ssh-keygen-dir=/k"]).deploy_key.directory, Path::new("/k"));
}

#[test]
fn secrets_in_git_without_keys_are_warned_of() {
    let (_, notices) = build_with(&["--git-secret", "--sops"], &in_cluster());
    assert_eq!(warnings(&notices).len(), 2);
    let (_, notices) = build_with(&["--git-secret", "--git-gpg-key-import=/keys"], &in_cluster());
    assert!(warnings(&notices).is_empty());
}

#[test]
fn a_flag_without_effect_is_named_once_and_only_when_given() {
    let (_, notices) = build_with(&["--memcached-service=", "--registry-burst=125"], &in_cluster());
    assert_eq!(warnings(&notices), ["--memcached-service has no effect: memcached is not used"]);
}

#[test]
fn the_kubeconfig_under_the_home_directory_counts_only_if_it_exists() {
    let home = tempfile::tempdir().unwrap();
    let vars = [("HOME".into(), home.path().into())].into();
    let env = Environment { vars, ..Environment::default() };
    assert_eq!(kube_config(&flags(&[]), &env), None);
    std::fs::create_dir(home.path().join(".kube")).unwrap();
    std::fs::write(home.path().join(".kube/config"), "").unwrap();
    assert_eq!(kube_config(&flags(&[]), &env), Some(home.path().join(".kube/config")));
    assert_eq!(kube_config(&flags(&["--kube-config="]), &env), None);
    assert_eq!(kube_config(&flags(&["--kube-config=/no/such"]), &env), Some("/no/such".into()));
}

#[test]
fn leader_election_needs_a_namespace() {
    let elected = settings(&["--leader-elect"]).leader_election.unwrap();
    assert_eq!((elected.namespace.as_str(), elected.name.as_str()), ("flux", "fluxd"));
    assert!(build_with(&["--leader-elect"], &Environment::default()).0.is_err());
    assert!(build_with(&["--leader-elect", "--leader-elect-address=host"], &in_cluster()).0.is_err());
}
