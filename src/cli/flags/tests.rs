//! The rules of the command line by tables: types, lists, errors, help, deprecations.

use super::*;

fn run(args: &[&str]) -> (Result<Parsed, String>, Vec<String>) {
    let mut notices = Vec::new();
    let parsed = parse(args.iter().map(Into::into), &mut notices).map_err(|e| e.to_string());
    (parsed, notices)
}

fn given(args: &[&str]) -> Given {
    match run(args).0 {
        Ok(Parsed::Run { given, .. }) => given,
        other => panic!("{args:?}: {other:?}"),
    }
}

#[test]
fn every_default_can_be_read_and_no_name_stands_twice() {
    let mut names = std::collections::BTreeSet::new();
    for flag in table::FLAGS {
        assert!(names.insert(flag.name), "--{} stands twice", flag.name);
        assert!(value::default(flag).is_some() || flag.kind == Kind::Uint, "the default of --{}", flag.name);
    }
}

#[test]
fn every_flag_of_flux_v1_is_there_with_its_type_and_default() {
    let v1 = "log-format=fmt listen=:3030 listen-metrics= kubernetes-kubectl= version=false kube-config= git-url= \
              git-branch=master git-path= git-readonly=false git-set-author=false git-label= git-sync-tag=flux-sync \
              git-notes-ref=flux git-secret=false sops=false git-ci-skip=false git-ci-skip-message= git-poll-interval=5m \
              git-timeout=20s git-gpg-key-import= git-signing-key= git-verify-signatures=false \
              git-verify-signatures-mode= sync-interval=5m sync-timeout=1m sync-garbage-collection=false \
              sync-garbage-collection-dry=false sync-state=git memcached-hostname=memcached memcached-port=11211 \
              memcached-timeout=1s memcached-service=memcached registry-disable-scanning=false automation-interval=5m \
              registry-poll-interval=5m registry-rps=50 registry-burst=10 registry-trace=false registry-insecure-host= \
              registry-exclude-image=k8s.gcr.io/* registry-include-image= \
              registry-use-labels=index.docker.io/weaveworks/*,index.docker.io/fluxcd/* registry-ecr-region= \
              registry-ecr-include-id= registry-ecr-exclude-id=602401143452,918309763551 registry-require= \
              registry-cache-expiry=0s docker-config= k8s-in-cluster=true k8s-secret-name=flux-git-deploy \
              k8s-secret-volume-mount-path=/etc/fluxd/ssh k8s-secret-data-key=identity k8s-allow-namespace= \
              k8s-namespace-whitelist= k8s-default-namespace= \
              k8s-unsafe-exclude-resource=*metrics.k8s.io/*,webhook.certmanager.k8s.io/*,v1/Event k8s-verbosity=0 \
              ssh-keygen-bits= ssh-keygen-type= ssh-keygen-format= ssh-keygen-dir= manifest-generation=false connect= \
              token= rpc-timeout=10s";
    for pair in v1.split_whitespace() {
        let (name, default) = pair.split_once('=').unwrap();
        assert_eq!(table::find(name).map(|f| f.default), Some(default), "--{name}");
    }
    assert_eq!(table::find("git-user").map(|f| f.default), Some("Weave Flux"));
    assert_eq!(table::find("git-email").map(|f| f.default), Some("support@weave.works"));
}

#[test]
fn values_follow_an_equals_sign_or_stand_alone() {
    for args in [&["--git-url=x"][..], &["--git-url", "x"], &["pos", "--git-url", "x", "more"]] {
        assert_eq!(given(args).text("git-url"), "x", "{args:?}");
    }
    for args in [&["-l=:1"][..], &["-l", ":1"], &["-l:1"], &["--listen", ":1"]] {
        assert_eq!(given(args).text("listen"), ":1", "{args:?}");
    }
    assert_eq!(given(&["--git-url=a=b"]).text("git-url"), "a=b");
    assert_eq!(given(&["--git-url="]).text("git-url"), "");
    assert_eq!(given(&["--git-url", "--sops"]).text("git-url"), "--sops");
    assert_eq!(given(&["--", "--git-url=x"]).text("git-url"), "");
}

#[test]
fn booleans_may_be_bare_and_never_take_the_next_argument() {
    for (args, expected) in [
        (&["--sops"][..], true),
        (&["--sops=true"], true),
        (&["--sops=T"], true),
        (&["--sops=1"], true),
        (&["--sops=false"], false),
        (&["--sops=0"], false),
        (&["--sops", "false"], true),
        (&["--sops", "--sops=f"], false),
        (&[], false),
    ] {
        assert_eq!(given(args).bool("sops"), expected, "{args:?}");
    }
}

