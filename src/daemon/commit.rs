//! Carrying out an update: decide on the head of the branch, change the files, look whether that did what was meant, and
//! push one commit with its note. When somebody else was faster, all of it again on their head (fluxd-v1 §2.4, §6.4).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use jiff::Timestamp;

use crate::generate::{UpdateError, Updated, Working, WorkloadChange};
use crate::report::{ApiError, Detail, Event, JobResult, Note, ResultSet, Update, UpdateSpec, decode_note, go_json};
use crate::runtime::{Backoff, Stop};
use crate::source::git::{NewCommit, PushError};
use crate::tree::{Revision, Tree};
use crate::update::{self, ImageChange, PolicyPlan};

use super::jobs::{Ended, Failed, Job};
use super::shared::Shared;
use super::snapshot::{self, Snapshot};
use super::{policies, release, words};

/// The wait between two attempts when others push at the same time. It does not grow: whoever waits longer the more often it
/// loses, loses ever more often. It is the winners that pause ([`Repo::push_commit`](crate::source::git::Repo::push_commit)).
const WAIT: Duration = Duration::from_millis(50);

/// What an update means at one head.
pub(super) struct Decision {
    /// What the note says was asked for. For automation, what was decided.
    pub(super) update: Update,
    /// What to write.
    pub(super) changes: Vec<WorkloadChange>,
    /// What became of each workload.
    pub(super) outcome: Outcome,
}

/// How it is known what became of each workload.
pub(super) enum Outcome {
    /// A release: decided beforehand, and its images are looked at afterwards.
    Release(ResultSet, Vec<ImageChange>),
    /// Policies: known when the files were changed.
    Policies(PolicyPlan),
}

/// How an attempt ended that did not fail.
enum Attempt {
    Done(JobResult),
    /// Somebody else pushed first.
    Lost(ApiError),
}

/// Carries out a job. The caller bounds the time it may take.
pub(super) async fn run(shared: &Shared, job: &Job, stop: &Stop) -> Ended {
    let mut backoff = Backoff::new(WAIT, WAIT);
    loop {
        let lost = match attempt(shared, job, stop).await? {
            Attempt::Done(result) => return Ok(result),
            Attempt::Lost(error) => error,
        };
        tracing::debug!(component = "sync-loop", jobID = job.id, err = %lost, "somebody else pushed first");
        shared.repo.refresh().await.map_err(Failed::untyped)?;
        if let Some(result) = landed(shared, &job.id).await {
            return Ok(result);
        }
        if stop.or(tokio::time::sleep(backoff.next_wait())).await.is_none() {
            return Err(lost.into());
        }
    }
}

/// What the git notes know of a job that made a commit (fluxd-v1 §6.7).
pub(super) async fn landed(shared: &Shared, id: &str) -> Option<JobResult> {
    let (revision, text) = shared.repo.find_note(id).await.ok()??;
    let note = decode_note(text.as_bytes()).ok()?;
    Some(JobResult { revision: revision.to_string(), spec: Some(note.spec), result: note.result })
}

async fn attempt(shared: &Shared, job: &Job, stop: &Stop) -> Result<Attempt, Failed> {
    let snapshot = snapshot::take(shared, stop).await?;
    let decision = match &job.spec.update {
        Update::Policy(updates) => policies::decide(updates, &snapshot).map_err(|mut failed| {
            failed.result.spec = Some(job.spec.clone());
            failed
        })?,
        _ => release::decide(shared, &job.spec.update, &snapshot).await?,
    };
    if matches!(decision.outcome, Outcome::Release(..)) {
        words::log_release(&job.id, &decision.update, decision.changes.len());
    }
    let spec = UpdateSpec { cause: job.spec.cause.clone(), update: decision.update };
    let began = Instant::now();
    let written = write(shared, &snapshot, &decision.changes, stop).await.map_err(|e| unwritten(&spec, &e))?;
    shared.metrics.release_stage("write_changes", began.elapsed());
    let result = match decision.outcome {
        Outcome::Policies(plan) => plan.results(&written.changed),
        Outcome::Release(results, images) => {
            verify(shared, &written, &images)?;
            results
        }
    };
    let told = || Some(result.clone()).filter(|result| !result.0.is_empty());
    let done = |revision: String| JobResult { revision, spec: Some(spec.clone()), result: told() };
    if !spec.update.is_execute() || is_idle(&spec.update, &result) {
        return Ok(Attempt::Done(done(String::new())));
    }
    if job.is_automation() && shared.is_paused() {
        // The end of the pause brings a new decision.
        tracing::info!(component = "sync-loop", jobID = job.id, info = "paused; nothing is released by automation");
        return Ok(Attempt::Done(JobResult::default()));
    }
    match push(shared, &job.id, &spec, &result, (&snapshot.head, written)).await {
        Ok(revision) => {
            conclude(shared, &spec, &result, &revision);
            Ok(Attempt::Done(done(revision.to_string())))
        }
        Err(PushError::Rejected(e)) => Ok(Attempt::Lost(words::push_failed(&e.to_string()))),
        Err(e) => {
            after_failure(shared, &spec.update);
            let error = match e {
                PushError::Other(e) => words::push_failed(&e.to_string()),
                e => ApiError::untyped(e.to_string()),
            };
            // v1 tells what policies would have become, and nothing of a release.
            let result =
                if matches!(spec.update, Update::Policy(_)) { done(String::new()) } else { JobResult::default() };
            Err(Failed { error, result: Box::new(result) })
        }
    }
}

