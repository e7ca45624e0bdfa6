//! GitLab, by its REST API (resourceset §8.5). Answers of too many requests or of trouble of the server's own are asked for
//! again, as its own client does.

use std::ops::ControlFlow;

use serde::Deserialize;
use url::Url;

use super::Error;
use super::address::{join, query};
use super::filter::Filters;
use super::found::{Found, Gathered, What, choose_tags, slug};
use super::paging::{Guard, by_number, read_pages};
use super::wire::{Call, Wire, read_json};

/// One project, and how to ask about it.
pub(super) struct GitLab<'a> {
    pub(super) wire: &'a Wire,
    pub(super) host: Url,
    /// Groups and project, with slashes between.
    pub(super) path: String,
    /// The header with the credentials.
    pub(super) credential: Option<(&'static str, String)>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    commit: Commit,
}

#[derive(Deserialize)]
struct Commit {
    id: String,
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u64,
    #[serde(default)]
    sha: Option<String>,
    source_branch: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    author: Option<User>,
    #[serde(default)]
    labels: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize)]
struct Environment {
    id: u64,
    name: String,
    #[serde(default)]
    slug: String,
    #[serde(default)]
    state: String,
}

#[derive(Deserialize)]
struct Deployment {
    #[serde(default)]
    status: String,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    deployable: Option<Deployable>,
}

#[derive(Deserialize)]
struct Deployable {
    #[serde(default)]
    commit: Option<Commit>,
    #[serde(default, rename = "ref")]
    branch: Option<String>,
}

impl GitLab<'_> {
    /// Lists.
    pub(super) async fn list(&self, what: What, filters: &Filters) -> Result<Vec<Found>, Error> {
        match what {
            What::Branches => self.branches(filters).await,
            What::Tags => self.tags(filters).await,
            What::Requests => self.merge_requests(filters).await,
            What::Environments => self.environments(filters).await,
        }
    }

    fn call(&self, what: &[&str], pairs: &[(&str, &str)]) -> Result<Call, Error> {
        let url = join(&self.host, &["api", "v4", "projects", &self.path])?;
        let url = query(join(&url, what)?, pairs);
        Ok(Call::get(query(url, &[("per_page", "100")])).credential(self.credential.as_ref()).patient())
    }

    async fn branches(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let include = filters.include_text.as_deref().map(|text| ("regex", text));
        let call = self.call(&["repository", "branches"], include.as_slice())?;
        let mut gathered = Gathered::new(filters);
        read_pages(self.wire, call, by_number, Guard::pages("branches"), |page: Vec<Named>| {
            page.iter().try_for_each(|branch| {
                let found = || Found { slug: slug(&branch.name), ..Found::branch(&branch.name, &branch.commit.id) };
                gathered.offer(&branch.name, found)
            })
        })
        .await?;
        Ok(gathered.found)
    }

    async fn tags(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let mut all = Vec::new();
        let call = self.call(&["repository", "tags"], &[])?;
        read_pages(self.wire, call, by_number, Guard::pages("tags"), |page: Vec<Named>| {
            all.extend(page.into_iter().map(|tag| (tag.name, tag.commit.id)));
            ControlFlow::Continue(())
        })
        .await?;
        let with_slug = |found: Found| Found { slug: slug(&found.tag), ..found };
        Ok(choose_tags(&all, filters).into_iter().map(with_slug).collect())
    }

    async fn merge_requests(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let labels = filters.labels.join(",");
        let mut pairs = vec![("state", "opened")];
        if !labels.is_empty() {
            pairs.push(("labels", &labels));
        }
        let mut gathered = Gathered::new(filters);
        let call = self.call(&["merge_requests"], &pairs)?;
        read_pages(self.wire, call, by_number, Guard::pages("merge requests"), |page: Vec<MergeRequest>| {
            // the server has chosen by labels already
            page.into_iter().try_for_each(|request| gathered.offer(&request.source_branch.clone(), || request.into()))
        })
        .await?;
        Ok(gathered.found)
    }

    async fn environments(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let mut all = Vec::new();
        let call = self.call(&["environments"], &[])?;
        read_pages(self.wire, call, by_number, Guard::pages("environments"), |page: Vec<Environment>| {
            all.extend(page.into_iter().filter(|environment| filters.admits(&environment.name)));
            ControlFlow::Continue(())
        })
        .await?;
        let mut gathered = Gathered::new(filters);
        for environment in all {
            let Some(deployment) = self.deployment(&environment).await? else { continue };
            let name = environment.name.clone();
            if gathered.offer(&name, || export(environment, deployment)).is_break() {
                break;
            }
        }
        Ok(gathered.found)
    }

    /// The newest deployment that stands for an environment: one that runs, or one that succeeded while the environment is
    /// there. Only the first page is looked at, as in the original.
    async fn deployment(&self, environment: &Environment) -> Result<Option<Deployment>, Error> {
        let pairs = [("environment", environment.name.as_str()), ("order_by", "created_at"), ("sort", "desc")];
        let call = self.call(&["deployments"], &pairs)?;
        let newest_first: Vec<Deployment> = self.wire.json(call).await?;
        let stands = |deployment: &Deployment| match deployment.status.as_str() {
            "running" => true,
            "success" => environment.state == "available",
            _ => false,
        };
        Ok(newest_first.into_iter().find(stands))
    }
}

/// Hash and branch are those of the job that deployed (errata 11).
fn export(environment: Environment, deployment: Deployment) -> Found {
    let (commit, branch) = deployment.deployable.map(|job| (job.commit, job.branch)).unwrap_or_default();
    Found {
        id: environment.id.to_string(),
        sha: commit.map(|commit| commit.id).unwrap_or_default(),
        branch: branch.unwrap_or_default(),
        title: environment.name,
        slug: environment.slug,
        author: deployment.user.map(|user| user.username).unwrap_or_default(),
        ..Found::default()
    }
}

impl From<MergeRequest> for Found {
    fn from(request: MergeRequest) -> Self {
        Self {
            id: request.iid.to_string(),
            sha: request.sha.unwrap_or_default(),
            slug: slug(&request.source_branch),
            branch: request.source_branch,
            title: request.title.unwrap_or_default(),
            author: request.author.map(|user| user.username).unwrap_or_default(),
            labels: request.labels.unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// Reads a body as each kind of answer, down to what is exported.
pub(super) fn read_any(body: &[u8]) {
    drop(read_json::<Vec<Named>>(body));
    drop(
        read_json::<Vec<MergeRequest>>(body)
            .map(|all| all.into_iter().map(|one| Found::from(one).export()).collect::<Vec<_>>()),
    );
    drop(read_json::<Vec<Environment>>(body));
    drop(read_json::<Vec<Deployment>>(body));
}
