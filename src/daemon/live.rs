//! Live workloads: those of the five kinds, and those that git knows to be workloads because they declare where their images
//! are (`images.fluxd.io/…`). The latter are asked for one by one: their kinds may be any.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::object::{Gvk, Object, ObjectId, workload};
use crate::operator::{self, reads::ImageUser};
use crate::report::Workload;

use super::shared::Shared;

/// More workloads than this are listed rather than asked for one by one.
const ONE_BY_ONE: usize = 20;

/// Objects of git by identity.
type InGit = HashMap<ObjectId, Arc<Object>>;

/// Whether an object in git is a workload.
pub(super) fn is_workload(object: &Object) -> bool {
    workload::is_workload_kind(&object.gvk().kind) || declares(object)
}

fn declares(object: &Object) -> bool {
    workload::may_declare(object.json()) && workload::is_workload(&object.value())
}

fn declaring(in_git: &InGit) -> impl Iterator<Item = (&ObjectId, &Gvk)> {
    let others = in_git.iter().filter(|(_, object)| !workload::is_workload_kind(&object.gvk().kind));
    others.filter(|(_, object)| declares(object)).map(|(id, object)| (id, object.gvk()))
}

/// A live workload that declares where its images are. One that cannot be read, perhaps because we may not, counts as not
/// there, so that it does not hold up all others.
async fn declared(shared: &Shared, kind: &Gvk, id: &ObjectId) -> Option<Workload> {
    match shared.reads.get_workload_of(kind, id).await {
        Ok(workload) => workload,
        Err(e) => {
            tracing::warn!(component = "cluster", workload = %id, err = %e, "left out: it cannot be read");
            None
        }
    }
}

/// Those of the workloads that are live.
///
/// # Errors
/// When the cluster cannot be read.
pub(super) async fn some(
    shared: &Shared,
    ids: &[ObjectId],
    in_git: &InGit,
) -> Result<BTreeMap<ObjectId, Workload>, operator::Error> {
    let mut found = if ids.len() > ONE_BY_ONE {
        shared.reads.list_workloads(None).await?
    } else {
        shared.reads.get_workloads(ids).await?
    };
    let ids: HashSet<&ObjectId> = ids.iter().collect();
    found.retain(|workload| ids.contains(&workload.id));
    for (id, kind) in declaring(in_git).filter(|(id, _)| ids.contains(id)) {
        found.extend(declared(shared, kind, id).await);
    }
    Ok(found.into_iter().map(|workload| (workload.id.clone(), workload)).collect())
}

/// All live workloads of a namespace, or of all.
///
/// # Errors
/// When the cluster cannot be read.
pub(super) async fn all(
    shared: &Shared,
    namespace: Option<&str>,
    in_git: &InGit,
) -> Result<Vec<Workload>, operator::Error> {
    let mut found = shared.reads.list_workloads(namespace).await?;
    let wanted = |id: &ObjectId| namespace.is_none() || id.namespace() == namespace;
    for (id, kind) in declaring(in_git).filter(|(id, _)| wanted(id)) {
        found.extend(declared(shared, kind, id).await);
    }
    Ok(found)
}

/// All live workloads with what their pods pull images by. What pulls the images that others declare is not known: their
/// namespace's default account is asked.
///
/// # Errors
/// When the cluster cannot be read.
pub(super) async fn image_users(shared: &Shared, in_git: &InGit) -> Result<Vec<ImageUser>, operator::Error> {
    let mut users = shared.reads.list_image_users().await?;
    for (id, kind) in declaring(in_git) {
        let Some(namespace) = id.namespace() else { continue };
        let workload = declared(shared, kind, id).await;
        users.extend(workload.map(|workload| ImageUser {
            workload,
            namespace: namespace.to_owned(),
            service_account: "default".to_owned(),
            pull_secrets: Vec::new(),
        }));
    }
    Ok(users)
}
