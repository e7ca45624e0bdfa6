//! Identities at clouds: the process's own, or that of a service account, whose token a cloud exchanges for one of its own
//! (resourceset §8.4). Nothing is kept here but what belongs to the process.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use super::super::wire::Http;
use super::super::{Error, Login, Settings};
use super::account::Account;
use super::aws::{self, Role};
use super::azure::Proof;
use super::federation::Federation;
use super::sign::AwsKeys;
use super::{azure, ecr, google};

/// The longest name that AWS takes for a session.
const SESSION: usize = 64;

/// A cloud with registries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Amazon's, with ECR.
    Aws,
    /// Microsoft's, with ACR.
    Azure,
    /// Google's, with GAR.
    Google,
}

impl Cloud {
    fn name(self) -> &'static str {
        match self {
            Self::Aws => "AWS",
            Self::Azure => "Azure",
            Self::Google => "GCP",
        }
    }

    /// What its registries' hosts look like, in words.
    fn hosts(self) -> &'static str {
        match self {
            Self::Aws => "ACCOUNT.dkr.ecr[-fips].REGION.amazonaws.com (or another domain of AWS's), or public.ecr.aws",
            Self::Azure => "NAME.azurecr.io, .cn, .de or .us",
            Self::Google => "[NAME.]gcr.io, NAME-docker.pkg.dev or docker.s3nsregistry.fr",
        }
    }
}

/// The clouds. Every validity is counted from the answer, and zero where the process keeps the answer itself.
pub struct Clouds {
    http: Http,
    settings: Settings,
    aws: aws::Identity,
    google: google::Tokens,
    federation: Federation,
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
        let federation = Federation::new(&settings.google);
        Ok(Self { http: Http::new(&settings)?, aws, google, federation, settings })
    }

    /// Keys of AWS in a region, and how long they are good for.
    ///
    /// # Errors
    /// When the account names no role, or AWS hands out no keys.
    pub async fn aws_keys(&self, region: &str, account: Option<&Account>) -> Result<(AwsKeys, Duration), Error> {
        let Some(account) = account else {
            let keys = self.aws.get(&self.http, region).await.map_err(|e| own(&e))?;
            return Ok((keys, Duration::ZERO));
        };
        let role = account.role()?;
        let token = account.token("sts.amazonaws.com").await?;
        let session = format!("{}.{}.{region}.fluxcd.io", account.name, account.namespace);
        let session: String = session.chars().take(SESSION).collect();
        let role = Role { region, role, session: &session, token: &token };
        let assumed = aws::assume(&self.http, &self.settings.ecr.aws, &role).await;
        let (keys, until) = assumed.map_err(|e| account.failed(&e))?;
        Ok((keys, Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default()))
    }

    /// A token of Azure for a scope, and how long it is good for.
    ///
    /// # Errors
    /// When the account names no tenant or client, or Azure hands out no token.
    pub async fn azure_token(&self, scope: &str, account: Option<&Account>) -> Result<(String, Duration), Error> {
        let Some(account) = account else { return self.own_azure_token(scope).await.map_err(|e| own(&e)) };
        let (tenant, client) = account.tenant_and_client()?;
        let assertion = account.token("api://AzureADTokenExchange").await?;
        let claim = azure::Claim { client, tenant, proof: Proof::Assertion(&assertion), scope };
        let token = azure::token(&self.http, &self.settings.azure, "Azure", &claim).await;
        token.map_err(|e| account.failed(&e))
    }

    /// By what the environment names, in the order of Azure's own libraries: a secret, a workload identity, the machine's.
    async fn own_azure_token(&self, scope: &str) -> Result<(String, Duration), Error> {
        let ours = &self.settings.azure;
        let (Some(tenant), Some(client)) = (&ours.tenant_id, &ours.client_id) else {
            return azure::machine_token(&self.http, ours, scope).await;
        };
        let assertion;
        let proof = match (&ours.client_secret, &ours.federated_token_file) {
            (Some(secret), _) => Proof::Secret(secret),
            (None, Some(file)) => {
                let read = tokio::fs::read_to_string(file).await;
                let failed =
                    |e| Error::Identity(format!("reading the workload identity's token {}: {e}", file.display()));
                assertion = read.map_err(failed)?;
                Proof::Assertion(assertion.trim())
            }
            (None, None) => return azure::machine_token(&self.http, ours, scope).await,
        };
        azure::token(&self.http, ours, "Azure", &azure::Claim { client, tenant, proof, scope }).await
    }

    /// A token of Google, and how long it is good for.
    ///
    /// # Errors
    /// When the account says what cannot be, or Google hands out no token.
    pub async fn google_token(&self, account: Option<&Account>) -> Result<(String, Duration), Error> {
        let Some(account) = account else {
            let token = self.google.token(&self.http, "Google").await.map_err(|e| own(&e))?;
            let silent = || own(&Error::Identity("the metadata server does not answer".to_owned()));
            return Ok((token.ok_or_else(silent)?, Duration::ZERO));
        };
        self.federation.token(&self.http, account).await
    }

    /// A login for a registry of a cloud's, and how long it is good for.
    ///
    /// # Errors
    /// When the host is none of the cloud's, or no login can be had.
    pub async fn login(&self, cloud: Cloud, host: &str, account: Option<&Account>) -> Result<(Login, Duration), Error> {
        let access = |e: Error| Error::Identity(format!("failed to get access token for artifact registry: {e}"));
        let made = |e: Error| Error::Identity(format!("failed to create artifact registry credentials: {e}"));
        match cloud {
            Cloud::Aws => {
                let region = ecr::region_of(host).ok_or_else(|| foreign(cloud, host))?;
                let (keys, _) = self.aws_keys(region, account).await.map_err(access)?;
                ecr::login(&self.http, host, &self.settings.ecr.aws, &keys).await.map_err(made)
            }
            Cloud::Azure if azure::is_host(host) => {
                let (token, _) = self.azure_token(azure::SCOPE, account).await.map_err(access)?;
                let login = azure::registry_login(&self.http, &self.settings.azure, host, None, &token).await;
                Ok((login.map_err(made)?, azure::VALID))
            }
            Cloud::Google if google::is_host(host) => {
                let (token, valid) = self.google_token(account).await.map_err(access)?;
                Ok((Login::new(google::USER, token, "Google workload identity"), valid))
            }
            Cloud::Azure | Cloud::Google => Err(foreign(cloud, host)),
        }
    }
}

/// The failure of a cloud to take what the process itself shows.
fn own(error: &Error) -> Error {
    Error::Identity(format!("failed to create provider access token for the controller: {error}"))
}

fn foreign(cloud: Cloud, host: &str) -> Error {
    Error::Identity(format!("invalid {} registry: '{host}'. must match {}", cloud.name(), cloud.hosts()))
}
