//! CodeCommit: refs by git's protocol, change requests by AWS's, both signed with keys that STS gave.

use std::sync::Arc;

use super::*;
use base64::Engine as _;
use fluxd::provider::Endpoints;
use fluxd::registry::{Account, Aws, Oidc};
use futures::FutureExt as _;

const URL: &str = "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop";

fn line(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

fn advertisement() -> String {
    let hash = |c: char| c.to_string().repeat(40);
    let lines = [
        line(&format!("{} HEAD\0multi_ack\n", hash('a'))),
        line(&format!("{} refs/heads/main\n", hash('a'))),
        line(&format!("{} refs/heads/feat\n", hash('b'))),
        line(&format!("{} refs/tags/1.0.0\n", hash('c'))),
        line(&format!("{} refs/tags/1.0.0^{{}}\n", hash('d'))),
    ];
    format!("{}0000{}0000", line("# service=git-upload-pack\n"), lines.concat())
}

fn git(seen: &Seen) -> Scripted {
    assert_eq!(seen.path, "/v1/repos/shop/info/refs?service=git-upload-pack");
    let encoded = seen.authorization.as_deref().unwrap().strip_prefix("Basic ").unwrap();
    let login = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
    let login = String::from_utf8(login).unwrap();
    let (user, password) = login.split_once(':').unwrap();
    assert_eq!(user, "ASIAWEB%web-session");
    let (time, signature) = password.split_once('Z').unwrap();
    assert!(time.len() == 15 && signature.len() == 64, "{password}");
    Scripted::new(200, advertisement()).header("Content-Type", "application/x-git-upload-pack-advertisement")
}

fn sts(seen: &Seen) -> Scripted {
    let want = ["RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fpreview", "WebIdentityToken=token-for-sts.amazonaws.com"];
    assert!(want.iter().all(|part| seen.body.contains(part)), "{}", seen.body);
    Scripted::new(
        200,
        "<A><Credentials><AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
         <SessionToken>web-session</SessionToken><Expiration>2096-01-01T00:00:00Z</Expiration></Credentials></A>",
    )
}

fn asked(kind: ProviderType) -> Request {
    let oidc = |audience: String| async move { Ok(format!("token-for-{audience}")) }.boxed();
    let role = ("eks.amazonaws.com/role-arn".to_owned(), "arn:aws:iam::1:role/preview".to_owned());
    let mut request = request(kind, URL.to_owned());
    request.account = Some(Account {
        namespace: "apps".to_owned(),
        name: "preview".to_owned(),
        annotations: [role].into(),
        oidc: Oidc(Arc::new(oidc)),
    });
    request
}

fn at(git: &Double, api: &Double, sts: &Double) -> Providers {
    let (git, api, sts) = (git.url(), api.url(), sts.url());
    providers(|s| {
        s.endpoints = Endpoints { codecommit_git: Some(git), codecommit: Some(api), ..Endpoints::default() };
        s.aws = Aws { sts_endpoint: Some(sts), ..Aws::default() };
    })
}

fn api(seen: &Seen) -> Scripted {
    let authorization = seen.authorization.as_deref().unwrap();
    assert!(authorization.contains("/eu-west-1/codecommit/aws4_request"), "{authorization}");
    assert_eq!(seen.headers["x-amz-security-token"], "web-session");
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    let pull = |id: &str, branch: &str, commit: &str| {
        json!({"pullRequest": {"pullRequestId": id, "title": "T", "authorArn": "arn:aws:iam::1:user/ann",
               "pullRequestTargets": [{"sourceReference": branch, "sourceCommit": commit}]}})
    };
    match (seen.headers["x-amz-target"].as_str(), body["nextToken"].as_str(), body["pullRequestId"].as_str()) {
        ("CodeCommit_20150413.ListPullRequests", None, _) => {
            assert_eq!(body, json!({"repositoryName": "shop", "pullRequestStatus": "OPEN", "maxResults": 100}));
            Scripted::json(&json!({"pullRequestIds": ["9", "8"], "nextToken": "more"}))
        }
        ("CodeCommit_20150413.ListPullRequests", Some("more"), _) => Scripted::json(&json!({"pullRequestIds": ["7"]})),
        ("CodeCommit_20150413.GetPullRequest", _, Some("8")) => {
            Scripted::json(&json!({"pullRequest": {"pullRequestId": "8", "pullRequestTargets": []}}))
        }
        ("CodeCommit_20150413.GetPullRequest", _, Some(id)) => Scripted::json(&pull(id, "refs/heads/feat", "c0ffee")),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_tags_and_pull_requests_are_listed() {
    let (git, api, sts) = (Double::start(git), Double::start(api), Double::start(sts));
    let providers = at(&git, &api, &sts);
    let branches = list_with(&providers, &asked(ProviderType::AWSCodeCommitBranch)).await.unwrap();
    assert_eq!(each(&branches, "branch"), ["main", "feat"]);
    let tags = list_with(&providers, &asked(ProviderType::AWSCodeCommitTag)).await.unwrap();
    assert_eq!((each(&tags, "tag"), each(&tags, "sha")), (vec!["1.0.0".into()], vec!["d".repeat(40)]));
    let pulls = list_with(&providers, &asked(ProviderType::AWSCodeCommitPullRequest)).await.unwrap();
    assert_eq!(each(&pulls, "id"), ["9", "7"]);
    assert_eq!(pulls[0], json!({"id": "9", "sha": "c0ffee", "branch": "feat", "title": "T", "author": "ann"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_without_a_role_and_a_page_of_html_are_refused() {
    let (html, sts) = (Double::start(|_| Scripted::new(200, "<html>hunter2</html>")), Double::start(sts));
    let providers = at(&html, &html, &sts);
    let mut request = asked(ProviderType::AWSCodeCommitTag);
    let refusal = list_with(&providers, &request).await.unwrap_err();
    assert!(refusal.contains("failed to list tags: ") && refusal.contains("found something else"), "{refusal}");
    let refusal = list_with(&providers, &asked(ProviderType::AWSCodeCommitPullRequest)).await.unwrap_err();
    assert!(refusal.contains("found HTML") && !refusal.contains("hunter2"), "{refusal}");
    request.account.as_mut().unwrap().annotations.clear();
    let refusal = list_with(&providers, &request).await.unwrap_err();
    let want = "invalid eks.amazonaws.com/role-arn annotation: ''. must match arn:aws:iam::ACCOUNT:role/NAME";
    assert!(refusal.ends_with(want), "{refusal}");
}
