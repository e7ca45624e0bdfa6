//! Amazon: STS's AssumeRoleWithWebIdentity, ECR's tokens, CodeCommit's signed requests.

use fluxd::provider::Endpoints;
use fluxd::registry::Aws;
use serde_json::json;

use super::*;

const HOST: &str = "123456789012.dkr.ecr.eu-west-1.amazonaws.com";
const ROLE: (&str, &str) = ("eks.amazonaws.com/role-arn", "arn:aws:iam::123456789012:role/flux");

fn sts(seen: &Seen) -> Scripted {
    let form = form(seen);
    let want = [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", ROLE.1),
        ("WebIdentityToken", "jwt-for-sts.amazonaws.com"),
    ];
    assert!(want.iter().all(|(key, value)| form[*key] == *value), "{form:?}");
    let session = &form["RoleSessionName"];
    assert!(session.starts_with("robot.apps.") && session.len() <= 64, "{session}");
    Scripted::new(
        200,
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
         <AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>web-session</SessionToken>\
         <Expiration>2096-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>\
         </AssumeRoleWithWebIdentityResponse>",
    )
}

/// ECR's API, private or public, that wants signed requests.
fn ecr(scope: &'static str, target: &'static str) -> impl Fn(&Seen) -> Scripted {
    move |seen| {
        let signed = seen.authorization.as_deref().unwrap_or_default();
        assert!(signed.starts_with("AWS4-HMAC-SHA256 Credential=ASIAWEB/") && signed.contains(scope), "{signed}");
        assert_eq!(seen.headers["x-amz-security-token"], "web-session");
        assert_eq!((seen.headers["x-amz-target"].as_str(), seen.body.as_str()), (target, "{}"));
        let token = basic("AWS", "ecr-password")["Basic ".len()..].to_owned();
        let entry = json!({"authorizationToken": token, "expiresAt": 4_000_000_000.5});
        let data = if scope.contains("public") { entry } else { json!([entry]) };
        Scripted::json(&json!({ "authorizationData": data }))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_of_ecr_are_listed_as_the_role_of_an_account_and_its_login_is_kept() {
    for (host, scope, target) in [
        (HOST, "/eu-west-1/ecr/aws4_request", "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"),
        ("public.ecr.aws", "/us-east-1/ecr-public/aws4_request", "SpencerFrontendService.GetAuthorizationToken"),
    ] {
        let (registry, sts) = (CloudRegistry::start("AWS", "ecr-password"), Double::start(sts));
        let api = Double::start(ecr(scope, target));
        let aws = Aws { sts_endpoint: Some(sts.url()), ecr_endpoint: Some(api.url()), ..Aws::default() };
        let providers = providers(Settings { proxies: registry.proxies(), aws, ..Settings::default() });
        let robot = robot(&[ROLE]);
        let asked = request(ProviderType::ECRArtifactTag, &format!("oci://{host}/shop/web"), Some(&robot.account));
        for _ in 0..2 {
            assert_eq!(each(&list(&providers, &asked).await.unwrap(), "tag"), ["1.0.0"]);
        }
        registry.was_asked_as(host);
        assert_eq!((robot.audiences(), sts.seen().len(), api.seen().len()), (vec!["sts.amazonaws.com".into()], 1, 1));
        // another role is somebody else
        let mut other = asked.clone();
        other.account.as_mut().unwrap().annotations.insert(ROLE.0.to_owned(), "nonsense".to_owned());
        let refusal = list(&providers, &other).await.unwrap_err();
        assert_eq!(
            refusal,
            "failed to call OCI provider: failed to get access token for artifact registry: failed to get provider \
             identity from service account 'apps/robot' annotations: invalid eks.amazonaws.com/role-arn annotation: \
             'nonsense'. must match arn:aws:iam::ACCOUNT:role/NAME"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn registries_of_other_clouds_are_refused_before_anybody_is_asked() {
    let nobody = Double::start(|_| Scripted::new(500, ""));
    let aws = Aws { sts_endpoint: Some(nobody.url()), ..Aws::default() };
    let proxies = Proxies { https: Some(nobody.url()), ..Proxies::default() };
    let providers = providers(Settings { proxies, aws, ..Settings::default() });
    let robot = robot(&[ROLE]);
    for (kind, host, name) in [
        (ProviderType::ECRArtifactTag, "ghcr.io", "AWS"),
        (ProviderType::ECRArtifactTag, "123456789012.dkr.ecr.eu-west-1.amazonaws.com.evil.org", "AWS"),
        (ProviderType::ECRArtifactTag, "12.dkr.ecr.eu-west-1.amazonaws.com", "AWS"),
        (ProviderType::ACRArtifactTag, "azurecr.io.evil.org", "Azure"),
        (ProviderType::ACRArtifactTag, HOST, "Azure"),
        (ProviderType::GARArtifactTag, "evilgcr.io", "GCP"),
        (ProviderType::GARArtifactTag, "docker.pkg.dev", "GCP"),
    ] {
        let asked = request(kind, &format!("oci://{host}/shop/web"), Some(&robot.account));
        let refusal = list(&providers, &asked).await.unwrap_err();
        let begun = format!("failed to call OCI provider: invalid {name} registry: '{host}'. must match ");
        assert!(refusal.starts_with(&begun), "{refusal}");
    }
    assert_eq!((robot.audiences().len(), nobody.seen().len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_not_be_assumed_is_told_in_awss_words_without_the_token() {
    let sts = Double::start(|seen| {
        let token = &form(seen)["WebIdentityToken"];
        let message = format!("Not authorized to perform sts:AssumeRoleWithWebIdentity with {token}");
        let error = format!("<Error><Code>AccessDenied</Code><Message>{message}</Message></Error>");
        Scripted::new(403, format!("<ErrorResponse>{error}</ErrorResponse>"))
    });
    let aws = Aws { sts_endpoint: Some(sts.url()), ..Aws::default() };
    let providers = providers(Settings { aws, ..Settings::default() });
    let robot = robot(&[ROLE]);
    let url = "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop";
    let asked = request(ProviderType::AWSCodeCommitTag, url, Some(&robot.account));
    let refusal = list(&providers, &asked).await.unwrap_err();
    assert!(refusal.contains("failed to create provider access token for service account 'apps/robot': "), "{refusal}");
    assert!(refusal.contains("HTTP status 403: AccessDenied: Not authorized to perform"), "{refusal}");
    assert!(!refusal.contains("jwt-for"), "{refusal}");
    // what failed is not kept
    list(&providers, &asked).await.unwrap_err();
    assert_eq!(sts.seen().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_account_the_agent_of_the_processs_container_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "pod-token\n").unwrap();
    let agent = Double::start(|seen| {
        if seen.authorization.as_deref() != Some("pod-token") {
            return Scripted::new(401, "");
        }
        Scripted::json(&json!({"AccessKeyId": "ASIAPOD", "SecretAccessKey": "s", "Token": "pod-session",
                               "Expiration": "2096-01-01T00:00:00Z"}))
    });
    let api = Double::start(|seen| {
        assert!(seen.authorization.as_deref().unwrap().contains("Credential=ASIAPOD/"));
        assert_eq!(seen.headers["x-amz-security-token"], "pod-session");
        Scripted::json(&json!({"pullRequestIds": []}))
    });
    let aws = Aws {
        container_credentials_uri: Some(format!("{}/v1/credentials", agent.url())),
        container_token_file: Some(file),
        ..Aws::default()
    };
    let endpoints = Endpoints { codecommit: Some(api.url()), ..Endpoints::default() };
    let providers = providers(Settings { aws, endpoints, ..Settings::default() });
    let url = "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop";
    let asked = request(ProviderType::AWSCodeCommitPullRequest, url, None);
    for _ in 0..2 {
        assert_eq!(list(&providers, &asked).await.unwrap(), json!([]));
    }
    assert_eq!((agent.seen().len(), agent.seen()[0].path.as_str()), (1, "/v1/credentials"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_not_there_is_told_in_codecommits_words() {
    let api = Double::start(|_| {
        let said = json!({"__type": "RepositoryDoesNotExistException", "message": "shop does not exist"});
        Scripted::new(400, said.to_string())
    });
    let aws = Aws { access_key_id: Some("AKIA".into()), secret_access_key: Some("hunter22".into()), ..Aws::default() };
    let endpoints = Endpoints { codecommit: Some(api.url()), ..Endpoints::default() };
    let providers = providers(Settings { aws, endpoints, ..Settings::default() });
    let url = "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop";
    let refusal = list(&providers, &request(ProviderType::AWSCodeCommitPullRequest, url, None)).await.unwrap_err();
    assert!(refusal.starts_with("failed to call Git provider: failed to list requests: could not list "), "{refusal}");
    assert!(refusal.contains("400 Bad Request: shop does not exist") && !refusal.contains("hunter22"), "{refusal}");
}
