//! Identities at clouds: the process's own, or that of a service account, whose token a cloud exchanges for one of its own
//! (resourceset §8.4). Nothing is kept here but what belongs to the process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::{HeaderName, Method, header};
use jiff::Timestamp;
use serde::Deserialize;

use super::super::wire::{Asked, Http};
use super::super::{Error, Google, Login, Settings};
use super::aws::{self, Role};
use super::sign::AwsKeys;
use super::{azure, ecr, failed, google};

const ROLE: &str = "eks.amazonaws.com/role-arn";
const TENANT: &str = "azure.workload.identity/tenant-id";
const CLIENT: &str = "azure.workload.identity/client-id";
const GOOGLE_ACCOUNT: &str = "iam.gke.io/gcp-service-account";
const GOOGLE_PROVIDER: &str = "gcp.auth.fluxcd.io/workload-identity-provider";
const GOOGLE_METADATA: &str = "http://metadata.google.internal";
const GOOGLE_SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Bytes of an answer with a token.
const LIMIT: usize = 1 << 20;

/// Asks the cluster for a service account's token for an audience.
#[derive(Clone)]
pub struct Oidc(pub Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync>);

impl fmt::Debug for Oidc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Oidc")
    }
}

/// A service account as clouds see it.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its annotations, which say who it is at a cloud.
    pub annotations: BTreeMap<String, String>,
    /// Where its tokens come from.
    pub oidc: Oidc,
}

impl Account {
    fn annotation(&self, cloud: &str, what: &str, key: &str) -> Result<&str, Error> {
        let found = self.annotations.get(key).map(|value| value.trim()).filter(|value| !value.is_empty());
        found.ok_or_else(|| failed(cloud, format!("{what} is not set in the service account annotation {key}")))
    }

    async fn token(&self, cloud: &str, audience: &str) -> Result<String, Error> {
        let asked = (self.oidc.0)(audience.to_owned()).await;
        let who = format!("{}/{}", self.namespace, self.name);
        asked.map_err(|e| failed(cloud, format!("failed to create a token of the service account '{who}': {e}")))
    }
}

/// The clouds.
pub struct Clouds {
    http: Http,
    settings: Settings,
    aws: aws::Identity,
    google: google::Tokens,
}

impl fmt::Debug for Clouds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clouds")
    }
}

