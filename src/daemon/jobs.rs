//! Jobs: what clients ask for and come back to (fluxd-v1 §6.7). A bounded queue with one worker, and a bounded memory of
//! what became of each. What a job does is elsewhere.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rand::RngExt as _;
use tokio::sync::Notify;

use crate::report::{ApiError, JobResult, JobState, JobStatus, Update, UpdateSpec};
use crate::runtime::Stop;

use super::feed::Feed;

/// Ended jobs whose fate is remembered; the one that ended first is forgotten first.
const REMEMBERED: usize = 100;

/// Jobs that may wait. Each is one person's or one program's wish, so more are a flood.
const WAITING: usize = 1000;

/// A job's name: 32 random hexadecimal digits in groups of 8, 4, 4, 4, 12.
pub(super) fn new_id() -> String {
    let bytes: [u8; 16] = rand::rng().random();
    let text = hex::encode(bytes);
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

/// One job.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Its name.
    pub(super) id: String,
    /// What is asked for. Of automation, the changes are decided when the job runs.
    pub(super) spec: UpdateSpec,
}

impl Job {
    /// Whether no person asks for it.
    pub(super) fn is_automation(&self) -> bool {
        matches!(self.spec.update, Update::Auto(_))
    }
}

/// Why a job failed, and what it came to nevertheless.
#[derive(Debug)]
pub(super) struct Failed {
    /// The error; its short text is what clients of the job read.
    pub(super) error: ApiError,
    /// What was reached before.
    pub(super) result: Box<JobResult>,
}

impl From<ApiError> for Failed {
    fn from(error: ApiError) -> Self {
        Self { error, result: Box::default() }
    }
}

impl Failed {
    /// A failure that nobody classified.
    pub(super) fn untyped(cause: impl std::fmt::Display) -> Self {
        ApiError::untyped(cause.to_string()).into()
    }
}

/// How a job ended.
pub(super) type Ended = Result<JobResult, Failed>;

/// The queue and the fates of the latest jobs.
#[derive(Debug, Default)]
pub(super) struct JobLog {
    inner: Mutex<Inner>,
    wake: Notify,
    feed: Feed,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<(Job, Instant)>,
    ended: VecDeque<String>,
    fates: HashMap<String, JobStatus>,
}

fn status(state: JobState) -> JobStatus {
    JobStatus { result: JobResult::default(), err: String::new(), state }
}

impl Inner {
    /// Takes the first job out, or without automation the first of the others.
    fn take(&mut self, without_automation: bool) -> Option<(Job, Instant)> {
        let at = self.waiting.iter().position(|(job, _)| !(without_automation && job.is_automation()))?;
        self.waiting.remove(at)
    }

    /// Remembers where a job stands and tells it.
    fn set(&mut self, feed: &Feed, id: &str, fate: JobStatus) {
        feed.job(id, &fate);
        self.fates.insert(id.to_owned(), fate);
    }
}

