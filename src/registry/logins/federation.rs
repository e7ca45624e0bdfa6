//! Google's Security Token Service: a cluster's token for one of Google's, of the account itself or of a service account of
//! Google's that it may act as (resourceset §8.4). A cluster of Google's is known by its metadata, any other by a provider
//! that the account names.

use std::time::Duration;

use http::{HeaderName, Method, header};
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

use super::super::wire::{Asked, Http};
use super::super::{Error, Google};
use super::account::Account;
use super::failed;
use super::google::METADATA;
use super::said::refusal;

const STS: &str = "https://sts.googleapis.com";
const IAM: &str = "https://iamcredentials.googleapis.com";
const PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";
const SCOPES: [&str; 2] = [PLATFORM, "https://www.googleapis.com/auth/userinfo.email"];
/// Bytes of an answer with a token.
const LIMIT: usize = 1 << 20;
/// Longer validities are not believed.
const LONGEST: u64 = 86_400;
const FOR: &str = "Google";

/// Exchanges tokens, and remembers which cluster of Google's this is, should it be one.
pub(super) struct Federation {
    settings: Google,
    cluster: OnceCell<Cluster>,
}

struct Cluster {
    project: String,
    location: String,
    name: String,
}

/// For whom a cluster's token is, and what Google is to make of it.
struct Audiences {
    token: String,
    exchange: String,
}

impl Federation {
    pub(super) fn new(settings: &Google) -> Self {
        Self { settings: settings.clone(), cluster: OnceCell::new() }
    }

    /// A token of Google's for an account, and how long it is good for.
    pub(super) async fn token(&self, http: &Http, account: &Account) -> Result<(String, Duration), Error> {
        let email = account.google_account()?;
        let audiences = self.audiences(http, account).await?;
        let subject = account.token(&audiences.token).await?;
        self.exchange(http, &subject, &audiences.exchange, email).await.map_err(|e| account.failed(&e))
    }

    async fn audiences(&self, http: &Http, account: &Account) -> Result<Audiences, Error> {
        if let Some(provider) = account.google_provider()? {
            let audience = format!("//iam.googleapis.com/{provider}");
            return Ok(Audiences { token: audience.clone(), exchange: audience });
        }
        let cluster = self.cluster.get_or_try_init(|| self.look(http)).await;
        let cluster = cluster.map_err(|e| Error::Identity(format!("failed to get provider audience: {e}")))?;
        let Cluster { project, location, name } = cluster;
        let pool = format!("{project}.svc.id.goog");
        let address =
            format!("https://container.googleapis.com/v1/projects/{project}/locations/{location}/clusters/{name}");
        Ok(Audiences { exchange: format!("identitynamespace:{pool}:{address}"), token: pool })
    }

    async fn look(&self, http: &Http) -> Result<Cluster, Error> {
        Ok(Cluster {
            project: self.metadata(http, "project ID", "project/project-id").await?,
            location: self.metadata(http, "location", "instance/attributes/cluster-location").await?,
            name: self.metadata(http, "name", "instance/attributes/cluster-name").await?,
        })
    }

    async fn metadata(&self, http: &Http, what: &str, path: &str) -> Result<String, Error> {
        let failed = |reason: &str| {
            let doing = format!("failed to get GKE cluster {what} from the metadata service");
            Error::Identity(format!("{doing}: {reason}"))
        };
        let base = self.settings.metadata_endpoint.as_deref().unwrap_or(METADATA);
        let url = format!("{}/computeMetadata/v1/{path}", base.trim_end_matches('/'));
        let url = url.parse().map_err(|_| failed("its address cannot be read"))?;
        let asked = Asked::metadata(url).header(HeaderName::from_static("metadata-flavor"), "Google");
        let reply = http.send(asked).await.map_err(|e| failed(&e.to_string()))?;
        if !reply.status.is_success() {
            return Err(failed(&refusal(reply.status.as_u16(), &reply.body, &[])));
        }
        match String::from_utf8_lossy(&reply.body).trim() {
            "" => Err(failed("empty value")),
            value => Ok(value.to_owned()),
        }
    }

    async fn exchange(
        &self,
        http: &Http,
        subject: &str,
        audience: &str,
        email: Option<&str>,
    ) -> Result<(String, Duration), Error> {
        #[derive(Deserialize)]
        struct Answer {
            access_token: String,
            #[serde(default)]
            expires_in: u64,
        }
        // whoever goes on to act as an account needs no more than the right to ask for that
        let scopes = if email.is_some() { PLATFORM.to_owned() } else { SCOPES.join(" ") };
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
            .append_pair("requested_token_type", "urn:ietf:params:oauth:token-type:access_token")
            .append_pair("subject_token_type", "urn:ietf:params:oauth:token-type:jwt")
            .append_pair("scope", &scopes)
            .append_pair("audience", audience)
            .append_pair("subject_token", subject)
            .finish();
        let base = self.settings.sts_endpoint.as_deref().unwrap_or(STS);
        let url = format!("{}/v1/token", base.trim_end_matches('/'));
        let answer: Answer = post(http, &url, &Sent::Form(form, subject)).await?;
        match email {
            Some(email) => self.impersonate(http, email, &answer.access_token).await,
            None => Ok((answer.access_token, Duration::from_secs(answer.expires_in.min(LONGEST)))),
        }
    }

    async fn impersonate(&self, http: &Http, email: &str, token: &str) -> Result<(String, Duration), Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            access_token: String,
            expire_time: Timestamp,
        }
        let base = self.settings.iam_endpoint.as_deref().unwrap_or(IAM);
        let url = format!("{}/v1/projects/-/serviceAccounts/{email}:generateAccessToken", base.trim_end_matches('/'));
        let body = serde_json::json!({ "scope": SCOPES, "lifetime": "3600s" }).to_string();
        let answer: Answer = post(http, &url, &Sent::Json(body, token)).await?;
        let valid = Duration::try_from(answer.expire_time.duration_since(Timestamp::now())).unwrap_or_default();
        Ok((answer.access_token, valid.min(Duration::from_secs(LONGEST))))
    }
}

/// What is posted, with the token that is in it or goes with it.
enum Sent<'a> {
    Form(String, &'a str),
    Json(String, &'a str),
}

/// Posts; neither what is sent nor what is answered is ever shown, but for the reason of a refusal.
async fn post<T: DeserializeOwned>(http: &Http, url: &str, sent: &Sent<'_>) -> Result<T, Error> {
    let url: url::Url = url.parse().map_err(|_| failed(FOR, "an address of Google cannot be read"))?;
    let service = url.host_str().unwrap_or_default().to_owned();
    let (body, secret) = match sent {
        Sent::Form(body, secret) | Sent::Json(body, secret) => (body, *secret),
    };
    let asked = Asked { method: Method::POST, body: Some(body.clone().into_bytes()), ..Asked::get(url, LIMIT) };
    let asked = match sent {
        Sent::Form(..) => asked.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded"),
        Sent::Json(_, token) => asked
            .header(header::AUTHORIZATION, &format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json"),
    };
    let reply = http.send(asked).await?;
    if !reply.status.is_success() {
        let said = refusal(reply.status.as_u16(), &reply.body, &[secret]);
        return Err(failed(FOR, format!("{service} answered with {said}")));
    }
    serde_json::from_slice(&reply.body).map_err(|_| failed(FOR, format!("expected JSON with a token from {service}")))
}
