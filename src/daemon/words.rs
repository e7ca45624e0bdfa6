//! The daemon's own log lines and help texts, with the keys that users of Flux v1 search for (fluxd-v1 §10.3).

use crate::operator::{Done, Outcome, SkipReason};
use crate::report::{ApiError, Update};
use crate::tree::Revision;

pub(super) fn log_trying(old: Option<&Revision>, new: &Revision) {
    let old = old.map(ToString::to_string).unwrap_or_default();
    tracing::info!(component = "daemon", old, new = %new, "trying to sync git changes to the cluster");
}

/// How many workloads a release changes.
pub(super) fn log_release(job: &str, update: &Update, updates: usize) {
    if update.is_plan() {
        tracing::info!(component = "daemon", r#type = "release", updates);
    } else {
        tracing::info!(component = "sync-loop", jobID = job, r#type = "release", updates);
    }
    if updates == 0 {
        let exit = "no images to update for services given";
        tracing::info!(component = "sync-loop", jobID = job, r#type = "release", exit);
    }
}

/// How many objects are as wanted, and how many failed.
pub(super) fn applied(outcome: &Outcome) -> (usize, usize) {
    let failed = outcome.failures().count();
    let ok = outcome
        .results
        .iter()
        .filter(|r| matches!(r.done, Done::Created | Done::Configured | Done::Unchanged | Done::Recreated))
        .count();
    (ok, failed)
}

/// Tells what was applied and deleted, what failed and what was left alone for a reason.
pub(super) fn log_outcome(outcome: &Outcome) {
    log_skipped(outcome);
    log_counts(outcome);
    for result in &outcome.results {
        if let Some(failure) = result.failure() {
            let origin = result.origin().map(ToString::to_string).unwrap_or_default();
            tracing::error!(component = "cluster", method = "Sync", id = %result.id(), origin, "{failure}");
        }
        for warning in &result.warnings {
            tracing::warn!(component = "cluster", id = %result.id(), "{warning}");
        }
        if result.done == Done::Deleted {
            tracing::info!(
                component = "cluster",
                resource = %result.id(),
                "dry-run" = false,
                "cluster resource not in resources to be synced; deleting"
            );
        }
    }
    if let Some(reason) = &outcome.gc_off {
        tracing::warn!(component = "cluster", "nothing is deleted in this sync: {reason}");
    }
    if let Some(held) = &outcome.held {
        tracing::warn!(
            component = "cluster",
            digest = %held.digest,
            count = held.deletes.len(),
            "deletes are held: {}; approve them with POST /api/fluxd/v1/deletes/{}/approve",
            held.reason,
            held.digest
        );
    }
}

/// What was handed to the API server, as v1 told what it handed to kubectl: failing objects count.
fn log_counts(outcome: &Outcome) {
    let took =
        outcome.started.zip(outcome.ended).map(|(from, to)| format!("{}ms", to.duration_since(from).as_millis()));
    let took = took.unwrap_or_default();
    let (ok, failed) = applied(outcome);
    if ok + failed > 0 {
        let count = ok + failed;
        tracing::info!(component = "cluster", method = "Sync", cmd = "apply", args = "", count, took, "{outcome}");
    }
    let deleted = outcome.results.iter().filter(|r| r.done == Done::Deleted).count();
    if deleted > 0 {
        tracing::info!(component = "cluster", method = "Sync", cmd = "delete", args = "", count = deleted);
    }
}

/// The words are v1's.
fn log_skipped(outcome: &Outcome) {
    let mut constrained = Vec::new();
    for result in &outcome.results {
        let Done::Skipped(reason) = &result.done else { continue };
        match reason {
            SkipReason::NamespaceNotAllowed => constrained.push(result.id().to_string()),
            SkipReason::IgnoredInFile => tracing::info!(
                component = "cluster",
                method = "Sync",
                resource = %result.id(),
                source = result.origin().map(|origin| origin.file.to_string()).unwrap_or_default(),
                "not applying resource; ignore annotation in file"
            ),
            SkipReason::IgnoredLive if result.origin().is_some() => tracing::info!(
                component = "cluster",
                method = "Sync",
                resource = %result.id(),
                "not applying resource; ignore annotation in cluster resource"
            ),
            SkipReason::IgnoredLive => tracing::info!(
                component = "cluster",
                resource = %result.id(),
                "skipping GC of cluster resource; resource has ignore policy true"
            ),
            SkipReason::DryRun => tracing::info!(
                component = "cluster",
                resource = %result.id(),
                "dry-run" = true,
                "cluster resource not in resources to be synced; deleting"
            ),
            SkipReason::SyncOnly => tracing::info!(
                component = "cluster",
                resource = %result.id(),
                "skipping GC of cluster resource; resource has ignore policy sync_only"
            ),
            SkipReason::KindUnknown(_)
            | SkipReason::HasOwner
            | SkipReason::IncompleteRead(_)
            | SkipReason::Own
            | SkipReason::NotOurs => {
                tracing::debug!(component = "cluster", resource = %result.id(), "{reason}");
            }
        }
    }
    if !constrained.is_empty() {
        tracing::warn!(
            component = "cluster",
            resources = constrained.join(","),
            "not applying resources; excluded by namespace constraints"
        );
    }
}

/// The error of API reads while the files in git are wrong (fluxd-v1 §3.2).
pub(super) fn unparseable(cause: &str) -> ApiError {
    let help = format!(
        "Unable to parse files as manifests\n\nThe files at the head of the branch could not be read as Kubernetes \
         manifests. Nothing is synced until this is mended:\n\n    {cause}\n"
    );
    ApiError::user(cause, help)
}

/// The error of a repository that is not usable (yet).
pub(super) fn repo_not_ready(cause: &str) -> ApiError {
    ApiError::untyped(cause)
}

/// `fluxctl sync` knows this text, and then prints a warning instead of an error (fluxd-v1 §2.10, §11).
pub(super) fn head_not_verified(valid: Option<&Revision>, head: &Revision) -> String {
    let eight = |revision: &str| revision.get(..8).unwrap_or(revision).to_owned();
    format!(
        "The branch HEAD in the git repo is not verified, and fluxd is unable to sync to it. The last verified commit was {}. \
         HEAD is {}.",
        eight(valid.map_or("", |v| &v.0)),
        eight(&head.0)
    )
}

/// The error of a job that finds a head without a good signature (fluxd-v1 §2.10).
pub(super) fn unsigned_head() -> ApiError {
    let help = "HEAD is not verified\n\nThe newest commit of the branch has no signature that fluxd trusts, so nothing is \
                committed on top of it. Sign it with a key that fluxd knows, or take it back.\n";
    ApiError::user("HEAD revision is unsigned", help)
}

/// The error of a release that cannot be made; `fluxctl` prints the short text.
pub(super) fn release_failed(cause: &str) -> ApiError {
    let help = format!("The release could not be made; nothing was committed.\n\n    {cause}\n");
    ApiError::user(cause, help)
}

/// The error of a commit that the remote does not take.
pub(super) fn push_failed(cause: &str) -> ApiError {
    let help = format!(
        "Problem committing and pushing to git repository.\n\nNothing was changed. Either somebody else pushes at the same \
         time, then try again; or fluxd may not write: give its deploy key write access to the repository, and let the \
         branch take pushes of it.\n\n    {cause}\n"
    );
    ApiError::user(cause, help)
}
