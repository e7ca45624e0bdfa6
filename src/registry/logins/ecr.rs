//! Amazon's registries: which accounts and regions are scanned, and tokens for them (fluxd-v1 §7.5).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, Method, header};
use jiff::Timestamp;
use serde::Deserialize;
use tokio::sync::{Mutex, OnceCell};

use super::super::wire::{Asked, Http};
use super::super::{Credentials, Ecr, Error, Login, Settings};
use super::said::refusal;
use super::sign::{AwsKeys, AwsScope, sign};
use super::{aws, failed, only};

/// How long a region is left alone after a failure.
const EMBARGO: Duration = Duration::from_secs(600);
/// Tokens are given up this much before they end; v1's were good for at most twelve hours.
const EARLY: Duration = Duration::from_secs(300);
const LONGEST: Duration = Duration::from_secs(12 * 3600);
/// Bytes of an answer with tokens.
const LIMIT: usize = 4 << 20;
const TARGET: &str = "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken";
const PUBLIC_TARGET: &str = "SpencerFrontendService.GetAuthorizationToken";

pub(super) struct Tokens {
    settings: Arc<Settings>,
    regions: OnceCell<Vec<String>>,
    by_region: Mutex<HashMap<String, Region>>,
    keys: aws::Identity,
}

#[derive(Default)]
struct Region {
    /// The accounts seen, and until when each is left alone after a failure.
    accounts: BTreeMap<String, Timestamp>,
    logins: Credentials,
    until: Timestamp,
}

/// The parts of a registry's host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Host<'a> {
    account: &'a str,
    region: &'a str,
    china: bool,
}

fn parse(host: &str) -> Option<Host<'_>> {
    let (rest, china) = match host.strip_suffix(".amazonaws.com.cn") {
        Some(rest) => (rest, true),
        None => (host.strip_suffix(".amazonaws.com")?, false),
    };
    let mut parts = rest.split('.');
    let (account, dkr, ecr, region) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let whole = dkr == "dkr" && ecr == "ecr" && parts.next().is_none();
    (whole && !account.is_empty() && !region.is_empty()).then_some(Host { account, region, china })
}

impl Tokens {
    pub(super) fn new(settings: &Arc<Settings>) -> Self {
        let keys = aws::Identity::new(&settings.ecr.aws);
        Self { settings: Arc::clone(settings), regions: OnceCell::new(), by_region: Mutex::default(), keys }
    }

    /// Why a host is not scanned: its region or account is left out.
    pub(super) async fn exclusion(&self, http: &Http, host: &str) -> Option<String> {
        let at = parse(host)?;
        let ecr = self.ecr();
        if ecr.exclude_ids.iter().any(|id| id == at.account) {
            return Some(format!("the AWS account {} is excluded", at.account));
        }
        if !ecr.include_ids.is_empty() && !ecr.include_ids.iter().any(|id| id == at.account) {
            return Some(format!("the AWS account {} is not included", at.account));
        }
        let regions = self.regions(http).await;
        let ours = regions.iter().any(|region| region == at.region);
        (!ours).then(|| format!("the AWS region {} is not one of [{}]", at.region, regions.join(" ")))
    }

    /// Finds the login for an ECR host, with tokens for all accounts of the region that were seen so far. One that AWS refuses
    /// does not cost the others theirs.
    pub(super) async fn find(&self, http: &Http, host: &str) -> Result<Option<Credentials>, Error> {
        let Some(at) = parse(host) else { return Ok(None) };
        let now = Timestamp::now();
        let mut by_region = self.by_region.lock().await;
        let region = by_region.entry(at.region.to_owned()).or_default();
        if region.until <= now {
            region.logins = Credentials::default();
        }
        let left_alone = region.accounts.entry(at.account.to_owned()).or_default();
        if region.logins.get(host).is_none() && *left_alone <= now {
            self.refresh(http, host, at, region).await;
        }
        Ok(region.logins.get(host).cloned().map(|login| only(host, login)))
    }

