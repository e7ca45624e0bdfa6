//! Microsoft: Entra ID's client assertions, Azure DevOps with its tokens, the exchange of registries, machines' identities.

use fluxd::provider::Endpoints;
use fluxd::registry::Azure;
use serde_json::json;

use super::*;

const HOST: &str = "shop.azurecr.io";
const USER: &str = "00000000-0000-0000-0000-000000000000";
const DEVOPS: &str = "499b84ac-1321-427f-aa17-267ca6975798/.default";
const REGISTRIES: &str = "https://containerregistry.azure.net/.default";
const WHO: [(&str, &str); 2] =
    [("azure.workload.identity/tenant-id", "contoso"), ("azure.workload.identity/client-id", "c0ffee")];

/// Entra ID for one kind of proof, and a registry's exchange.
fn entra(proof: (&'static str, &'static str), scope: &'static str) -> impl Fn(&Seen) -> Scripted {
    move |seen| {
        let form = form(seen);
        match seen.path.as_str() {
            "/contoso/oauth2/v2.0/token" => {
                let fits = form["client_id"] == "c0ffee" && form["grant_type"] == "client_credentials";
                assert!(fits && form["scope"] == scope && form[proof.0] == proof.1, "{form:?}");
                Scripted::json(&json!({"access_token": "entra-token", "expires_in": 3599, "token_type": "Bearer"}))
            }
            "/oauth2/exchange" => {
                let fits = form["grant_type"] == "access_token" && form["access_token"] == "entra-token";
                assert!(fits && form["service"] == HOST, "{form:?}");
                Scripted::json(&json!({"refresh_token": "refresh"}))
            }
            other => panic!("{other}"),
        }
    }
}

fn devops(seen: &Seen) -> Scripted {
    if seen.authorization.as_deref() != Some(basic("", "entra-token").as_str()) {
        return Scripted::new(401, "");
    }
    Scripted::json(&json!({"value": [{"name": "main", "commit": {"commitId": "c0ffee"}}]}))
}

fn branches(account: Option<&Account>) -> Request {
    request(ProviderType::AzureDevOpsBranch, "https://dev.azure.com/org/project/_git/shop", account)
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_of_acr_are_listed_as_the_client_of_an_account_and_its_login_is_kept() {
    let registry = CloudRegistry::start(USER, "refresh");
    let service = Double::start(entra(("client_assertion", "jwt-for-api://AzureADTokenExchange"), REGISTRIES));
    let azure = Azure { authority: Some(service.url()), exchange_endpoint: Some(service.url()), ..Azure::default() };
    let providers = providers(Settings { proxies: registry.proxies(), azure, ..Settings::default() });
    let robot = robot(&WHO);
    let asked = request(ProviderType::ACRArtifactTag, &format!("oci://{HOST}/shop/web"), Some(&robot.account));
    for _ in 0..2 {
        assert_eq!(each(&list(&providers, &asked).await.unwrap(), "tag"), ["1.0.0"]);
    }
    registry.was_asked_as(HOST);
    assert_eq!((robot.audiences(), service.seen().len()), (vec!["api://AzureADTokenExchange".into()], 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn azure_devops_takes_a_token_for_its_own_scope_as_a_password() {
    let service = Double::start(entra(("client_assertion", "jwt-for-api://AzureADTokenExchange"), DEVOPS));
    let host = Double::start(devops);
    let azure = Azure { authority: Some(service.url()), ..Azure::default() };
    let endpoints = Endpoints { azure_devops: Some(host.url()), ..Endpoints::default() };
    let settings = Settings { azure, endpoints, ..Settings::default() };
    let robot = robot(&WHO);
    let kept = providers(settings.clone());
    for _ in 0..2 {
        assert_eq!(each(&list(&kept, &branches(Some(&robot.account))).await.unwrap(), "branch"), ["main"]);
    }
    assert_eq!(service.seen().len(), 1);
    let forgetful = providers(Settings { token_cache_size: 0, ..settings });
    for _ in 0..2 {
        list(&forgetful, &branches(Some(&robot.account))).await.unwrap();
    }
    assert_eq!(service.seen().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_account_the_process_is_who_its_environment_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "federated\n").unwrap();
    let host = Double::start(devops);
    let endpoints = Endpoints { azure_devops: Some(host.url()), ..Endpoints::default() };
    let ours = Azure { client_id: Some("c0ffee".into()), tenant_id: Some("contoso".into()), ..Azure::default() };
    for (azure, proof) in [
        (Azure { federated_token_file: Some(file), ..ours.clone() }, ("client_assertion", "federated")),
        (Azure { client_secret: Some("hunter22".into()), ..ours }, ("client_secret", "hunter22")),
    ] {
        let service = Double::start(entra(proof, DEVOPS));
        let azure = Azure { authority: Some(service.url()), ..azure };
        let providers = providers(Settings { azure, endpoints: endpoints.clone(), ..Settings::default() });
        assert_eq!(each(&list(&providers, &branches(None)).await.unwrap(), "branch"), ["main"]);
    }
    let machine = Double::start(|seen| {
        assert_eq!(seen.headers["metadata"], "true");
        let resource = "499b84ac-1321-427f-aa17-267ca6975798";
        let path = "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=";
        assert_eq!(seen.path, format!("{path}{resource}"));
        Scripted::json(&json!({"access_token": "entra-token", "expires_in": "86399", "token_type": "Bearer"}))
    });
    let azure = Azure { metadata_endpoint: Some(machine.url()), ..Azure::default() };
    let providers = providers(Settings { azure, endpoints, ..Settings::default() });
    assert_eq!(each(&list(&providers, &branches(None)).await.unwrap(), "branch"), ["main"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_entra_does_not_know_is_told_in_its_words_without_the_token() {
    let service = Double::start(|seen| {
        let assertion = &form(seen)["client_assertion"];
        let description = format!("AADSTS70021: No matching federated identity record found for {assertion}");
        let said = json!({"error": "invalid_client", "error_description": description});
        Scripted::new(401, said.to_string())
    });
    let azure = Azure { authority: Some(service.url()), ..Azure::default() };
    let providers = providers(Settings { azure, ..Settings::default() });
    let refusal = list(&providers, &branches(Some(&robot(&WHO).account))).await.unwrap_err();
    let begun =
        "failed to create Git provider: failed to create provider access token for service account 'apps/robot': ";
    assert!(refusal.starts_with(begun), "{refusal}");
    assert!(
        refusal.ends_with(
            "HTTP status 401: invalid_client: AADSTS70021: No matching federated identity record \
                               found for <redacted>"
        ),
        "{refusal}"
    );
}
