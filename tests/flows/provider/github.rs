//! GitHub: pages, filters, change requests, tokens of users and of apps.

use super::*;
use fluxd::provider::Endpoints;

const KEY: &str = include_str!("../../data/provider/github-app.pem");

fn named(name: &str, sha: &str) -> Value {
    json!({"name": name, "commit": {"sha": sha, "url": "https://example.org"}, "protected": false})
}

fn repository(double: &Double) -> String {
    format!("{}/stefanprodan/podinfo", double.url())
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_of_all_pages_are_chosen_by_version() {
    let double = Double::start(|seen| {
        assert_eq!(path_of(seen), "/api/v3/repos/stefanprodan/podinfo/tags");
        assert_eq!(seen.authorization, None);
        assert!(seen.headers["user-agent"].starts_with("flux-operator/"));
        let pages =
            [json!([named("6.0.3", "a"), named("6.1.0", "b")]), json!([named("6.0.4", "11cf36d8"), named("x", "c")])];
        linked(seen, &pages)
    });
    let mut request = request(ProviderType::GitHubTag, repository(&double));
    request.filter.semver = Some("6.0.x".to_owned());
    request.filter.limit = Some(1);
    request.defaults = json!({"env": "test", "tag": "never"}).as_object().cloned().unwrap();
    let want = json!([{"id": "48955639", "sha": "11cf36d8", "tag": "6.0.4", "env": "test"}]);
    assert_eq!(list(&request).await.unwrap(), want);
    assert_eq!(double.seen()[0].path, "/api/v3/repos/stefanprodan/podinfo/tags?per_page=100");
    assert_eq!(double.seen().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_are_taken_in_order_until_there_are_enough() {
    let double = Double::start(|seen| {
        assert_eq!(seen.authorization.as_deref(), Some("Bearer hunter2"));
        linked(seen, &[json!([named("main", "a"), named("patch-1", "b")]), json!([named("patch-2", "c")]), json!([])])
    });
    let mut request = request(ProviderType::GitHubBranch, repository(&double));
    request.secret = secret(&[("username", "git"), ("password", "hunter2\n")]);
    request.filter.branch = include("^patch-.*");
    let want = json!([
        {"id": "183501423", "sha": "b", "branch": "patch-1"},
        {"id": "183566960", "sha": "c", "branch": "patch-2"},
    ]);
    assert_eq!(list(&request).await.unwrap(), want);
    request.filter.limit = Some(1);
    let before = double.seen().len();
    assert_eq!(each(&list(&request).await.unwrap(), "branch"), ["patch-1"]);
    assert_eq!(double.seen().len(), before + 1, "the second page is not needed");
}

fn pull(number: u64, branch: &str, labels: &[&str]) -> Value {
    let labels: Vec<Value> = labels.iter().map(|name| json!({"name": name, "color": "fff"})).collect();
    json!({"number": number, "title": format!("change {number}"), "state": "open", "user": {"login": "ann"},
           "head": {"ref": branch, "sha": format!("sha-{number}")}, "labels": labels})
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_requests_are_chosen_by_branch_and_labels_and_may_be_skipped() {
    let double = Double::start(|seen| {
        assert!(seen.path.contains("state=open"));
        linked(
            seen,
            &[json!([
                pull(4, "feat/a", &["deploy", "ui"]),
                pull(3, "feat/b", &["deploy", "hold"]),
                pull(2, "fix/c", &["deploy"]),
                pull(1, "feat/d", &[])
            ])],
        )
    });
    let mut request = request(ProviderType::GitHubPullRequest, repository(&double));
    request.filter.branch = include("^feat/");
    request.filter.labels = vec!["deploy".to_owned()];
    let whole = json!({"id": "4", "sha": "sha-4", "branch": "feat/a", "title": "change 4", "author": "ann",
                       "labels": ["deploy", "ui"]});
    let listed = list(&request).await.unwrap();
    assert_eq!((&listed[0], each(&listed, "id")), (&whole, vec!["4".to_owned(), "3".to_owned()]));
    request.skip = vec!["hold".to_owned()];
    assert_eq!(each(&list(&request).await.unwrap(), "id"), ["4"], "a new one that is held waits");
    request.before = vec![json!({"id": "3", "sha": "old"}).as_object().cloned().unwrap()];
    let listed = list(&request).await.unwrap();
    assert_eq!(listed[1], json!({"id": "3", "sha": "old", "labels": ["deploy", "hold"]}));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_told_with_what_the_host_says_and_without_the_token() {
    for (status, body, said) in [
        (404, json!({"message": "Not Found"}), "404 Not Found: Not Found"),
        (401, json!({"message": "Bad credentials for hunter2"}), "401 Unauthorized: Bad credentials for <redacted>"),
        (403, json!({"message": "API rate limit exceeded"}), "403 Forbidden: API rate limit exceeded"),
        (429, json!({}), "429 Too Many Requests"),
        (502, json!("<html>"), "502 Bad Gateway"),
    ] {
        let double = Double::start(move |_| Scripted::new(status, body.to_string()));
        let mut request = request(ProviderType::GitHubBranch, repository(&double));
        request.secret = secret(&[("username", "git"), ("password", "hunter2")]);
        let url = format!("{}/api/v3/repos/stefanprodan/podinfo/branches", double.url());
        let want =
            format!("failed to call Git provider: failed to list branches: could not list branches: GET {url}: {said}");
        assert_eq!(list(&request).await.unwrap_err(), want);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_without_their_keys_and_addresses_of_other_forms_are_refused() {
    let mut asked = request(ProviderType::GitHubTag, "https://github.com/a/b".to_owned());
    asked.secret = secret(&[("username", "git")]);
    let want = "failed to create Git provider: invalid secret 'apps/auth': key 'password' is missing";
    assert_eq!(list(&asked).await.unwrap_err(), want);
    let asked = request(ProviderType::GitHubTag, "https://github.com/a/b/c".to_owned());
    let refusal = list(&asked).await.unwrap_err();
    assert!(
        refusal.starts_with("failed to create Git provider: invalid URL 'https://github.com/a/b/c': "),
        "{refusal}"
    );
}

/// GitHub's own API, which knows one app with an installation for a user.
fn app(seen: &Seen) -> Scripted {
    let introduced = seen.authorization.as_deref().unwrap_or_default();
    match (seen.method.as_str(), path_of(seen)) {
        ("GET", "/orgs/ann/installation") => Scripted::new(404, "{}"),
        ("GET", "/users/ann/installation") if introduced.starts_with("Bearer eyJ") => {
            Scripted::json(&json!({"id": 77}))
        }
        ("POST", "/app/installations/77/access_tokens") if introduced.starts_with("Bearer eyJ") => {
            let answer = json!({"token": "ghs_token", "expires_at": "2096-01-01T00:00:00Z"});
            Scripted::new(201, answer.to_string())
        }
        ("GET", "/repos/ann/shop/branches") if introduced == "Bearer ghs_token" => {
            Scripted::json(&json!([named("main", "a")]))
        }
        _ => Scripted::new(401, json!({"message": "Bad credentials"}).to_string()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_an_app_is_fetched_once() {
    let double = Double::start(app);
    let api = double.url();
    let providers = providers(|s| s.endpoints = Endpoints { github: Some(api), ..Endpoints::default() });
    let mut request = request(ProviderType::GitHubBranch, "https://github.com/ann/shop".to_owned());
    let pairs = [("githubAppID", "42"), ("githubAppPrivateKey", KEY), ("githubAppInstallationOwner", "ann")];
    request.secret = secret(&pairs);
    for _ in 0..3 {
        assert_eq!(each(&list_with(&providers, &request).await.unwrap(), "branch"), ["main"]);
    }
    let tokens = double.seen().iter().filter(|seen| seen.method == "POST").count();
    assert_eq!((tokens, double.seen().len()), (1, 6));
    // other credentials have a token of their own
    request.secret = secret(&[pairs[0], pairs[1], ("githubAppInstallationID", "77")]);
    list_with(&providers, &request).await.unwrap();
    assert_eq!(double.seen().iter().filter(|seen| seen.method == "POST").count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apps_secret_names_one_installation_and_holds_a_key() {
    let mut request = request(ProviderType::GitHubBranch, "https://github.com/ann/shop".to_owned());
    let id = ("githubAppID", "42");
    let installation = ("githubAppInstallationID", "1");
    for (pairs, said) in [
        (vec![id], "key 'githubAppPrivateKey' is missing"),
        (vec![id, ("githubAppPrivateKey", KEY)], "exactly one of"),
        (vec![id, ("githubAppPrivateKey", KEY), installation, ("githubAppInstallationOwner", "a")], "exactly one of"),
        (vec![id, ("githubAppPrivateKey", "hunter2"), installation], "holds no RSA key in PEM"),
    ] {
        request.secret = secret(&pairs);
        let refusal = list(&request).await.unwrap_err();
        assert!(refusal.contains("invalid secret 'apps/auth': ") && refusal.contains(said), "{refusal}");
        assert!(!refusal.contains("hunter2"));
    }
}
