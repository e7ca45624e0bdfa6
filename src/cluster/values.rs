//! Reads of whole objects for those who show or follow them: workloads, namespaces, pods, secrets; and the server itself.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::list::Query;
use super::live::Tell;
use super::meta::Partial;
use super::request::{Call, JSON, Raw};
use super::{Cluster, ErrorKind, KindInfo, LiveObject, RequestError, Version};
use crate::object::{Key, ObjectId, workload};

/// Whole objects per page; they may be large.
const PAGE: u32 = 250;

/// A page whose elements are read one by one, so that one bad element does not spoil the others.
#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default, borrow)]
    metadata: super::meta::ListMeta<'a>,
    #[serde(default, borrow)]
    items: Option<Vec<Raw<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerVersion {
    git_version: String,
}

impl Cluster {
    /// Whether the API server answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self, until: Instant) -> Result<(), RequestError> {
        self.server_version(until).await.map(|_| ())
    }

    /// The API server's version, such as `v1.36.3`.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn server_version(&self, until: Instant) -> Result<String, RequestError> {
        let answer = self.call(&Call::get("get", "/version".to_owned(), JSON, until)).await?;
        answer.parse::<ServerVersion>().map(|v| v.git_version)
    }

    /// Names of the namespaces that we may look at and that exist, sorted.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn namespaces(&self, until: Instant) -> Result<Vec<String>, RequestError> {
        let mut names = Vec::new();
        if self.settings().allow_namespaces.is_empty() {
            let kind = self.known_kind("", "Namespace", until).await?;
            let query = Query { kind: &kind, namespace: None, marked: false, until };
            names = self.list_metadata(query, |m| Some(m.name.to_string())).await?.0;
        }
        for name in &self.settings().allow_namespaces {
            if self.is_readable_namespace(name, until).await? {
                names.push(name.clone());
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Reads one whole object.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn get(&self, kind: &KindInfo, key: &Key, until: Instant) -> Result<Option<Value>, RequestError> {
        let uri = kind.path(key.namespace.as_deref(), &key.name);
        match self.call(&Call::get("get", uri, JSON, until)).await {
            Ok(answer) => answer.parse().map(Some),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NamespaceMissing) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Reads one whole object; that there is none is an error in the API server's words.
    ///
    /// # Errors
    /// When it does not exist, the API server refuses it, or does not answer until the deadline.
    pub async fn fetch(&self, kind: &KindInfo, key: &Key, until: Instant) -> Result<Value, RequestError> {
        let uri = kind.path(key.namespace.as_deref(), &key.name);
        self.call(&Call::get("get", uri, JSON, until)).await?.parse()
    }

    /// Reads one whole object, whosever it is, with what is kept of it. Our own are noted in the live index.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn look(
        &self,
        kind: &Arc<KindInfo>,
        key: &Key,
        until: Instant,
    ) -> Result<Option<(Value, LiveObject)>, RequestError> {
        let uri = kind.path(key.namespace.as_deref(), &key.name);
        match self.call(&Call::get("get", uri, JSON, until)).await {
            Ok(answer) => {
                // Read twice from the same text: fingerprints are of the API server's own bytes.
                let partial: Partial<'_> = answer.parse()?;
                let live = partial.metadata.to_live(kind, self.settings());
                self.live().note(live.clone(), Tell::Nothing);
                Ok(Some((answer.parse()?, live)))
            }
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NamespaceMissing) => {
                self.live().note_gone(key, Version(0), Tell::Nothing);
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Reads all whole objects of a kind (in one namespace), page by page, each with its `apiVersion` and `kind`. An element
    /// that cannot be read is left out.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn list(
        &self,
        kind: &KindInfo,
        namespace: Option<&str>,
        until: Instant,
    ) -> Result<Vec<Value>, RequestError> {
        let (mut all, mut next) = (Vec::new(), String::new());
        loop {
            let query = url::form_urlencoded::Serializer::new(String::new())
                .append_pair("limit", &PAGE.to_string())
                .extend_pairs((!next.is_empty()).then_some(("continue", next.as_str())))
                .finish();
            let uri = format!("{}?{query}", kind.path(namespace, ""));
            let answer = self.call(&Call::get("list", uri, JSON, until)).await?;
            let page: Page<'_> = answer.parse()?;
            let items = page.items.iter().flatten();
            all.extend(items.filter_map(|raw| Some(typed(serde_json::from_str(raw.get()).ok()?, kind))));
            if page.metadata.next.is_empty() {
                return Ok(all);
            }
            next = page.metadata.next.into_owned();
        }
    }

    /// Workloads as fluxd-v1 §3.4 knows them, of one namespace or of all that we may look at: Deployments, DaemonSets,
    /// StatefulSets, CronJobs and HelmReleases. Kinds that the API server lacks, or forbids us, have none.
    ///
    /// # Errors
    /// When a kind that exists cannot be read.
    pub async fn workloads(&self, namespace: Option<&str>, until: Instant) -> Result<Vec<Value>, RequestError> {
        let allowed = &self.settings().allow_namespaces;
        let scopes: Vec<Option<String>> = match namespace {
            Some(one) if allowed.is_empty() || allowed.iter().any(|n| n == one) => vec![Some(one.to_owned())],
            Some(_) => Vec::new(),
            None if allowed.is_empty() => vec![None],
            None => self.namespaces(until).await?.into_iter().map(Some).collect(),
        };
        let kinds = self.recent_kinds(until).await?;
        let found = workload::KINDS.iter().filter_map(|(group, kind)| kinds.find(group, kind, "list"));
        let mut all = Vec::new();
        for kind in found {
            for scope in &scopes {
                match self.list(kind, scope.as_deref(), until).await {
                    Ok(objects) => all.extend(objects),
                    Err(e) if matches!(e.kind(), ErrorKind::Forbidden | ErrorKind::KindMissing) => {}
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(all)
    }

    /// One workload by its identity; `None` when it does not exist, when its kind is none of those above or unknown to the
    /// API server, and when we may not look at it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn workload(&self, id: &ObjectId, until: Instant) -> Result<Option<Value>, RequestError> {
        let allowed = &self.settings().allow_namespaces;
        let Some(namespace) = id.namespace().filter(|n| allowed.is_empty() || allowed.iter().any(|a| a == n)) else {
            return Ok(None);
        };
        let kinds = self.recent_kinds(until).await?;
        let of_kind = workload::KINDS.iter().find(|(_, kind)| kind.eq_ignore_ascii_case(id.kind()));
        let Some(kind) = of_kind.and_then(|(group, kind)| kinds.find(group, kind, "list")) else { return Ok(None) };
        let key = Key {
            group: kind.gvk.group.clone(),
            kind: kind.gvk.kind.clone(),
            namespace: Some(namespace.to_owned()),
            name: id.name().to_owned(),
        };
        match self.get(kind, &key, until).await {
            Ok(found) => Ok(found.map(|object| typed(object, kind))),
            Err(e) if matches!(e.kind(), ErrorKind::Forbidden | ErrorKind::KindMissing) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Merges a JSON merge patch into an object and returns the result.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn merge(
        &self,
        kind: &KindInfo,
        key: &Key,
        patch: &Value,
        until: Instant,
    ) -> Result<Value, RequestError> {
        let query = super::write::manager_query(&self.settings().field_manager);
        let uri = format!("{}?{query}", kind.path(key.namespace.as_deref(), &key.name));
        let body = patch.to_string().into_bytes();
        let mut call = Call::patch(uri, "application/merge-patch+json", body, until);
        call.accept = JSON;
        self.call(&call).await?.parse()
    }

    /// A kind that every API server has, from the last snapshot or a new one.
    async fn known_kind(
        &self,
        group: &str,
        kind: &str,
        until: Instant,
    ) -> Result<std::sync::Arc<KindInfo>, RequestError> {
        let kinds = if self.kinds().is_empty() { self.refresh_kinds(until).await? } else { self.kinds() };
        let missing = || RequestError::local(ErrorKind::KindMissing, format!("the API server has no kind {kind}"));
        kinds.find(group, kind, "list").cloned().ok_or_else(missing)
    }
}

/// Elements of a list come without the two fields that name their type.
fn typed(mut object: Value, kind: &KindInfo) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.entry("apiVersion").or_insert_with(|| kind.gvk.api_version().into());
        map.entry("kind").or_insert_with(|| kind.gvk.kind.clone().into());
    }
    object
}
