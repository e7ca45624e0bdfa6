//! GitHub and GitHub Enterprise, by their REST API (resourceset §8.5).

use std::ops::ControlFlow;

use serde::Deserialize;
use url::Url;

use super::address::{Pair, join, query};
use super::filter::Filters;
use super::found::{Found, Gathered, What, choose_tags};
use super::paging::{Guard, by_link, read_pages};
use super::wire::{Call, Wire, read_json};
use super::{Error, Settings};

/// The API of GitHub itself.
const API: &str = "https://api.github.com";

/// One repository, and how to ask about it.
pub(super) struct GitHub<'a> {
    pub(super) wire: &'a Wire,
    pub(super) api: Url,
    pub(super) repository: Pair,
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

/// The API that goes with a host: GitHub's own, or that of an enterprise's server.
pub(super) fn api_of(settings: &Settings, host: &Url) -> Result<Url, Error> {
    let base = match host.host_str() {
        Some("github.com" | "www.github.com") => settings.endpoints.github.as_deref().unwrap_or(API).to_owned(),
        _ => format!("{host}api/v3"),
    };
    base.parse().map_err(|_| Error::Url { url: base, expected: "the address of GitHub's API".to_owned() })
}

impl GitHub<'_> {
    /// Lists; the host has no environments that could be listed.
    pub(super) async fn list(&self, what: What, filters: &Filters) -> Result<Vec<Found>, Error> {
        match what {
            What::Branches => self.branches(filters).await,
            What::Tags => self.tags(filters).await,
            What::Requests => self.pulls(filters).await,
            What::Environments => Err(Error::Said("environments not supported by GitHub provider".to_owned())),
        }
    }

    fn call(&self, what: &str, pairs: &[(&str, &str)]) -> Result<Call, Error> {
        let Pair { owner, name, .. } = &self.repository;
        let url = query(join(&self.api, &["repos", owner, name, what])?, pairs);
        let call = Call::get(query(url, &[("per_page", "100")])).credential(self.credential.as_ref());
        Ok(call.header("x-github-api-version", "2022-11-28"))
    }

    async fn branches(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let mut gathered = Gathered::new(filters);
        read_pages(self.wire, self.call("branches", &[])?, by_link, Guard::pages("branches"), |page: Vec<Named>| {
            page.iter().try_for_each(|b| gathered.offer(&b.name, || Found::branch(&b.name, &b.commit.sha)))
        })
        .await?;
        Ok(gathered.found)
    }

    async fn tags(&self, filters: &Filters) -> Result<Vec<Found>, Error> {
        let mut all = Vec::new();
        read_pages(self.wire, self.call("tags", &[])?, by_link, Guard::pages("tags"), |page: Vec<Named>| {
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
            // an account that was deleted has none
            author: pull.user.map(|user| user.login).unwrap_or_default(),
            labels: pull.labels.unwrap_or_default().into_iter().map(|label| label.name).collect(),
            ..Self::default()
        }
    }
}

/// Reads a body as each kind of answer, down to what is exported.
pub(super) fn read_any(body: &[u8]) {
    drop(read_json::<Vec<Named>>(body));
    drop(
        read_json::<Vec<Pull>>(body)
            .map(|all| all.into_iter().map(|one| Found::from(one).export()).collect::<Vec<_>>()),
    );
}
