//! What v1's client could not: against a scripted daemon.

use super::double::{Double, script};
use super::fluxctl;

const PLAN: &str = concat!(
    r#"{"revision":"0123456789","reach":"whole","fresh":true,"kept":7,"gc":{"managed":9},"held":null,"steps":["#,
    r#"{"id":"s:secret/k","kind":"Secret","action":"apply","reason":"changed","file":"k.yaml","line":2,"diff":["#,
    r#"{"path":"/data/token","before":"czNjcmV0","after":"b3RoZXI="}]}],"diffsLeftOut":0}"#,
);

#[test]
fn diff_shows_the_plan_masks_secrets_and_tells_by_its_exit_code() {
    let double = Double::start(script(&[("/api/fluxd/v1/plan", &[(200, PLAN)])]));
    let text = fluxctl(double.url(), &["diff", "--exit-code"]);
    assert_eq!(text.code, Some(1), "{text:?}");
    assert!(text.stdout.starts_with("~ s:secret/k (changed) k.yaml:2\n    ~ /data/token: *** -> ***\n"), "{text:?}");
    for form in ["json", "yaml"] {
        let shown = fluxctl(double.url(), &["diff", "-o", form]);
        assert!(
            shown.code == Some(0) && shown.stdout.contains("***") && !shown.stdout.contains("czNjcmV0"),
            "{shown:?}"
        );
    }
    let painted = fluxctl(double.url(), &["diff", "--color=always"]);
    assert!(painted.stdout.contains("\u{1b}[33m~ s:secret/k\u{1b}[0m"), "{painted:?}");
    assert!(double.asked()[0].starts_with("GET /api/fluxd/v1/plan?diff=true "), "{:?}", double.asked());
}

#[test]
fn a_daemon_that_does_not_know_a_request_is_named_as_the_reason() {
    let double = Double::start(script(&[]));
    for verb in [&["diff"][..], &["tree"], &["trace", "a:deployment/b"], &["pause"], &["events"]] {
        let ran = fluxctl(double.url(), verb);
        assert!(ran.code == Some(1) && ran.stderr.contains("it is Flux v1, or a fluxd older"), "{ran:?}");
    }
}

#[test]
fn held_deletes_are_let_through_before_the_sync() {
    let git = r#"{"remote":{"url":"u","branch":"main"},"status":"ready"}"#;
    let job = r#"{"Result":{"revision":"0123456789"},"Err":"","StatusString":"succeeded"}"#;
    let double = Double::start(script(&[
        ("/api/fluxd/v1/deletes/abc/approve", &[(202, "")]),
        ("/v9/git-repo-config", &[(200, git)]),
        ("/v9/update-manifests", &[(200, r#""j""#)]),
        ("/v6/jobs", &[(200, job)]),
        ("/v6/sync", &[(200, "[]")]),
        ("/api/fluxd/v1/status", &[(200, r#"{"lastSync":{"success":false}}"#)]),
        (
            "/api/fluxd/v1/deletes",
            &[(
                200,
                r#"[{"digest":"def","reason":"why","deletes":[{"id":"a:service/b","uid":"u","reason":"budget"}]}]"#,
            )],
        ),
    ]));
    let ran = fluxctl(double.url(), &["sync", "--allow-deletes=abc"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(double.asked()[0].starts_with("POST /api/fluxd/v1/deletes/abc/approve"), "{:?}", double.asked());
    assert!(ran.stderr.contains("Done.\nWarning: not every object could be applied"), "{ran:?}");
    assert!(
        ran.stderr.contains("1 deletes are held: why. To let them through: fluxctl sync --allow-deletes=def"),
        "{ran:?}"
    );
}

#[test]
fn check_says_what_is_wrong_and_what_to_do() {
    let nobody = fluxctl("http://127.0.0.1:9/api/flux", &["check"]);
    assert!(nobody.code == Some(1) && nobody.stdout.starts_with("FAIL  connection"), "{nobody:?}");
    let double = Double::start(script(&[
        ("/v11/version", &[(200, r#""1.25.4""#)]),
        ("/v11/ping", &[(204, "")]),
        (
            "/v9/git-repo-config",
            &[(200, r#"{"remote":{"url":"u","branch":"main"},"status":"unreachable","errors":"no route"}"#)],
        ),
        ("/v6/services", &[(200, "[]")]),
    ]));
    let ran = fluxctl(double.url(), &["check"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for line in ["ok    cluster", "warn  version", "FAIL  git", "no route", "deploy key"] {
        assert!(ran.stdout.contains(line), "{line} in {}", ran.stdout);
    }
}

#[test]
fn events_are_shown_until_the_next_sync() {
    let events = "event: progress\ndata: {\"type\":\"progress\",\"stage\":\"apply\",\"done\":1,\"total\":2,\"failed\":0}\n\n\
                  event: event\ndata: {\"type\":\"event\",\"text\":\"Sync: x\",\"event\":{}}\n\n\
                  event: sync\ndata: {\"type\":\"sync\",\"revision\":\"0123456789\",\"success\":true,\"counts\":{\"created\":2}}\n\n";
    let double = Double::start(script(&[("/api/fluxd/v1/events", &[(200, events)])]));
    let ran = fluxctl(double.url(), &["events", "--watch=false"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Sync: x\nsynced 0123456 2 created\n"), "{ran:?}");
    let json = fluxctl(double.url(), &["events", "--watch=false", "--progress", "-o", "json"]);
    assert_eq!(json.stdout.lines().count(), 3, "{json:?}");
}
