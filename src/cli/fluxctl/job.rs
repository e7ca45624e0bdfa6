//! What `release`, `policy` and their like have in common: an update is sent, its job awaited, its result shown.

use std::collections::BTreeMap;

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
    session.screen.watched(waiting, || async { client.progress().await }).await
}

/// The first seven characters, as git and v1 show revisions.
pub(super) fn short(revision: &str) -> &str {
    revision.get(..7).unwrap_or(revision)
}

/// The workloads that were changed.
pub(super) fn changed(result: &BTreeMap<String, WorkloadResult>) -> Vec<String> {
    result.iter().filter(|(_, one)| one.status == "success").map(|(id, _)| id.clone()).collect()
}
