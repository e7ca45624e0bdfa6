//! The original fluxctl 1.25.4 and ours do the same: both are run against the same script, and what they print, ask and end
//! with is compared. Where ours says more, it says all that the original said, in the same order.

use super::double::{Double, Script, script};
use super::{Ran, command, original, own, run};
use std::path::Path;

/// How standard error is compared.
#[derive(Clone, Copy, PartialEq)]
enum Errors {
    Equal,
    /// Ours has further lines that say what to do.
    AndMore,
}

/// Runs both and compares.
#[track_caller]
fn same_in(home: &Path, args: &[&str], answers: &Script, errors: Errors) {
    let one = |program: &Path| -> (Ran, Vec<String>) {
        let double = Double::start(answers.clone());
        let ran = run(command(program, home, double.url(), args));
        (ran, requests(&double))
    };
    let ((theirs, their_requests), (ours, our_requests)) = (one(&original()), one(&own()));
    let what = format!("fluxctl {}", args.join(" "));
    assert_eq!(ours.code, theirs.code, "exit code of {what}\noriginal: {theirs:#?}\nours: {ours:#?}");
    assert_eq!(ours.stdout, theirs.stdout, "standard output of {what}");
    if errors == Errors::Equal {
        assert_eq!(ours.stderr, theirs.stderr, "standard error of {what}");
    } else {
        let mut lines = ours.stderr.lines();
        let said = theirs.stderr.lines().all(|line| lines.any(|ours| ours == line));
        assert!(said, "standard error of {what}\noriginal:\n{}\nours:\n{}", theirs.stderr, ours.stderr);
    }
    assert_eq!(our_requests, their_requests, "requests of {what}");
}

#[track_caller]
fn same(args: &[&str], answers: &Script) {
    same_in(tempfile::tempdir().unwrap().path(), args, answers, Errors::Equal);
}

/// The requests below v1's prefix; the original asks for the job once more after it has ended, and names workloads in any
/// order.
fn requests(double: &Double) -> Vec<String> {
    let all = double.asked().into_iter().filter(|line| line.contains(" /api/flux/"));
    let sorted = |line: String| match line.split_once("&services=") {
        Some((head, rest)) => {
            let (ids, tail) = rest.split_once(' ').unwrap_or((rest, ""));
            let mut ids: Vec<&str> = ids.split("%2C").collect();
            ids.sort_unstable();
            format!("{head}&services={} {tail}", ids.join("%2C"))
        }
        None => line,
    };
    let mut all: Vec<String> = all.map(sorted).collect();
    all.dedup();
    all
}

const WORKLOADS: &str = concat!(
    r#"[{"ID":"shop:deployment/web","Containers":[{"Name":"web","Current":{"ID":"example.org/web:2.0","Labels":{}},"#,
    r#""LatestFiltered":{"ID":"","Labels":{}}},{"Name":"init","Current":{"ID":"example.org/a-much-longer-name/init:1","#,
    r#""Labels":{}},"LatestFiltered":{"ID":"","Labels":{}}}],"ReadOnly":"","Status":"ready","Rollout":{"Desired":2,"#,
    r#""Updated":2,"Ready":2,"Available":2,"Outdated":0,"Messages":null},"SyncError":"","Antecedent":"","Labels":{"app":"web"},"#,
    r#""Automated":true,"Locked":true,"Ignore":false,"Policies":{"automated":"true","locked":"true"}},"#,
    r#"{"ID":"shop:helmrelease/h","Containers":[{"Name":"chart-image","Current":{"ID":"h:1","Labels":{}},"#,
    r#""LatestFiltered":{"ID":"","Labels":{}}}],"ReadOnly":"NoRepo","Status":"","Rollout":{"Desired":0,"Updated":0,"Ready":0,"#,
    r#""Available":0,"Outdated":0,"Messages":null},"SyncError":"","Antecedent":"","Labels":null,"Automated":true,"#,
    r#""Locked":false,"Ignore":true,"Policies":{}},{"ID":"default:deployment/zz","Containers":[],"ReadOnly":"ReadOnlyMode","#,
    r#""Status":"started","Rollout":{"Desired":2,"Updated":1,"Ready":0,"Available":1,"Outdated":1,"Messages":["boom"]},"#,
    r#""SyncError":"bad","Antecedent":"","Labels":null,"Automated":false,"Locked":false,"Ignore":false,"Policies":{}}]"#,
);