#[test]
fn lists_are_csv_and_the_first_occurrence_replaces_the_default() {
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["k8s.gcr.io/*"]),
        (&["--registry-exclude-image=a,b"], &["a", "b"]),
        (&["--registry-exclude-image=a", "--registry-exclude-image", "b,c"], &["a", "b", "c"]),
        (&["--registry-exclude-image="], &[]),
        (&["--registry-exclude-image=\"a,b\",c"], &["a,b", "c"]),
        (&["--registry-exclude-image=", "--registry-exclude-image=a"], &["a"]),
    ];
    for (args, expected) in cases {
        assert_eq!(given(args).list("registry-exclude-image"), *expected, "{args:?}");
    }
    assert!(given(&["--git-path="]).list("git-path").is_empty());
}

#[test]
fn numbers_and_durations_are_gos() {
    let all =
        given(&["--registry-burst=0x10", "--ssh-keygen-bits=4_096", "--sync-timeout=1m30s", "--memcached-port=-1"]);
    assert_eq!((all.int("registry-burst"), all.uint("ssh-keygen-bits")), (16, Some(4096)));
    assert_eq!((all.duration("sync-timeout"), all.int("memcached-port")), (Duration::from_secs(90), -1));
    assert_eq!(given(&[]).uint("ssh-keygen-bits"), None);
    assert_eq!(given(&["--sync-timeout=-1s"]).duration("sync-timeout"), Duration::ZERO);
}

#[test]
fn errors_are_told_in_pflags_words() {
    let cases = [
        (&["--nope"][..], "unknown flag: --nope"),
        (&["--nope=3"], "unknown flag: --nope"),
        (&["--git-url"], "flag needs an argument: --git-url"),
        (&["-l"], "flag needs an argument: 'l' in -l"),
        (&["-x"], "unknown shorthand flag: 'x' in -x"),
        (&["---x"], "bad flag syntax: ---x"),
        (&["--=x"], "bad flag syntax: --=x"),
        (
            &["--sops=maybe"],
            r#"invalid argument "maybe" for "--sops" flag: strconv.ParseBool: parsing "maybe": invalid syntax"#,
        ),
        (
            &["--sync-interval=5"],
            r#"invalid argument "5" for "--sync-interval" flag: time: missing unit in duration "5""#,
        ),
        (
            &["--memcached-port=x"],
            r#"invalid argument "x" for "--memcached-port" flag: strconv.ParseInt: parsing "x": invalid syntax"#,
        ),
        (
            &["--memcached-port=9223372036854775808"],
            r#"invalid argument "9223372036854775808" for "--memcached-port" flag: strconv.ParseInt: parsing "9223372036854775808": value out of range"#,
        ),
        (
            &["--ssh-keygen-bits=-1"],
            r#"invalid argument "-1" for "--ssh-keygen-bits" flag: strconv.ParseUint: parsing "-1": invalid syntax"#,
        ),
        (
            &["--registry-rps=fast"],
            r#"invalid argument "fast" for "--registry-rps" flag: strconv.ParseFloat: parsing "fast": invalid syntax"#,
        ),
        (
            &["--git-path=a\"b"],
            r#"invalid argument "a\"b" for "--git-path" flag: parse error on line 1, column 2: bare " in non-quoted-field"#,
        ),
    ];
    for (args, expected) in cases {
        assert_eq!(run(args).0.unwrap_err(), expected, "{args:?}");
    }
}

#[test]
fn help_wins_where_it_stands() {
    for args in [&["--help"][..], &["-h"], &["--sops", "--help", "--nope"], &["--help=x"]] {
        assert!(matches!(run(args).0, Ok(Parsed::Help)), "{args:?}");
    }
    assert!(run(&["--nope", "--help"]).0.is_err());
}

#[test]
fn deprecated_flags_work_and_say_so_each_time() {
    let (parsed, notices) = run(&["--git-verify-signatures", "--k8s-namespace-whitelist=a"]);
    let Ok(Parsed::Run { given, .. }) = parsed else { panic!("{parsed:?}") };
    assert!(given.bool("git-verify-signatures"));
    assert_eq!(
        notices,
        [
            "Flag --git-verify-signatures has been deprecated, Changed to --git-verify-signatures-mode, use that instead",
            "Flag --k8s-namespace-whitelist has been deprecated, Changed to --k8s-allow-namespace, use that instead",
        ]
    );
    assert!(!usage().contains("git-verify-signatures "), "deprecated flags are not in the help");
}

#[test]
fn the_help_shows_every_other_flag_once_and_fits_the_terminal() {
    let text = usage();
    for flag in table::FLAGS.iter().filter(|f| f.deprecated.is_none()) {
        let shown = text
            .lines()
            .filter(|l| l.trim_start().trim_start_matches("-l, ").starts_with(&format!("--{} ", flag.name)));
        assert_eq!(shown.count(), 1, "--{}", flag.name);
    }
    assert!(text.contains("\nAdditions to Flux v1:\n"));
    let longest = text.lines().map(str::len).max().unwrap();
    assert!(longest <= 130, "{longest}");
}

#[test]
fn flags_without_effect_are_named_only_when_given() {
    assert_eq!(given(&[]).without_effect(), []);
    let told = given(&["--memcached-hostname=x", "--sops"]).without_effect();
    assert_eq!(told, [("memcached-hostname", "memcached is not used")]);
}
