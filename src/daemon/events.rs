//! The events of a sync: what changed, by which commits, and the releases that became live with them (fluxd-v1 §5.2, §10).

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::object::ObjectId;
use crate::operator::Outcome;
use crate::operator::reads::Event as ClusterEvent;
use crate::report::{EventCommit, Note, ResourceError, SyncReport, decode_note};
use crate::source::git;
use crate::tree::Revision;

use super::shared::Shared;

/// Kubernetes events that one sync may record; the log and the API have all of it.
const CLUSTER_EVENTS: usize = 20;

/// Records Kubernetes events of what needs a person: objects that fail, and deletes that are held. The same event again
/// raises its count. A cluster that takes no events stops nothing.
pub(super) async fn record(shared: &Shared, outcome: &Outcome) {
    if !shared.settings.events {
        return;
    }
    let failures = outcome.failures().take(CLUSTER_EVENTS).map(|(result, failure)| ClusterEvent {
        about: result.key().clone(),
        warning: true,
        reason: "SyncFailed".into(),
        message: failure.message.clone(),
    });
    let held = outcome.held.iter().flat_map(|held| {
        let about = outcome.results.iter().find(|r| held.deletes.iter().any(|d| d.id == *r.id()));
        about.map(|result| ClusterEvent {
            about: result.key().clone(),
            warning: true,
            reason: "DeletesHeld".into(),
            message: format!("{} deletes wait for an approval of {}: {}", held.deletes.len(), held.digest, held.reason),
        })
    });
    for event in failures.chain(held) {
        if let Err(e) = shared.reads.record_event(event).await {
            tracing::debug!(component = "daemon", err = %e, "recording a Kubernetes event");
            return;
        }
    }
}

/// Tells what a sync did. Where it went from and to decides which commits are named.
pub(super) async fn tell(
    shared: &Shared,
    old: Option<&Revision>,
    new: &Revision,
    changed: Vec<ObjectId>,
    outcome: &Outcome,
) -> Result<(), git::Error> {
    let commits = shared.commits_between(old, new).await?;
    let revisions: Vec<Revision> = commits.iter().map(|c| c.revision.clone()).collect();
    let mut notes = read_notes(shared, &revisions).await?;
    if old.is_none() && !notes.is_empty() {
        tracing::warn!(
            component = "sync-loop",
            "no notes expected on initial sync; this repo may be in use by another fluxd"
        );
    }
    let commits = commits
        .into_iter()
        .map(|commit| {
            let note = notes.remove(&commit.revision);
            let message = commit.message.lines().next().unwrap_or("").to_owned();
            (EventCommit { revision: commit.revision.to_string(), message }, note)
        })
        .collect();
    let report = SyncReport {
        started: outcome.started.unwrap_or_else(Timestamp::now),
        ended: outcome.ended.unwrap_or_else(Timestamp::now),
        commits,
        changed,
        errors: resource_errors(outcome),
        initial: old.is_none(),
    };
    for event in report.events() {
        shared.feed.announce(event);
    }
    Ok(())
}

/// Notes of commits that are ours. One that cannot be read is told of and left out: it must not stop the marker.
async fn read_notes(shared: &Shared, revisions: &[Revision]) -> Result<BTreeMap<Revision, Note>, git::Error> {
    let texts = shared.repo.notes(revisions).await?;
    let decoded = texts.into_iter().filter_map(|(revision, text)| match decode_note(text.as_bytes()) {
        Ok(note) => Some((revision, note)),
        Err(e) => {
            tracing::warn!(component = "sync-loop", %revision, err = %e, "loading notes from repo: a note was left out");
            None
        }
    });
    Ok(decoded.collect())
}

fn resource_errors(outcome: &Outcome) -> Vec<ResourceError> {
    let errors = outcome.failures().map(|(result, failure)| ResourceError {
        id: result.id().clone(),
        path: result.origin().map(|o| o.file.to_string()).unwrap_or_default(),
        error: failure.message.clone(),
    });
    errors.collect()
}
