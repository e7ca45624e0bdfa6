//! `type: containers`: given images for given containers (fluxd-v1 §6.3).

use super::image::spelled;
use super::{ImageChange, One, Outcome, Release, ReleaseError, failed, live_images, skipped};
use crate::object::image::ImageRef;
use crate::report::{ContainerUpdate, ContainersRelease};
use crate::update::GitWorkload;

/// Decides for one workload.
pub(super) fn decide(spec: &ContainersRelease, (git, live, _): One<'_>) -> Outcome {
    let containers = match live_images(live) {
        Ok(containers) => containers,
        Err(excuse) => return Outcome::Other(failed(&excuse)),
    };
    let (mut changes, mut missing, mut mismatched) = (Vec::new(), Vec::new(), Vec::new());
    for asked in spec.workloads.get(&git.id).into_iter().flatten() {
        let live = containers.iter().find(|c| c.name == asked.container);
        let Some(current) = live.and_then(|c| c.image.as_ref().ok()) else {
            missing.push(asked.container.as_str());
            continue;
        };
        match target(git, current, asked) {
            Err(text) => return Outcome::Other(failed(&text)),
            Ok(None) => mismatched.push(asked.container.as_str()),
            Ok(Some(target)) if target.full() == current.full() => {}
            Ok(Some(target)) => changes.push(ImageChange {
                id: git.id.clone(),
                container: asked.container.clone(),
                current: current.clone(),
                target,
            }),
        }
    }
    let mismatch = format!("container(s) tag mismatch: {}", mismatched.join(", "));
    if !missing.is_empty() {
        return Outcome::Other(failed(&format!("container(s) not found: {}", missing.join(", "))));
    }
    match (mismatched.is_empty(), changes.is_empty()) {
        (false, _) if !spec.skip_mismatches => Outcome::Other(failed(&mismatch)),
        (false, true) => Outcome::Other(skipped(&mismatch)),
        (true, true) => Outcome::Other(skipped("image(s) up to date")),
        (false, false) => Outcome::Changes(changes, mismatch),
        (true, false) => Outcome::Changes(changes, String::new()),
    }
}

/// The image that a container gets; `None` when it does not run the image it should run now.
fn target(git: &GitWorkload, current: &ImageRef, asked: &ContainerUpdate) -> Result<Option<ImageRef>, String> {
    let read = |text: &str| text.parse::<ImageRef>().map_err(|e| e.to_string());
    if !asked.current.is_empty() {
        let expected = read(&asked.current)?;
        // clients that know only the short form of a pinned image name no tag
        let same = expected.suffix() == current.suffix() || expected.to_string() == current.to_string();
        if !same || expected.canonical() != current.canonical() {
            return Ok(None);
        }
    }
    let target = read(&asked.target)?;
    if target.canonical() != current.canonical() {
        return Ok(Some(target));
    }
    let spelled = spelled(git, &asked.container, current);
    Ok(Some(spelled.with_tag(target.tag).with_digest(target.digest)))
}

/// A failure anywhere, or nothing to do, fails the whole release.
pub(super) fn judge(release: Release) -> Result<Release, ReleaseError> {
    let any = |status: &str| release.results.0.values().any(|result| result.status == status);
    if any("failed") {
        return Err(ReleaseError::Unsatisfied(release.results));
    }
    if any("success") { Ok(release) } else { Err(ReleaseError::NoChanges(release.results)) }
}
