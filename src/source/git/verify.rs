//! Which commits carry a good signature, and how far a branch may therefore be synced (fluxd-v1 §2.10). The judging is
//! git's (`%G?`), so both GPG and SSH signatures count, with the keys that the user's configuration trusts.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::mirror::Mirror;
use super::repo::Inner;
use super::run::Call;
use super::{Error, Invalid, Verified, Verify, history};
use crate::tree::Revision;

/// Commits that are judged by one run of git, so that each run stays within its deadline.
const BATCH: usize = 64;
/// Good commits that are remembered; beyond, all are forgotten.
const REMEMBERED: usize = 100_000;

/// Commits that were found good, so that a long history is not judged twice.
#[derive(Default)]
pub(super) struct Checked {
    good: Mutex<HashSet<Revision>>,
}

impl Checked {
    fn is_good(&self, revision: &Revision) -> bool {
        self.good.lock().unwrap_or_else(PoisonError::into_inner).contains(revision)
    }

    fn remember(&self, revision: Revision) {
        let mut good = self.good.lock().unwrap_or_else(PoisonError::into_inner);
        if good.len() >= REMEMBERED {
            good.clear();
        }
        good.insert(revision);
    }
}

/// The newest commit up to which all are good, from the marker on.
pub(super) async fn latest_valid(inner: &Inner, marker: Option<&Revision>) -> Result<Verified, Error> {
    let mirror = inner.open()?;
    let head = inner.head_of(&mirror).await?;
    if inner.settings.verify == Verify::None {
        return Ok(Verified { revision: Some(head.clone()), head, offender: None });
    }
    if let Some(marker) = marker {
        let call = Call::new("", ["verify-commit", "--", &marker.0]).cwd(mirror.path());
        match inner.git.run(call, &inner.stop()).await {
            Ok(_) => {}
            Err(Error::Git { .. }) => return Err(Error::MarkerUnverified(marker.to_string())),
            Err(error) => return Err(error),
        }
    }
    let commits = range(inner, &mirror, marker, &head).await?;
    let mut last = marker.cloned();
    for batch in commits.chunks(BATCH) {
        let verdicts = judge(inner, &mirror, batch).await?;
        for (revision, key) in verdicts {
            if let Some(key) = key {
                return Ok(Verified { revision: last, head, offender: Some(Invalid { revision, key }) });
            }
            inner.verified.remember(revision.clone());
            last = Some(revision);
        }
    }
    Ok(Verified { revision: Some(head.clone()), head, offender: None })
}

/// The commits after the marker, oldest first, parents before their children.
async fn range(
    inner: &Inner,
    mirror: &Arc<Mirror>,
    marker: Option<&Revision>,
    head: &Revision,
) -> Result<Vec<Revision>, Error> {
    let (marker, head, first_parent) = (marker.cloned(), head.clone(), inner.settings.verify == Verify::FirstParent);
    mirror
        .read(move |repository| {
            let ids = history::walk(repository, marker.as_ref(), &head, first_parent);
            let ids = ids.map_err(|e| e.or_unreadable(&head))?;
            Ok(ids.into_iter().rev().map(history::revision).collect())
        })
        .await
}

/// Each commit, with the key's name if its signature is not good.
async fn judge(inner: &Inner, mirror: &Mirror, batch: &[Revision]) -> Result<Vec<(Revision, Option<String>)>, Error> {
    let unknown: Vec<&Revision> = batch.iter().filter(|r| !inner.verified.is_good(r)).collect();
    let mut printed = String::new();
    if !unknown.is_empty() {
        let names: String = unknown.iter().map(|r| format!("{r}\n")).collect();
        let args = ["log", "--no-walk=unsorted", "--no-show-signature", "--format=%H %G? %GK", "--stdin"];
        let call = Call::new("git log: ", args).cwd(mirror.path()).stdin(names);
        printed = String::from_utf8_lossy(&inner.git.run(call, &inner.stop()).await?).into_owned();
    }
    let mut lines = printed.lines();
    let mut verdicts = Vec::with_capacity(batch.len());
    for revision in batch {
        if inner.verified.is_good(revision) {
            verdicts.push((revision.clone(), None));
            continue;
        }
        let mut words = lines.next().unwrap_or("").splitn(3, ' ');
        let is_own = words.next() == Some(&*revision.0);
        let is_good = words.next() == Some("G") && is_own;
        let key = words.next().unwrap_or("").trim().to_owned();
        verdicts.push((revision.clone(), (!is_good).then_some(key)));
    }
    Ok(verdicts)
}
