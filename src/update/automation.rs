//! Automation: which automated workloads get which newer images (fluxd-v1 §6.6), never an older one of the same filter, and never one of two
//! equals for the other. Decided against git, not against what is live, so that a release that is still being applied is
//! not decided again.

use std::collections::BTreeMap;
use std::fmt;

use super::choice::{candidate, find, latest, written};
use super::{GitWorkload, World};
use crate::object::ObjectId;
use crate::object::image::ImageRef;
use crate::object::pattern::{Candidate, Pattern};
use crate::registry::RepositoryView;
use crate::report::AutoChange;

/// What automation came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The changes, for one commit.
    pub changes: Vec<AutoChange>,
    /// What is to be said about each container that changes, or that would but for something.
    pub remarks: Vec<Remark>,
}

/// What is to be said about one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The workload.
    pub workload: ObjectId,
    /// The container.
    pub container: String,
    /// The image it runs.
    pub current: String,
    /// Its tag filter.
    pub pattern: String,
    /// What is said.
    pub verdict: Verdict,
}

/// What automation says of a container. The texts are v1's where v1 has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It gets another image.
    Update {
        /// The image.
        new: String,
        /// Why.
        reason: String,
    },
    /// Not everything is known that the choice rests on.
    Inconsistent(String),
    /// Its image has no tag.
    Untagged,
    /// When the images were made decides, and is not known.
    ZeroTimestamp {
        /// The image that would come next.
        new: String,
    },
    /// The image in git passes its filter, and is newer than all that the registry offers.
    NoDowngrade {
        /// The best of those.
        best: String,
    },
    /// The image is pinned, and the digest of the next one is not known.
    NoDigest {
        /// The image that would come next.
        new: String,
    },
}

impl Verdict {
    /// Whether it is worth a warning: something is in the way that somebody could mend.
    pub fn is_warning(&self) -> bool {
        !matches!(self, Self::Update { .. })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Update { .. } => f.write_str("added update to automation run"),
            Self::Inconsistent(gap) => write!(f, "inconsistent repository metadata: {gap}"),
            Self::Untagged => f.write_str("image has no tag"),
            Self::ZeroTimestamp { .. } => f.write_str("image with zero created timestamp"),
            Self::NoDowngrade { best } => {
                write!(
                    f,
                    "current image is newer than every image that the registry offers, of which the best is {best}"
                )
            }
            Self::NoDigest { new } => write!(f, "image is pinned and the digest of {new} is not known"),
        }
    }
}

/// The workloads that automation looks at: automated, neither locked nor ignored.
pub fn automated(git: &BTreeMap<ObjectId, GitWorkload>) -> Vec<ObjectId> {
    let wanted = |w: &&GitWorkload| {
        w.policies.is_set("automated") && !w.is_locked() && !w.policies.is_set("ignore") && !w.containers.is_empty()
    };
    git.values().filter(wanted).map(|w| w.id.clone()).collect()
}

/// Decides for all automated workloads that are live.
pub fn decide(world: &World<'_>) -> Decision {
    let mut decision = Decision::default();
    for id in automated(world.git) {
        let live = world.cluster.get(&id).filter(|live| live.policies.get("ignore").is_none_or(|v| v != "true"));
        let Some(git) = world.git.get(&id).filter(|_| live.is_some()) else { continue };
        for container in &git.containers {
            let Ok(current) = &container.image else { continue };
            let Some(view) = world.images.get(&current.canonical()) else { continue };
            let pattern = git.pattern(&container.name);
            let Some(verdict) = judge(current, &pattern, git.is_pinned(), view) else { continue };
            if let Verdict::Update { new, .. } = &verdict {
                decision.changes.push(AutoChange {
                    workload: id.clone(),
                    container: container.name.clone(),
                    current: current.full(),
                    target: new.clone(),
                });
            }
            decision.remarks.push(Remark {
                workload: id.clone(),
                container: container.name.clone(),
                current: current.full(),
                pattern: pattern.to_string(),
                verdict,
            });
        }
    }
    decision
}

/// What becomes of one container; `None` when its image is the right one.
fn judge(current: &ImageRef, pattern: &Pattern, pin: bool, view: &RepositoryView) -> Option<Verdict> {
    let best = match latest(view, pattern) {
        Err(gap) => return Some(Verdict::Inconsistent(gap.to_string())),
        Ok(best) => best?,
    };
    let best = keep_if_equal(current, best, pattern, view);
    let (target, complete) = written(current, best.tag, pin, view.images.get(best.tag));
    if target.suffix() == current.suffix() || is_same_image(current, best, view) {
        return None;
    }
    let new = target.full();
    let Some(tag) = known_tag(current, view) else { return Some(Verdict::Untagged) };
    if !complete {
        // a tag that is in place already lacks only its digest, which the next scan brings
        return (tag != best.tag).then_some(Verdict::NoDigest { new });
    }
    let now = Candidate { tag, created: find(view, current).and_then(|info| info.created) };
    if tag != best.tag {
        if pattern.requires_timestamp() && (now.created.is_none() || best.created.is_none()) {
            return Some(Verdict::ZeroTimestamp { new });
        }
        // A filter that does not let the current image through was set by somebody who wants another one.
        if pattern.admits(tag) && is_downgrade(&now, &best, pattern) {
            return Some(Verdict::NoDowngrade { best: new });
        }
    }
    Some(Verdict::Update { reason: reason(&now, &best, pattern), new })
}

/// Of several images that are equally new the current one stays, if its filter lets it through.
fn keep_if_equal<'a>(
    current: &'a ImageRef,
    best: Candidate<'a>,
    pattern: &Pattern,
    view: &RepositoryView,
) -> Candidate<'a> {
    let now = candidate(view, &current.tag);
    let known = view.tags.contains(&current.tag) && pattern.admits(&current.tag);
    if known && pattern.is_equal(&now, &best) { now } else { best }
}

/// Whether a reference without a tag is the image behind the best tag already.
fn is_same_image(current: &ImageRef, best: Candidate<'_>, view: &RepositoryView) -> bool {
    current.tag.is_empty() && find(view, current).is_some_and(|info| info.tag == best.tag)
}

/// The tag of the current image: its own, or that of the known image with its digest.
fn known_tag<'a>(current: &'a ImageRef, view: &'a RepositoryView) -> Option<&'a str> {
    if !current.tag.is_empty() {
        return Some(&current.tag);
    }
    find(view, current).map(|info| info.tag.as_str())
}

/// Whether the current image is newer than the one that would replace it.
fn is_downgrade(now: &Candidate<'_>, best: &Candidate<'_>, pattern: &Pattern) -> bool {
    !pattern.is_equal(now, best) && pattern.newer(now, best).is_lt()
}

fn reason(now: &Candidate<'_>, best: &Candidate<'_>, pattern: &Pattern) -> String {
    let shown = |c: &Candidate<'_>| match c.created {
        // as v1 wrote times here
        Some(created) => format!("{} ({})", c.tag, created.strftime("%Y-%m-%d %H:%M:%S%.f +0000 UTC")),
        None => c.tag.to_owned(),
    };
    if now.tag == best.tag {
        return format!("another image is behind {}", shown(best));
    }
    if !pattern.admits(now.tag) {
        return format!(
            "latest {} of filter {pattern}, which does not let the current {} through",
            shown(best),
            shown(now)
        );
    }
    format!("latest {} > current {}", shown(best), shown(now))
}
