//! Runs the steps of a plan: ranks one after the other, the objects of one rank side by side, deletes last.

use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::Instant;

use crate::cluster::{Cluster, Uid};
use crate::object::Key;
use crate::plan::{Action, Plan, Record, Step};
use crate::runtime::Stop;

use super::object::{self, Finished};
use super::{Done, FailureKind, Manner, Meter, ObjectResult, Phase, Stage, Stopped, WaitError};

/// What the steps run in.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Requests in flight.
    pub concurrency: usize,
    /// When the pass has to be over.
    pub until: Instant,
    /// Counts what is done.
    pub meter: &'a Meter,
    /// When it is pulled, objects under way are finished and nothing new is begun.
    pub stop: &'a Stop,
    /// How steps are carried out.
    pub manner: &'a Manner<'a>,
}

/// What became of a plan.
#[derive(Debug, Default)]
pub struct Report {
    /// One result per step, in the plan's order.
    pub results: Vec<ObjectResult>,
    /// What was applied, by life of the object.
    pub records: Vec<(Uid, Record)>,
    /// Time spent on applies and on deletes.
    pub stages: Vec<(Stage, Duration)>,
    /// Why it ended before the last step.
    pub stopped: Option<Stopped>,
    /// In stages: objects that a write may have reached.
    pub written: Vec<Key>,
    /// In stages: why the stage after a written one could not begin.
    pub unready: Option<WaitError>,
}

/// Time that objects under way have left when the process is asked to stop; the rest of the ten seconds until exit belongs
/// to git.
const GRACE: Duration = Duration::from_secs(6);

/// Carries out a plan.
pub async fn run(plan: &Plan, frame: Frame<'_>) -> Report {
    let results = (0..plan.steps.len()).map(|_| None).collect();
    let mut runner = Runner { frame, results, records: Vec::new(), halted: false, written: Vec::new(), unready: None };
    let split = plan.steps.iter().position(is_collected).unwrap_or(plan.steps.len());
    let began = Instant::now();
    let (applies, deletes) = (0..split, split..plan.steps.len());
    frame
        .meter
        .begin(Stage::Apply, plan.steps[..split].iter().filter(|s| matches!(s.action, Action::Apply(_))).count());
    runner.phase(&plan.steps, applies).await;
    let mut stages = vec![(Stage::Apply, began.elapsed())];
    if !deletes.is_empty() {
        let began = Instant::now();
        frame.meter.begin(Stage::Delete, deletes.len());
        runner.phase(&plan.steps, deletes).await;
        stages.push((Stage::Delete, began.elapsed()));
    }
    let stopped = runner.stopped();
    let results = runner.results.into_iter().flatten().collect();
    Report { results, records: runner.records, stages, stopped, written: runner.written, unready: runner.unready }
}

/// Steps of garbage collection have no manifest.
fn is_collected(step: &Step) -> bool {
    step.target.origin.is_none() && step.target.want.is_none()
}

pub(super) struct Runner<'a> {
    pub(super) frame: Frame<'a>,
    results: Vec<Option<ObjectResult>>,
    records: Vec<(Uid, Record)>,
    /// A failure ended the run; only in stages.
    pub(super) halted: bool,
    pub(super) written: Vec<Key>,
    pub(super) unready: Option<WaitError>,
}

