//! Steps onto the cluster: apply, wait, and delete what is not wanted any more (resourceset §7.4-§7.6).
//!
//! The promise of the inventory: before the first write of a step the status names all that the step may write, beside all
//! that was owned before; after the last it names what is owned. So nothing is forgotten, whenever the process ends.

use std::time::Duration;

use kube::ResourceExt as _;
use tokio::time::Instant;

use super::build::Step;
use super::pass::{Failure, Halt, Run};
use super::transform::Transformed;
use crate::api::inventory::{self, Inventory};
use crate::api::{annotation, condition};
use crate::operator::controller::Trigger;
use crate::operator::sets::{ApplyHow, Change, ChangeAction, Entry, Set, SetOutcome, Waited};

/// Time for applying and deleting all objects; waiting for health comes on top.
const DEADLINE: Duration = Duration::from_mins(30);

/// What a wait for health is interrupted by.
enum Interrupt {
    Trigger(Trigger),
    Stop,
}

/// One pass of applying.
struct Work<'r, 'a> {
    run: &'r mut Run<'a>,
    set: &'r Set,
    revision: &'r str,
    how: ApplyHow,
    /// What was owned before.
    old: Inventory,
    /// What is live and ours for certain.
    applied: Inventory,
}

/// Applies all steps, deletes what is stale, and waits as the spec asks for. `unknown` are input providers that have not
/// exported yet: then nothing is deleted.
pub(super) async fn run(
    run: &mut Run<'_>,
    transformed: &Transformed,
    set: &Set,
    unknown: &[String],
) -> Result<(), Halt> {
    let force = annotation::is_forced(run.object.annotations());
    let how = ApplyHow { force, until: Instant::now() + DEADLINE, stop: run.cx.stop().clone() };
    let old = run.state.inventory();
    let mut work = Work { run, set, revision: &transformed.revision, how, old, applied: Inventory::default() };
    let ended = work.steps(&transformed.steps, unknown).await;
    if ended.is_err() && !matches!(ended, Err(Halt::Held(_))) {
        work.write_down();
    }
    ended
}

/// The entries of an inventory; those that nobody can read are left out, and stay in the status until they are overwritten.
pub(super) fn entries_of(inventory: &Inventory) -> Vec<Entry> {
    let parsed = inventory.entries.iter().filter_map(|entry| match entry.parse() {
        Ok((key, gvk)) => Some(Entry { key, version: gvk.version }),
        Err(error) => {
            tracing::warn!("{error}");
            None
        }
    });
    parsed.collect()
}

fn inventory_of<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Inventory {
    Inventory { entries: entries.into_iter().map(|e| inventory::Entry::new(&e.key, &e.version)).collect() }
}

impl Work<'_, '_> {
    /// Writes down what a step may write, beside all from before.
    async fn announce(&mut self, step: &Step) -> Result<(), Halt> {
        let wanted = inventory_of(&self.set.entries(&step.objects).await);
        let told = self.run.state.inventory();
        if wanted.without(&told).is_empty() {
            return Ok(());
        }
        self.run.state.status.inventory = Some(told.union(&wanted));
        self.run.save().await
    }

    async fn steps(&mut self, steps: &[Step], unknown: &[String]) -> Result<(), Halt> {
        let mut outcome = SetOutcome::default();
        for (index, step) in steps.iter().enumerate() {
            self.announce(step).await?;
            outcome = self.apply(step).await?;
            let is_last = index + 1 == steps.len();
            if is_last || step.objects.is_empty() {
                continue;
            }
            let name = step.name.as_deref().unwrap_or_default();
            let lines = lines(&outcome.changes);
            if !lines.is_empty() {
                let message = format!("step \"{name}\": {}", lines.join("\n"));
                self.run.tell(false, condition::APPLY_SUCCEEDED, &message, true);
            }
            self.run.state.at_step(&format!("Applying step {}/{} \"{name}\"", index + 1, steps.len()));
            self.run.save().await?;
            self.wait(step, &outcome).await?;
        }
        let held = self.collect(lines(&outcome.changes), unknown).await?;
        if let Some(last) = steps.last().filter(|_| self.run.object.spec.wait) {
            self.run.save().await?;
            self.wait(last, &outcome).await?;
        }
        held.map_or(Ok(()), |message| Err(Halt::Held(message)))
    }