const IMAGES: &str = concat!(
    r#"[{"ID":"shop:deployment/web","Containers":[{"Name":"web","Current":{"ID":"example.org/web:2.0","Labels":{}},"#,
    r#""LatestFiltered":{"ID":"","Labels":{}},"Available":[{"ID":"example.org/web:2.2","Labels":{},"CreatedAt":"2024-01-03T00:00:00Z"},"#,
    r#"{"ID":"example.org/web:2.1","Labels":{},"CreatedAt":"2024-01-02T00:00:00Z"},{"ID":"example.org/web:2.0","Labels":{},"#,
    r#""CreatedAt":"2024-01-01T00:00:00Z"},{"ID":"example.org/web:1.8","Labels":{},"CreatedAt":"2019-12-31T23:59:59.5+02:00"}],"#,
    r#""AvailableImagesCount":4},{"Name":"side","Current":{"ID":"localhost:5000/side","Labels":{}},"LatestFiltered":{"ID":"","Labels":{}}},"#,
    r#"{"Name":"gone","Current":{"ID":"","Labels":{}},"LatestFiltered":{"ID":"","Labels":{}},"Available":[{"ID":"a:1","Labels":{}}]},"#,
    r#"{"Name":"err","Current":{"ID":"b:1","Labels":{}},"LatestFiltered":{"ID":"","Labels":{}},"AvailableError":"went wrong"},"#,
    r#"{"Name":"dig","Current":{"ID":"a/b@sha256:00","Labels":{}},"LatestFiltered":{"ID":"","Labels":{}},"Available":[{"ID":"a/b","Labels":{}}]}]},"#,
    r#"{"ID":"a:deployment/none","Containers":null}]"#,
);

const RESULT: &str = concat!(
    r#""spec":{"type":"image","cause":{"Message":"","User":""},"spec":{"ServiceSpecs":["<all>"],"ImageSpec":"<all latest>","#,
    r#""Kind":"execute","Excludes":null,"Force":false}},"result":{"shop:deployment/web":{"Status":"success","PerContainer":["#,
    r#"{"Container":"web","Current":"example.org/web:2.0","Target":"example.org/web:2.1"},{"Container":"side","#,
    r#""Current":"example.org/side:2.0","Target":"example.org/side:2.1"}]},"shop:deployment/api":{"Status":"success","#,
    r#""PerContainer":[{"Container":"a","Current":"example.org/web:2.0","Target":"example.org/web:2.1"}]},"#,
    r#""shop:deployment/bad":{"Status":"failed","Error":"it broke","PerContainer":null},"shop:deployment/skip":"#,
    r#"{"Status":"skipped","Error":"locked","PerContainer":null},"shop:deployment/ign":{"Status":"ignored","#,
    r#""Error":"not included","PerContainer":null}}"#,
);

const REVISION: &str = r#""revision":"0123456789abcdef0123456789abcdef01234567""#;

