//! Who we are to AWS: keys from the environment, a web identity (IRSA) exchanged at STS, keys of the container's agent (EKS Pod
//! Identity), or the machine's role (IMDSv2).

use std::path::Path;
use std::time::Duration;

use http::{HeaderName, Method, header};
use jiff::Timestamp;
use tokio::sync::Mutex;
use url::Url;

use super::super::wire::{Asked, Http};
use super::super::{Aws, Error};
use super::failed;
use super::said::{element, refusal};
use super::sign::AwsKeys;

const METADATA: &str = "http://169.254.169.254";
const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token");
const TOKEN_TTL: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds");
/// Keys that end are given up this much earlier.
const EARLY: Duration = Duration::from_secs(300);
/// What errors call the place that keys are for.
const FOR: &str = "AWS";
const EC2: &str = "EC2's metadata";

pub(super) struct Identity {
    aws: Aws,
    temporary: Mutex<Option<(AwsKeys, Timestamp)>>,
}

impl Identity {
    pub(super) fn new(aws: &Aws) -> Self {
        Self { aws: aws.clone(), temporary: Mutex::default() }
    }

    /// Keys to sign with.
    pub(super) async fn get(&self, http: &Http, region: &str) -> Result<AwsKeys, Error> {
        if let (Some(access), Some(secret)) = (&self.aws.access_key_id, &self.aws.secret_access_key) {
            let session = self.aws.session_token.clone();
            return Ok(AwsKeys { access: access.clone(), secret: secret.clone(), session });
        }
        let mut temporary = self.temporary.lock().await;
        if let Some((keys, until)) = &*temporary
            && *until > Timestamp::now()
        {
            return Ok(keys.clone());
        }
        let fetched = match (&self.aws.web_identity_token_file, &self.aws.role_arn) {
            (Some(file), Some(role)) => self.web_identity(http, region, file, role).await?,
            _ => match &self.aws.container_credentials_uri {
                Some(uri) => self.container(http, uri).await?,
                None => self.machine(http).await?,
            },
        };
        *temporary = Some(fetched.clone());
        Ok(fetched.0)
    }

    /// The region that the machine is in.
    pub(super) async fn region(&self, http: &Http) -> Result<String, Error> {
        let token = self.metadata_token(http).await?;
        self.metadata(http, &token, "/latest/meta-data/placement/region").await
    }

    async fn web_identity(
        &self,
        http: &Http,
        region: &str,
        file: &Path,
        role: &str,
    ) -> Result<(AwsKeys, Timestamp), Error> {
        let token = tokio::fs::read_to_string(file).await;
        let token = token.map_err(|e| failed(FOR, format!("reading the web identity {}: {e}", file.display())))?;
        let session = self.aws.role_session_name.as_deref().unwrap_or("fluxd");
        assume(http, &self.aws, &Role { region, role, session, token: token.trim() }).await
    }

    async fn machine(&self, http: &Http) -> Result<(AwsKeys, Timestamp), Error> {
        const ROLES: &str = "/latest/meta-data/iam/security-credentials/";
        let token = self.metadata_token(http).await?;
        let role = self.metadata(http, &token, ROLES).await?;
        let role = role.lines().next().unwrap_or_default();
        let answer = self.metadata(http, &token, &format!("{ROLES}{role}")).await?;
        keys_of_json(&answer).ok_or_else(|| failed(FOR, "the machine's role holds no keys"))
    }

    /// Keys of the agent that looks after this container. It is near, so no proxy stands between; it is asked without TLS.
    async fn container(&self, http: &Http, uri: &str) -> Result<(AwsKeys, Timestamp), Error> {
        let mut asked = Asked::metadata(url(uri)?);
        if let Some(file) = &self.aws.container_token_file {
            let token = tokio::fs::read_to_string(file).await;
            let token =
                token.map_err(|e| failed(FOR, format!("reading the container's token {}: {e}", file.display())))?;
            asked = asked.header(header::AUTHORIZATION, token.trim());
        }
        let answer = text(http, "the container's agent", asked).await?;
        keys_of_json(&answer).ok_or_else(|| failed(FOR, "the container's agent answered without keys"))
    }

