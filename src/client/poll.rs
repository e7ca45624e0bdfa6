//! Waiting for jobs and syncs by asking again and again, with v1's waits (fluxd-v1 §11). Each wait has an end.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::answer::{Job, JobResult};
use super::error::ClientError;
use super::http::Client;

/// Waits between two questions: doubling from the first to the longest.
struct Waits {
    next: Duration,
    longest: Duration,
}

impl Waits {
    fn take(&mut self) -> Duration {
        let wait = self.next;
        self.next = (self.next * 2).min(self.longest);
        wait
    }
}

/// A job as it stands after a wait.
#[derive(Debug)]
pub enum Ended {
    /// It went well.
    Well(JobResult),
    /// It failed; the whole of what is known of it.
    Failed(Job),
}

impl Client {
    /// Waits until a job ended.
    ///
    /// # Errors
    /// The first error of a question ends the wait, as does `within`.
    pub async fn ended(&self, id: &str, within: Duration) -> Result<Ended, ClientError> {
        let mut waits = Waits { next: Duration::from_millis(100), longest: Duration::from_secs(5) };
        let deadline = Instant::now() + within;
        loop {
            let job = self.job(id).await?;
            match job.state.as_str() {
                "succeeded" if job.err.is_empty() => return Ok(Ended::Well(job.result)),
                "succeeded" | "failed" => return Ok(Ended::Failed(job)),
                // Queued, running, and words of later daemons.
                _ => rest(&mut waits, deadline, || (within, format!("job {id} to end"))).await?,
            }
        }
    }

    /// Waits for a job's result.
    ///
    /// # Errors
    /// [`ClientError::Job`] when it failed; else as [`Client::ended`].
    pub async fn result(&self, id: &str, within: Duration) -> Result<JobResult, ClientError> {
        match self.ended(id, within).await? {
            Ended::Well(result) => Ok(result),
            Ended::Failed(job) => Err(ClientError::Job(job.err)),
        }
    }

    /// Waits until nothing up to `revision` is left to apply.
    ///
    /// # Errors
    /// As [`Client::ended`].
    pub async fn applied(&self, revision: &str, within: Duration) -> Result<(), ClientError> {
        let mut waits = Waits { next: Duration::from_secs(1), longest: Duration::from_secs(10) };
        let deadline = Instant::now() + within;
        while !self.pending(revision).await?.is_empty() {
            rest(&mut waits, deadline, || (within, format!("commit {revision} to be applied"))).await?;
        }
        Ok(())
    }
}

/// Waits once, unless the time left is shorter: nothing new would be learnt.
async fn rest(waits: &mut Waits, deadline: Instant, what: impl Fn() -> (Duration, String)) -> Result<(), ClientError> {
    let wait = waits.take();
    if Instant::now() + wait > deadline {
        let (after, what) = what();
        return Err(ClientError::Timeout { after, what });
    }
    sleep(wait).await;
    Ok(())
}