    async fn apply(&mut self, step: &Step) -> Result<SetOutcome, Halt> {
        let recreated = self.set.recreate_failed_jobs(&step.objects, &self.how).await;
        recreated.map_err(|e| self.failed(step, "job recreation failed", e))?;
        let outcome = self.set.apply(&step.objects, &self.how).await;
        self.applied.entries.extend(inventory_of(&outcome.inventory).entries);
        match &outcome.error {
            Some(error) => Err(self.failed(step, "apply failed", error.clone())),
            None => Ok(outcome),
        }
    }

    /// Waits for the health of a step's objects, without holding a worker.
    async fn wait(&mut self, step: &Step, outcome: &SetOutcome) -> Result<(), Halt> {
        let begun = Instant::now();
        let waited = self.wait_for(step, outcome).await;
        // What follows has all of its own time.
        self.how.until += begun.elapsed();
        waited
    }

    async fn wait_for(&self, step: &Step, outcome: &SetOutcome) -> Result<(), Halt> {
        let skipped: Vec<&Entry> =
            outcome.changes.iter().filter(|c| c.action == ChangeAction::Skipped).map(|c| &c.entry).collect();
        let entries: Vec<Entry> = outcome.inventory.iter().filter(|e| !skipped.contains(e)).cloned().collect();
        if entries.is_empty() {
            return Ok(());
        }
        let annotations = self.run.object.annotations();
        let timeout = step.timeout.unwrap_or_else(|| annotation::timeout(annotations, annotation::RESOURCE_SET));
        let interrupt = async {
            tokio::select! {
                trigger = self.run.cx.interrupted() => Interrupt::Trigger(trigger),
                () = self.run.cx.stop().stopped() => Interrupt::Stop,
            }
        };
        match self.run.cx.waiting(self.set.wait(&entries, timeout, interrupt)).await {
            Waited::Ready => Ok(()),
            Waited::Failed(error) | Waited::TimedOut(error) => Err(self.failed(step, "health check failed", error)),
            Waited::Interrupted(Interrupt::Trigger(trigger)) => Err(Halt::Canceled(trigger)),
            Waited::Interrupted(Interrupt::Stop) => Err(Halt::Stopped),
        }
    }

    /// Deletes what is not wanted any more, and says what was done; answers why that is held, if it is.
    async fn collect(&mut self, mut lines: Vec<String>, unknown: &[String]) -> Result<Option<String>, Halt> {
        let stale = Inventory { entries: self.old.without(&self.applied) };
        let is_held = !unknown.is_empty() && !stale.entries.is_empty();
        let mut owned = std::mem::take(&mut self.applied);
        if is_held {
            owned = owned.union(&stale);
        } else if !stale.entries.is_empty() {
            // Objects that clean up after themselves are waited for.
            let pruned = self.run.cx.waiting(self.set.prune(&entries_of(&stale), &self.how)).await;
            lines.extend(pruned.changes.iter().map(ToString::to_string));
            if let Some(error) = pruned.error {
                self.applied = owned.union(&inventory_of(&pruned.left));
                return Err(self.halted(error));
            }
        }
        // From here on there is nothing else that was ours.
        self.old = Inventory::default();
        self.applied = owned.sorted();
        self.run.state.status.inventory = Some(self.applied.clone());
        if !lines.is_empty() {
            self.run.tell(false, condition::APPLY_SUCCEEDED, &lines.join("\n"), true);
        }
        Ok(is_held.then(|| {
            format!(
                "Garbage collection is held: {} has not exported its inputs yet, {} objects are kept",
                unknown.iter().map(|u| format!("ResourceSetInputProvider/{u}")).collect::<Vec<_>>().join(", "),
                stale.entries.len()
            )
        }))
    }

    /// What is owned after a pass that did not come to its end: all from before, and what was applied.
    fn write_down(&mut self) {
        let all = self.old.union(&self.applied);
        self.run.state.status.inventory = Some(all);
    }

    fn failed(&self, step: &Step, what: &str, error: String) -> Halt {
        match &step.name {
            Some(name) => self.halted(format!("step \"{name}\" {what}: {error}")),
            None => self.halted(error),
        }
    }

    fn halted(&self, error: String) -> Halt {
        if self.how.stop.is_stopped() {
            return Halt::Stopped;
        }
        Halt::Failed(Failure { error, digest: Some(self.revision.to_owned()) })
    }
}

/// What users hear of: what was made or changed.
fn lines(changes: &[Change]) -> Vec<String> {
    let told = changes.iter().filter(|c| matches!(c.action, ChangeAction::Created | ChangeAction::Configured));
    told.map(ToString::to_string).collect()
}
