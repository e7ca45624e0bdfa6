//! Tags of OCI artifacts at the real docker-registry, and at clouds' registries played at the wire.

use std::sync::Arc;

use super::*;
use crate::rig::{DockerRegistry, Image, Tunnel, basic, scripted_registry};
use fluxd::registry::{Account, Aws, Azure, Google, Oidc, Proxies};
use futures::FutureExt as _;

fn asked(registry: &DockerRegistry) -> Request {
    let mut request = request(ProviderType::OCIArtifactTag, format!("oci://{}/shop/podinfo", registry.host()));
    request.insecure = true;
    request
}

fn push(registry: &DockerRegistry) -> String {
    let image = Image::oci("2024-01-01T00:00:00Z");
    registry.push("shop/podinfo", "6.0.3", &image);
    registry.push("shop/podinfo", "latest", &image);
    let kind = "application/vnd.oci.image.index.v1+json";
    registry.push_index("shop/podinfo", "6.0.4", kind, &[("linux/amd64", image.clone())])
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_are_chosen_and_have_the_digest_of_what_they_point_to() {
    let registry = DockerRegistry::start();
    let index = push(&registry);
    let mut request = asked(&registry);
    request.filter.semver = Some("6.0.x".to_owned());
    request.filter.limit = Some(1);
    let want = json!([{"id": "48955639", "tag": "6.0.4", "digest": index}]);
    assert_eq!(list(&request).await.unwrap(), want);
    request.filter.semver = Some(">7.0.0".to_owned());
    let none = providers(|_| {}).list(&request).await.unwrap();
    assert!(none.sets.is_empty() && !none.nil_when_empty);
    request.filter.semver = None;
    assert_eq!(each(&list(&request).await.unwrap(), "tag").len(), 1, "the limit holds");
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_come_from_the_secret_or_from_pull_secrets() {
    let registry = DockerRegistry::with_login("ann", "hunter2");
    push(&registry);
    let mut request = asked(&registry);
    let shown = format!("{}/shop/podinfo", registry.host());
    let refusal = list(&request).await.unwrap_err();
    let want = format!("failed to call OCI provider: failed to list OCI tags for '{shown}': unauthorized: ");
    assert!(refusal.starts_with(&want), "{refusal}");
    let config = json!({"auths": {registry.host(): {"username": "ann", "password": "hunter2"}}}).to_string();
    let login = secret(&[(".dockerconfigjson", &config)]);
    request.secret = login.clone();
    assert_eq!(each(&list(&request).await.unwrap(), "tag"), ["latest", "6.0.4", "6.0.3"]);
    request.secret = None;
    request.pull_secrets = login.into_iter().collect();
    assert_eq!(list(&request).await.unwrap().as_array().unwrap().len(), 3);
    request.secret = secret(&[("password", "x")]);
    let refusal = list(&request).await.unwrap_err();
    assert!(refusal.ends_with("invalid secret 'apps/auth': key '.dockerconfigjson' is missing"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_needs_to_be_allowed_and_certificates_count_more() {
    let registry = DockerRegistry::start();
    push(&registry);
    let mut request = asked(&registry);
    request.insecure = false;
    assert!(list(&request).await.unwrap_err().starts_with("failed to call OCI provider: failed to list OCI tags for "));
    request.insecure = true;
    assert!(list(&request).await.is_ok());
    request.certificates = secret(&[("ca.crt", include_str!("../../data/provider/ca.crt"))]);
    assert!(list(&request).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_not_there_is_told() {
    let registry = DockerRegistry::start();
    let refusal = list(&asked(&registry)).await.unwrap_err();
    assert!(refusal.contains("failed to list OCI tags for '127.0.0.1:"), "{refusal}");
    assert!(refusal.contains("name unknown"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_other_clouds_are_refused() {
    for (kind, cloud) in [
        (ProviderType::ACRArtifactTag, "Azure"),
        (ProviderType::ECRArtifactTag, "AWS"),
        (ProviderType::GARArtifactTag, "GCP"),
    ] {
        let refusal = list(&request(kind, "oci://ghcr.io/a/b".to_owned())).await.unwrap_err();
        assert!(refusal.contains(&format!("invalid {cloud} registry")), "{refusal}");
    }
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

/// What the clouds answer that hand out logins, all at one place.
fn cloud(seen: &Seen) -> Scripted {
    match seen.path.as_str() {
        "/v1/token" => {
            let provider = "%2F%2Fiam.googleapis.com%2Fprojects%2F1%2Flocations%2Fglobal%2FworkloadIdentityPools%2F";
            assert!(seen.body.contains(&format!("audience={provider}")), "{}", seen.body);
            assert!(seen.body.contains(&format!("subject_token=token-for-{provider}")), "{}", seen.body);
            Scripted::json(&json!({"access_token": "federated", "expires_in": 3600}))
        }
        "/v1/projects/-/serviceAccounts/me@p.iam.gserviceaccount.com:generateAccessToken" => {
            assert_eq!(seen.authorization.as_deref(), Some("Bearer federated"));
            Scripted::json(&json!({"accessToken": "secret-token", "expireTime": "2096-01-01T00:00:00Z"}))
        }
        "/t/oauth2/v2.0/token" => Scripted::json(&json!({"access_token": "entra", "expires_in": 3600})),
        "/oauth2/exchange" => {
            assert!(seen.body.contains("access_token=entra"));
            Scripted::json(&json!({"refresh_token": "secret-token"}))
        }
        "/" if seen.headers.contains_key("x-amz-target") => {
            let token = basic("AWS", "secret-token")["Basic ".len()..].to_owned();
            Scripted::json(&json!({"authorizationData": [{"authorizationToken": token}]}))
        }
        "/" => Scripted::new(
            200,
            "<A><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
             <SessionToken>x</SessionToken><Expiration>2096-01-01T00:00:00Z</Expiration></A>",
        ),
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn service_accounts_are_exchanged_for_logins_at_the_clouds_registries() {
    let google = [
        (
            "gcp.auth.fluxcd.io/workload-identity-provider",
            "projects/1/locations/global/workloadIdentityPools/p/providers/x",
        ),
        ("iam.gke.io/gcp-service-account", "me@p.iam.gserviceaccount.com"),
    ];
    let azure = [("azure.workload.identity/tenant-id", "t"), ("azure.workload.identity/client-id", "c")];
    let aws = [("eks.amazonaws.com/role-arn", "arn:aws:iam::1:role/x")];
    for (kind, host, user, annotations) in [
        (ProviderType::GARArtifactTag, "europe-docker.pkg.dev", "oauth2accesstoken", &google[..]),
        (ProviderType::ACRArtifactTag, "shop.azurecr.io", "00000000-0000-0000-0000-000000000000", &azure[..]),
        (ProviderType::ECRArtifactTag, "123456789012.dkr.ecr.eu-west-1.amazonaws.com", "AWS", &aws[..]),
    ] {
        let registry = scripted_registry("shop/web", &[("1.0.0", Image::made("2024-01-01T00:00:00Z"))]);
        let expected = basic(user, "secret-token");
        let double = Double::with_certificate(host, move |seen| match &seen.authorization {
            Some(found) if *found == expected => registry(seen),
            _ => Scripted::new(401, "").header("WWW-Authenticate", "Basic realm=\"cloud\""),
        });
        let logins = Double::start(cloud);
        let (base, through) = (logins.url(), Tunnel::to(double.port()));
        let (proxy, authority) = (through.url(), double.authority().as_bytes().to_vec());
        let providers = providers(|s| {
            s.authorities = Some(authority);
            s.proxies = Proxies { http: None, https: Some(proxy), exempt: Some("127.0.0.1".to_owned()) };
            s.google =
                Google { sts_endpoint: Some(base.clone()), iam_endpoint: Some(base.clone()), ..Google::default() };
            s.azure =
                Azure { authority: Some(base.clone()), exchange_endpoint: Some(base.clone()), ..Azure::default() };
            s.aws = Aws { sts_endpoint: Some(base.clone()), ecr_endpoint: Some(base), ..Aws::default() };
        });
        let mut request = request(kind, format!("oci://{host}/shop/web"));
        request.account = account(annotations);
        assert_eq!(each(&list_with(&providers, &request).await.unwrap(), "tag"), ["1.0.0"]);
        assert!(logins.seen().len() >= 2, "{kind}");
        assert!(through.hosts().iter().all(|seen| *seen == format!("{host}:443")));
    }
}
