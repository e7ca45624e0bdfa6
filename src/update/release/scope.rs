//! Which workloads a release concerns, before anything is known of their images (fluxd-v1 §6.2).

use std::collections::BTreeSet;

use super::{ReleaseError, ignored, live_images, skipped};
use crate::object::ObjectId;
use crate::object::image::ImageRef;
use crate::report::{ALL_LATEST, ImageRelease, Update, Workload, WorkloadResult};
use crate::update::GitWorkload;

/// The part of a specification that says whom it concerns.
pub(super) struct Scope {
    /// `None`: all.
    include: Option<BTreeSet<ObjectId>>,
    exclude: BTreeSet<ObjectId>,
    /// The one image that is released; `None` for others.
    pub(super) image: Option<ImageRef>,
    /// Whether locked and ignored workloads are left alone.
    guarded: bool,
    /// Whether workloads that were named and are not in git are reported.
    complete: bool,
}

impl Scope {
    pub(super) fn of(update: &Update) -> Result<Self, ReleaseError> {
        let named = |include, guarded, complete| Self {
            include: Some(include),
            exclude: BTreeSet::new(),
            image: None,
            guarded,
            complete,
        };
        match update {
            Update::Image(spec) => Self::of_image(spec),
            Update::Containers(spec) => Ok(named(spec.workloads.keys().cloned().collect(), !spec.force, false)),
            Update::Auto(changes) => Ok(named(changes.iter().map(|c| c.workload.clone()).collect(), true, true)),
            Update::Policy(_) | Update::Sync => Err(ReleaseError::NotARelease(update.type_word())),
        }
    }

    fn of_image(spec: &ImageRelease) -> Result<Self, ReleaseError> {
        let image = match spec.image.as_str() {
            ALL_LATEST => None,
            text => Some(text.parse::<ImageRef>()?),
        };
        // v1 knew no image without a tag, and said so
        if image.as_ref().is_some_and(|image| image.tag.is_empty() && image.digest.is_none()) {
            return Err(ReleaseError::Unknown(spec.image.clone()));
        }
        let include = if spec.is_for_all() { None } else { Some(ids(spec.workloads.iter().flatten())?) };
        let explicit = include.is_some();
        let exclude = ids(spec.excludes.iter().flatten())?;
        Ok(Self { include, exclude, image, guarded: !(spec.force && explicit), complete: true })
    }

    /// What becomes of a workload that the release does not concern, known without the cluster.
    pub(super) fn before(&self, id: &ObjectId) -> Option<WorkloadResult> {
        if self.include.as_ref().is_some_and(|ids| !ids.contains(id)) {
            return Some(ignored("not included"));
        }
        self.exclude.contains(id).then(|| ignored("excluded"))
    }

    /// What becomes of a live workload that the release leaves alone.
    pub(super) fn after(&self, git: &GitWorkload, live: &Workload) -> Option<WorkloadResult> {
        if let Some(image) = &self.image {
            let containers = live_images(live).unwrap_or_default();
            if containers.is_empty() {
                return Some(ignored("not accessible in cluster"));
            }
            let wanted = image.canonical();
            let uses = |image: &ImageRef| image.canonical() == wanted;
            if !containers.iter().any(|c| c.image.as_ref().is_ok_and(uses)) {
                return Some(ignored("a different image"));
            }
        }
        if self.guarded && git.is_locked() {
            return Some(skipped("locked"));
        }
        let ignore = live.policies.get("ignore").is_some_and(|value| value == "true");
        (self.guarded && ignore).then(|| skipped("ignore"))
    }

    /// The workloads that were named and must therefore have a result.
    pub(super) fn must_exist(&self) -> impl Iterator<Item = &ObjectId> {
        self.include.iter().flatten().filter(|_| self.complete)
    }
}

fn ids<'a>(texts: impl Iterator<Item = &'a String>) -> Result<BTreeSet<ObjectId>, ReleaseError> {
    texts.map(|text| Ok(text.parse()?)).collect()
}
