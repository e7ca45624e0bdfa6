//! Google: the Security Token Service, service accounts that others may act as, GKE's pool and other clusters' providers.

use fluxd::registry::Google;
use jiff::Timestamp;
use serde_json::json;

use super::*;

const HOST: &str = "europe-west1-docker.pkg.dev";
const PROVIDER: &str = "projects/1/locations/global/workloadIdentityPools/pool/providers/cluster";
const GKE: &str = "identitynamespace:shop.svc.id.goog:https://container.googleapis.com/v1/projects/shop/locations/\
                   europe-west1/clusters/prod";

fn metadata(seen: &Seen) -> Scripted {
    assert_eq!(seen.headers["metadata-flavor"], "Google");
    let value = match seen.path.as_str() {
        "/computeMetadata/v1/project/project-id" => "shop",
        "/computeMetadata/v1/instance/attributes/cluster-location" => "europe-west1",
        "/computeMetadata/v1/instance/attributes/cluster-name" => "prod",
        _ => return Scripted::new(404, ""),
    };
    Scripted::new(200, value)
}

/// The token service for one subject and audience.
fn sts(subject: String, audience: String) -> impl Fn(&Seen) -> Scripted {
    move |seen| {
        let form = form(seen);
        assert_eq!(seen.path, "/v1/token");
        assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:token-exchange");
        assert_eq!(form["subject_token_type"], "urn:ietf:params:oauth:token-type:jwt");
        assert_eq!((&form["subject_token"], &form["audience"]), (&subject, &audience));
        Scripted::json(&json!({"access_token": "federated", "expires_in": 3599, "token_type": "Bearer"}))
    }
}

fn tags(account: Option<&Account>) -> Request {
    request(ProviderType::GARArtifactTag, &format!("oci://{HOST}/shop/web"), account)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_of_a_cluster_of_googles_lists_as_itself() {
    let registry = CloudRegistry::start("oauth2accesstoken", "federated");
    let metadata = Double::start(metadata);
    let sts = Double::start(sts("jwt-for-shop.svc.id.goog".to_owned(), GKE.to_owned()));
    let google = Google { metadata_endpoint: Some(metadata.url()), sts_endpoint: Some(sts.url()), ..Google::default() };
    let providers = providers(Settings { proxies: registry.proxies(), google, ..Settings::default() });
    let robot = robot(&[]);
    for _ in 0..2 {
        assert_eq!(each(&list(&providers, &tags(Some(&robot.account))).await.unwrap(), "tag"), ["1.0.0"]);
    }
    registry.was_asked_as(HOST);
    assert_eq!((robot.audiences(), sts.seen().len()), (vec!["shop.svc.id.goog".into()], 1));
    assert_eq!(metadata.seen().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_of_any_other_cluster_acts_as_a_service_account_of_googles() {
    let registry = CloudRegistry::start("oauth2accesstoken", "impersonated");
    let audience = format!("//iam.googleapis.com/{PROVIDER}");
    let sts = Double::start(sts(format!("jwt-for-{audience}"), audience.clone()));
    let iam = Double::start(|seen| {
        let account = "flux@shop.iam.gserviceaccount.com";
        assert_eq!(seen.path, format!("/v1/projects/-/serviceAccounts/{account}:generateAccessToken"));
        assert_eq!(seen.authorization.as_deref(), Some("Bearer federated"));
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        assert_eq!(body["scope"][0], "https://www.googleapis.com/auth/cloud-platform");
        let until = Timestamp::now() + std::time::Duration::from_secs(3600);
        Scripted::json(&json!({"accessToken": "impersonated", "expireTime": until.to_string()}))
    });
    let google = Google { sts_endpoint: Some(sts.url()), iam_endpoint: Some(iam.url()), ..Google::default() };
    let providers = providers(Settings { proxies: registry.proxies(), google, ..Settings::default() });
    let robot = robot(&[
        ("gcp.auth.fluxcd.io/workload-identity-provider", PROVIDER),
        ("iam.gke.io/gcp-service-account", "flux@shop.iam.gserviceaccount.com"),
    ]);
    for _ in 0..2 {
        assert_eq!(each(&list(&providers, &tags(Some(&robot.account))).await.unwrap(), "tag"), ["1.0.0"]);
    }
    assert_eq!((robot.audiences(), sts.seen().len(), iam.seen().len()), (vec![audience], 1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_account_the_machine_is_asked_for_its_own_token() {
    let registry = CloudRegistry::start("oauth2accesstoken", "machine");
    let metadata = Double::start(|seen| {
        assert_eq!(seen.path, "/computeMetadata/v1/instance/service-accounts/default/token");
        Scripted::json(&json!({"access_token": "machine", "expires_in": 3599, "token_type": "Bearer"}))
    });
    let google = Google { metadata_endpoint: Some(metadata.url()), ..Google::default() };
    let providers = providers(Settings { proxies: registry.proxies(), google, ..Settings::default() });
    for _ in 0..2 {
        assert_eq!(each(&list(&providers, &tags(None)).await.unwrap(), "tag"), ["1.0.0"]);
    }
    assert_eq!(metadata.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_an_identity_of_googles_is_refused_before_anybody_is_asked() {
    let nobody = Double::start(|_| Scripted::new(500, ""));
    let google = Google {
        metadata_endpoint: Some(nobody.url()),
        sts_endpoint: Some(nobody.url()),
        iam_endpoint: Some(nobody.url()),
    };
    let providers = providers(Settings { google, ..Settings::default() });
    for (key, value) in [
        ("iam.gke.io/gcp-service-account", "x/../../admin@shop.iam.gserviceaccount.com"),
        ("gcp.auth.fluxcd.io/workload-identity-provider", "projects/1/secrets/x"),
    ] {
        let robot = robot(&[(key, value)]);
        let refusal = list(&providers, &tags(Some(&robot.account))).await.unwrap_err();
        assert!(refusal.contains(&format!("invalid {key} annotation: '{value}'. must match ")), "{refusal}");
        assert_eq!(robot.audiences().len(), 0);
    }
    assert_eq!(nobody.seen().len(), 0);
    let refusal = list(&providers, &tags(Some(&robot(&[]).account))).await.unwrap_err();
    assert!(
        refusal.contains(
            "failed to get provider audience: failed to get GKE cluster project ID from the metadata \
                              service: HTTP status 500"
        ),
        "{refusal}"
    );
}