impl Runner<'_> {
    async fn phase(&mut self, steps: &[Step], range: std::ops::Range<usize>) {
        let mut at = range.start;
        let staged = self.frame.manner.staging;
        let is_same = |a: &Step, b: &Step| match staged {
            Some(_) => a.target.class.0 == b.target.class.0,
            None => a.target.class == b.target.class,
        };
        while at < range.end {
            let len = steps[at..range.end].iter().take_while(|s| is_same(s, &steps[at])).count();
            match staged {
                Some(staging) => self.stage(steps, at..at + len, staging).await,
                None => self.group(steps, at..at + len).await,
            }
            at += len;
        }
    }

    async fn group(&mut self, steps: &[Step], range: std::ops::Range<usize>) {
        let work = self.settle(steps, range.clone());
        let frame = self.frame;
        // The futures are made first: a closure that lives across an await keeps the compiler from seeing that all is `Send`.
        let work = work.into_iter().map(|at| async move {
            let began = Instant::now();
            (at, one(&frame, &steps[at]).await, began.elapsed())
        });
        let work: Vec<_> = work.collect();
        let mut running = futures::stream::iter(work).buffer_unordered(frame.concurrency.max(1));
        while let Some((at, finished, elapsed)) = running.next().await {
            frame.meter.count(matches!(finished.done, Done::Failed(_)));
            self.put(&steps[at], at, finished, elapsed);
        }
        self.establish(range).await;
    }

    /// Notes what became of steps that need no request, and gives the places of the others.
    pub(super) fn settle(&mut self, steps: &[Step], range: std::ops::Range<usize>) -> Vec<usize> {
        let mut work = Vec::new();
        for at in range {
            match settled(&self.frame, &steps[at]) {
                Some(done) => self.put(&steps[at], at, Finished::new(done), Duration::ZERO),
                None => work.push(at),
            }
        }
        work
    }

    pub(super) fn is_failed(&self, at: usize) -> bool {
        matches!(&self.results[at], Some(ObjectResult { done: Done::Failed(_), .. }))
    }

    pub(super) fn is_unchanged(&self, at: usize) -> bool {
        matches!(&self.results[at], Some(ObjectResult { done: Done::Unchanged, .. }))
    }

    pub(super) fn put(&mut self, step: &Step, at: usize, finished: Finished, elapsed: Duration) {
        let Finished { done, warnings, record, .. } = finished;
        self.records.extend(record);
        self.results[at] = Some(ObjectResult { target: step.target.clone(), done, elapsed, warnings });
    }

    /// Waits for definitions that were made or changed, so that objects of their kinds can follow in the same pass.
    async fn establish(&mut self, range: std::ops::Range<usize>) {
        let frame = self.frame;
        let fresh = self.results[range].iter_mut().flatten().filter(|r| {
            r.target.is_definition() && matches!(r.done, Done::Created | Done::Configured | Done::Recreated)
        });
        let waits = fresh.map(|result| async move {
            if let Err(error) = frame.cluster.wait_established(&result.target.key.name, frame.until).await {
                result.done = Done::Failed((frame.manner.refused)(&result.target, Phase::Apply, &error));
            }
        });
        let waits: Vec<_> = waits.collect();
        let all = futures::stream::iter(waits).buffer_unordered(frame.concurrency.max(1)).collect::<Vec<()>>();
        // A stop ends the wait: nothing new is begun after it anyway.
        frame.stop.or(all).await;
    }

    fn stopped(&self) -> Option<Stopped> {
        let missed = |r: &ObjectResult| matches!(&r.done, Done::Failed(f) if f.kind == FailureKind::NotReached);
        if !self.results.iter().flatten().any(missed) {
            return None;
        }
        Some(if self.frame.stop.is_stopped() { Stopped::Asked } else { Stopped::Deadline })
    }
}

/// What became of a step that needs no request.
fn settled(frame: &Frame<'_>, step: &Step) -> Option<Done> {
    match &step.action {
        Action::Keep => Some(Done::Unchanged),
        Action::Skip(reason) => Some(Done::Skipped(reason.clone())),
        Action::Hold { reason, .. } => Some(Done::Held(*reason)),
        Action::Reject(text) => Some(Done::Failed((frame.manner.failed)(&step.target, FailureKind::Invalid, text))),
        Action::Apply(_) | Action::Delete { .. } => None,
    }
}

async fn one(frame: &Frame<'_>, step: &Step) -> Finished {
    let not_reached = || missed(frame, step, "nothing to send");
    let work = async {
        match (&step.action, &step.target.want) {
            (Action::Apply(_), Some(want)) => object::apply(frame, step, want).await,
            (Action::Delete { uid }, _) => object::delete(frame, &step.target, *uid).await,
            _ => not_reached(),
        }
    };
    in_time(frame, step, work).await.unwrap_or_else(|finished| finished)
}

/// A step that was not begun, or not finished.
pub(super) fn missed(frame: &Frame<'_>, step: &Step, text: &str) -> Finished {
    Finished::new(Done::Failed((frame.manner.failed)(&step.target, FailureKind::NotReached, text)))
}

/// Works on a step unless the time is over or a stop was asked for; what is under way then has a little time left.
pub(super) async fn in_time<T>(frame: &Frame<'_>, step: &Step, work: impl Future<Output = T>) -> Result<T, Finished> {
    if frame.stop.is_stopped() {
        return Err(missed(frame, step, "not begun: the process is to stop"));
    }
    if Instant::now() >= frame.until {
        return Err(missed(frame, step, "not begun within the time of one sync (--sync-timeout)"));
    }
    let grace = async {
        frame.stop.stopped().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        done = work => Ok(done),
        () = grace => Err(missed(frame, step, "not finished before the process had to stop")),
    }
}
