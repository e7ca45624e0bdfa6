//! Releases as a decision on the head of the branch: what git has, what runs, and what registries offer
//! (fluxd-v1 §6.2, §6.3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use crate::generate::{Change, WorkloadChange};
use crate::object::ObjectId;
use crate::object::image::{CanonicalName, ImageRef};
use crate::report::{JobResult, Update, Workload};
use crate::update::{self, GitWorkload, ImageChange, Images, Release, ReleaseError, World};

use super::commit::{Decision, Outcome};
use super::jobs::Failed;
use super::shared::Shared;
use super::snapshot::Snapshot;
use super::{live, words};

/// Decides a release. What automation decided is decided anew here: since then, git and registries may have moved.
///
/// # Errors
/// As [`update::select`], and when the cluster cannot be read.
pub(super) async fn decide(shared: &Shared, asked: &Update, snapshot: &Snapshot) -> Result<Decision, Failed> {
    let git = snapshot.workloads();
    let began = Instant::now();
    let ids = match asked {
        Update::Auto(_) => update::automated(&git),
        _ => update::candidates(asked, &git).map_err(failed)?,
    };
    let cluster = live::some(shared, &ids, &snapshot.objects).await.map_err(Failed::untyped)?;
    shared.metrics.release_stage("select_workloads", began.elapsed());
    let began = Instant::now();
    let used = used(git.values(), cluster.values());
    ensure_known(shared, asked, &used).await;
    let images = known(shared, used);
    shared.metrics.release_stage("lookup_images", began.elapsed());
    let world = World { git: &git, cluster: &cluster, images: &images };
    let wanted = match asked {
        Update::Auto(_) => Update::Auto(update::decide(&world).changes),
        other => other.clone(),
    };
    let Release { results, changes } = update::select(&wanted, &world).map_err(failed)?;
    let edits = edits(snapshot, &changes);
    Ok(Decision { update: wanted, changes: edits, outcome: Outcome::Release(results, changes) })
}

/// A release that fails tells what it found of each workload, as far as it came.
fn failed(e: ReleaseError) -> Failed {
    let result = JobResult { result: e.results().cloned(), ..JobResult::default() };
    let mut error = words::release_failed(&e.to_string());
    for (id, found) in e.results().iter().flat_map(|results| &results.0).filter(|(_, found)| !found.error.is_empty()) {
        error.help += &format!("    {id}: {} ({})\n", found.error, found.status);
    }
    Failed { error, result: Box::new(result) }
}

/// An image that somebody names need not have been seen by the scan yet. Of one that nothing uses, nothing is asked: nobody
/// is to choose the hosts that we speak to, and perhaps log in at.
async fn ensure_known(shared: &Shared, asked: &Update, used: &BTreeSet<CanonicalName>) {
    let Update::Image(release) = asked else { return };
    if release.wants_latest() {
        return;
    }
    let Ok(image) = release.image.parse::<ImageRef>() else { return };
    if !used.contains(&image.canonical()) {
        return;
    }
    let tags: Vec<String> = Some(image.tag.clone()).filter(|tag| !tag.is_empty()).into_iter().collect();
    if let Err(e) = shared.registry.ensure(&image.canonical(), &tags).await {
        tracing::warn!(component = "sync-loop", image = %image.full(), err = %e, "looking for the image to release");
    }
}

/// What is known of all repositories that git or the cluster names.
pub(super) fn images<'a>(
    shared: &Shared,
    git: impl Iterator<Item = &'a GitWorkload>,
    cluster: impl Iterator<Item = &'a Workload>,
) -> Images {
    known(shared, used(git, cluster))
}

/// The repositories that git or the cluster names.
fn used<'a>(
    git: impl Iterator<Item = &'a GitWorkload>,
    cluster: impl Iterator<Item = &'a Workload>,
) -> BTreeSet<CanonicalName> {
    let of_git = git.flat_map(|w| &w.containers).filter_map(|c| Some(c.image.as_ref().ok()?.canonical()));
    let live = cluster.flat_map(|w| w.containers.iter().flatten());
    let of_cluster = live.filter_map(|c| Some(c.image.parse::<ImageRef>().ok()?.canonical()));
    of_git.chain(of_cluster).collect()
}

fn known(shared: &Shared, names: BTreeSet<CanonicalName>) -> Images {
    let view = |name| shared.registry.repository(&name).ok().map(|view| (name, view));
    names.into_iter().filter_map(view).collect()
}

fn edits(snapshot: &Snapshot, changes: &[ImageChange]) -> Vec<WorkloadChange> {
    let mut by_workload: BTreeMap<&ObjectId, Vec<Change>> = BTreeMap::new();
    for change in changes {
        let edit = Change::Image { container: change.container.clone(), image: change.target.clone() };
        by_workload.entry(&change.id).or_default().push(edit);
    }
    let edits = by_workload.into_iter().filter_map(|(id, changes)| {
        let object = Arc::clone(snapshot.objects.get(id)?);
        Some(WorkloadChange { id: id.clone(), object, changes })
    });
    edits.collect()
}