impl Clouds {
    /// Makes one.
    ///
    /// # Errors
    /// When a proxy's URL is none.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let (aws, google) = (aws::Identity::new(&settings.ecr.aws), google::Tokens::new(&settings.google));
        Ok(Self { http: Http::new(&settings)?, aws, google, settings })
    }

    /// Keys of AWS in a region.
    ///
    /// # Errors
    /// When the account names no role, or AWS hands out no keys.
    pub async fn aws_keys(&self, region: &str, account: Option<&Account>) -> Result<AwsKeys, Error> {
        let Some(account) = account else { return self.aws.get(&self.http, region).await };
        let role = account.annotation("AWS", "AWS role ARN", ROLE)?;
        let token = account.token("AWS", "sts.amazonaws.com").await?;
        let session: String = format!("{}.{}", account.namespace, account.name).chars().take(64).collect();
        let role = Role { region, role, session: &session, token: &token };
        Ok(aws::assume(&self.http, &self.settings.ecr.aws, &role).await?.0)
    }

    /// A token of Azure for a scope, and how long it is good for.
    ///
    /// # Errors
    /// When the account (or the process) names no tenant or client, or Azure hands out no token.
    pub async fn azure_token(&self, scope: &str, account: Option<&Account>) -> Result<(String, Duration), Error> {
        let own = &self.settings.azure;
        let (tenant, client, assertion);
        match account {
            Some(account) => {
                tenant = account.annotation("Azure", "azure tenant ID", TENANT)?;
                client = account.annotation("Azure", "azure client ID", CLIENT)?;
                assertion = account.token("Azure", "api://AzureADTokenExchange").await?;
            }
            None => {
                let (Some(own_tenant), Some(own_client), Some(file)) =
                    (&own.tenant_id, &own.client_id, &own.federated_token_file)
                else {
                    let reason = "the process has no workload identity: expected AZURE_TENANT_ID, AZURE_CLIENT_ID and \
                                  AZURE_FEDERATED_TOKEN_FILE, or a service account";
                    return Err(failed("Azure", reason));
                };
                (tenant, client) = (own_tenant.as_str(), own_client.as_str());
                let read = tokio::fs::read_to_string(file).await;
                assertion = read.map_err(|e| failed("Azure", format!("reading the token {}: {e}", file.display())))?;
            }
        }
        let claim = azure::Claim { client, tenant, assertion: assertion.trim(), scope };
        azure::token(&self.http, own, "Azure", &claim).await
    }

    /// A token of Google, and how long it is good for.
    ///
    /// # Errors
    /// When Google hands out no token.
    pub async fn google_token(&self, account: Option<&Account>) -> Result<(String, Duration), Error> {
        let Some(account) = account else {
            let token = self.google.token(&self.http, "Google").await?;
            let token = token.ok_or_else(|| failed("Google", "the metadata server does not answer"))?;
            // kept by its own cache
            return Ok((token, Duration::ZERO));
        };
        let provider = account.annotations.get(GOOGLE_PROVIDER);
        let (subject, audience) = match provider {
            Some(provider) => {
                let audience = format!("//iam.googleapis.com/{}", provider.trim().trim_start_matches('/'));
                (account.token("Google", &format!("https:{audience}")).await?, audience)
            }
            None => self.gke(account).await?,
        };
        let federated = self.federate(&subject, &audience).await?;
        match account.annotations.get(GOOGLE_ACCOUNT).map(|email| email.trim()).filter(|email| !email.is_empty()) {
            Some(email) => self.impersonate(email, &federated.0).await,
            None => Ok(federated),
        }
    }

    /// A token of an account for GKE's own pool, and the audience that goes with it.
    async fn gke(&self, account: &Account) -> Result<(String, String), Error> {
        let project = self.metadata("project/project-id").await?;
        let location = self.metadata("instance/attributes/cluster-location").await?;
        let cluster = self.metadata("instance/attributes/cluster-name").await?;
        let pool = format!("{project}.svc.id.goog");
        let host =
            format!("https://container.googleapis.com/v1/projects/{project}/locations/{location}/clusters/{cluster}");
        let token = account.token("Google", &pool).await?;
        Ok((token, format!("identitynamespace:{pool}:{host}")))
    }

    async fn metadata(&self, what: &str) -> Result<String, Error> {
        let base = self.settings.google.metadata_endpoint.as_deref().unwrap_or(GOOGLE_METADATA);
        let url = format!("{}/computeMetadata/v1/{what}", base.trim_end_matches('/'));
        let url = url.parse().map_err(|_| failed("Google", "the metadata server's address cannot be read"))?;
        let asked = Asked::metadata(url).header(HeaderName::from_static("metadata-flavor"), "Google");
        let reply = self.http.send(asked).await?;
        if !reply.status.is_success() {
            return Err(failed(
                "Google",
                format!("the metadata server answered with HTTP status {}", reply.status.as_u16()),
            ));
        }
        Ok(String::from_utf8_lossy(&reply.body).trim().to_owned())
    }

    async fn federate(&self, subject: &str, audience: &str) -> Result<(String, Duration), Error> {
        #[derive(Deserialize)]
        struct Answer {
            access_token: String,
            #[serde(default)]
            expires_in: u64,
        }
        let Google { sts_endpoint, .. } = &self.settings.google;
        let base = sts_endpoint.as_deref().unwrap_or("https://sts.googleapis.com");
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
            .append_pair("requested_token_type", "urn:ietf:params:oauth:token-type:access_token")
            .append_pair("subject_token_type", "urn:ietf:params:oauth:token-type:jwt")
            .append_pair("scope", GOOGLE_SCOPE)
            .append_pair("audience", audience)
            .append_pair("subject_token", subject)
            .finish();
        let answer: Answer = self.post(&format!("{}/v1/token", base.trim_end_matches('/')), form, None).await?;
        Ok((answer.access_token, Duration::from_secs(answer.expires_in.min(86_400))))
    }

    async fn impersonate(&self, email: &str, token: &str) -> Result<(String, Duration), Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            access_token: String,
            expire_time: Timestamp,
        }
        let base = self.settings.google.iam_endpoint.as_deref().unwrap_or("https://iamcredentials.googleapis.com");
        let url = format!("{}/v1/projects/-/serviceAccounts/{email}:generateAccessToken", base.trim_end_matches('/'));
        let body = serde_json::json!({ "scope": [GOOGLE_SCOPE] }).to_string();
        let answer: Answer = self.post(&url, body, Some(token)).await?;
        let valid = Duration::try_from(answer.expire_time.duration_since(Timestamp::now())).unwrap_or_default();
        Ok((answer.access_token, valid))
    }

    /// Posts a form, or JSON with a token; neither it nor the answer is ever shown.
    async fn post<T: serde::de::DeserializeOwned>(
        &self,
        url: &str,
        body: String,
        token: Option<&str>,
    ) -> Result<T, Error> {
        let url: url::Url = url.parse().map_err(|_| failed("Google", "an address of Google cannot be read"))?;
        let service = url.host_str().unwrap_or_default().to_owned();
        let asked = Asked { method: Method::POST, body: Some(body.into_bytes()), ..Asked::get(url, LIMIT) };
        let asked = match token {
            Some(token) => asked
                .header(header::AUTHORIZATION, &format!("Bearer {token}"))
                .header(header::CONTENT_TYPE, "application/json"),
            None => asked.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded"),
        };
        let reply = self.http.send(asked).await?;
        if !reply.status.is_success() {
            return Err(failed("Google", format!("{service} answered with HTTP status {}", reply.status.as_u16())));
        }
        let form = |_| failed("Google", format!("expected JSON with a token from {service}"));
        serde_json::from_slice(&reply.body).map_err(form)
    }

    /// A login for a registry of Amazon's.
    ///
    /// # Errors
    /// When the host is none, or no login can be had.
    pub async fn ecr_login(&self, host: &str, account: Option<&Account>) -> Result<Login, Error> {
        let region = ecr::region_of(host).ok_or_else(|| failed(host, format!("invalid AWS registry: '{host}'")))?;
        let keys = self.aws_keys(region, account).await?;
        ecr::login(&self.http, host, &self.settings.ecr.aws, &keys).await
    }

    /// A login for a registry of Microsoft's.
    ///
    /// # Errors
    /// When the host is none, or no login can be had.
    pub async fn acr_login(&self, host: &str, account: Option<&Account>) -> Result<Login, Error> {
        if !azure::is_host(host) {
            return Err(failed(host, format!("invalid Azure registry: '{host}'")));
        }
        let (access, _) = self.azure_token(azure::SCOPE, account).await?;
        azure::registry_login(&self.http, &self.settings.azure, host, None, &access).await
    }

    /// A login for a registry of Google's.
    ///
    /// # Errors
    /// When the host is none, or no login can be had.
    pub async fn gar_login(&self, host: &str, account: Option<&Account>) -> Result<Login, Error> {
        if !google::is_host(host) {
            return Err(failed(host, format!("invalid GCP registry: '{host}'")));
        }
        let (token, _) = self.google_token(account).await?;
        Ok(Login::new(google::USER, token, "Google workload identity"))
    }
}
