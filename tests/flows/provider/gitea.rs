//! Gitea and Forgejo: the server is looked at first, pages are linked.

use super::*;

fn repository(double: &Double) -> String {
    format!("{}/ann/shop", double.url())
}

fn server(seen: &Seen) -> Scripted {
    if seen.authorization.as_deref() != Some("token hunter2") {
        return Scripted::new(401, json!({"message": "user does not exist"}).to_string());
    }
    match path_of(seen) {
        "/api/v1/version" => Scripted::json(&json!({"version": "1.22.0"})),
        "/api/v1/repos/ann/shop/branches" => linked(
            seen,
            &[json!([{"name": "main", "commit": {"id": "a"}}]), json!([{"name": "dev", "commit": {"id": "b"}}])],
        ),
        "/api/v1/repos/ann/shop/tags" => linked(
            seen,
            &[json!([{"name": "v1.0.0", "commit": {"sha": "a"}}]), json!([{"name": "v1.1.0", "commit": {"sha": "b"}}])],
        ),
        "/api/v1/repos/ann/shop/pulls" => linked(
            seen,
            &[json!([{"number": 7, "title": "T", "user": {"login": "ann"}, "head": {"ref": "feat", "sha": "s"},
                      "labels": [{"name": "deploy"}]},
                     {"number": 6, "title": "U", "user": null, "head": {"ref": "x", "sha": "t"}, "labels": null}])],
        ),
        _ => Scripted::new(404, json!({"message": "not found"}).to_string()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_tags_and_pull_requests_are_listed() {
    let double = Double::start(server);
    let asked = |kind| {
        let mut request = request(kind, repository(&double));
        request.secret = secret(&[("username", "ann"), ("password", "hunter2")]);
        request
    };
    let branches = list(&asked(ProviderType::GiteaBranch)).await.unwrap();
    assert_eq!(
        (each(&branches, "branch"), each(&branches, "sha")),
        (vec!["main".into(), "dev".into()], vec!["a".into(), "b".into()])
    );
    assert_eq!(each(&list(&asked(ProviderType::GiteaTag)).await.unwrap(), "tag"), ["v1.1.0", "v1.0.0"]);
    let mut pulls = asked(ProviderType::GiteaPullRequest);
    pulls.filter.labels = vec!["deploy".to_owned()];
    let want = json!([{"id": "7", "sha": "s", "branch": "feat", "title": "T", "author": "ann", "labels": ["deploy"]}]);
    assert_eq!(list(&pulls).await.unwrap(), want);
    assert!(double.seen().iter().any(|seen| seen.path.contains("state=open") && seen.path.contains("limit=100")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_token_is_told_before_anything_is_listed() {
    let double = Double::start(server);
    let refusal = list(&request(ProviderType::GiteaTag, repository(&double))).await.unwrap_err();
    let want = format!(
        "failed to create Git provider: GET {}/api/v1/version: 401 Unauthorized: user does not exist",
        double.url()
    );
    assert_eq!(refusal, want);
    assert_eq!(double.seen().len(), 1);
}
