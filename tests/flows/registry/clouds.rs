//! The clouds' registries, with each cloud played at the wire: their hosts are reached through a proxy that leads here.

use std::path::PathBuf;

use super::*;
use crate::rig::{Double, Image, Scripted, Seen, Tunnel, basic, scripted_registry};
use fluxd::registry::{Aws, Azure, Ecr, Google, Proxies};
use serde_json::json;

const ECR: &str = "123456789012.dkr.ecr.eu-west-1.amazonaws.com";

/// A registry that is reached under a name of a cloud, and lets one login in.
struct Cloud {
    double: Double,
    tunnel: Tunnel,
    host: &'static str,
}

impl Cloud {
    fn start(host: &'static str, user: &str, password: &str) -> Self {
        let registry = scripted_registry("shop/web", &[("1.0.0", Image::made("2024-01-01T00:00:00Z"))]);
        let expected = basic(user, password);
        let double = Double::with_tls(move |seen| match &seen.authorization {
            Some(found) if *found == expected => registry(seen),
            _ => Scripted::new(401, "").header("WWW-Authenticate", "Basic realm=\"cloud\""),
        });
        let tunnel = Tunnel::to(double.port());
        Self { double, tunnel, host }
    }

    /// Scans through the proxy until the image is known.
    async fn lets_in(&self, settings: Settings) {
        let proxies = Proxies { https: Some(self.tunnel.url()), ..Proxies::default() };
        let insecure_hosts = vec![self.host.to_owned()];
        let name = name(self.host, "shop/web");
        let scan = Scan::of(Settings { proxies, insecure_hosts, ..settings }, &name, "semver:*");
        assert_eq!(scan.complete(&name, "semver:*").await.tags, ["1.0.0"]);
        scan.end().await;
        assert!(self.tunnel.hosts().iter().all(|host| *host == format!("{}:443", self.host)));
        assert!(!self.double.seen().is_empty());
    }
}

/// ECR's API, which checks that requests are signed with these keys.
fn ecr_api(access: &'static str, session: Option<&'static str>) -> impl Fn(&Seen) -> Scripted {
    move |seen| {
        let credential = format!("AWS4-HMAC-SHA256 Credential={access}/");
        let signed = seen.authorization.as_deref().is_some_and(|auth| auth.starts_with(&credential));
        let target = seen.headers.get("x-amz-target").map(String::as_str);
        let session_fits = seen.headers.get("x-amz-security-token").map(String::as_str) == session;
        if !signed || !session_fits || target != Some("AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken") {
            return Scripted::new(403, "{}");
        }
        assert_eq!(seen.body, r#"{"registryIds":["123456789012"]}"#);
        let token = basic("AWS", "ecr-password")["Basic ".len()..].to_owned();
        Scripted::json(&json!({"authorizationData": [{
            "authorizationToken": token, "expiresAt": 4_000_000_000.5, "proxyEndpoint": format!("https://{ECR}"),
        }]}))
    }
}

fn file(content: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, content).unwrap();
    (folder, path)
}

fn with_aws(aws: Aws) -> Settings {
    Settings { ecr: Ecr { aws, ..Ecr::default() }, ..settings() }
}

