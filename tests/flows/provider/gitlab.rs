//! GitLab: numbered pages, slugs, merge requests, environments by their deployments, patience.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

fn project(double: &Double) -> String {
    format!("{}/group/sub/shop", double.url())
}

const BASE: &str = "/api/v4/projects/group%2Fsub%2Fshop";

/// One page of several, as GitLab numbers them.
fn numbered(seen: &Seen, pages: &[Value]) -> Scripted {
    let page = page_of(seen);
    let next = if page < pages.len() { (page + 1).to_string() } else { String::new() };
    Scripted::json(&pages[page - 1]).header("X-Next-Page", &next)
}

fn named(name: &str, sha: &str) -> Value {
    json!({"name": name, "commit": {"id": sha}})
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_have_slugs_and_the_original_digest() {
    let double = Double::start(|seen| {
        assert_eq!(path_of(seen), format!("{BASE}/repository/tags"));
        assert_eq!(seen.headers.get("private-token").map(String::as_str), Some("glpat"));
        let newest = named("6.0.4", "11cf36d83818e64aaa60d523ab6438258ebb6009");
        numbered(seen, &[json!([named("6.0.3", "a")]), json!([newest])])
    });
    let mut request = request(ProviderType::GitLabTag, project(&double));
    request.secret = secret(&[("username", "git"), ("password", "glpat")]);
    request.filter.semver = Some("6.0.x".to_owned());
    request.filter.limit = Some(1);
    let export = providers(|_| {}).list(&request).await.unwrap();
    assert_eq!(export.sets[0]["slug"], "6-0-4");
    let digest = "sha256:8d17289b10914ff4cf5226d649a7266136d071de6ed9be1c2745eb24449f7cf4";
    assert_eq!(export.revision(), digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_are_chosen_by_the_server_and_here() {
    let double = Double::start(|seen| {
        assert!(seen.path.contains("regex=%5Epatch"), "{}", seen.path);
        numbered(seen, &[json!([named("patch-1", "a"), named("patch/B_2", "b"), named("other", "c")])])
    });
    let mut asked = request(ProviderType::GitLabBranch, project(&double));
    asked.filter.branch = include("^patch");
    let listed = list(&asked).await.unwrap();
    assert_eq!(each(&listed, "slug"), ["patch-1", "patch-b-2"]);
    asked.filter.branch.exclude = Some("patch".to_owned());
    let none = providers(|_| {}).list(&asked).await.unwrap();
    assert!(none.sets.is_empty());
    let digest = "sha256:38e0b9de817f645c4bec37c0d4a3e58baecccb040f5718dc069a72c7385a0bed";
    assert_eq!(none.revision(), digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_requests_are_asked_for_by_labels() {
    let double = Double::start(|seen| {
        assert!(seen.path.contains("state=opened") && seen.path.contains("labels=a%2Cb"), "{}", seen.path);
        numbered(
            seen,
            &[json!([{"iid": 5, "id": 999, "sha": "s", "source_branch": "Feat/X", "title": "T",
                                 "author": {"username": "ann"}, "labels": ["a", "b", "c"]}])],
        )
    });
    let mut request = request(ProviderType::GitLabMergeRequest, project(&double));
    request.filter.labels = vec!["a".to_owned(), "b".to_owned()];
    let want = json!([{"id": "5", "sha": "s", "branch": "Feat/X", "slug": "feat-x", "title": "T", "author": "ann",
                       "labels": ["a", "b", "c"]}]);
    assert_eq!(list(&request).await.unwrap(), want);
}

fn environments(seen: &Seen) -> Scripted {
    if path_of(seen) == format!("{BASE}/environments") {
        let environment =
            |id: u64, name: &str, state: &str| json!({"id": id, "name": name, "slug": name, "state": state});
        return numbered(
            seen,
            &[json!([
                environment(1, "prod", "available"),
                environment(2, "stopped", "stopped"),
                environment(3, "stopping", "stopped"),
                environment(4, "empty", "available"),
                environment(5, "failed", "available"),
                environment(6, "broken", "available"),
            ])],
        );
    }
    assert_eq!(path_of(seen), format!("{BASE}/deployments"));
    assert!(seen.path.contains("order_by=created_at&sort=desc"), "{}", seen.path);
    let deployment = |status: &str, sha: &str| {
        json!({"status": status, "sha": "not-this", "ref": "not-this", "user": {"username": "ann"},
               "deployable": {"ref": "main", "commit": {"id": sha}}})
    };
    let asked = seen.path.split("environment=").nth(1).unwrap().split('&').next().unwrap();
    Scripted::json(&match asked {
        "prod" => json!([deployment("failed", "x"), deployment("success", "new"), deployment("success", "old")]),
        "stopped" => json!([deployment("success", "x")]),
        "stopping" => json!([{"status": "running", "user": {"username": "bob"}, "deployable": null}]),
        "broken" => return Scripted::new(500, "{}"),
        "failed" => json!([deployment("failed", "x")]),
        _ => json!([]),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn environments_stand_for_their_newest_deployment() {
    let double = Double::start(environments);
    let mut request = request(ProviderType::GitLabEnvironment, project(&double));
    request.filter.environment = Pair { include: None, exclude: Some("broken".to_owned()) };
    let want = json!([
        {"id": "1", "sha": "new", "branch": "main", "title": "prod", "slug": "prod", "author": "ann"},
        {"id": "3", "sha": "", "title": "stopping", "slug": "stopping", "author": "bob"},
    ]);
    assert_eq!(list(&request).await.unwrap(), want);
    // one that cannot be asked about spoils the list rather than shorten it
    request.filter.environment = Pair::default();
    let refusal = list(&request).await.unwrap_err();
    assert!(refusal.starts_with("failed to call Git provider: failed to list environments: "), "{refusal}");
    assert!(refusal.contains("500 Internal Server Error"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_of_the_servers_own_is_waited_out() {
    let asked = AtomicUsize::new(0);
    let double = Double::start(move |seen| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Scripted::new(429, "{}").header("Retry-After", "0"),
        1 => Scripted::new(503, "{}"),
        _ => numbered(seen, &[json!([named("main", "a")])]),
    });
    let listed = list(&request(ProviderType::GitLabBranch, project(&double))).await.unwrap();
    assert_eq!(each(&listed, "branch"), ["main"]);
    assert_eq!(double.seen().len(), 3);
    let double = Double::start(|_| Scripted::new(503, "{}"));
    let refusal = list(&request(ProviderType::GitLabBranch, project(&double))).await.unwrap_err();
    assert!(refusal.contains("503 Service Unavailable"), "{refusal}");
    assert_eq!(double.seen().len(), 5);
}