/// Policies that are as asked for already, and an automation that finds nothing due any more, are no failures.
fn is_idle(update: &Update, result: &ResultSet) -> bool {
    matches!(update, Update::Policy(_) | Update::Auto(_)) && result.changed().is_empty()
}

async fn write(
    shared: &Shared,
    snapshot: &Snapshot,
    changes: &[WorkloadChange],
    stop: &Stop,
) -> Result<Updated, UpdateError> {
    let repo = shared.repo.clone();
    let collect = Arc::new(move |tree: Tree, dir: PathBuf| {
        let repo = repo.clone();
        async move { repo.collect(&tree, &dir).await.map_err(|e| e.to_string()) }.boxed()
    });
    let working = Working { export: shared.export(), collect };
    shared.generator.update(&snapshot.tree, changes, &working, stop).await
}

/// What is told of files that could not be changed: for policies the bare reason and the object, as in v1.
fn unwritten(spec: &UpdateSpec, error: &UpdateError) -> Failed {
    match (&spec.update, error) {
        (Update::Policy(_), UpdateError::Workload { id, reason, .. }) => {
            let result = Some(update::policies_failed(id, reason));
            let result = JobResult { revision: String::new(), spec: Some(spec.clone()), result };
            Failed { error: ApiError::untyped(reason.clone()), result: Box::new(result) }
        }
        _ => words::release_failed(&format!("applying changes: {error}")).into(),
    }
}

/// Looks whether the files say what was meant (fluxd-v1 §6.4).
fn verify(shared: &Shared, written: &Updated, images: &[ImageChange]) -> Result<(), ApiError> {
    let began = Instant::now();
    let objects = snapshot::by_id(shared, &written.loaded);
    let named = images.iter().filter_map(|change| {
        let object = objects.get(&change.id)?;
        Some((change.id.clone(), update::GitWorkload::new(change.id.clone(), &object.value())))
    });
    let verified = update::verify(&named.collect::<BTreeMap<_, _>>(), images);
    shared.metrics.release_stage("verify_changes", began.elapsed());
    verified.map_err(|e| words::release_failed(&e.to_string()))
}

async fn push(
    shared: &Shared,
    job: &str,
    spec: &UpdateSpec,
    result: &ResultSet,
    (head, written): (&Revision, Updated),
) -> Result<Revision, PushError> {
    let is_policy = matches!(spec.update, Update::Policy(_));
    let note = Note { job: job.to_owned(), spec: spec.clone(), result: (!is_policy).then(|| result.clone()) };
    let commit = NewCommit {
        files: written.files,
        message: update::commit(spec, result, &shared.settings.ci_skip),
        author: Some(spec.cause.user.clone()).filter(|user| !user.is_empty()),
    };
    shared.repo.push_commit(head, commit, note_text(&note)).await
}

/// Go writes a newline behind what it encodes.
fn note_text(note: &Note) -> String {
    let json = go_json(note).unwrap_or_default();
    String::from_utf8_lossy(&json).into_owned() + "\n"
}

/// Tells of a commit that is on the branch. The mirror knows it already, so the next sync is on its way.
fn conclude(shared: &Shared, spec: &UpdateSpec, result: &ResultSet, revision: &Revision) {
    let now = Timestamp::now();
    let detail = Detail::Commit { revision: revision.to_string(), spec: spec.clone(), result: Some(result.clone()) };
    shared.feed.announce(Event { ids: result.changed(), started: now, ended: now, detail });
    if let Update::Policy(updates) = &spec.update
        && updates.values().any(|update| update.add.contains_key("automated"))
    {
        shared.automation_wanted.notify_one();
    }
}

/// So that the next attempt is more likely to succeed, as in v1.
fn after_failure(shared: &Shared, update: &Update) {
    match update {
        Update::Policy(_) => shared.request(false),
        _ => shared.repo.notify(),
    }
}
