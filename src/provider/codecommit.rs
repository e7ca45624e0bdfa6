//! AWS CodeCommit: refs by git's own protocol, change requests by AWS's JSON (resourceset §8.5). Both are signed.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use url::Url;

use super::address::{self, query};
use super::advertisement::{Refs, read_refs};
use super::filter::Filters;
use super::found::{Found, Gathered, What, choose_tags};
use super::paging::Guard;
use super::providers::basic;
use super::wire::{Call, Wire, read_json, shown};
use super::{Error, Settings};
use crate::registry::{AwsKeys, AwsRequest, AwsScope};

/// One repository, and how to ask about it.
pub(super) struct CodeCommit<'a> {
    pub(super) wire: &'a Wire,
    pub(super) settings: &'a Settings,
    pub(super) repository: address::CodeCommit,
    pub(super) keys: AwsKeys,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    #[serde(default)]
    pull_request_ids: Vec<String>,
    #[serde(default)]
    next_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Got {
    pull_request: PullRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRequest {
    pull_request_id: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    author_arn: Option<String>,
    #[serde(default)]
    pull_request_targets: Vec<Target>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    #[serde(default)]
    source_reference: String,
    #[serde(default)]
    source_commit: String,
}

impl CodeCommit<'_> {
    /// Lists; the host has no environments that could be listed.
    pub(super) async fn list(&self, what: What, filters: &Filters) -> Result<Vec<Found>, Error> {
        match what {
            What::Branches => {
                let mut gathered = Gathered::new(filters);
                for (name, sha) in self.refs().await?.branches {
                    if gathered.offer(&name, || Found::branch(&name, &sha)).is_break() {
                        break;
                    }
                }
                Ok(gathered.found)
            }
            What::Tags => Ok(choose_tags(&self.refs().await?.tags, filters)),
            What::Requests => self.pull_requests(filters).await,
            What::Environments => Err(Error::Said("environments not supported by AWS CodeCommit provider".to_owned())),
        }
    }

    fn scope(&self) -> AwsScope<'_> {
        AwsScope { region: &self.repository.region, service: "codecommit", at: Timestamp::now() }
    }

    async fn refs(&self) -> Result<Refs, Error> {
        let (user, password) = self.keys.git_login(&self.repository.url, &self.scope());
        let base = match self.settings.endpoints.codecommit_git.as_deref() {
            Some(base) => parse(&format!("{}{}", base.trim_end_matches('/'), self.repository.url.path()))?,
            None => self.repository.url.clone(),
        };
        let url = query(address::join(&base, &["info", "refs"])?, &[("service", "git-upload-pack")]);
        let call = Call::get(url).header("authorization", &basic(&user, &password)).header("user-agent", "git/2.45");
        let reply = self.wire.send(call).await?.ok()?;
        read_refs(&reply.body).map_err(|reason| Error::Answer { url: shown(&reply.url), reason })
    }

    async fn pull_requests(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let mut gathered = Gathered::new(filters);
        let mut guard = Guard::tokens("pull requests");
        let mut token: Option<String> = None;
        loop {
            let name = &self.repository.repository;
            let mut body = json!({"repositoryName": name, "pullRequestStatus": "OPEN", "maxResults": 100});
            if let Some(token) = &token {
                body["nextToken"] = json!(token);
            }
            let listed: Listed = self.ask("ListPullRequests", &body).await?;
            for id in listed.pull_request_ids {
                let got: Got = self.ask("GetPullRequest", &json!({ "pullRequestId": id })).await?;
                let Some(found) = found(got.pull_request) else { continue };
                let branch = found.branch.clone();
                // the host knows no labels, so that those asked for are not looked at
                if gathered.offer(&branch, || found).is_break() {
                    return Ok(gathered.found);
                }
            }
            token = listed.next_token.filter(|token| !token.is_empty());
            match &token {
                Some(token) => guard.advance(token)?,
                None => return Ok(gathered.found),
            }
        }
    }

    async fn ask<T: DeserializeOwned>(&self, action: &str, body: &serde_json::Value) -> Result<T, Error> {
        let address::CodeCommit { region, domain, fips, .. } = &self.repository;
        let own = || format!("https://codecommit{}.{region}.{domain}", if *fips { "-fips" } else { "" });
        let base = self.settings.endpoints.codecommit.clone().unwrap_or_else(own);
        let url = parse(&format!("{}/", base.trim_end_matches('/')))?;
        let body = body.to_string().into_bytes();
        let headers = [
            ("content-type".to_owned(), "application/x-amz-json-1.1".to_owned()),
            ("x-amz-target".to_owned(), format!("CodeCommit_20150413.{action}")),
        ];
        let request = AwsRequest { method: "POST", url: &url, headers: &headers, body: &body };
        let signed = self.keys.sign(&request, &self.scope());
        let mut call = Call::post(url.clone(), body.clone())
            .header("content-type", &headers[0].1)
            .header("x-amz-target", &headers[1].1);
        for (name, value) in signed {
            call = call.header(name, &value);
        }
        self.wire.send(call).await?.ok()?.json()
    }
}

fn parse(text: &str) -> Result<Url, Error> {
    text.parse().map_err(|_| Error::Said("the address of CodeCommit cannot be read".to_owned()))
}

/// By the first target; one without a commit is passed over (resourceset §8.5).
fn found(request: PullRequest) -> Option<Found> {
    let target = request.pull_request_targets.into_iter().next().filter(|target| !target.source_commit.is_empty())?;
    let branch = target.source_reference;
    let author = request.author_arn.unwrap_or_default();
    Some(Found {
        id: request.pull_request_id,
        sha: target.source_commit,
        branch: branch.strip_prefix("refs/heads/").unwrap_or(&branch).to_owned(),
        title: request.title.unwrap_or_default(),
        // `…:user/ann`, `…:assumed-role/ROLE/ann`, and `…:root`, which has no slash
        author: author.rsplit(['/', ':']).next().unwrap_or_default().to_owned(),
        ..Found::default()
    })
}

/// Reads a body as each kind of answer, down to what is exported.
pub(super) fn read_any(body: &[u8]) {
    drop(read_json::<Listed>(body));
    drop(read_json::<Got>(body).map(|got| found(got.pull_request).map(Found::export)));
}
