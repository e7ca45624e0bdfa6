//! Whether an edit did what it was to do: the objects read again have the intended images (fluxd-v1 §6.4). Only containers
//! that were to change are looked at, so that whatever else a generator does differently is no failure.

use std::collections::BTreeMap;

use super::{GitWorkload, ImageChange};
use crate::object::ObjectId;

/// What is wrong after an edit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The object is gone.
    #[error("verifying changes: failed to verify changes: resource {0} is not found after update")]
    Gone(ObjectId),
    /// It has no containers any more.
    #[error("verifying changes: failed to verify changes: resource {0} is not a workload after update")]
    NotAWorkload(ObjectId),
    /// The container is gone.
    #[error("verifying changes: failed to verify changes: no container {container:?} in resource {id:?} after update")]
    NoContainer {
        /// The object.
        id: String,
        /// The container.
        container: String,
    },
    /// The container has another image than intended.
    #[error(
        "verifying changes: failed to verify changes: the image for container {container:?} in resource {id:?} should be {wanted:?}, but is {found:?}"
    )]
    Image {
        /// The object.
        id: String,
        /// The container.
        container: String,
        /// What was intended.
        wanted: String,
        /// What is there.
        found: String,
    },
}

/// Compares the objects after an edit with what was intended.
///
/// # Errors
/// The first difference.
pub fn verify(after: &BTreeMap<ObjectId, GitWorkload>, changes: &[ImageChange]) -> Result<(), VerifyError> {
    changes.iter().try_for_each(|change| verify_one(after, change))
}

fn verify_one(after: &BTreeMap<ObjectId, GitWorkload>, change: &ImageChange) -> Result<(), VerifyError> {
    let workload = after.get(&change.id).ok_or_else(|| VerifyError::Gone(change.id.clone()))?;
    if workload.containers.is_empty() {
        return Err(VerifyError::NotAWorkload(change.id.clone()));
    }
    let (id, container) = (change.id.to_string(), change.container.clone());
    let Some(found) = workload.container(&container) else { return Err(VerifyError::NoContainer { id, container }) };
    let same = |image: &crate::object::image::ImageRef| {
        image.canonical() == change.target.canonical() && image.suffix() == change.target.suffix()
    };
    match &found.image {
        Ok(image) if same(image) => Ok(()),
        other => {
            let found = other.as_ref().map_or_else(Clone::clone, |image| image.full());
            Err(VerifyError::Image { id, container, wanted: change.target.full(), found })
        }
    }
}