#[tokio::test(flavor = "multi_thread")]
async fn ecr_is_used_with_keys_of_the_environment() {
    let cloud = Cloud::start(ECR, "AWS", "ecr-password");
    let api = Double::start(ecr_api("AKIAENV", None));
    let aws = Aws {
        region: Some("eu-west-1".to_owned()),
        access_key_id: Some("AKIAENV".to_owned()),
        secret_access_key: Some("secret".to_owned()),
        ecr_endpoint: Some(api.url()),
        ..Aws::default()
    };
    cloud.lets_in(with_aws(aws)).await;
    assert_eq!(api.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn ecr_is_used_with_a_web_identity() {
    let cloud = Cloud::start(ECR, "AWS", "ecr-password");
    let api = Double::start(ecr_api("ASIAWEB", Some("web-session")));
    let sts = Double::start(|seen| {
        assert!(
            seen.body.contains("Action=AssumeRoleWithWebIdentity") && seen.body.contains("WebIdentityToken=pod-token")
        );
        Scripted::new(
            200,
            "<A><Credentials><AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
             <SessionToken>web-session</SessionToken><Expiration>2096-01-01T00:00:00Z</Expiration></Credentials></A>",
        )
    });
    let (_folder, token) = file("pod-token\n");
    let aws = Aws {
        region: Some("eu-west-1".to_owned()),
        web_identity_token_file: Some(token),
        role_arn: Some("arn:aws:iam::123456789012:role/flux".to_owned()),
        ecr_endpoint: Some(api.url()),
        sts_endpoint: Some(sts.url()),
        ..Aws::default()
    };
    cloud.lets_in(with_aws(aws)).await;
    assert_eq!(sts.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn ecr_is_used_with_the_machines_role_and_region() {
    let cloud = Cloud::start(ECR, "AWS", "ecr-password");
    let api = Double::start(ecr_api("ASIAEC2", Some("ec2-session")));
    let metadata = Double::start(|seen| {
        if (seen.method.as_str(), seen.path.as_str()) == ("PUT", "/latest/api/token") {
            return Scripted::new(200, "imds-token");
        }
        if seen.headers.get("x-aws-ec2-metadata-token").map(String::as_str) != Some("imds-token") {
            return Scripted::new(401, "");
        }
        match seen.path.as_str() {
            "/latest/meta-data/placement/region" => Scripted::new(200, "eu-west-1"),
            "/latest/meta-data/iam/security-credentials/" => Scripted::new(200, "node-role"),
            _ => Scripted::json(&json!({"AccessKeyId": "ASIAEC2", "SecretAccessKey": "s", "Token": "ec2-session",
                                        "Expiration": "2096-01-01T00:00:00Z"})),
        }
    });
    let aws = Aws { ecr_endpoint: Some(api.url()), metadata_endpoint: Some(metadata.url()), ..Aws::default() };
    let settings = with_aws(aws);
    Registry::new(settings.clone()).unwrap().check_ecr().await.unwrap();
    cloud.lets_in(settings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_aws_refuses_does_not_cost_the_others_their_logins() {
    let cloud = Cloud::start(ECR, "AWS", "ecr-password");
    let answer = ecr_api("AKIAENV", None);
    let api = Double::start(move |seen| match seen.body.contains("999999999999") {
        true => Scripted::new(400, "{}"),
        false => answer(seen),
    });
    let aws = Aws {
        region: Some("eu-west-1".to_owned()),
        access_key_id: Some("AKIAENV".to_owned()),
        secret_access_key: Some("secret".to_owned()),
        ecr_endpoint: Some(api.url()),
        ..Aws::default()
    };
    let proxies = Proxies { https: Some(cloud.tunnel.url()), ..Proxies::default() };
    let insecure_hosts = vec![ECR.to_owned(), "999999999999.dkr.ecr.eu-west-1.amazonaws.com".to_owned()];
    let refused = name(&insecure_hosts[1], "shop/web");
    let scan = Scan::of(Settings { proxies, insecure_hosts, ..with_aws(aws) }, &refused, "semver:*");
    scan.failure(&refused).await;
    let name = name(ECR, "shop/web");
    scan.want(&name, want("semver:*"));
    assert_eq!(scan.complete(&name, "semver:*").await.tags, ["1.0.0"]);
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ecr_images_of_other_accounts_and_regions_are_not_scanned() {
    let cloud = Cloud::start(ECR, "AWS", "ecr-password");
    let only = |regions: &[&str], include: &[&str], exclude: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Ecr { regions: owned(regions), include_ids: owned(include), exclude_ids: owned(exclude), aws: Aws::default() }
    };
    let name = name(ECR, "shop/web");
    for (ecr, reason) in [
        (only(&["us-east-1"], &[], &[]), "the AWS region eu-west-1 is not one of [us-east-1]"),
        (only(&["eu-west-1"], &["999"], &[]), "the AWS account 123456789012 is not included"),
        (only(&["eu-west-1"], &[], &["123456789012"]), "the AWS account 123456789012 is excluded"),
    ] {
        let registry = Registry::new(Settings { ecr, ..settings() }).unwrap();
        let refusal = registry.ensure(&name, &[]).await.unwrap_err().to_string();
        assert_eq!(refusal, format!("{name} is not scanned: {reason}"));
    }
    assert_eq!(cloud.double.seen().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn googles_registries_get_the_machines_token() {
    for host in ["eu.gcr.io", "europe-docker.pkg.dev"] {
        let cloud = Cloud::start(host, "oauth2accesstoken", "google-token");
        let metadata = Double::start(|seen| {
            assert_eq!(seen.path, "/computeMetadata/v1/instance/service-accounts/default/token");
            assert_eq!(seen.headers["metadata-flavor"], "Google");
            Scripted::json(&json!({"access_token": "google-token", "expires_in": 3599, "token_type": "Bearer"}))
        });
        let google = Google { metadata_endpoint: Some(metadata.url()), ..Google::default() };
        cloud.lets_in(Settings { google, ..settings() }).await;
        assert_eq!(metadata.seen().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn microsofts_registries_get_the_service_principal() {
    let cloud = Cloud::start("shop.azurecr.io", "client", "principal-secret");
    let (_folder, config) = file(r#"{"aadClientId":"client","aadClientSecret":"principal-secret"}"#);
    cloud.lets_in(Settings { azure: Azure { config: Some(config), ..Azure::default() }, ..settings() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn microsofts_registries_get_the_exchanged_workload_identity() {
    let cloud = Cloud::start("shop.azurecr.io", "00000000-0000-0000-0000-000000000000", "refresh");
    let service = Double::start(|seen| match seen.path.as_str() {
        "/tenant/oauth2/v2.0/token" if seen.body.contains("client_assertion=federated") => {
            Scripted::json(&json!({"access_token": "entra"}))
        }
        "/oauth2/exchange"
            if seen.body.contains("access_token=entra") && seen.body.contains("service=shop.azurecr.io") =>
        {
            Scripted::json(&json!({"refresh_token": "refresh"}))
        }
        _ => Scripted::new(400, ""),
    });
    let (_folder, token) = file("federated\n");
    let azure = Azure {
        client_id: Some("client".to_owned()),
        tenant_id: Some("tenant".to_owned()),
        federated_token_file: Some(token),
        authority: Some(service.url()),
        exchange_endpoint: Some(service.url()),
        ..Azure::default()
    };
    cloud.lets_in(Settings { azure, ..settings() }).await;
    assert_eq!(service.seen().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn explicit_credentials_win_over_the_clouds() {
    let cloud = Cloud::start("gcr.io", "ann", "hunter2");
    let metadata = Double::start(|_| Scripted::new(500, ""));
    let settings = Settings {
        google: Google { metadata_endpoint: Some(metadata.url()), ..Google::default() },
        proxies: Proxies { https: Some(cloud.tunnel.url()), ..Proxies::default() },
        insecure_hosts: vec!["gcr.io".to_owned()],
        ..settings()
    };
    let name = name("gcr.io", "shop/web");
    let scan = Scan::start(settings);
    scan.want(&name, Want { credentials: login("https://gcr.io", "ann", "hunter2"), ..want("semver:*") });
    scan.complete(&name, "semver:*").await;
    scan.end().await;
    assert_eq!(metadata.seen().len(), 0);
}
