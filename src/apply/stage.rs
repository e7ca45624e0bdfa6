//! One stage of a staged run: every object is tried out first; those that would change are written when none was refused;
//! then the stage waits until those are ready that later stages rest on (resourceset §7.4.2-4).

use std::ops::Range;

use futures::StreamExt as _;
use serde_json::Value;
use tokio::time::Instant;

use crate::plan::Step;

use super::object::{Finished, Work};
use super::run::{Runner, in_time, missed};
use super::{Awaited, Done, Phase, Staging, Wait};

/// An object after its dry run.
enum Tried<'a> {
    Settled(Finished),
    ToWrite(Box<Work<'a>>),
}

impl Runner<'_> {
    pub(super) async fn stage(&mut self, steps: &[Step], range: Range<usize>, staging: Staging) {
        let was_halted = self.halted;
        let places = self.settle(steps, range.clone());
        self.halted |= !staging.dry && range.clone().any(|at| self.is_failed(at));
        if self.halted && (was_halted || !places.is_empty()) {
            let text = "not begun: an object before it failed";
            places
                .iter()
                .for_each(|at| self.put(&steps[*at], *at, missed(&self.frame, &steps[*at], text), Default::default()));
            return;
        }
        let mut seen = Vec::new();
        let mut writes = Vec::new();
        for (at, tried) in self.try_out(steps, places).await {
            match tried {
                Tried::Settled(finished) => self.conclude(steps, at, finished, &mut seen),
                Tried::ToWrite(work) => writes.push((at, work)),
            }
        }
        if self.halted {
            let text = "not written: an object of its stage was refused";
            writes.iter().for_each(|(at, _)| {
                self.put(&steps[*at], *at, missed(&self.frame, &steps[*at], text), Default::default());
            });
            return;
        }
        if staging.dry {
            return;
        }
        let (late, early): (Vec<_>, Vec<_>) =
            writes.into_iter().partition(|(at, _)| (staging.late)(&steps[*at].target));
        for writes in [early, late] {
            self.write(steps, writes, &mut seen).await;
        }
        if !self.halted && staging_waits(steps, &range, staging) {
            self.await_ready(steps, seen, staging).await;
        }
    }

    /// Tries objects out side by side, and gives them in the order of the steps.
    async fn try_out<'s>(&self, steps: &'s [Step], places: Vec<usize>) -> Vec<(usize, Tried<'s>)>
    where
        Self: 's,
    {
        let frame = self.frame;
        let tries = places.into_iter().map(|at| async move {
            let step = &steps[at];
            let work = async { try_one(frame, step).await };
            (at, in_time(&frame, step, work).await.unwrap_or_else(Tried::Settled))
        });
        let tries: Vec<_> = tries.collect();
        futures::stream::iter(tries).buffered(frame.concurrency.max(1)).collect().await
    }

    async fn write(&mut self, steps: &[Step], writes: Vec<(usize, Box<Work<'_>>)>, seen: &mut Vec<(usize, Value)>) {
        let frame = self.frame;
        self.written.extend(writes.iter().map(|(at, _)| steps[*at].target.key.clone()));
        let writes = writes.into_iter().map(|(at, work)| async move {
            let began = Instant::now();
            let finished = in_time(&frame, &steps[at], work.write()).await.unwrap_or_else(|finished| finished);
            (at, finished, began.elapsed())
        });
        let writes: Vec<_> = writes.collect();
        let mut running = futures::stream::iter(writes).buffer_unordered(frame.concurrency.max(1));
        while let Some((at, finished, _)) = running.next().await {
            self.conclude(steps, at, finished, seen);
        }
    }

    fn conclude(&mut self, steps: &[Step], at: usize, mut finished: Finished, seen: &mut Vec<(usize, Value)>) {
        let failed = matches!(finished.done, Done::Failed(_));
        self.halted |= failed && !self.frame.manner.staging.is_some_and(|staging| staging.dry);
        self.frame.meter.count(failed);
        seen.extend(finished.object.take().map(|object| (at, object)));
        self.put(&steps[at], at, finished, Default::default());
    }

    /// Waits for the objects that this stage looked at; what was left alone was ready before. A definition is also waited for
    /// until its kind is served.
    async fn await_ready(&mut self, steps: &[Step], seen: Vec<(usize, Value)>, staging: Staging) {
        let frame = self.frame;
        let until = frame.until.min(Instant::now() + staging.timeout);
        let wait = Wait { cluster: frame.cluster, concurrency: frame.concurrency, until, poll: staging.poll };
        let kinds = frame.cluster.kinds();
        let unserved = seen.iter().filter(|(at, object)| {
            let is_old = self.is_unchanged(*at) && kinds.serves(object);
            steps[*at].target.is_definition() && !is_old
        });
        let unserved: Vec<usize> = unserved.map(|(at, _)| *at).collect();
        let items = seen.into_iter().map(|(at, object)| {
            let target = &steps[at].target;
            Awaited { key: target.key.clone(), gvk: target.gvk.clone(), seen: Some(object) }
        });
        let all = wait.run(items.collect(), |_, _| ());
        match frame.stop.or(all).await {
            None => self.halted = true,
            Some(Err(unready)) => (self.halted, self.unready) = (true, Some(unready)),
            Some(Ok(())) => {
                for at in unserved {
                    self.serve(steps, at, until).await;
                }
            }
        }
    }

    async fn serve(&mut self, steps: &[Step], at: usize, until: Instant) {
        let target = &steps[at].target;
        if let Err(error) = self.frame.cluster.wait_established(&target.key.name, until).await {
            let failure = (self.frame.manner.refused)(target, Phase::Apply, &error);
            self.halted = true;
            self.put(&steps[at], at, Finished::new(Done::Failed(failure)), Default::default());
        }
    }
}

fn staging_waits(steps: &[Step], range: &Range<usize>, staging: Staging) -> bool {
    steps[range.clone()].iter().any(|step| (staging.waits)(&step.target))
}

async fn try_one<'a>(frame: super::Frame<'a>, step: &'a Step) -> Tried<'a> {
    let Some(want) = &step.target.want else { return Tried::Settled(missed(&frame, step, "nothing to send")) };
    let mut work = match Work::new(frame, step, want) {
        Ok(work) => work,
        Err(failure) => return Tried::Settled(Finished::new(Done::Failed(failure))),
    };
    match work.try_out().await {
        Some(finished) => Tried::Settled(finished),
        None => Tried::ToWrite(Box::new(work)),
    }
}
