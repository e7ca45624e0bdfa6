//! What `release`, `policy` and their like have in common: an update is sent, its job awaited, its result shown.

use std::collections::BTreeMap;

use serde_json::Value;

use super::problem::Problem;
use super::session::{Connection, Session};
use super::terminal::{out, tell};
use crate::client::show::{self, Verbosity};
use crate::client::{ClientError, JobResult, WorkloadResult};
use crate::report::UpdateSpec;

/// How much `-v` asks for.
pub(super) fn verbosity(session: &Session<'_>) -> Verbosity {
    match session.given.int("verbose") {
        i64::MIN..=0 => Verbosity::Changes,
        1 => Verbosity::Skipped,
        _ => Verbosity::Ignored,
    }
}

/// Sends an update and waits for its job.
pub(super) async fn run(session: &Session<'_>, client: &Connection, spec: &UpdateSpec) -> Result<JobResult, Problem> {
    let job = client.update(spec).await?;
    let waiting = client.result(&job, session.globals.timeout);
    Ok(session.screen.patient("Waiting for the job to end", waiting).await?)
}

/// Shows a result; after a commit also waits until it is applied where that is wanted.
pub(super) async fn conclude(
    session: &Session<'_>,
    client: &Connection,
    result: &JobResult,
    apply: bool,
) -> Result<(), Problem> {
    if let Some(all) = &result.result {
        out(&show::results(all, verbosity(session)))?;
    }
    let short = short(&result.revision);
    if !short.is_empty() {
        tell(&format!("Commit pushed:\t{short}"));
    }
    if result.result.is_none() {
        tell("Nothing to do");
    } else if apply && !short.is_empty() {
        wait_until_applied(session, client, &result.revision).await?;
        tell(&format!("Commit applied:\t{short}"));
    }
    Ok(())
}

/// Waits for a commit, and shows how far the running sync is.
pub(super) async fn wait_until_applied(
    session: &Session<'_>,
    client: &Connection,
    revision: &str,
) -> Result<(), ClientError> {
    let waiting = client.applied(revision, session.globals.timeout);
    let applied = session.screen.watched(waiting, || async { client.progress().await }).await;
    if matches!(applied, Err(ClientError::Timeout { .. }))
        && let Some(reason) = hindrance(&client.status().await.unwrap_or_default())
    {
        tell(&format!("Warning: {reason}"));
    }
    applied
}

/// Why nothing is applied, as far as the daemon's status tells; v1's tells nothing.
fn hindrance(status: &Value) -> Option<String> {
    let text = |pointer: &str| status.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(since) = text("/pausedSince") {
        return Some(format!("syncs are paused since {since}; fluxctl resume ends that."));
    }
    text("/error").map(|error| format!("the last sync failed: {error}"))
}

/// The first seven characters, as git and v1 show revisions.
pub(super) fn short(revision: &str) -> &str {
    revision.get(..7).unwrap_or(revision)
}

/// The workloads that were changed.
pub(super) fn changed(result: &BTreeMap<String, WorkloadResult>) -> Vec<String> {
    result.iter().filter(|(_, one)| one.status == "success").map(|(id, _)| id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::hindrance;

    #[test]
    fn what_keeps_a_commit_from_being_applied_is_named() {
        let of = |status| hindrance(&status);
        assert_eq!(of(json!({})), None);
        assert_eq!(of(json!({"pausedSince": null, "error": null})), None);
        assert_eq!(of(json!({"error": "a.yaml:3: broken"})).unwrap(), "the last sync failed: a.yaml:3: broken");
        let paused = of(json!({"pausedSince": "2026-01-01T00:00:00Z", "error": "e"})).unwrap();
        assert!(paused.contains("fluxctl resume"), "{paused}");
    }
}
