//! Gitea and Forgejo, by their REST API (resourceset §8.5).

use std::ops::ControlFlow;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Error;
use super::address::{Pair, join, query};
use super::filter::Filters;
use super::found::{Found, Gathered, What, choose_tags};
use super::paging::{Guard, by_link, read_pages};
use super::wire::{Call, Wire, read_json};

/// One repository, and how to ask about it.
pub(super) struct Gitea<'a> {
    pub(super) wire: &'a Wire,
    pub(super) repository: Pair,
    /// The header with the credentials.
    pub(super) credential: Option<(&'static str, String)>,
}

#[derive(Deserialize)]
struct Branch {
    name: String,
    commit: Id,
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    commit: Sha,
}

#[derive(Deserialize)]
struct Sha {
    sha: String,
}

#[derive(Deserialize)]
struct Pull {
    number: u64,
    #[serde(default)]
    title: Option<String>,
    head: Head,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    labels: Option<Vec<Label>>,
}

#[derive(Deserialize)]
struct Head {
    sha: String,
    #[serde(rename = "ref")]
    branch: String,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

impl Gitea<'_> {
    /// Makes sure that there is such a server, as the original does before it lists.
    pub(super) async fn check(&self) -> Result<(), Error> {
        let url = join(&self.repository.host, &["api", "v1", "version"])?;
        self.wire.json::<IgnoredAny>(Call::get(url).credential(self.credential.as_ref())).await.map(drop)
    }

    /// Lists; the host has no environments that could be listed.
    pub(super) async fn list(&self, what: What, filters: &Filters) -> Result<Vec<Found>, Error> {
        match what {
            What::Branches => self.branches(filters).await,
            What::Tags => self.tags(filters).await,
            What::Requests => self.pulls(filters).await,
            What::Environments => Err(Error::Said("environments not supported by Gitea provider".to_owned())),
        }
    }

    fn call(&self, what: &str, pairs: &[(&str, &str)]) -> Result<Call, Error> {
        let Pair { host, owner, name } = &self.repository;
        let url = query(join(host, &["api", "v1", "repos", owner, name, what])?, pairs);
        Ok(Call::get(query(url, &[("limit", "100")])).credential(self.credential.as_ref()))
    }

    async fn branches(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let mut gathered = Gathered::new(filters);
        read_pages(self.wire, self.call("branches", &[])?, by_link, Guard::pages("branches"), |page: Vec<Branch>| {
            page.iter().try_for_each(|b| gathered.offer(&b.name, || Found::branch(&b.name, &b.commit.id)))
        })
        .await?;
        Ok(gathered.found)
    }

    async fn tags(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let mut all = Vec::new();
        read_pages(self.wire, self.call("tags", &[])?, by_link, Guard::pages("tags"), |page: Vec<Tag>| {
            all.extend(page.into_iter().map(|tag| (tag.name, tag.commit.sha)));
            ControlFlow::Continue(())
        })
        .await?;
        Ok(choose_tags(&all, filters))
    }

    async fn pulls(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let mut gathered = Gathered::new(filters);
        let call = self.call("pulls", &[("state", "open")])?;
        read_pages(self.wire, call, by_link, Guard::pages("pull requests"), |page: Vec<Pull>| {
            page.into_iter().try_for_each(|pull| gathered.offer_request(pull.into()))
        })
        .await?;
        Ok(gathered.found)
    }
}

impl From<Pull> for Found {
    fn from(pull: Pull) -> Self {
        Self {
            id: pull.number.to_string(),
            sha: pull.head.sha,
            branch: pull.head.branch,
            title: pull.title.unwrap_or_default(),
            author: pull.user.map(|user| user.login).unwrap_or_default(),
            labels: pull.labels.unwrap_or_default().into_iter().map(|label| label.name).collect(),
            ..Self::default()
        }
    }
}

/// Reads a body as each kind of answer, down to what is exported.
pub(super) fn read_any(body: &[u8]) {
    drop(read_json::<Vec<Branch>>(body));
    drop(read_json::<Vec<Tag>>(body));
    drop(
        read_json::<Vec<Pull>>(body)
            .map(|all| all.into_iter().map(|one| Found::from(one).export()).collect::<Vec<_>>()),
    );
}
