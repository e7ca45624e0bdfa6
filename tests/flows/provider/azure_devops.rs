//! Azure DevOps: continuation tokens, annotated tags, counted pages, tokens of Entra ID.

use std::sync::Arc;

use super::*;
use crate::rig::basic;
use fluxd::provider::Endpoints;
use fluxd::registry::{Account, Azure, Oidc};
use futures::FutureExt as _;

const URL: &str = "https://dev.azure.com/org/my%20project/_git/shop";
const BASE: &str = "/org/my%20project/_apis/git/repositories/shop";

fn at(double: &Double) -> Providers {
    let url = double.url();
    providers(|s| s.endpoints = Endpoints { azure_devops: Some(url), ..Endpoints::default() })
}

fn asked(kind: ProviderType) -> Request {
    let mut request = request(kind, URL.to_owned());
    request.secret = secret(&[("username", "git"), ("password", "pat-token")]);
    request
}

fn server(seen: &Seen) -> Scripted {
    if seen.authorization != Some(basic("", "pat-token")) {
        // as the real one does: a page to sign in at
        return Scripted::new(203, "<html>Sign in</html>");
    }
    let path = path_of(seen).strip_prefix(BASE).unwrap_or_default();
    if let Some(object) = path.strip_prefix("/annotatedtags/") {
        return match object {
            "tag-object" => Scripted::json(&json!({"objectId": object, "taggedObject": {"objectId": "commit"}})),
            _ => Scripted::new(404, json!({"message": "no annotated tag"}).to_string()),
        };
    }
    match path {
        "/stats/branches" => Scripted::json(&json!({"count": 3, "value": [
            {"name": "main", "commit": {"commitId": "a"}}, {"name": "broken"}, {"name": "dev", "commit": {"commitId": "b"}},
        ]})),
        "/refs" if seen.path.contains("continuationToken=more%2B1") => {
            Scripted::json(&json!({"value": [{"name": "refs/tags/1.1.0", "objectId": "tag-object"}]}))
        }
        "/refs" => {
            assert!(seen.path.contains("filter=tags") && seen.path.contains("%24top=100"), "{}", seen.path);
            let page = json!({"value": [{"name": "refs/tags/1.0.0", "objectId": "plain"}, {"name": "refs/tags/x"}]});
            Scripted::json(&page).header("x-ms-continuationtoken", "more+1")
        }
        "/pullrequests" => {
            let skip = if seen.path.contains("%24skip=100") { 100 } else { 0 };
            let count = if skip == 0 { 100 } else { 2 };
            let pull = |n: u64| {
                json!({"pullRequestId": n, "sourceRefName": format!("refs/heads/feat-{n}"), "title": "T",
                "lastMergeSourceCommit": {"commitId": format!("c{n}")}, "createdBy": {"displayName": "Ann Lee"},
                "labels": [{"name": "deploy"}]})
            };
            Scripted::json(&json!({"value": (skip..skip + count).map(pull).collect::<Vec<_>>()}))
        }
        _ => Scripted::new(404, json!({"message": "TF401019: no such repository"}).to_string()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_come_in_one_answer_and_broken_records_are_passed_over() {
    let double = Double::start(server);
    let listed = list_with(&at(&double), &asked(ProviderType::AzureDevOpsBranch)).await.unwrap();
    assert_eq!(
        (each(&listed, "branch"), each(&listed, "sha")),
        (vec!["main".into(), "dev".into()], vec!["a".into(), "b".into()])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_are_read_by_continuation_and_annotated_ones_have_their_commit() {
    let double = Double::start(server);
    let listed = list_with(&at(&double), &asked(ProviderType::AzureDevOpsTag)).await.unwrap();
    assert_eq!(
        (each(&listed, "tag"), each(&listed, "sha")),
        (vec!["1.1.0".into(), "1.0.0".into()], vec!["commit".into(), "plain".into()])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_requests_are_read_until_a_page_is_short() {
    let double = Double::start(server);
    let mut request = asked(ProviderType::AzureDevOpsPullRequest);
    request.filter.limit = Some(200);
    let listed = list_with(&at(&double), &request).await.unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 102);
    let want =
        json!({"id": "0", "sha": "c0", "branch": "feat-0", "title": "T", "author": "Ann Lee", "labels": ["deploy"]});
    assert_eq!(listed[0], want);
    assert_eq!(double.seen().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_to_sign_in_at_is_no_list() {
    let double = Double::start(server);
    let mut request = asked(ProviderType::AzureDevOpsBranch);
    request.secret = secret(&[("username", "git"), ("password", "wrong-token")]);
    let refusal = list_with(&at(&double), &request).await.unwrap_err();
    assert!(refusal.contains("expected JSON as the API's documentation has it, found HTML"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_comes_again_is_an_error() {
    let double = Double::start(|_| Scripted::json(&json!({"value": []})).header("x-ms-continuationtoken", "same"));
    let refusal = list_with(&at(&double), &asked(ProviderType::AzureDevOpsTag)).await.unwrap_err();
    assert!(refusal.ends_with("tags pagination returned a repeated continuation token"), "{refusal}");
    assert_eq!(double.seen().len(), 2);
}

fn account(annotations: &[(&str, &str)]) -> Option<Account> {
    let oidc = |audience: String| async move { Ok(format!("token-for-{audience}")) }.boxed();
    Some(Account {
        namespace: "apps".to_owned(),
        name: "preview".to_owned(),
        annotations: annotations.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        oidc: Oidc(Arc::new(oidc)),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_is_exchanged_for_a_token_which_is_kept() {
    let double = Double::start(server);
    let entra = Double::start(|seen| {
        assert_eq!(seen.path, "/the-tenant/oauth2/v2.0/token");
        let want = [
            "client_id=the-client",
            "client_assertion=token-for-api%3A%2F%2FAzureADTokenExchange",
            "scope=499b84ac-1321-427f-aa17-267ca6975798%2F.default",
        ];
        assert!(want.iter().all(|part| seen.body.contains(part)), "{}", seen.body);
        Scripted::json(&json!({"access_token": "pat-token", "expires_in": 3600}))
    });
    let (base, authority) = (double.url(), entra.url());
    let providers = providers(|s| {
        s.endpoints = Endpoints { azure_devops: Some(base), ..Endpoints::default() };
        s.azure = Azure { authority: Some(authority), ..Azure::default() };
    });
    let mut request = request(ProviderType::AzureDevOpsBranch, URL.to_owned());
    let tenant = ("azure.workload.identity/tenant-id", "the-tenant");
    request.account = account(&[tenant, ("azure.workload.identity/client-id", "the-client")]);
    for _ in 0..2 {
        list_with(&providers, &request).await.unwrap();
    }
    assert_eq!(entra.seen().len(), 1);
    for (annotations, missing) in [(&[][..], "tenant"), (&[tenant][..], "client")] {
        request.account = account(annotations);
        let refusal = list_with(&providers, &request).await.unwrap_err();
        let want = format!(
            "azure {missing} ID is not set in the service account annotation azure.workload.identity/{missing}-id"
        );
        assert!(refusal.ends_with(&want), "{refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_addresses_are_refused() {
    let refusal =
        list(&request(ProviderType::AzureDevOpsTag, "https://example.org/o/p/_git/r".to_owned())).await.unwrap_err();
    assert!(
        refusal.starts_with("failed to create Git provider: invalid URL 'https://example.org/o/p/_git/r': expected ")
    );
}
