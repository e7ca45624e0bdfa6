//! What would go down with a Namespace or a CustomResourceDefinition: objects in it that are not part of the same deletion.

use std::collections::HashSet;
use std::sync::Arc;

use futures::StreamExt;
use tokio::time::Instant;

use super::list::Query;
use super::meta::Metadata;
use super::{Cluster, ErrorKind, KindInfo, Kinds, RequestError};
use crate::object::{Gvk, Key};

/// Something that would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// An object that is not part of the deletion; the first one found.
    Object(Key),
    /// Objects of this kind (or API group) could not be read, so there may be some.
    Unreadable {
        /// What could not be read.
        kind: String,
        /// Why.
        reason: String,
    },
}

impl std::fmt::Display for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Object(key) => write!(f, "it holds {key}, which is not part of this deletion"),
            Self::Unreadable { kind, reason } => {
                write!(f, "it may hold objects of {kind}, which cannot be read: {reason}")
            }
        }
    }
}

/// Groups whose objects are news or measurements, never anybody's property.
const FLEETING_GROUPS: [&str; 4] =
    ["events.k8s.io", "metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"];

impl Cluster {
    /// Looks for something that a deletion of `target` (a Namespace or CustomResourceDefinition) would take with it although
    /// it is not among `deletes`. Not counted are a namespace's default service account and root CA, events, and objects
    /// that others in the namespace own. What cannot be read counts. Other kinds of target hold nothing.
    ///
    /// # Errors
    /// When the API server does not answer until the deadline.
    pub async fn holds_foreign_objects(
        &self,
        target: &Key,
        deletes: &HashSet<Key>,
        until: Instant,
    ) -> Result<Option<Foreign>, RequestError> {
        match (target.group.as_str(), target.kind.as_str()) {
            ("", "Namespace") => Ok(self.foreign_in_namespace(&target.name, deletes, until).await),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                self.foreign_of_definition(&target.name, deletes, until).await
            }
            _ => Ok(None),
        }
    }

    async fn foreign_in_namespace(&self, name: &str, deletes: &HashSet<Key>, until: Instant) -> Option<Foreign> {
        let kinds = self.kinds();
        let unreadable = |(kind, reason)| Foreign::Unreadable { kind, reason };
        let failed = kinds.failed(&self.settings().exclude).into_iter().next();
        // Only kinds that can be deleted one by one are somebody's property.
        let listable = kinds.listable(&[]).into_iter().filter(|k| k.namespaced && k.can("delete") && !is_fleeting(k));
        let looks = listable.map(|kind| {
            let kinds = Arc::clone(&kinds);
            async move { self.first_foreign(&kind, Some(name), (deletes, &kinds), until).await }
        });
        let looks: Vec<_> = looks.collect();
        let mut answers = futures::stream::iter(looks).buffer_unordered(self.settings().concurrency);
        while let Some(answer) = answers.next().await {
            if answer.is_some() {
                return answer;
            }
        }
        failed.map(unreadable)
    }

    async fn foreign_of_definition(
        &self,
        name: &str,
        deletes: &HashSet<Key>,
        until: Instant,
    ) -> Result<Option<Foreign>, RequestError> {
        let definition = match self.read_definition(name, until).await {
            Ok(definition) => definition,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let kinds = self.kinds();
        let (group, kind) = (&definition.spec.group, &definition.spec.names.kind);
        let Some(kind) = kinds.find(group, kind, "list") else { return Ok(None) };
        Ok(self.first_foreign(kind, None, (deletes, &kinds), until).await)
    }

    async fn first_foreign(
        &self,
        kind: &Arc<KindInfo>,
        namespace: Option<&str>,
        (deletes, kinds): (&HashSet<Key>, &Kinds),
        until: Instant,
    ) -> Option<Foreign> {
        let is_foreign = |m: &Metadata<'_>| {
            let key = m.key(kind);
            let spared = is_namespaces_own(&key) || deletes.contains(&key) || is_owned_inside(m, kinds);
            (!spared).then_some(key)
        };
        let query = Query { kind, namespace, marked: false, until };
        match self.list_metadata(query, is_foreign).await {
            Ok((found, _)) => found.into_iter().next().map(Foreign::Object),
            Err(e) if e.kind() == ErrorKind::KindMissing => None,
            Err(e) => Some(Foreign::Unreadable { kind: kind.gvk.to_string(), reason: e.to_string() }),
        }
    }
}

fn is_fleeting(kind: &KindInfo) -> bool {
    let Gvk { group, kind, .. } = &kind.gvk;
    FLEETING_GROUPS.contains(&group.as_str()) || (group.is_empty() && kind == "Event")
}

/// What every namespace is given by the control plane.
fn is_namespaces_own(key: &Key) -> bool {
    key.group.is_empty()
        && matches!(
            (key.kind.as_str(), key.name.as_str()),
            ("ServiceAccount", "default") | ("ConfigMap", "kube-root-ca.crt")
        )
}

/// An object owned by another of the namespace goes with its owner, which is looked at itself.
fn is_owned_inside(metadata: &Metadata<'_>, kinds: &Kinds) -> bool {
    metadata.owner_references.iter().flatten().any(|owner| {
        let gvk = Gvk::new(&owner.api_version, &owner.kind);
        kinds.resolve(&gvk).is_ok_and(|k| k.namespaced)
    })
}
