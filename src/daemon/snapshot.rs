//! What git says at the head of the branch, as jobs and automation look at it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::generate::Loaded;
use crate::object::{Object, ObjectId};
use crate::report::ApiError;
use crate::runtime::Stop;
use crate::tree::{Revision, Tree};
use crate::update::GitWorkload;

use super::shared::{LoadError, Shared};
use super::words;
use super::{live, marker};

/// The newest commit with all that it says.
pub(super) struct Snapshot {
    /// The commit.
    pub(super) head: Revision,
    /// Its files.
    pub(super) tree: Tree,
    /// Its objects by identity, with the namespaces they really have.
    pub(super) objects: HashMap<ObjectId, Arc<Object>>,
}

impl Snapshot {
    /// The workloads alone.
    pub(super) fn workloads(&self) -> BTreeMap<ObjectId, GitWorkload> {
        self.objects.iter().filter(|(_, object)| live::is_workload(object)).map(described).collect()
    }

    /// The objects that are named, workloads or not.
    pub(super) fn named<'a>(&self, ids: impl Iterator<Item = &'a ObjectId>) -> BTreeMap<ObjectId, GitWorkload> {
        ids.filter_map(|id| self.objects.get_key_value(id)).map(described).collect()
    }
}

fn described((id, object): (&ObjectId, &Arc<Object>)) -> (ObjectId, GitWorkload) {
    (id.clone(), GitWorkload::new(id.clone(), &object.value()))
}

/// Reads the head of the branch as the mirror knows it.
///
/// # Errors
/// When nothing may be written, the repository is not ready, its head has no good signature where that is asked for, or
/// its files do not load.
pub(super) async fn take(shared: &Shared, stop: &Stop) -> Result<Snapshot, ApiError> {
    let untyped = |e: &dyn std::fmt::Display| ApiError::untyped(e.to_string());
    if shared.settings.readonly {
        return Err(untyped(&crate::source::git::PushError::ReadOnly));
    }
    shared.repo.ready().map_err(|e| untyped(&e))?;
    let head = shared.repo.head().await.map_err(|e| untyped(&e))?;
    if shared.settings.verify_signatures {
        let marker = marker::read(shared).await.map_err(|e| untyped(&e))?;
        let verified = shared.repo.latest_valid(marker.as_ref()).await.map_err(|e| untyped(&e))?;
        if verified.revision.as_ref() != Some(&head) {
            return Err(words::unsigned_head());
        }
    }
    let tree = shared.repo.tree(&head).await.map_err(|e| untyped(&e))?;
    // What has no namespace is called so only where its kind is known.
    if let Err(e) = shared.reads.learn_kinds().await {
        tracing::debug!(component = "sync-loop", err = %e, "the kinds of the cluster are not known");
    }
    let loaded = shared.load(&head, false, stop).await.map_err(|e| match e {
        LoadError::Git(e) => untyped(&e),
        LoadError::Manifests(e) => words::unparseable(&e.to_string()),
    })?;
    Ok(Snapshot { head, tree, objects: by_id(shared, &loaded) })
}

/// Objects by identity, namespaces filled in where the manifest leaves them out and the kind has them.
pub(super) fn by_id(shared: &Shared, loaded: &Loaded) -> HashMap<ObjectId, Arc<Object>> {
    let fallback = &shared.settings.default_namespace;
    let id = |object: &Object| {
        let namespace = match object.namespace() {
            _ if shared.reads.is_cluster_scoped(object.gvk()) => None,
            written => Some(written.unwrap_or(fallback)),
        };
        ObjectId::new(namespace, &object.gvk().kind, object.name())
    };
    loaded.objects.iter().map(|object| (id(object), Arc::clone(object))).collect()
}
