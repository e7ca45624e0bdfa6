//! Lists of workloads: what the cluster runs, with what git says of it (fluxd-v1 §8.3).

use std::collections::HashMap;
use std::sync::Arc;

use crate::object::image::ImageRef;
use crate::object::{Ignore, Object, ObjectId};
use crate::report::{ApiError, Container, ControllerStatus, ImageInfo, ReadOnly, Workload};
use crate::source::git;

use super::live;
use super::shared::{ResourcesError, Shared};
use super::snapshot::by_id;

/// What git is known to say.
struct InGit {
    /// Objects by identity, namespaces filled in where the manifest leaves them out.
    objects: HashMap<ObjectId, Arc<Object>>,
    /// The answer for a workload that is not among them.
    otherwise: ReadOnly,
    /// Whether nothing may be changed at all.
    readonly: bool,
}

pub(super) async fn list(
    shared: &Shared,
    namespace: &str,
    ids: &[ObjectId],
) -> Result<Vec<ControllerStatus>, ApiError> {
    let namespace = Some(namespace).filter(|n| !n.is_empty());
    let in_git = in_git(shared).await?;
    let workloads = live::all(shared, namespace, &in_git.objects).await;
    let workloads = workloads.map_err(|e| ApiError::untyped(e.to_string()))?;
    let wanted = workloads.into_iter().filter(|w| ids.is_empty() || ids.contains(&w.id));
    Ok(wanted.map(|w| status(shared, w, &in_git)).collect())
}

async fn in_git(shared: &Shared) -> Result<InGit, ApiError> {
    let readonly = shared.settings.readonly;
    let nothing = |otherwise| InGit { objects: HashMap::new(), otherwise, readonly };
    match shared.resources().await {
        Ok(loaded) => Ok(InGit { objects: by_id(shared, &loaded), otherwise: ReadOnly::NotInRepo, readonly }),
        Err(ResourcesError::Repo(git::Error::Unconfigured)) => Ok(nothing(ReadOnly::NoRepo)),
        Err(ResourcesError::Repo(git::Error::NotReady(_))) => Ok(nothing(ReadOnly::NotReady)),
        Err(e) => Err(e.into()),
    }
}

fn status(shared: &Shared, workload: Workload, git: &InGit) -> ControllerStatus {
    let object = git.objects.get(&workload.id);
    let policies = object.map(|o| o.policies());
    let is = |name: &str| policies.is_some_and(|p| p.is_set(name));
    let read_only = match object {
        None => git.otherwise,
        Some(_) if git.readonly => ReadOnly::ReadOnlyMode,
        Some(_) => ReadOnly::No,
    };
    let sync_error = shared.operator.get().and_then(|o| o.sync_error(&workload.id)).unwrap_or_default();
    let all = policies.map(|p| p.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect());
    ControllerStatus {
        containers: containers(&workload),
        read_only,
        sync_error,
        automated: is("automated"),
        locked: is("locked"),
        ignore: policies.is_some_and(|p| p.ignore() == Some(Ignore::Always)),
        policies: all.unwrap_or_default(),
        id: workload.id,
        status: workload.status,
        rollout: workload.rollout,
        antecedent: workload.antecedent,
        labels: Some(workload.labels),
    }
}

fn containers(workload: &Workload) -> Vec<Container> {
    let Ok(containers) = &workload.containers else { return Vec::new() };
    let one = |c: &crate::report::WorkloadContainer| Container {
        name: c.name.clone(),
        current: ImageInfo::named(shown(&c.image)),
        latest_filtered: ImageInfo::default(),
    };
    containers.iter().map(one).collect()
}

/// A reference as v1 writes it: with a digest, its tag is not shown (fluxd-v1 §3.8).
fn shown(image: &str) -> String {
    image.parse::<ImageRef>().map_or_else(|_| image.to_owned(), |reference| reference.to_string())
}
