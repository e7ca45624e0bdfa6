//! Microsoft's registries: the service principal of `azure.json`, as in v1, or the pod's workload identity, whose token is
//! exchanged twice: for one of Entra ID, and that for one of the registry.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderName, Method, header};
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::super::wire::{Asked, Http};
use super::super::{Azure, Credentials, Error, Login};
use super::said::refusal;
use super::{failed, only};

const CONFIG: &str = "/etc/kubernetes/azure.json";
const AUTHORITY: &str = "https://login.microsoftonline.com";
pub(super) const SCOPE: &str = "https://containerregistry.azure.net/.default";
/// The user that goes with a registry's refresh token.
const USER: &str = "00000000-0000-0000-0000-000000000000";
/// Refresh tokens are good for three hours.
pub(super) const VALID: Duration = Duration::from_secs(2 * 3600);
/// Longer validities are not believed.
const LONGEST: u64 = 86_400;
const METADATA: &str = "http://169.254.169.254";
/// How long a host is left alone when the exchange failed.
const EMBARGO: Duration = Duration::from_secs(600);
/// Bytes of an answer with a token.
const LIMIT: usize = 1 << 20;

pub(super) struct Tokens {
    settings: Azure,
    config: PathBuf,
    hosts: Mutex<HashMap<String, (Instant, Option<Login>)>>,
}

/// Whether a host is one of Microsoft's registries.
pub(super) fn is_host(host: &str) -> bool {
    [".azurecr.io", ".azurecr.cn", ".azurecr.de", ".azurecr.us"]
        .iter()
        .any(|end| host.len() > end.len() && host.ends_with(end))
}

impl Tokens {
    pub(super) fn new(settings: &Azure) -> Self {
        let config = settings.config.clone().unwrap_or_else(|| PathBuf::from(CONFIG));
        Self { settings: settings.clone(), config, hosts: Mutex::default() }
    }

    pub(super) async fn find(&self, http: &Http, host: &str) -> Result<Option<Credentials>, Error> {
        let Azure { client_id: Some(client), tenant_id: Some(tenant), federated_token_file: Some(file), .. } =
            &self.settings
        else {
            return self.principal(host).await;
        };
        let mut hosts = self.hosts.lock().await;
        if let Some((until, login)) = hosts.get(host)
            && *until > Instant::now()
        {
            return Ok(login.clone().map(|login| only(host, login)));
        }
        let identity = Identity { client, tenant, file };
        let exchanged = self.exchange(http, host, &identity).await;
        let until = Instant::now() + if exchanged.is_ok() { VALID } else { EMBARGO };
        hosts.insert(host.to_owned(), (until, exchanged.as_ref().ok().cloned()));
        exchanged.map(|login| Some(only(host, login)))
    }

    async fn exchange(&self, http: &Http, host: &str, identity: &Identity<'_>) -> Result<Login, Error> {
        let assertion = tokio::fs::read_to_string(identity.file).await.map_err(|e| {
            failed(host, format!("reading the workload identity's token {}: {e}", identity.file.display()))
        })?;
        let proof = Proof::Assertion(assertion.trim());
        let claim = Claim { client: identity.client, tenant: identity.tenant, proof, scope: SCOPE };
        let (access, _) = token(http, &self.settings, host, &claim).await?;
        registry_login(http, &self.settings, host, Some(identity.tenant), &access).await
    }

    /// The cluster's service principal; no file means that this is no such cluster.
    async fn principal(&self, host: &str) -> Result<Option<Credentials>, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Principal {
            #[serde(default)]
            aad_client_id: String,
            #[serde(default)]
            aad_client_secret: String,
        }
        let text = match tokio::fs::read(&self.config).await {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(host, format!("reading {}: {error}", self.config.display()))),
        };
        let read: Principal = serde_json::from_slice(&text).map_err(|_| {
            failed(host, format!("{}: expected JSON with aadClientId and aadClientSecret", self.config.display()))
        })?;
        // "msi" stands for a managed identity, which has no secret
        if read.aad_client_id.is_empty() || read.aad_client_id == "msi" || read.aad_client_secret.is_empty() {
            return Ok(None);
        }
        Ok(Some(only(host, Login::new(read.aad_client_id, read.aad_client_secret, self.config.display().to_string()))))
    }
}

struct Identity<'a> {
    client: &'a str,
    tenant: &'a str,
    file: &'a Path,
}

/// Who asks for a token, and for what.
pub(super) struct Claim<'a> {
    pub(super) client: &'a str,
    pub(super) tenant: &'a str,
    pub(super) proof: Proof<'a>,
    pub(super) scope: &'a str,
}