fn job(result: &str, err: &str, state: &str) -> String {
    format!(r#"{{"Result":{{{result}}},"Err":"{err}","StatusString":"{state}"}}"#)
}

/// A daemon that takes an update, and whose job ends like this after it was queued and ran.
fn update(result: &str, err: &str, state: &str) -> Script {
    let (queued, running, ended) = (job("", "", "queued"), job("", "", "running"), job(result, err, state));
    script(&[
        ("/v9/update-manifests", &[(200, r#""job-1""#)]),
        ("/v6/jobs", &[(200, &queued), (200, &running), (200, &ended)]),
        ("/v6/sync", &[(200, "[]")]),
        ("/v9/git-repo-config", &[(200, GIT)]),
    ])
}

const GIT: &str = concat!(
    r#"{"remote":{"url":"ssh://git@example.org/team/config","branch":"main","path":"apps"},"publicSSHKey":{"key":"ssh-rsa AAAA foo\n","#,
    r#""fingerprints":{"md5":{"hash":"12:34","randomart":"+--+\n|x |\n+--+"},"sha256":{"hash":"S","randomart":"+2+"}}},"status":"ready","errors":""}"#,
);

#[test]
fn lists_of_workloads_are_the_same() {
    let answers = script(&[("/v6/services", &[(200, WORKLOADS)])]);
    for args in [
        &["list-workloads"][..],
        &["list-controllers", "-a"],
        &["-n", "shop", "list-workloads"],
        &["list-workloads", "-c", "init"],
        &["list-workloads", "-c", "nope"],
        &["list-workloads", "-c", "nope", "-o", "json"],
        &["list-workloads", "--no-headers", "--token=abc"],
        &["list-workloads", "-o", "json"],
    ] {
        same(args, &answers);
    }
    for empty in ["null", "[]", ""] {
        same(&["list-workloads"], &script(&[("/v6/services", &[(200, empty)])]));
    }
}

#[test]
fn lists_of_images_are_the_same() {
    let answers = script(&[("/v10/images", &[(200, IMAGES)])]);
    for args in [
        &["list-images"][..],
        &["list-images", "-l", "1"],
        &["list-images", "--limit=0", "--no-headers"],
        &["list-images", "-w", "deployment/web", "-n", "shop"],
        &["list-images", "-w=shop:deployment/web", "-l2"],
    ] {
        same(args, &answers);
    }
    // The original writes times of other zones anew in JSON; daemons send none.
    let answers = script(&[("/v10/images", &[(200, &IMAGES.replace("+02:00", "Z"))])]);
    same(&["list-images", "-o", "json"], &answers);
    same(&["list-images", "-o", "json", "-l", "1"], &answers);
    same(&["list-images"], &script(&[("/v10/images", &[(200, "[]")])]));
}

#[test]
fn releases_are_the_same() {
    let done = update(&format!("{REVISION},{RESULT}"), "", "succeeded");
    for args in [
        &["release", "--all", "--update-all-images"][..],
        &["release", "--all", "--update-all-images", "-v"],
        &["release", "--all", "--update-image=x:1", "-vv", "-m", "hello <world>", "--user=Ann <a@b.c>"],
        &["release", "--all", "--update-all-images", "--dry-run"],
        &["release", "--force", "--all", "--update-image=x:1"],
        &["release", "--force", "--workload=a:deployment/b", "--update-all-images"],
        &[
            "release",
            "--workload=deployment/x,b:daemonset/y",
            "-n",
            "foo",
            "--update-image=x:1@sha256:abc",
            "--exclude=job/c",
        ],
    ] {
        same(args, &done);
    }
    same(&["release", "--all", "--update-all-images"], &update(RESULT, "", "succeeded"));
    same(&["release", "--all", "--update-all-images"], &update("", "", "succeeded"));
    same(&["release", "--all", "--update-all-images"], &update(RESULT, "no can do", "failed"));
    let refused = script(&[("/v9/update-manifests", &[(422, r#"{"type":"user","help":"No.\n","error":"no"}"#)])]);
    same(&["release", "--all", "--update-all-images"], &refused);
}

#[test]
fn watched_roll_outs_are_the_same() {
    let mut answers = update(&format!("{REVISION},{RESULT}"), "", "succeeded");
    let workload = |id: &str, status: &str, updated: u8, messages: &str| {
        format!(
            r#"{{"ID":"shop:deployment/{id}","Containers":[{{"Name":"c","Current":{{"ID":"i:1"}}}}],"Status":"{status}","Rollout":{{"Desired":2,"Updated":{updated},"Ready":0,"Messages":{messages}}}}}"#
        )
    };
    let list = |web: String| (200, format!("[{web},{}]", workload("api", "ready", 2, "null")));
    let rolling = vec![list(workload("web", "updating", 1, "null")), list(workload("web", "ready", 2, "null"))];
    answers.insert("/v11/services".to_owned(), rolling);
    same(&["release", "--all", "--update-all-images", "--watch"], &answers);
    answers.insert("/v11/services".to_owned(), vec![list(workload("web", "error", 1, r#"["no image","two"]"#))]);
    same(&["release", "--all", "--update-all-images", "--watch"], &answers);
}

#[test]
fn policies_are_the_same() {
    let result = r#""spec":null,"result":{"shop:deployment/web":{"Status":"success","PerContainer":null},"shop:deployment/s":{"Status":"skipped","Error":"x","PerContainer":null}}"#;
    let done = update(&format!("{REVISION},{result}"), "", "succeeded");
    for args in [
        &["automate", "-w", "shop:deployment/web", "-m", "why", "--user", "A B <c@d>"][..],
        &["automate", "-n", "shop", "-w", "deployment/web", "-v"],
        &["deautomate", "-w", "shop:deployment/web"],
        &["lock", "-w", "shop:deployment/web"],
        &["lock", "-w", "shop:deployment/web", "-m", "why not"],
        &["lock", "-w", "shop:deployment/web", "-m", "why not", "--user", "Joe"],
        &["unlock", "-w", "shop:deployment/web", "-m", "ok"],
        &[
            "policy",
            "-w",
            "shop:deployment/web",
            "--automate",
            "--lock",
            "--tag=foo=1.*",
            "--tag=bar=semver:~1",
            "--tag-all=*",
        ],
        &[
            "policy",
            "-w",
            "shop:deployment/web",
            "--deautomate",
            "--unlock",
            "--tag=foo=*,bar=glob:*",
            "--tag-all=glob:*",
        ],
        &["policy", "-w", "shop:deployment/web", "--tag=foo=regex:^a", "--tag=bar=regexp:^b", "--tag=baz="],
    ] {
        same(args, &done);
    }
    same(&["automate", "-w", "shop:deployment/web"], &update("", "", "succeeded"));
    same(&["automate", "-w", "shop:deployment/web"], &update("", "bad job", "failed"));
}

#[test]
fn gits_user_is_the_one_who_asks() {
    let home = tempfile::tempdir().unwrap();
    let done = update(REVISION, "", "succeeded");
    for config in ["[user]\nname = Ann B\nemail = a@b.c\n", "[user]\nname = Ann B\n", "[user]\nemail = a@b.c\n"] {
        std::fs::write(home.path().join(".gitconfig"), config).unwrap();
        same_in(home.path(), &["lock", "-w", "shop:deployment/web"], &done, Errors::Equal);
    }
}

#[test]
fn the_contexts_namespace_is_that_of_workloads_named_without_one() {
    let home = tempfile::tempdir().unwrap();
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: k, cluster: {server: 'http://127.0.0.1:9'}}]\n\
                      contexts: [{name: c, context: {cluster: k, user: u, namespace: team}}, {name: d, context: {cluster: k, user: u}}]\n\
                      users: [{name: u, user: {}}]\n";
    std::fs::create_dir(home.path().join(".kube")).unwrap();
    std::fs::write(home.path().join(".kube/config"), kubeconfig).unwrap();
    let answers = script(&[("/v6/services", &[(200, WORKLOADS)])]);
    same_in(home.path(), &["list-workloads"], &answers, Errors::Equal);
    same_in(home.path(), &["list-workloads", "--context=d"], &answers, Errors::Equal);
}

#[test]
fn syncs_are_the_same() {
    same(&["sync"], &update(REVISION, "", "succeeded"));
    same(&["sync"], &update(REVISION, "went bad", "failed"));
    let unverified = "The branch HEAD in the git repo is not verified, and fluxd is unable to sync to it. The last verified commit was 01234567. HEAD is 89abcdef.";
    same(&["sync"], &update(REVISION, unverified, "failed"));
    for (status, errors) in
        [("unconfigured", ""), ("new", ""), ("cloned", "why"), ("unreachable", "why"), ("unreachable", "")]
    {
        let git =
            GIT.replace(r#""status":"ready","errors":"""#, &format!(r#""status":"{status}","errors":"{errors}""#));
        same(&["sync"], &script(&[("/v9/git-repo-config", &[(200, &git)])]));
    }
}

#[test]
fn waiting_ends_at_the_timeout() {
    let home = tempfile::tempdir().unwrap();
    let mut never = update(REVISION, "", "running");
    same_in(home.path(), &["sync", "--timeout=500ms"], &never, Errors::AndMore);
    never.insert("/v6/jobs".to_owned(), vec![(200, job(REVISION, "", "succeeded"))]);
    never.insert("/v6/sync".to_owned(), vec![(200, r#"["a"]"#.to_owned())]);
    same_in(home.path(), &["sync", "--timeout=500ms"], &never, Errors::AndMore);
}

#[test]
fn identities_are_the_same() {
    let answers = script(&[("/v9/git-repo-config", &[(200, GIT)])]);
    for args in [&["identity"][..], &["identity", "-l"], &["identity", "-v"], &["identity", "-lv"], &["identity", "-r"]]
    {
        same(args, &answers);
    }
}

#[test]
fn saved_manifests_are_the_same() {
    use base64::Engine;
    let manifests = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: apps/v1\nkind: Deployment\n\
                     metadata: {name: web, namespace: shop, uid: u, labels: {a: b}, creationTimestamp: null}\nspec:\n  z: \"1\"\n  n: ~\n  \
                     l: [a, {b: yes}, 010, 1.50]\n  t: |\n    two\n    lines\nstatus: {ready: 1}\n";
    let encoded = base64::engine::general_purpose::STANDARD.encode(manifests);
    let answers = script(&[("/v6/export", &[(200, &format!("\"{encoded}\""))])]);
    same(&["save"], &answers);
    same(&["save", "--out=/nowhere"], &answers);
    let both: Vec<_> = [original(), own()]
        .map(|program| {
            let home = tempfile::tempdir().unwrap();
            let double = Double::start(answers.clone());
            let ran = run(command(&program, home.path(), double.url(), &["save", "--out=."]));
            let file = |name: &str| std::fs::read_to_string(home.path().join(name)).unwrap();
            (ran.code, file("shop-ns.yaml"), file("shop/web-dep.yaml"))
        })
        .into();
    assert_eq!(both[0], both[1]);
}

#[test]
fn errors_of_the_daemon_are_the_same() {
    let home = tempfile::tempdir().unwrap();
    let answer = |code: u16, body: &str| script(&[("/v6/services", &[(code, body)])]);
    for (code, body) in [
        (500, r#"{"type":"server","help":"helpful\nlines","error":"short"}"#),
        (404, r#"{"type":"missing","help":"helpful\n","error":"short"}"#),
        (422, r#"{"type":"user","help":"","error":"short"}"#),
    ] {
        same(&["list-workloads"], &answer(code, body));
    }
    for args in [&["identity"][..], &["sync"], &["save"], &["list-images"], &["automate", "-w", "a:deployment/b"]] {
        same(args, &Script::new());
    }
    let ours = |code: u16, body: &str| {
        let double = Double::start(answer(code, body));
        run(command(&own(), home.path(), double.url(), &["list-workloads"]))
    };
    let unauthorized = ours(401, "");
    assert!(unauthorized.code == Some(1) && unauthorized.stderr.contains("--token"), "{unauthorized:?}");
    let foreign = ours(502, "<html>bad gateway");
    assert!(
        foreign.stderr.starts_with("Error: executing HTTP request: 502 Bad Gateway <html>bad gateway\n"),
        "{foreign:?}"
    );
}

#[test]
fn mistakes_on_the_command_line_are_told_in_the_same_words() {
    for line in [
        "nonsense",
        "lis",
        "syn",
        "--nope",
        "-v",
        "version x",
        "version --nope",
        "sync x",
        "sync -h -x",
        "identity x",
        "save x",
        "completion",
        "completion tcsh",
        "list-workloads x",
        "list-workloads -o nope",
        "list-workloads -n",
        "list-images x",
        "list-images -o nope",
        "list-images -l x",
        "list-images -w web",
        "release",
        "release x",
        "release --nope",
        "release -z",
        "release --all",
        "release --workload=a:deployment/b",
        "release --update-all-images",
        "release --update-image=x",
        "release --all --update-all-images --update-image=x",
        "release --all --update-image=a:b:c:d",
        "release --all --update-image=x",
        "release --workload=a/b/c --update-image=a:v1",
        "release --workload= --update-all-images",
        "release --watch --dry-run --all --update-all-images",
        "release --force --all --update-all-images",
        "release --all --update-all-images --exclude=a:b",
        "automate",
        "automate x",
        "deautomate",
        "lock",
        "unlock",
        "automate -w a:b",
        "automate -w a:deployment/b -m",
        "automate --message",
        "policy",
        "policy -w default:deployment/x --automate --deautomate",
        "policy -w default:deployment/x --lock --unlock",
        "policy -w default:deployment/x --tag=foo",
        "policy -w default:deployment/x --tag=foo=bar=baz",
        "identity --regenerate=maybe",
        "--timeout=x sync",
        "--k8s-fwd-labels=x sync",
        "--all-namespaces list-workloads",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        same(&args, &Script::new());
    }
}
