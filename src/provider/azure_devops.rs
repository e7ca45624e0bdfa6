//! Azure DevOps Services, by their REST API (resourceset §8.5).

use std::ops::ControlFlow;

use serde::Deserialize;
use url::Url;

use super::Error;
use super::address::{Azure, join, query};
use super::filter::Filters;
use super::found::{Found, Gathered, What, choose_tags};
use super::paging::{Guard, by_token, read_pages};
use super::wire::{Call, Wire, read_json};

const VERSION: (&str, &str) = ("api-version", "7.1");
/// Change requests of one page.
const PAGE: usize = 100;

/// One repository, and how to ask about it.
pub(super) struct AzureDevOps<'a> {
    pub(super) wire: &'a Wire,
    pub(super) base: Url,
    pub(super) repository: Azure,
    /// The header with the credentials.
    pub(super) credential: Option<(&'static str, String)>,
}

#[derive(Deserialize)]
struct Page<T> {
    // records that lack what is needed are passed over (resourceset §8.5)
    value: Vec<Lenient<T>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Lenient<T> {
    Whole(T),
    Other(serde::de::IgnoredAny),
}

impl<T> Page<T> {
    fn whole(self) -> impl Iterator<Item = T> {
        self.value.into_iter().filter_map(|record| match record {
            Lenient::Whole(record) => Some(record),
            Lenient::Other(_) => None,
        })
    }
}

#[derive(Deserialize)]
struct Branch {
    name: String,
    commit: Commit,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Commit {
    commit_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ref {
    name: String,
    object_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnnotatedTag {
    tagged_object: Tagged,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tagged {
    object_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullRequest {
    pull_request_id: u64,
    source_ref_name: String,
    last_merge_source_commit: Commit,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    created_by: Option<Person>,
    #[serde(default)]
    labels: Option<Vec<Label>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Person {
    #[serde(default)]
    display_name: String,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

impl AzureDevOps<'_> {
    /// Lists; the host has no environments that could be listed.
    pub(super) async fn list(&self, what: What, filters: &Filters) -> Result<Vec<Found>, Error> {
        match what {
            What::Branches => self.branches(filters).await,
            What::Tags => self.tags(filters).await,
            What::Requests => self.pull_requests(filters).await,
            What::Environments => Err(Error::Said("environments not supported by Azure DevOps provider".to_owned())),
        }
    }

    fn call(&self, what: &[&str], pairs: &[(&str, &str)]) -> Result<Call, Error> {
        let Azure { organisation, project, repository } = &self.repository;
        let url = join(&self.base, &[organisation, project, "_apis", "git", "repositories", repository])?;
        let url = query(query(join(&url, what)?, pairs), &[VERSION]);
        Ok(Call::get(url).credential(self.credential.as_ref()))
    }

    async fn branches(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let page: Page<Branch> = self.wire.json(self.call(&["stats", "branches"], &[])?).await?;
        let mut gathered = Gathered::new(filters);
        for branch in page.whole() {
            let found = || Found::branch(&branch.name, &branch.commit.commit_id);
            if gathered.offer(&branch.name, found).is_break() {
                break;
            }
        }
        Ok(gathered.found)
    }

    async fn tags(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let mut all = Vec::new();
        let call = self.call(&["refs"], &[("filter", "tags"), ("$top", "100")])?;
        read_pages(self.wire, call, by_token, Guard::tokens("tags"), |page: Page<Ref>| {
            all.extend(
                page.whole()
                    .filter_map(|found| Some((found.name.strip_prefix("refs/tags/")?.to_owned(), found.object_id))),
            );
            ControlFlow::Continue(())
        })
        .await?;
        let mut chosen = choose_tags(&all, filters);
        for tag in &mut chosen {
            if let Some(commit) = self.peeled(&tag.sha).await? {
                tag.sha = commit;
            }
        }
        Ok(chosen)
    }

    /// The commit behind an annotated tag; `None` for an object that is none. Trouble of the server's is no such answer: it
    /// would export the wrong hash.
    async fn peeled(&self, object: &str) -> Result<Option<String>, Error> {
        let call = self.call(&["annotatedtags", object], &[])?;
        match self.wire.json::<AnnotatedTag>(call).await {
            Ok(tag) => Ok(Some(tag.tagged_object.object_id)),
            Err(Error::Status { code: 400 | 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn pull_requests(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let mut gathered = Gathered::new(filters);
        let mut guard = Guard::pages("pull requests");
        let mut skip = 0_usize;
        loop {
            let text = skip.to_string();
            let pairs = [("$top", "100"), ("$skip", text.as_str()), ("searchCriteria.status", "active")];
            let page: Page<PullRequest> = self.wire.json(self.call(&["pullrequests"], &pairs)?).await?;
            let count = page.value.len();
            let enough = page.whole().try_for_each(|request| gathered.offer_request(request.into()));
            if enough.is_break() || count < PAGE {
                return Ok(gathered.found);
            }
            skip += count;
            guard.advance(&skip.to_string())?;
        }
    }
}

impl From<PullRequest> for Found {
    fn from(request: PullRequest) -> Self {
        let branch = request.source_ref_name;
        Self {
            id: request.pull_request_id.to_string(),
            sha: request.last_merge_source_commit.commit_id,
            branch: branch.strip_prefix("refs/heads/").unwrap_or(&branch).to_owned(),
            title: request.title.unwrap_or_default(),
            author: request.created_by.map(|person| person.display_name).unwrap_or_default(),
            labels: request.labels.unwrap_or_default().into_iter().map(|label| label.name).collect(),
            ..Self::default()
        }
    }
}

/// Reads a body as each kind of answer, down to what is exported.
pub(super) fn read_any(body: &[u8]) {
    drop(read_json::<Page<Branch>>(body));
    drop(read_json::<Page<Ref>>(body));
    drop(read_json::<AnnotatedTag>(body));
    drop(
        read_json::<Page<PullRequest>>(body)
            .map(|page| page.whole().map(|one| Found::from(one).export()).collect::<Vec<_>>()),
    );
}
