//! `type: auto`: what automation decided, looked at again when its turn comes (fluxd-v1 §6.3).

use super::{ImageChange, Outcome, skipped};
use crate::object::image::ImageRef;
use crate::report::AutoChange;
use crate::update::GitWorkload;

/// Decides for one workload. A container that git gave another image since the decision is left to the next decision:
/// otherwise a newer release could be undone.
pub(super) fn decide(changes: &[AutoChange], git: &GitWorkload) -> Outcome {
    let mine = changes.iter().filter(|change| change.workload == git.id);
    let found: Vec<_> = mine.filter_map(|change| image_change(change, git)).collect();
    if found.is_empty() {
        Outcome::Other(skipped("image(s) up to date"))
    } else {
        Outcome::Changes(found, String::new())
    }
}

fn image_change(change: &AutoChange, git: &GitWorkload) -> Option<ImageChange> {
    let current = git.image(&change.container)?;
    let decided_on: ImageRef = change.current.parse().ok()?;
    let target: ImageRef = change.target.parse().ok()?;
    let target = current.with_tag(target.tag).with_digest(target.digest);
    let stands = decided_on.canonical() == current.canonical() && decided_on.suffix() == current.suffix();
    (stands && target.full() != current.full()).then(|| ImageChange {
        id: git.id.clone(),
        container: change.container.clone(),
        current: current.clone(),
        target,
    })
}