    /// Gets tokens for the accounts of a region that are not left alone; should that fail, for the one that is asked for.
    async fn refresh(&self, http: &Http, host: &str, at: Host<'_>, region: &mut Region) {
        let now = Timestamp::now();
        let mut ids: Vec<&str> =
            region.accounts.iter().filter(|(_, until)| **until <= now).map(|(id, _)| id.as_str()).collect();
        tracing::info!(
            component = "aws",
            info = "attempting to refresh auth tokens",
            region = at.region,
            "account-ids" = ids.join(", ")
        );
        let mut fetched = self.fetch(http, host, at, &ids).await;
        if fetched.is_err() && ids.len() > 1 {
            ids = vec![at.account];
            fetched = self.fetch(http, host, at, &ids).await;
        }
        match fetched {
            Ok((logins, until)) => {
                region.until = if region.logins.is_empty() { until } else { region.until.min(until) };
                region.logins.merge(&logins);
            }
            Err(error) => {
                let embargo = format!("{}m", EMBARGO.as_secs() / 60);
                tracing::error!(component = "aws", region = at.region, account = at.account, err = %error, embargo);
            }
        }
        if region.logins.get(host).is_none() {
            region.accounts.insert(at.account.to_owned(), now + EMBARGO);
        }
    }

    async fn fetch(
        &self,
        http: &Http,
        host: &str,
        at: Host<'_>,
        accounts: &[&str],
    ) -> Result<(Credentials, Timestamp), Error> {
        let keys = self.keys.get(http, at.region).await?;
        let tail = if at.china { ".cn" } else { "" };
        let own = || format!("https://api.ecr.{}.amazonaws.com{tail}", at.region);
        let base = self.ecr().aws.ecr_endpoint.clone().unwrap_or_else(own);
        let body = serde_json::json!({ "registryIds": accounts }).to_string();
        let api = Api { base: &base, region: at.region, service: "ecr", target: TARGET };
        read(&post(http, host, &api, body, &keys).await?).map_err(|reason| failed(host, reason))
    }

    /// The regions to scan; found out once, and told once, in v1's words.
    async fn regions(&self, http: &Http) -> &[String] {
        self.regions
            .get_or_init(|| async {
                let ecr = self.ecr();
                let mut regions = ecr.regions.clone();
                if regions.is_empty() {
                    let configured = ecr.aws.region.clone().filter(|region| !region.is_empty());
                    let (source, found) = match configured {
                        Some(region) => ("local config", Some(region)),
                        None => ("EC2 metadata", self.keys.region(http).await.ok()),
                    };
                    let region = found.clone().unwrap_or_default();
                    tracing::info!(component = "aws", info = "detected cluster region", source, region);
                    regions.extend(found);
                }
                tracing::info!(
                    component = "aws",
                    info = "restricting ECR registry scans",
                    regions = format!("[{}]", regions.join(" ")),
                    "include-ids" = format!("[{}]", ecr.include_ids.join(" ")),
                    "exclude-ids" = format!("[{}]", ecr.exclude_ids.join(" "))
                );
                regions
            })
            .await
    }

    /// Checks that there is a region, and an identity to sign with.
    pub(super) async fn check(&self, http: &Http) -> Result<(), Error> {
        let Some(region) = self.regions(http).await.first() else {
            return Err(failed("ECR", "no region is configured, and none can be detected"));
        };
        self.keys.get(http, region).await.map(drop)
    }

    fn ecr(&self) -> &Ecr {
        &self.settings.ecr
    }
}

/// One of the two services of registries.
struct Api<'a> {
    base: &'a str,
    region: &'a str,
    service: &'a str,
    target: &'a str,
}