impl JobLog {
    /// An empty log that tells each job's states to a feed.
    pub(super) fn new(feed: Feed) -> Self {
        Self { feed, ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job at the end and gives its name.
    ///
    /// # Errors
    /// When too many wait.
    pub(super) fn queue(&self, spec: UpdateSpec) -> Result<String, ApiError> {
        let id = new_id();
        let mut inner = self.lock();
        if inner.waiting.len() >= WAITING {
            let help = format!(
                "Too many jobs\n\n{WAITING} jobs wait for their turn already, so this one was not taken. Try again later.\n"
            );
            return Err(ApiError::server("too many jobs are waiting", help));
        }
        inner.waiting.push_back((Job { id: id.clone(), spec }, Instant::now()));
        inner.set(&self.feed, &id, status(JobState::Queued));
        drop(inner);
        self.wake.notify_one();
        Ok(id)
    }

    /// Waits for the next job, and tells how long it has waited; `None` once stopped. While automation `rests`, its jobs
    /// keep their places and the others go past them. Nothing is lost when this is no longer waited for.
    pub(super) async fn next(&self, rests: impl Fn() -> bool, stop: &Stop) -> Option<(Job, Duration)> {
        loop {
            if stop.is_stopped() {
                return None;
            }
            if let Some((job, since)) = self.lock().take(rests()) {
                return Some((job, since.elapsed()));
            }
            tokio::select! {
                () = stop.stopped() => return None,
                () = self.wake.notified() => {}
            }
        }
    }

    /// How many jobs wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Whether an automated release waits for its turn.
    pub(super) fn has_waiting_automation(&self) -> bool {
        self.lock().waiting.iter().any(|(job, _)| job.is_automation())
    }

    /// Notes that a job is at work.
    pub(super) fn began(&self, id: &str) {
        self.lock().set(&self.feed, id, status(JobState::Running));
    }

    /// Notes how a job ended.
    pub(super) fn ended(&self, id: &str, ended: &Ended) {
        let fate = match ended {
            Ok(result) => JobStatus { result: result.clone(), ..status(JobState::Succeeded) },
            Err(failed) => JobStatus {
                result: JobResult::clone(&failed.result),
                err: failed.error.error.clone(),
                state: JobState::Failed,
            },
        };
        let mut inner = self.lock();
        inner.set(&self.feed, id, fate);
        inner.ended.push_back(id.to_owned());
        while inner.ended.len() > REMEMBERED {
            if let Some(oldest) = inner.ended.pop_front() {
                inner.fates.remove(&oldest);
            }
        }
    }

    /// What is known of a job.
    pub(super) fn get(&self, id: &str) -> Option<JobStatus> {
        self.lock().fates.get(id).cloned()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;
    use crate::report::Cause;

    fn sync() -> UpdateSpec {
        UpdateSpec { cause: Cause::default(), update: Update::Sync }
    }

    fn succeeded(revision: &str) -> Ended {
        Ok(JobResult { revision: revision.into(), ..JobResult::default() })
    }

    #[test]
    fn a_name_has_five_groups_of_hexadecimal_digits() {
        let id = new_id();
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(id.chars().all(|c| c == '-' || c.is_ascii_hexdigit()), "{id}");
        assert_ne!(id, new_id());
    }

    #[tokio::test]
    async fn jobs_are_taken_in_the_order_in_which_they_came() {
        let (log, stop) = (JobLog::default(), Stop::new());
        let ids = [log.queue(sync()).unwrap(), log.queue(sync()).unwrap()];
        assert_eq!(log.waiting(), 2);
        for id in ids {
            assert_eq!(log.next(|| false, &stop).await.unwrap().0.id, id);
        }
        stop.stop();
        assert!(log.next(|| false, &stop).await.is_none());
    }

    #[tokio::test]
    async fn while_automation_rests_its_jobs_wait_and_those_of_people_go_past_them() {
        let (log, stop) = (JobLog::default(), Stop::new());
        let auto = || UpdateSpec { cause: Cause::default(), update: Update::Auto(Vec::new()) };
        let ids = [auto(), sync(), auto(), sync()].map(|spec| log.queue(spec).unwrap());
        for id in [&ids[1], &ids[3]] {
            assert_eq!(log.next(|| true, &stop).await.unwrap().0.id, *id);
        }
        assert!(log.next(|| true, &stop).now_or_never().is_none(), "the others wait");
        assert_eq!((log.waiting(), log.get(&ids[0]).unwrap().state), (2, JobState::Queued));
        for id in [&ids[0], &ids[2]] {
            assert_eq!(log.next(|| false, &stop).await.unwrap().0.id, *id);
        }
    }

    #[test]
    fn the_last_hundred_jobs_that_ended_are_remembered_and_every_one_that_has_not() {
        let log = JobLog::default();
        let waiting = log.queue(sync()).unwrap();
        let ended: Vec<String> = (0..REMEMBERED + 3).map(|_| log.queue(sync()).unwrap()).collect();
        for id in &ended {
            log.began(id);
            log.ended(id, &succeeded(id));
        }
        assert_eq!(log.get(&waiting).unwrap().state, JobState::Queued);
        let known = ended.iter().filter(|id| log.get(id).is_some()).count();
        assert_eq!(known, REMEMBERED);
        assert!(log.get(&ended[2]).is_none());
        assert_eq!(log.get(&ended[3]).unwrap().result.revision, ended[3]);
    }

    #[test]
    fn a_flood_of_jobs_is_refused_and_loses_none_of_those_taken() {
        let log = JobLog::default();
        let first = log.queue(sync()).unwrap();
        for _ in 1..WAITING {
            log.queue(sync()).unwrap();
        }
        assert_eq!(log.queue(sync()).unwrap_err().status(), 500);
        assert!(log.get(&first).is_some());
    }

    #[test]
    fn a_failed_job_tells_its_error_and_what_it_came_to() {
        let log = JobLog::default();
        let id = log.queue(sync()).unwrap();
        let result = Box::new(JobResult { revision: "abc".into(), ..JobResult::default() });
        log.ended(&id, &Err(Failed { error: ApiError::user("no", "help"), result }));
        let status = log.get(&id).unwrap();
        assert_eq!(
            (status.state, status.err.as_str(), status.result.revision.as_str()),
            (JobState::Failed, "no", "abc")
        );
    }
}
