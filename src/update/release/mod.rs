//! Releases: which workloads they concern, what becomes of each, and which images change (fluxd-v1 §6.2, §6.3).

mod auto;
mod containers;
mod image;
mod scope;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::{GitWorkload, Images};
use crate::object::ObjectId;
use crate::object::image::{ImageError, ImageRef};
use crate::object::{IdError, workload};
use crate::report::{ContainerUpdate, ResultSet, Update, Workload, WorkloadResult};
use scope::Scope;

/// What a release is decided on.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// The workloads in git.
    pub git: &'a BTreeMap<ObjectId, GitWorkload>,
    /// The live ones among [`candidates`], add-ons and forbidden namespaces left out.
    pub cluster: &'a BTreeMap<ObjectId, Workload>,
    /// What is known of the repositories of their images.
    pub images: &'a Images,
}

/// A container that gets another image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageChange {
    /// The workload.
    pub id: ObjectId,
    /// The container.
    pub container: String,
    /// The image it runs now.
    pub current: ImageRef,
    /// The image it gets, spelled as git spells it.
    pub target: ImageRef,
}

/// What a release comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    /// What became of each workload.
    pub results: ResultSet,
    /// What to write.
    pub changes: Vec<ImageChange>,
}

/// Why there is no release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// A workload's identity cannot be read.
    #[error(transparent)]
    Id(#[from] IdError),
    /// An image reference cannot be read.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The image to release is not known, or it has neither tag nor digest.
    #[error("image {0:?} does not exist: invalid image ID")]
    Unknown(String),
    /// At least one workload cannot have what was asked for.
    #[error("cannot satisfy specs")]
    Unsatisfied(ResultSet),
    /// All is as was asked for already.
    #[error("no changes found")]
    NoChanges(ResultSet),
    /// The update is no release.
    #[error("unknown update type {0:?}")]
    NotARelease(&'static str),
}

impl ReleaseError {
    /// What became of each workload, where that is known.
    pub fn results(&self) -> Option<&ResultSet> {
        match self {
            Self::Unsatisfied(results) | Self::NoChanges(results) => Some(results),
            _ => None,
        }
    }
}

/// The workloads of which the live state must be known before [`select`].
///
/// # Errors
/// When an identity cannot be read, or the update is no release.
pub fn candidates(update: &Update, git: &BTreeMap<ObjectId, GitWorkload>) -> Result<Vec<ObjectId>, ReleaseError> {
    let scope = Scope::of(update)?;
    Ok(git.keys().filter(|id| scope.before(id).is_none()).cloned().collect())
}

/// Decides a release.
///
/// # Errors
/// When the specification cannot be read, its image does not exist, or (`type: containers`) it cannot be satisfied.
pub fn select(update: &Update, world: &World<'_>) -> Result<Release, ReleaseError> {
    let scope = Scope::of(update)?;
    let mut release = Release::default();
    if let Some(image) = &scope.image {
        image::check_exists(image, world.images)?;
    }
    for (id, git) in world.git {
        let result = match scope.before(id) {
            Some(result) => result,
            None => match world.cluster.get(id) {
                None => skipped("not accessible in cluster"),
                Some(live) => match scope.after(git, live) {
                    Some(result) => result,
                    None => decide(update, &scope, (git, live, world.images), &mut release.changes),
                },
            },
        };
        release.results.0.insert(id.clone(), result);
    }
    for id in scope.must_exist() {
        release.results.0.entry(id.clone()).or_insert_with(|| skipped("not found in repository"));
    }
    match update {
        Update::Containers(_) => containers::judge(release),
        _ => Ok(release),
    }
}

/// One workload: as git has it, as it is live, and the images known.
type One<'a> = (&'a GitWorkload, &'a Workload, &'a Images);

fn decide(update: &Update, scope: &Scope, one: One<'_>, changes: &mut Vec<ImageChange>) -> WorkloadResult {
    let outcome = match update {
        Update::Image(spec) => image::decide(spec.force, scope.image.as_ref(), one),
        Update::Containers(spec) => containers::decide(spec, one),
        Update::Auto(list) => auto::decide(list, one.0),
        Update::Policy(_) | Update::Sync => Outcome::Other(skipped("image(s) up to date")),
    };
    match outcome {
        Outcome::Other(result) => result,
        Outcome::Changes(found, error) => {
            let containers = found.iter().map(ContainerUpdate::from).collect();
            changes.extend(found);
            WorkloadResult { status: "success".into(), error, containers }
        }
    }
}

/// What becomes of one workload.
enum Outcome {
    /// Images change; the text tells what else there is to say.
    Changes(Vec<ImageChange>, String),
    /// None does.
    Other(WorkloadResult),
}

impl From<&ImageChange> for ContainerUpdate {
    fn from(change: &ImageChange) -> Self {
        Self { container: change.container.clone(), current: change.current.full(), target: change.target.full() }
    }
}

fn with_status(status: &str, error: &str) -> WorkloadResult {
    WorkloadResult { status: status.to_owned(), error: error.to_owned(), containers: Vec::new() }
}

fn skipped(error: &str) -> WorkloadResult {
    with_status("skipped", error)
}

fn ignored(error: &str) -> WorkloadResult {
    with_status("ignored", error)
}

fn failed(error: &str) -> WorkloadResult {
    with_status("failed", error)
}

/// The live containers whose images can be read, or the first reason why not.
fn live_images(live: &Workload) -> Result<Vec<workload::Container>, String> {
    let containers = live.containers.as_ref().map_err(Clone::clone)?;
    let read = |c: &crate::report::WorkloadContainer| {
        let image: ImageRef = c.image.parse().map_err(|e: ImageError| e.to_string())?;
        Ok(workload::Container { name: c.name.clone(), image: Ok(image) })
    };
    containers.iter().map(read).collect()
}