async fn post(http: &Http, host: &str, api: &Api<'_>, body: String, keys: &AwsKeys) -> Result<bytes::Bytes, Error> {
    let url = format!("{}/", api.base.trim_end_matches('/')).parse();
    let url = url.map_err(|_| failed(host, "ECR's address cannot be read"))?;
    let asked = Asked { method: Method::POST, body: Some(body.into_bytes()), ..Asked::get(url, LIMIT) };
    let asked = asked
        .header(header::CONTENT_TYPE, "application/x-amz-json-1.1")
        .header(HeaderName::from_static("x-amz-target"), api.target);
    let scope = AwsScope { region: api.region, service: api.service, at: Timestamp::now() };
    let reply = http.send(sign(asked, keys, &scope)).await?;
    if !reply.status.is_success() {
        return Err(failed(host, format!("ECR answered with {}", refusal(reply.status.as_u16(), &reply.body, &[]))));
    }
    Ok(reply.body)
}

/// The hosts of the public registry.
const PUBLIC: [&str; 2] = ["public.ecr.aws", "ecr-public.aws.com"];
/// What private registries' hosts end in, by partition and protocol.
const DOMAINS: [&str; 9] = [
    "amazonaws.com",
    "amazonaws.com.cn",
    "amazonaws.eu",
    "on.aws",
    "on.amazonwebservices.com.cn",
    "sc2s.sgov.gov",
    "c2s.ic.gov",
    "cloud.adc-e.uk",
    "csp.hci.ic.gov",
];

/// The region of a host of ECR, private or public; `None` for other hosts. Unlike scans, listings also know the forms for
/// federal use and for IPv6 (resourceset §8.4).
pub(super) fn region_of(host: &str) -> Option<&str> {
    if PUBLIC.contains(&host) {
        return Some("us-east-1");
    }
    let (account, rest) = host.split_once('.')?;
    let rest = rest.strip_prefix("dkr.").or_else(|| rest.strip_prefix("dkr-"))?;
    let rest = rest.strip_prefix("ecr-fips.").or_else(|| rest.strip_prefix("ecr."))?;
    let (region, domain) = rest.split_once('.')?;
    let plain = (1..=100).contains(&region.len()) && region.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let ours = account.len() == 12 && account.bytes().all(|b| b.is_ascii_digit());
    (ours && plain && DOMAINS.contains(&domain)).then_some(region)
}

/// A login for a host of ECR, by keys, and how long it is good for.
pub(super) async fn login(
    http: &Http,
    host: &str,
    settings: &super::super::Aws,
    keys: &AwsKeys,
) -> Result<(Login, Duration), Error> {
    let Some(region) = region_of(host) else { return Err(failed(host, "no registry of AWS")) };
    let public = PUBLIC.contains(&host);
    let name = if public { "ecr-public" } else { "ecr" };
    let own = || format!("https://api.{name}.{region}.{}", aws::domain(region));
    let base = settings.ecr_endpoint.clone().unwrap_or_else(own);
    let target = if public { PUBLIC_TARGET } else { TARGET };
    let body = post(http, host, &Api { base: &base, region, service: name, target }, "{}".to_owned(), keys).await?;
    let answer: serde_json::Value =
        serde_json::from_slice(&body).map_err(|_| failed(host, "expected JSON with a token from ECR"))?;
    // the public registry is one, private ones are a list
    let data = &answer["authorizationData"];
    let entry: Entry = Deserialize::deserialize(if public { data } else { &data[0] })
        .map_err(|_| failed(host, "expected a token in ECR's answer"))?;
    let (user, password) =
        entry.user_and_password().ok_or_else(|| failed(host, "ECR's token is not of the form USER:PASSWORD"))?;
    let now = Timestamp::now();
    let until = entry.until().map_or(now + LONGEST, |until| until.min(now + LONGEST)) - EARLY;
    let valid = Duration::try_from(until.duration_since(now)).unwrap_or_default();
    Ok((Login::new(user, password, "AWS workload identity"), valid))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    authorization_token: String,
    #[serde(default)]
    proxy_endpoint: String,
    expires_at: Option<f64>,
}

