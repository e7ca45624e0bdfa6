//! The worker that takes one job after another (fluxd-v1 §5.1, §6.7). It runs beside the sync loop: a job waits for other
//! jobs, never for a sync.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::operator;
use crate::report::Update;
use crate::runtime::Stop;

use super::jobs::{Ended, Failed, Job};
use super::shared::Shared;
use super::{commit, sync_job};

/// Tells of pauses.
type Pauses = watch::Receiver<Option<jiff::Timestamp>>;

/// Works on queued jobs one at a time, until stopped.
///
/// # Errors
/// None: a job's failure is the job's.
pub(super) async fn run(shared: &Shared, stop: &Stop) -> Result<(), operator::Error> {
    let mut pauses = shared.operator.get().map(operator::Handle::pauses);
    while let Some((job, waited)) = next(shared, pauses.as_mut(), stop).await {
        shared.metrics.queued(waited);
        // How it ended is noted and told; nobody else waits for it here.
        drop(execute(shared, &job, &stop.during_drain()).await);
    }
    Ok(())
}

/// Waits for the next job. What automation queued rests during a pause, whose end is waited for too.
async fn next(shared: &Shared, mut pauses: Option<&mut Pauses>, stop: &Stop) -> Option<(Job, Duration)> {
    loop {
        tokio::select! {
            job = shared.jobs.next(|| shared.is_paused(), stop) => return job,
            () = changed(pauses.as_deref_mut()) => {}
        }
    }
}

async fn changed(pauses: Option<&mut Pauses>) {
    let Some(pauses) = pauses else { return std::future::pending().await };
    if pauses.changed().await.is_err() {
        std::future::pending().await
    }
}

/// Does one job and notes how it ended.
pub(super) async fn execute(shared: &Shared, job: &Job, stop: &Stop) -> Ended {
    let began = Instant::now();
    tracing::info!(component = "sync-loop", jobID = job.id, state = "in-progress");
    shared.jobs.began(&job.id);
    let ended = match tokio::time::timeout(shared.settings.sync_timeout, perform(shared, job, stop)).await {
        Ok(ended) => ended,
        Err(_) => after_deadline(shared, job).await,
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

async fn perform(shared: &Shared, job: &Job, stop: &Stop) -> Ended {
    match &job.spec.update {
        Update::Sync => sync_job::run(shared).await,
        Update::Policy(_) => commit::run(shared, job, stop).await,
        release => {
            let began = Instant::now();
            let ended = commit::run(shared, job, stop).await;
            shared.metrics.release(release_type(release), release.is_plan(), began.elapsed(), ended.is_ok());
            ended
        }
    }
}

/// v1's words for releases in metrics (fluxd-v1 §9).
fn release_type(update: &Update) -> &'static str {
    match update {
        Update::Image(release) if release.wants_latest() => "latest_images",
        Update::Image(_) => "specific_image",
        Update::Containers(_) => "containers",
        Update::Auto(_) | Update::Policy(_) | Update::Sync => "automated",
    }
}

/// A job that was cut off may have pushed its commit just before.
async fn after_deadline(shared: &Shared, job: &Job) -> Ended {
    let look = async {
        shared.repo.refresh().await.ok()?;
        commit::landed(shared, &job.id).await
    };
    let late = Failed::untyped("context deadline exceeded");
    if matches!(job.spec.update, Update::Sync) || job.spec.update.is_plan() {
        return Err(late);
    }
    tokio::time::timeout(shared.settings.sync_timeout, look).await.ok().flatten().ok_or(late)
}
