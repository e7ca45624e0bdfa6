//! Which of a repository's tags comes first under a pattern, and how the chosen one is written.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::object::image::{CanonicalName, ImageRef};
use crate::object::pattern::{Candidate, Pattern};
use crate::registry::{Info, RepositoryView};

/// What is known of repositories. One that is not in it offers no images.
pub type Images = BTreeMap<CanonicalName, Arc<RepositoryView>>;

/// A choice cannot be made, because nothing is known yet of a tag that might be the one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("missing metadata for image tag {0:?}")]
pub struct MissingMetadata(pub String);

/// The tags that a pattern admits. Those whose image cannot be used are left out.
fn usable<'a>(view: &'a RepositoryView, pattern: &Pattern) -> Vec<Candidate<'a>> {
    let tags = pattern.select(&view.tags).into_iter().filter(|tag| !view.excluded.contains_key(*tag));
    tags.map(|tag| candidate(view, tag)).collect()
}

/// The newest tag that a pattern admits.
///
/// # Errors
/// When something is not known yet that the choice rests on: the images of all admitted tags where times decide, that of
/// the newest one where versions do (it might be unusable). v1 wanted all images known in both cases.
pub fn latest<'a>(view: &'a RepositoryView, pattern: &Pattern) -> Result<Option<Candidate<'a>>, MissingMetadata> {
    let candidates = usable(view, pattern);
    let first = candidates.iter().min_by(|a, b| pattern.newer(a, b)).copied();
    let is_unknown = |candidate: &Candidate<'_>| !view.images.contains_key(candidate.tag);
    let gap = if pattern.requires_timestamp() {
        candidates.iter().copied().find(is_unknown)
    } else {
        first.filter(is_unknown)
    };
    match gap {
        Some(gap) => Err(MissingMetadata(gap.tag.to_owned())),
        None => Ok(first),
    }
}

/// A tag with the time of its image.
pub(super) fn candidate<'a>(view: &RepositoryView, tag: &'a str) -> Candidate<'a> {
    Candidate { tag, created: view.images.get(tag).and_then(|info| info.created) }
}

/// The image that a reference means: by its tag, or where there is none by its digest.
pub(super) fn find<'a>(view: &'a RepositoryView, image: &ImageRef) -> Option<&'a Info> {
    if !image.tag.is_empty() {
        return view.images.get(&image.tag);
    }
    let digest = image.digest.as_ref()?;
    view.images.values().find(|info| info.pinned == *digest || info.digest == *digest)
}

/// What is written for a chosen tag: the current spelling with the tag, and with the digest where the image is pinned now
/// or `pin` asks for it. `None` for the digest means that it is wanted and not known.
pub(super) fn written(current: &ImageRef, tag: &str, pin: bool, info: Option<&Info>) -> (ImageRef, bool) {
    let wanted = pin || current.digest.is_some();
    let digest = info.map(|info| info.pinned.clone()).filter(|digest| wanted && !digest.is_empty());
    let complete = digest.is_some() || !wanted;
    (current.with_tag(tag).with_digest(digest), complete)
}
