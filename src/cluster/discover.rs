//! Discovery: which kinds there are. Two requests to a server with aggregated discovery; one per group and version, many at
//! once, to an older one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use serde::Deserialize;
use tokio::time::Instant;

use super::kinds::GroupVersion;
use super::request::{Answer, Call, JSON};
use super::{Cluster, KindInfo, Kinds, RequestError};
use crate::object::Gvk;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// Age up to which a snapshot serves those who show what runs.
const RECENT: Duration = Duration::from_secs(30);

impl Cluster {
    /// Takes a new snapshot of discovery.
    ///
    /// # Errors
    /// When the API server does not answer at all; a group that does not answer is noted in the snapshot instead.
    pub async fn refresh_kinds(&self, until: Instant) -> Result<Arc<Kinds>, RequestError> {
        let get = |path: &str| Call::get("get", path.to_owned(), AGGREGATED, until);
        let (core, groups) = (get("/api"), get("/apis"));
        let (core, groups) = futures::try_join!(self.call(&core), self.call(&groups))?;
        let mut kinds = Kinds::default();
        for answer in [core, groups] {
            let document: Document = answer.parse()?;
            if document.kind == "APIGroupDiscoveryList" {
                document.items.into_iter().for_each(|group| add_group(&mut kinds, group));
            } else {
                self.add_plain(&mut kinds, &document, until).await;
            }
        }
        Ok(self.set_kinds(kinds))
    }

    /// A snapshot of discovery that is hardly older than the last definition of a kind that somebody installed. Where none
    /// can be had, an older one serves.
    ///
    /// # Errors
    /// When the API server does not answer, and never did.
    pub async fn recent_kinds(&self, until: Instant) -> Result<Arc<Kinds>, RequestError> {
        if self.age_of_kinds().is_some_and(|age| age < RECENT) {
            return Ok(self.kinds());
        }
        match self.refresh_kinds(until).await {
            Err(e) if self.kinds().is_empty() => Err(e),
            Err(_) => Ok(self.kinds()),
            kinds => kinds,
        }
    }

    /// The older form: a list of groups and versions, whose kinds are asked for one by one.
    async fn add_plain(&self, kinds: &mut Kinds, document: &Document, until: Instant) {
        let core = document.versions.iter().map(|v| (String::new(), v.clone()));
        let named = document.groups.iter().flat_map(|g| g.in_order().map(|v| (g.name.clone(), v)));
        let asked = core.chain(named).map(|(group, version)| async move {
            let gvk = Gvk { group, version, kind: String::new() };
            let prefix = if gvk.group.is_empty() { "/api" } else { "/apis" };
            let uri = format!("{prefix}/{}", gvk.api_version());
            let result = self.call(&Call::get("get", uri, JSON, until)).await;
            (gvk, result)
        });
        let asked: Vec<_> = asked.collect();
        let mut answers = futures::stream::iter(asked).buffered(self.settings().concurrency);
        while let Some((gvk, result)) = answers.next().await {
            let parsed = result.and_then(|answer: Answer| answer.parse::<PlainVersion>());
            let version = match parsed {
                Ok(plain) => plain.into_version(&gvk),
                Err(e) => GroupVersion { version: gvk.version, failed: Some(e.to_string()), kinds: HashMap::new() },
            };
            kinds.groups.entry(gvk.group).or_default().push(version);
        }
    }
}

/// Both forms of discovery in one: `items` is the aggregated one's, `groups` and `versions` are the older one's.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    items: Vec<Group>,
    #[serde(default)]
    groups: Vec<PlainGroup>,
    #[serde(default)]
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Name,
    #[serde(default)]
    versions: Vec<Versioned>,
}

#[derive(Default, Deserialize)]
struct Name {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Versioned {
    version: String,
    #[serde(default)]
    freshness: String,
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    resource: String,
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct ResponseKind {
    #[serde(default)]
    kind: String,
}

fn add_group(kinds: &mut Kinds, group: Group) {
    let name = group.metadata.name;
    let versions = kinds.groups.entry(name.clone()).or_default();
    for versioned in group.versions {
        let stale = versioned.freshness == "Stale";
        let failed = stale.then(|| "the server behind this API group does not answer".to_owned());
        let mut found = HashMap::new();
        for resource in versioned.resources {
            let Some(ResponseKind { kind }) = resource.response_kind.filter(|k| !k.kind.is_empty()) else { continue };
            let gvk = Gvk { group: name.clone(), version: versioned.version.clone(), kind: kind.clone() };
            let namespaced = resource.scope == "Namespaced";
            let info = KindInfo { gvk, plural: resource.resource, namespaced, verbs: resource.verbs };
            found.insert(kind, Arc::new(info));
        }
        versions.push(GroupVersion { version: versioned.version, failed, kinds: found });
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlainGroup {
    name: String,
    #[serde(default)]
    versions: Vec<PlainGroupVersion>,
    preferred_version: Option<PlainGroupVersion>,
}

#[derive(Deserialize)]
struct PlainGroupVersion {
    version: String,
}

impl PlainGroup {
    /// Its versions, the preferred one first.
    fn in_order(&self) -> impl Iterator<Item = String> {
        let preferred = self.preferred_version.as_ref().map(|v| v.version.clone());
        let others = self.versions.iter().map(|v| v.version.clone());
        let others: Vec<_> = others.filter(|v| Some(v) != preferred.as_ref()).collect();
        preferred.into_iter().chain(others)
    }
}

#[derive(Deserialize)]
struct PlainVersion {
    #[serde(default)]
    resources: Vec<PlainResource>,
}

#[derive(Deserialize)]
struct PlainResource {
    name: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
}

impl PlainVersion {
    /// Sub-resources, whose names have a slash, are no kinds.
    fn into_version(self, gvk: &Gvk) -> GroupVersion {
        let mut kinds = HashMap::new();
        for resource in self.resources.into_iter().filter(|r| !r.name.contains('/')) {
            let gvk = Gvk { kind: resource.kind.clone(), ..gvk.clone() };
            let info = KindInfo { gvk, plural: resource.name, namespaced: resource.namespaced, verbs: resource.verbs };
            kinds.insert(resource.kind, Arc::new(info));
        }
        GroupVersion { version: gvk.version.clone(), failed: None, kinds }
    }
}
