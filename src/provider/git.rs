//! Which git host a request is for, with which credentials (resourceset §8.4, §8.5).

use tokio::time::{Instant, timeout_at};
use url::Url;

use super::address;
use super::azure_devops::AzureDevOps;
use super::codecommit::CodeCommit;
use super::error::Doing as _;
use super::export::InputSet;
use super::filter::Filters;
use super::found::{Found, What};
use super::gitea::Gitea;
use super::github::{self, GitHub};
use super::gitlab::GitLab;
use super::providers::{Inner, Request, basic};
use super::wire::Wire;
use super::{Error, SecretData, github_app};
use crate::api::inputprovider::ProviderType;

/// Azure DevOps as a resource of Entra ID (resourceset §8.4).
const AZURE_DEVOPS_SCOPE: &str = "499b84ac-1321-427f-aa17-267ca6975798/.default";
const AZURE_DEVOPS: &str = "https://dev.azure.com";
/// What errors call the beginning.
const CREATE: &str = "failed to create Git provider";

type Credential = Option<(&'static str, String)>;

enum Host<'a> {
    GitHub(GitHub<'a>),
    GitLab(GitLab<'a>),
    Gitea(Gitea<'a>),
    AzureDevOps(AzureDevOps<'a>),
    CodeCommit(CodeCommit<'a>),
}

/// Lists what a git host has, within the time of the request.
pub(super) async fn list(inner: &Inner, request: &Request) -> Result<Vec<InputSet>, Error> {
    let until = Instant::now() + request.timeout;
    let late = |_| Error::TimedOut { after: request.timeout };
    let filters = Filters::new(&request.filter).and_then(Filters::bounded)?;
    let what = what(request.kind);
    let wire = inner.wire_for(request.certificates.as_ref()).doing(CREATE)?;
    let host = timeout_at(until, host(inner, &wire, request)).await.map_err(late).flatten().doing(CREATE)?;
    let found = timeout_at(until, host.list(what, &filters)).await.map_err(late).flatten();
    let word = what.word();
    let found = found.map_err(|error| {
        let could_not = error.within(format!("could not list {}", named(request.kind, what)));
        could_not.within(format!("failed to list {word}")).within("failed to call Git provider")
    })?;
    Ok(found.into_iter().map(Found::export).collect())
}

impl Host<'_> {
    async fn list(&self, what: What, filters: &Filters) -> Result<Vec<Found>, Error> {
        match self {
            Self::GitHub(host) => host.list(what, filters).await,
            Self::GitLab(host) => host.list(what, filters).await,
            Self::Gitea(host) => host.list(what, filters).await,
            Self::AzureDevOps(host) => host.list(what, filters).await,
            Self::CodeCommit(host) => host.list(what, filters).await,
        }
    }
}

/// What the host itself calls what is listed.
fn named(kind: ProviderType, what: What) -> &'static str {
    match (kind, what) {
        (ProviderType::GitLabMergeRequest, _) => "merge requests",
        (_, What::Requests) => "pull requests",
        (_, what) => what.word(),
    }
}

fn what(kind: ProviderType) -> What {
    use ProviderType as T;
    match kind {
        T::GitHubTag | T::GitLabTag | T::GiteaTag | T::AzureDevOpsTag | T::AWSCodeCommitTag => What::Tags,
        T::GitHubPullRequest
        | T::GitLabMergeRequest
        | T::GiteaPullRequest
        | T::AzureDevOpsPullRequest
        | T::AWSCodeCommitPullRequest => What::Requests,
        T::GitLabEnvironment => What::Environments,
        _ => What::Branches,
    }
}

async fn host<'a>(inner: &'a Inner, wire: &'a Wire, request: &'a Request) -> Result<Host<'a>, Error> {
    use ProviderType as T;
    let url = request.url.as_str();
    let secret = request.secret.as_ref();
    match request.kind {
        T::GitHubBranch | T::GitHubTag | T::GitHubPullRequest => {
            let repository = address::pair(url)?;
            let api = github::api_of(&inner.settings, &repository.host)?;
            let credential = match secret.filter(|secret| secret.data.contains_key("githubAppID")) {
                Some(secret) => Some((
                    "authorization",
                    bearer(github_app::token(inner, wire, &api, (secret, &request.asker)).await?),
                )),
                None => password(secret)?.map(|token| ("authorization", bearer(token))),
            };
            Ok(Host::GitHub(GitHub { wire, api, repository, credential }))
        }
        T::GitLabBranch | T::GitLabTag | T::GitLabMergeRequest | T::GitLabEnvironment => {
            let (host, path) = address::project(url)?;
            let credential = password(secret)?.map(|token| ("private-token", token));
            Ok(Host::GitLab(GitLab { wire, host, path, credential }))
        }
        T::GiteaBranch | T::GiteaTag | T::GiteaPullRequest => {
            let repository = address::pair(url)?;
            let credential = password(secret)?.map(|token| ("authorization", format!("token {token}")));
            let gitea = Gitea { wire, repository, credential };
            gitea.check().await?;
            Ok(Host::Gitea(gitea))
        }
        T::AzureDevOpsBranch | T::AzureDevOpsTag | T::AzureDevOpsPullRequest => {
            let repository = address::azure(url)?;
            let credential = azure_credential(inner, request).await?;
            let base = inner.settings.endpoints.azure_devops.as_deref().unwrap_or(AZURE_DEVOPS);
            let base: Url =
                base.parse().map_err(|_| Error::Said("the address of Azure DevOps cannot be read".to_owned()))?;
            Ok(Host::AzureDevOps(AzureDevOps { wire, base, repository, credential }))
        }
        T::AWSCodeCommitBranch | T::AWSCodeCommitTag | T::AWSCodeCommitPullRequest => {
            let repository = address::code_commit(url)?;
            let keys = inner.aws_keys(&repository.region, request).await?;
            Ok(Host::CodeCommit(CodeCommit { wire, settings: &inner.settings, repository, keys }))
        }
        kind => Err(Error::Said(format!("{kind} is not listed from a git host"))),
    }
}

fn bearer(token: String) -> String {
    format!("Bearer {token}")
}

/// The password of a secret, in which hosts' tokens are kept; its user is needed, too, but not used.
fn password(secret: Option<&SecretData>) -> Result<Option<String>, Error> {
    Ok(secret.map(SecretData::user_and_password).transpose()?.map(|(_, password)| password))
}

async fn azure_credential(inner: &Inner, request: &Request) -> Result<Credential, Error> {
    let token = match password(request.secret.as_ref())? {
        Some(token) => token,
        None => inner.azure_token(AZURE_DEVOPS_SCOPE, request).await?,
    };
    Ok(Some(("authorization", basic("", &token))))
}
