//! The worker that takes one job after another (fluxd-v1 §5.1, §6.7). It runs beside the sync loop: a job waits for other
//! jobs, never for a sync.

use std::time::Instant;

use crate::operator;
use crate::report::{ApiError, Update};
use crate::runtime::Stop;

use super::jobs::{Ended, Failed, Job};
use super::shared::Shared;
use super::sync_job;

/// Works on queued jobs one at a time, until stopped.
///
/// # Errors
/// None: a job's failure is the job's.
pub(super) async fn run(shared: &Shared, stop: &Stop) -> Result<(), operator::Error> {
    while let Some((job, waited)) = shared.jobs.next(stop).await {
        shared.metrics.queued(waited);
        // How it ended is noted and told; nobody else waits for it here.
        drop(execute(shared, &job, &stop.during_drain()).await);
    }
    Ok(())
}

/// Does one job and notes how it ended.
pub(super) async fn execute(shared: &Shared, job: &Job, stop: &Stop) -> Ended {
    let began = Instant::now();
    tracing::info!(component = "sync-loop", jobID = job.id, state = "in-progress");
    shared.jobs.began(&job.id);
    let ended = match tokio::time::timeout(shared.settings.sync_timeout, perform(shared, job, stop)).await {
        Ok(ended) => ended,
        Err(_) => Err(Failed::untyped("context deadline exceeded")),
    };
    shared.jobs.ended(&job.id, &ended);
    shared.metrics.job(began.elapsed(), ended.is_ok());
    tell(job, &ended);
    ended
}

fn tell(job: &Job, ended: &Ended) {
    let (id, component) = (&job.id, "sync-loop");
    match ended {
        Ok(result) if !result.revision.is_empty() => {
            tracing::info!(component, jobID = id, revision = result.revision);
            tracing::info!(component, jobID = id, state = "done", success = true);
        }
        Ok(_) => tracing::info!(component, jobID = id, state = "done", success = true),
        Err(failed) => {
            tracing::info!(component, jobID = id, state = "done", success = false, err = %failed.error);
        }
    }
}

async fn perform(shared: &Shared, job: &Job, _stop: &Stop) -> Ended {
    match &job.spec.update {
        Update::Sync => sync_job::run(shared).await,
        other => Err(ApiError::not_built(other.type_word()).into()),
    }
}
