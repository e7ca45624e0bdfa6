//! Lists, page by page. A list whose place in history is lost between two pages begins anew.

use std::sync::Arc;

use tokio::time::Instant;

use super::live::Scope;
use super::meta::{Metadata, Page};
use super::request::{Call, METADATA_LIST};
use super::{Cluster, ErrorKind, KindInfo, LiveObject, RequestError};

/// What to list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query<'a> {
    pub(super) kind: &'a Arc<KindInfo>,
    pub(super) namespace: Option<&'a str>,
    /// Only objects that carry our label.
    pub(super) marked: bool,
    pub(super) until: Instant,
}

impl Query<'_> {
    pub(super) fn scope(&self) -> Scope {
        let gvk = &self.kind.gvk;
        let namespace = self.namespace.map(str::to_owned);
        Scope { group: gvk.group.clone(), kind: gvk.kind.clone(), namespace }
    }
}

/// How often one list may begin anew.
const RESTARTS: u32 = 3;

impl Cluster {
    /// Lists metadata, cut down to what is kept, and gives the version of the list.
    pub(super) async fn list_live(&self, query: Query<'_>) -> Result<(Vec<LiveObject>, String), RequestError> {
        let take = |m: &Metadata<'_>| Some(m.to_live(query.kind, self.settings()));
        self.list_metadata(query, take).await
    }

    /// Lists metadata and keeps what `take` makes of each object.
    pub(super) async fn list_metadata<T>(
        &self,
        query: Query<'_>,
        take: impl Fn(&Metadata<'_>) -> Option<T>,
    ) -> Result<(Vec<T>, String), RequestError> {
        let mut restarts = 0;
        loop {
            match self.list_once(query, &take).await {
                Err(e) if e.kind() == ErrorKind::Expired && restarts < RESTARTS => restarts += 1,
                other => return other,
            }
        }
    }

    async fn list_once<T>(
        &self,
        query: Query<'_>,
        take: &impl Fn(&Metadata<'_>) -> Option<T>,
    ) -> Result<(Vec<T>, String), RequestError> {
        let (mut all, mut next) = (Vec::new(), String::new());
        loop {
            let uri = self.list_uri(query, &next);
            let answer = self.call(&Call::get("list", uri, METADATA_LIST, query.until)).await?;
            let page: Page<'_> = answer.parse()?;
            all.extend(page.items.iter().flatten().filter_map(|p| take(&p.metadata)));
            if page.metadata.next.is_empty() {
                return Ok((all, page.metadata.resource_version.into_owned()));
            }
            next = page.metadata.next.into_owned();
        }
    }

    fn list_uri(&self, query: Query<'_>, next: &str) -> String {
        let settings = self.settings();
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        pairs.append_pair("limit", &settings.page_size.to_string());
        if query.marked {
            pairs.append_pair("labelSelector", &settings.mark_label);
        }
        if !next.is_empty() {
            pairs.append_pair("continue", next);
        }
        format!("{}?{}", query.kind.path(query.namespace, ""), pairs.finish())
    }
}