impl Entry {
    fn user_and_password(&self) -> Option<(String, String)> {
        let text = String::from_utf8(STANDARD.decode(&self.authorization_token).ok()?).ok()?;
        let (user, password) = text.split_once(':')?;
        (!password.is_empty()).then(|| (user.to_owned(), password.to_owned()))
    }

    fn until(&self) -> Option<Timestamp> {
        #[allow(clippy::cast_possible_truncation, reason = "a time in seconds; out of range it saturates")]
        self.expires_at.and_then(|at| Timestamp::from_second(at as i64).ok())
    }
}

fn read(body: &[u8]) -> Result<(Credentials, Timestamp), String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        #[serde(default)]
        authorization_data: Vec<Entry>,
    }
    let answer: Answer = serde_json::from_slice(body).map_err(|_| "expected JSON with tokens from ECR".to_owned())?;
    let now = Timestamp::now();
    let (mut logins, mut until) = (Credentials::default(), now + LONGEST);
    for entry in answer.authorization_data {
        let Some((user, password)) = entry.user_and_password() else {
            return Err("ECR's token is not of the form USER:PASSWORD".to_owned());
        };
        logins.insert(&entry.proxy_endpoint, Login::new(user, password, "AWS API"));
        until = entry.until().map_or(until, |ends| until.min(ends));
    }
    Ok((logins, until - EARLY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_ecr_are_taken_apart() {
        let host = |account, region, china| Some(Host { account, region, china });
        for (text, want) in [
            ("1234.dkr.ecr.eu-west-1.amazonaws.com", host("1234", "eu-west-1", false)),
            ("1234.dkr.ecr.cn-north-1.amazonaws.com.cn", host("1234", "cn-north-1", true)),
            ("1234.dkr.s3.eu-west-1.amazonaws.com", None),
            ("1234.dkr.ecr.eu.west.amazonaws.com", None),
            ("dkr.ecr.eu-west-1.amazonaws.com", None),
            ("1234.dkr.ecr.eu-west-1.amazonaws.com.evil.org", None),
            ("quay.io", None),
        ] {
            assert_eq!(parse(text), want, "{text}");
        }
    }

    #[test]
    fn regions_are_read_from_hosts_of_all_partitions_and_forms() {
        for (host, want) in [
            ("123456789012.dkr.ecr.eu-west-1.amazonaws.com", Some("eu-west-1")),
            ("123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com", Some("us-gov-west-1")),
            ("123456789012.dkr-ecr.eu-west-1.on.aws", Some("eu-west-1")),
            ("123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("public.ecr.aws", Some("us-east-1")),
            ("1234.dkr.ecr.eu-west-1.amazonaws.com", None),
            ("123456789012.dkr.ecr.eu-west-1.amazonaws.com.evil.org", None),
            ("123456789012.dkr.ecr.eu_west.amazonaws.com", None),
            ("123456789012.ecr.eu-west-1.amazonaws.com", None),
            ("evil-public.ecr.aws", None),
            ("ghcr.io", None),
        ] {
            assert_eq!(region_of(host), want, "{host}");
        }
    }

    #[test]
    fn tokens_are_read_per_host_and_end_early() {
        let token = STANDARD.encode("AWS:pw");
        let ends = Timestamp::now() + Duration::from_secs(3600);
        let body = format!(
            r#"{{"authorizationData":[{{"authorizationToken":"{token}","expiresAt":{}.5,"proxyEndpoint":"https://1.dkr.ecr.r.amazonaws.com"}}]}}"#,
            ends.as_second()
        );
        let (logins, until) = read(body.as_bytes()).unwrap();
        assert_eq!(logins.get("1.dkr.ecr.r.amazonaws.com"), Some(&Login::new("AWS", "pw", "AWS API")));
        assert_eq!(until.as_second(), ends.as_second() - 300);
        assert!(
            read(b"<xml>").is_err()
                && read(br#"{"authorizationData":[{"authorizationToken":"x","proxyEndpoint":"y"}]}"#).is_err()
        );
    }
}