    async fn metadata_token(&self, http: &Http) -> Result<String, Error> {
        let asked = Asked { method: Method::PUT, ..Asked::metadata(self.metadata_url("/latest/api/token")?) };
        text(http, EC2, asked.header(TOKEN_TTL, "300")).await
    }

    async fn metadata(&self, http: &Http, token: &str, path: &str) -> Result<String, Error> {
        text(http, EC2, Asked::metadata(self.metadata_url(path)?).header(TOKEN_HEADER, token)).await
    }

    fn metadata_url(&self, path: &str) -> Result<Url, Error> {
        let base = self.aws.metadata_endpoint.as_deref().unwrap_or(METADATA);
        url(&format!("{}{path}", base.trim_end_matches('/')))
    }
}

/// A role, and the token that proves that it may be assumed.
pub(super) struct Role<'a> {
    pub(super) region: &'a str,
    pub(super) role: &'a str,
    /// What AWS's logs call it.
    pub(super) session: &'a str,
    pub(super) token: &'a str,
}

/// Exchanges a web identity at STS for keys, and until when they are good.
pub(super) async fn assume(http: &Http, aws: &Aws, role: &Role<'_>) -> Result<(AwsKeys, Timestamp), Error> {
    let own = || format!("https://sts.{}.{}", role.region, domain(role.region));
    let base = aws.sts_endpoint.clone().unwrap_or_else(own);
    let url = url(&format!("{}/", base.trim_end_matches('/')))?;
    let body = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("Action", "AssumeRoleWithWebIdentity")
        .append_pair("Version", "2011-06-15")
        .append_pair("RoleArn", role.role)
        .append_pair("RoleSessionName", role.session)
        .append_pair("WebIdentityToken", role.token)
        .finish();
    let asked = Asked { method: Method::POST, body: Some(body.into_bytes()), ..Asked::get(url, 1 << 20) };
    let reply = http.send(asked.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")).await?;
    if !reply.status.is_success() {
        let said = refusal(reply.status.as_u16(), &reply.body, &[role.token]);
        return Err(failed(FOR, format!("STS answered with {said}")));
    }
    let text = String::from_utf8_lossy(&reply.body);
    keys(|name| element(&text, name), "SessionToken").ok_or_else(|| failed(FOR, "STS's answer holds no keys"))
}

/// The domain of a region's services: each of AWS's partitions has its own.
pub(super) fn domain(region: &str) -> &'static str {
    let partitions = [
        ("cn-", "amazonaws.com.cn"),
        ("eusc-", "amazonaws.eu"),
        ("us-iso-", "c2s.ic.gov"),
        ("us-isob-", "sc2s.sgov.gov"),
        ("us-isof-", "csp.hci.ic.gov"),
        ("eu-isoe-", "cloud.adc-e.uk"),
    ];
    partitions.iter().find(|(start, _)| region.starts_with(start)).map_or("amazonaws.com", |(_, domain)| domain)
}

fn url(text: &str) -> Result<Url, Error> {
    text.parse().map_err(|_| failed(FOR, "an address of AWS cannot be read"))
}

async fn text(http: &Http, who: &str, asked: Asked) -> Result<String, Error> {
    let reply = http.send(asked).await?;
    if !reply.status.is_success() {
        return Err(failed(FOR, format!("{who} answered with HTTP status {}", reply.status.as_u16())));
    }
    Ok(String::from_utf8_lossy(&reply.body).trim().to_owned())
}

/// Temporary keys, by the names that STS and the metadata share except for one.
fn keys(field: impl Fn(&str) -> Option<String>, session: &str) -> Option<(AwsKeys, Timestamp)> {
    let keys = AwsKeys { access: field("AccessKeyId")?, secret: field("SecretAccessKey")?, session: field(session) };
    let until: Timestamp = field("Expiration")?.parse().ok()?;
    Some((keys, until - EARLY))
}

fn keys_of_json(text: &str) -> Option<(AwsKeys, Timestamp)> {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
    keys(|name| fields.get(name)?.as_str().map(str::to_owned), "Token")
}
