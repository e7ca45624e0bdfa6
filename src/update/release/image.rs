//! `type: image`: one image, or the newest of each, for workloads (fluxd-v1 §6.3).

use super::{ImageChange, One, Outcome, ReleaseError, failed, ignored, live_images, skipped};
use crate::object::image::ImageRef;
use crate::object::pattern::Pattern;
use crate::registry::RepositoryView;
use crate::update::choice::{find, latest, written};
use crate::update::{GitWorkload, Images};

/// Why a container keeps its image.
enum Keeps {
    UpToDate,
    NotUsed,
    NotKnown,
}

/// Whether the image to release is known.
///
/// # Errors
/// [`ReleaseError::Unknown`].
pub(super) fn check_exists(image: &ImageRef, images: &Images) -> Result<(), ReleaseError> {
    let known = images.get(&image.canonical()).is_some_and(|view| {
        let listed = !image.tag.is_empty() && view.tags.contains(&image.tag) && !view.excluded.contains_key(&image.tag);
        listed || find(view, image).is_some()
    });
    if known { Ok(()) } else { Err(ReleaseError::Unknown(image.full())) }
}

/// Decides for one workload. With several containers of which none changes, the last one looked at gives the result, as
/// in v1.
pub(super) fn decide(force: bool, wanted: Option<&ImageRef>, (git, live, images): One<'_>) -> Outcome {
    let containers = match live_images(live) {
        Ok(containers) => containers,
        Err(excuse) => return Outcome::Other(failed(&excuse)),
    };
    let mut changes = Vec::new();
    let mut last = Keeps::NotUsed;
    for container in &containers {
        let Ok(current) = &container.image else { continue };
        let pattern = if force && wanted.is_some() { Pattern::default() } else { git.pattern(&container.name) };
        let choice =
            Choice { git, container: &container.name, current, pattern, view: images.get(&current.canonical()) };
        match choice.target(wanted) {
            Ok(target) => changes.push(ImageChange {
                id: git.id.clone(),
                container: container.name.clone(),
                current: current.clone(),
                target,
            }),
            Err(keeps) => last = keeps,
        }
    }
    if !changes.is_empty() {
        return Outcome::Changes(changes, String::new());
    }
    Outcome::Other(match last {
        Keeps::UpToDate => skipped("image(s) up to date"),
        Keeps::NotUsed => ignored("does not use image(s)"),
        Keeps::NotKnown => skipped("cannot find one or more images"),
    })
}

struct Choice<'a> {
    git: &'a GitWorkload,
    container: &'a str,
    current: &'a ImageRef,
    pattern: Pattern,
    view: Option<&'a std::sync::Arc<RepositoryView>>,
}

impl Choice<'_> {
    /// The image that the container gets.
    fn target(&self, wanted: Option<&ImageRef>) -> Result<ImageRef, Keeps> {
        let Some(view) = self.view else { return Err(Keeps::NotUsed) };
        let (tag, digest) = match wanted {
            None => match latest(view, &self.pattern) {
                Err(_) => return Err(Keeps::NotKnown),
                Ok(None) => return Err(Keeps::NotUsed),
                Ok(Some(best)) => (best.tag, None),
            },
            Some(wanted) if wanted.canonical() != self.current.canonical() => return Err(Keeps::NotUsed),
            Some(wanted) if !wanted.tag.is_empty() && !self.pattern.admits(&wanted.tag) => return Err(Keeps::NotKnown),
            Some(wanted) => (wanted.tag.as_str(), wanted.digest.clone()),
        };
        let spelled = spelled(self.git, self.container, self.current);
        let target = match digest {
            Some(digest) => spelled.with_tag(tag).with_digest(Some(digest)),
            None => written(spelled, tag, self.git.is_pinned(), view.images.get(tag)).0,
        };
        if target.suffix() == self.current.suffix() { Err(Keeps::UpToDate) } else { Ok(target) }
    }
}

/// The current image in the spelling of git, where that means the same repository.
pub(super) fn spelled<'a>(git: &'a GitWorkload, container: &str, current: &'a ImageRef) -> &'a ImageRef {
    git.image(container).filter(|image| image.canonical() == current.canonical()).unwrap_or(current)
}