/// What shows that a client is who it says.
#[derive(Clone, Copy)]
pub(super) enum Proof<'a> {
    /// A service account's token.
    Assertion(&'a str),
    /// A secret.
    Secret(&'a str),
}

/// Asks Entra ID for a token, and says how long that is good for.
pub(super) async fn token(
    http: &Http,
    settings: &Azure,
    host: &str,
    claim: &Claim<'_>,
) -> Result<(String, Duration), Error> {
    let authority = settings.authority.as_deref().unwrap_or(AUTHORITY).trim_end_matches('/');
    let mut form = vec![("client_id", claim.client), ("grant_type", "client_credentials"), ("scope", claim.scope)];
    let secret = match claim.proof {
        Proof::Assertion(assertion) => {
            form.push(("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"));
            form.push(("client_assertion", assertion));
            assertion
        }
        Proof::Secret(secret) => {
            form.push(("client_secret", secret));
            secret
        }
    };
    let url = format!("{authority}/{}/oauth2/v2.0/token", claim.tenant);
    access(post(http, host, &url, &form, secret).await?, host, "Entra ID")
}

/// A token for the machine's own identity, or for one of several that it has.
pub(super) async fn machine_token(http: &Http, settings: &Azure, scope: &str) -> Result<(String, Duration), Error> {
    let host = "Azure";
    let base = settings.metadata_endpoint.as_deref().unwrap_or(METADATA);
    let url = format!("{}/metadata/identity/oauth2/token", base.trim_end_matches('/'));
    let mut url: Url = url.parse().map_err(|_| failed(host, "the metadata server's address cannot be read"))?;
    let resource = scope.trim_end_matches("/.default");
    url.query_pairs_mut().append_pair("api-version", "2018-02-01").append_pair("resource", resource);
    if let Some(client) = &settings.client_id {
        url.query_pairs_mut().append_pair("client_id", client);
    }
    let asked = Asked::metadata(url).header(HeaderName::from_static("metadata"), "true");
    access(answer(http, host, asked, "").await?, host, "the metadata server")
}

fn access(answer: Answer, host: &str, service: &str) -> Result<(String, Duration), Error> {
    let valid = Duration::from_secs(answer.valid().min(LONGEST));
    let access =
        answer.access_token.ok_or_else(|| failed(host, format!("{service}'s answer holds no access token")))?;
    Ok((access, valid))
}

/// Exchanges a token of Entra ID for a login at a registry.
pub(super) async fn registry_login(
    http: &Http,
    settings: &Azure,
    host: &str,
    tenant: Option<&str>,
    access: &str,
) -> Result<Login, Error> {
    let registry = settings.exchange_endpoint.clone().unwrap_or_else(|| format!("https://{host}"));
    let mut form = vec![("grant_type", "access_token"), ("service", host)];
    form.extend(tenant.map(|tenant| ("tenant", tenant)));
    form.push(("access_token", access));
    let url = format!("{}/oauth2/exchange", registry.trim_end_matches('/'));
    let refresh = post(http, host, &url, &form, access).await?.refresh_token;
    let refresh = refresh.ok_or_else(|| failed(host, "the registry's answer holds no refresh token"))?;
    Ok(Login::new(USER, refresh, "Azure workload identity"))
}

#[derive(Deserialize)]
struct Answer {
    access_token: Option<String>,
    refresh_token: Option<String>,
    /// Seconds: a number from Entra ID, a text from metadata servers.
    #[serde(default)]
    expires_in: serde_json::Value,
}

impl Answer {
    fn valid(&self) -> u64 {
        let text = || self.expires_in.as_str().and_then(|text| text.parse().ok());
        self.expires_in.as_u64().or_else(text).unwrap_or(0)
    }
}

/// Posts a form; neither it nor the answer is ever shown, but for the reason of a refusal.
async fn post(http: &Http, host: &str, url: &str, form: &[(&str, &str)], secret: &str) -> Result<Answer, Error> {
    let url: Url = url.parse().map_err(|_| failed(host, "a token service's address cannot be read"))?;
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let asked = Asked { method: Method::POST, body: Some(body.into_bytes()), ..Asked::get(url, LIMIT) };
    answer(http, host, asked.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded"), secret).await
}

async fn answer(http: &Http, host: &str, asked: Asked, secret: &str) -> Result<Answer, Error> {
    let service = asked.url.host_str().unwrap_or_default().to_owned();
    let reply = http.send(asked).await?;
    if !reply.status.is_success() {
        let said = refusal(reply.status.as_u16(), &reply.body, &[secret]);
        return Err(failed(host, format!("{service} answered with {said}")));
    }
    serde_json::from_slice(&reply.body).map_err(|_| failed(host, format!("expected JSON with a token from {service}")))
}
