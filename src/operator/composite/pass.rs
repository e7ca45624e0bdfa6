//! One pass over a composite: dependencies, what is wanted, inventory, apply, garbage, health; and what is said of it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::{Resource as _, ResourceExt as _};
use tokio::time::Instant;

use crate::api::annotation::REQUESTED_AT;
use crate::api::condition::{
    APPLY_SUCCEEDED, BUILD_FAILED, DEPENDENCY_NOT_READY, HEALTH_CHECK_CANCELED, RECONCILIATION_FAILED,
    RECONCILIATION_SUCCEEDED,
};
use crate::operator::controller::{Event, Finalize, Next, Pass, Reconcile, Series, SeriesDetails, WriteError};
use crate::operator::sets::{ApplyHow, Change, Entry, Identity, Owner, Set, Sets, Waited, dependency_status};
use crate::operator::{Context, Desired, Error, Trigger};

use super::{Composite, CompositeSettings, CompositeStatus, labels, reason};

/// How often a dependency is looked at although its watch says nothing.
const DEPENDENCY: Duration = Duration::from_mins(1);
/// How soon what is not known yet is asked for again.
const NOT_READY: Duration = Duration::from_secs(10);

/// The reconciler of all composites.
pub(super) struct Composites<C> {
    pub(super) composite: Arc<C>,
    pub(super) sets: Sets,
    pub(super) settings: CompositeSettings,
}

/// How a pass ends before its end, with what the status says of it.
enum Ending {
    /// Something failed, and is tried again: cause (for the back-off), reason, message.
    Failed { cause: &'static str, reason: &'static str, message: String },
    /// Not yet: reason, message, when to look again.
    NotYet { reason: &'static str, message: String, after: Duration },
    /// Nothing can become of it.
    Stalled(String),
    /// It was interrupted: by whom, or by the end of the process.
    Interrupted(Option<String>),
    /// The object is gone, or could not be written.
    Unwritten(WriteError),
}

impl From<WriteError> for Ending {
    fn from(error: WriteError) -> Self {
        Self::Unwritten(error)
    }
}

/// A pass under way.
pub(super) struct Work<'a, C: Composite> {
    pub(super) all: &'a Composites<C>,
    pub(super) object: C::Kind,
    pub(super) cx: &'a Pass<C::Kind>,
    pub(super) set: Set,
    pub(super) status: CompositeStatus,
    pub(super) generation: i64,
}

impl<C: Composite> Reconcile for Composites<C> {
    type Kind = C::Kind;

    async fn reconcile(&self, object: Arc<C::Kind>, cx: &Pass<C::Kind>) -> Next {
        if self.composite.is_suspended(&object) {
            return Next::Done;
        }
        let mut work = self.work(&object, cx);
        let ended = work.run().await;
        if let Some(asked) = object.annotations().get(REQUESTED_AT) {
            work.status.last_handled_reconcile_at = Some(asked.clone());
        }
        work.conclude(ended).await
    }

    async fn finalize(&self, object: Arc<C::Kind>, cx: &Pass<C::Kind>) -> Finalize {
        if self.composite.is_suspended(&object) {
            return Finalize::Done;
        }
        self.work(&object, cx).finalize().await
    }

    fn series(&self, object: &C::Kind) -> Option<Series> {
        let (status, _) = CompositeStatus::of(object);
        let ready = status.conditions.iter().find(|c| c.type_ == crate::api::condition::READY);
        Some(Series {
            uid: object.uid().unwrap_or_default(),
            kind: C::Kind::kind(&()).into_owned(),
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            ready: ready.map_or_else(|| crate::api::status::UNKNOWN.to_owned(), |c| c.status.clone()),
            reason: ready.map_or_else(String::new, |c| c.reason.clone()),
            suspended: self.composite.is_suspended(object),
            details: SeriesDetails::Object,
        })
    }
}

impl<C: Composite> Composites<C> {
    fn work<'a>(&'a self, object: &Arc<C::Kind>, cx: &'a Pass<C::Kind>) -> Work<'a, C> {
        let (status, _) = CompositeStatus::of(&**object);
        let set = self.set(object);
        let generation = object.meta().generation.unwrap_or_default();
        Work { all: self, object: (**object).clone(), cx, set, status, generation }
    }

    pub(super) fn set(&self, object: &C::Kind) -> Set {
        self.sets.set(self.owner(object), self.composite.identity(object))
    }

    fn owner(&self, object: &C::Kind) -> Owner {
        let (name, namespace) = (object.name_any(), object.namespace().unwrap_or_default());
        Owner { kind: C::Kind::kind(&()).into_owned(), namespace, name: labels::value(&name) }
    }

    /// The wanted objects with their owner's labels.
    pub(super) fn owned(&self, object: &C::Kind, desired: &Desired) -> Result<Vec<Arc<crate::object::Object>>, String> {
        let (name, namespace) = (object.name_any(), object.namespace().unwrap_or_default());
        labels::owned(&desired.objects, &self.settings.sets, (&name, &namespace)).map_err(|e| e.to_string())
    }
}

impl<C: Composite> Work<'_, C> {
    async fn run(&mut self) -> Result<String, Ending> {
        self.check_dependencies().await?;
        let desired = self.desired().await?;
        let objects = self.all.owned(&self.object, &desired).map_err(Ending::Stalled)?;
        let wanted = self.set.entries(&objects).await;
        self.announce(&wanted).await?;
        let mut lines = Vec::new();
        let live = self.apply(&objects, &desired, &mut lines).await?;
        self.collect(&wanted, &live, &desired, &mut lines).await?;
        self.tell_changes(&lines);
        self.wait(&live).await?;
        self.status.last_applied_revision = Some(desired.revision).filter(|revision| !revision.is_empty());
        Ok(format!("{} objects are applied{}", live.len(), if self.waits() { " and ready" } else { "" }))
    }

    pub(super) fn context(&self) -> Context {
        let trigger = if self.cx.trigger().is_some() { Trigger::Request } else { Trigger::Interval };
        Context { stop: self.cx.stop().clone(), trigger, reads: self.cx.reads().clone() }
    }

    fn waits(&self) -> bool {
        self.all.composite.wait(&self.object)
    }

    pub(super) fn how(&self, force: bool) -> ApplyHow {
        let timeout = self.all.composite.timeout(&self.object);
        ApplyHow { force, until: Instant::now() + timeout, stop: self.cx.stop().clone() }
    }

    async fn check_dependencies(&self) -> Result<(), Ending> {
        let dependencies = self.all.composite.dependencies(&self.object);
        self.cx.depends_on(dependencies.clone());
        let own = self.all.sets.set(self.all.owner(&self.object), Identity::Own);
        for dependency in &dependencies {
            let namespace = Some(dependency.namespace.as_str()).filter(|n| !n.is_empty());
            let message = match own.get(&dependency.gvk, namespace, &dependency.name).await {
                Ok(found) => match dependency_status(&found) {
                    (true, _) => continue,
                    (false, word) => format!("dependency {dependency} is not ready: {word}"),
                },
                Err(error) => format!("dependency {dependency} cannot be found: {error}"),
            };
            return Err(Ending::NotYet { reason: DEPENDENCY_NOT_READY, message, after: DEPENDENCY });
        }
        // What happens to them from here on is no reason for another pass.
        self.cx.depends_on([]);
        Ok(())
    }

    async fn desired(&self) -> Result<Desired, Ending> {
        self.all.composite.desired(&self.object, &self.context()).await.map_err(|error| match error {
            Error::NotReady(message) => Ending::NotYet { reason: reason::NOT_READY, message, after: NOT_READY },
            Error::Invalid(message) => Ending::Stalled(message),
            other => Ending::Failed { cause: "desired", reason: BUILD_FAILED, message: other.to_string() },
        })
    }

    /// Writes down what may be applied before it is, and that a pass is under way where something is new.
    async fn announce(&mut self, wanted: &[Entry]) -> Result<(), Ending> {
        let known = self.status.entries();
        let is_new = wanted.iter().any(|entry| !known.iter().any(|k| k.key == entry.key));
        if !is_new && self.status.is_ready(self.generation) {
            return Ok(());
        }
        self.status.add_entries(wanted);
        self.status.progressing(self.generation, Timestamp::now());
        Ok(self.write().await?)
    }

    async fn apply(
        &mut self,
        objects: &[Arc<crate::object::Object>],
        desired: &Desired,
        lines: &mut Vec<Change>,
    ) -> Result<Vec<Entry>, Ending> {
        let failed = |message| Ending::Failed { cause: "apply", reason: RECONCILIATION_FAILED, message };
        let how = self.how(desired.force);
        self.set.recreate_failed_jobs(objects, &how).await.map_err(failed)?;
        let outcome = self.set.apply(objects, &how).await;
        let worth_a_line = |change: &Change| !matches!(change.action.as_str(), "unchanged" | "skipped");
        lines.extend(outcome.changes.into_iter().filter(worth_a_line));
        match outcome.error {
            _ if self.cx.stop().is_stopped() => Err(Ending::Interrupted(None)),
            Some(message) => {
                self.tell_changes(lines);
                Err(failed(message))
            }
            None => Ok(outcome.inventory),
        }
    }

    /// Deletes what is no longer wanted, if that is known for certain, and writes down what is left.
    async fn collect(
        &mut self,
        wanted: &[Entry],
        live: &[Entry],
        desired: &Desired,
        lines: &mut Vec<Change>,
    ) -> Result<(), Ending> {
        let is_wanted = |entry: &Entry| wanted.iter().any(|w| w.key == entry.key);
        let stale: Vec<Entry> = self.status.entries().into_iter().filter(|entry| !is_wanted(entry)).collect();
        let mut after = live.to_vec();
        let mut error = None;
        if !stale.is_empty() && desired.complete {
            let pruned = self.set.prune(&stale, &self.how(false)).await;
            lines.extend(pruned.changes);
            after.extend(pruned.left);
            error = pruned.error;
        } else {
            after.extend(stale);
        }
        self.status.set_entries(&after);
        match error {
            None => Ok(()),
            Some(message) => {
                self.tell_changes(lines);
                Err(Ending::Failed { cause: "gc", reason: RECONCILIATION_FAILED, message })
            }
        }
    }

    async fn wait(&mut self, live: &[Entry]) -> Result<(), Ending> {
        if !self.waits() || live.is_empty() {
            return Ok(());
        }
        let timeout = self.all.composite.timeout(&self.object);
        let interrupt = async {
            tokio::select! {
                trigger = self.cx.interrupted() => Some(trigger.to_string()),
                () = self.cx.stop().stopped() => None,
            }
        };
        match self.cx.waiting(self.set.wait(live, timeout, interrupt)).await {
            Waited::Ready => Ok(()),
            Waited::Failed(message) | Waited::TimedOut(message) => {
                Err(Ending::Failed { cause: "health", reason: reason::HEALTH_CHECK_FAILED, message })
            }
            Waited::Interrupted(trigger) => Err(Ending::Interrupted(trigger)),
        }
    }

    fn tell_changes(&self, changes: &[Change]) {
        if !changes.is_empty() {
            let message = changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            self.tell(false, APPLY_SUCCEEDED, message);
        }
    }

    pub(super) fn tell(&self, warning: bool, reason: &str, message: String) {
        let event = Event { warning, reason: reason.to_owned(), message, forward: true, ..Event::default() };
        self.cx.event(&self.object, event);
    }

    pub(super) async fn write(&mut self) -> Result<(), WriteError> {
        let (_, whole) = CompositeStatus::of(&self.object);
        self.object = self.cx.patch_status(&self.object, &self.status.within(whole)).await?;
        Ok(())
    }

    /// Writes how the pass ended and says when the next is due.
    async fn conclude(&mut self, ended: Result<String, Ending>) -> Next {
        let before = self.status.reason().to_owned();
        let (generation, now) = (self.generation, Timestamp::now());
        let next = match ended {
            Ok(message) => return self.succeed(&message).await,
            Err(Ending::Unwritten(error)) => return unwritten(error),
            Err(Ending::Interrupted(None)) => return Next::Now,
            Err(Ending::Interrupted(Some(trigger))) => {
                let message = format!("New reconciliation triggered by {trigger}");
                self.status.failed((HEALTH_CHECK_CANCELED, &message), generation, now);
                Next::Now
            }
            Err(Ending::Failed { cause, reason, message }) => {
                self.status.failed((reason, &message), generation, now);
                self.tell(true, reason, message.clone());
                Next::Retry { cause: cause.to_owned(), error: message }
            }
            Err(Ending::NotYet { reason, message, after }) => {
                self.status.failed((reason, &message), generation, now);
                if before != reason {
                    self.tell(false, reason, message);
                }
                Next::Poll { cause: reason.to_owned(), after }
            }
            Err(Ending::Stalled(message)) => {
                self.status.stalled((BUILD_FAILED, &message), generation, now);
                self.tell(true, BUILD_FAILED, message.clone());
                Next::Terminal { error: message }
            }
        };
        match self.write().await {
            Ok(()) => next,
            Err(error) => unwritten(error),
        }
    }

    async fn succeed(&mut self, message: &str) -> Next {
        let was_ready = self.status.is_ready(self.generation);
        self.status.ready(message, self.generation, Timestamp::now());
        let (_, mut whole) = CompositeStatus::of(&self.object);
        if let serde_json::Value::Object(published) = self.all.composite.publish(&self.object) {
            whole.extend(published);
        }
        match self.cx.patch_status(&self.object, &self.status.within(whole)).await {
            Ok(object) => self.object = object,
            Err(error) => return unwritten(error),
        }
        if !was_ready {
            self.tell(false, RECONCILIATION_SUCCEEDED, message.to_owned());
        }
        match self.all.composite.interval(&self.object) {
            Duration::ZERO => Next::Done,
            interval => Next::AfterJittered(interval),
        }
    }
}

fn unwritten(error: WriteError) -> Next {
    match error {
        WriteError::Gone { .. } => Next::Done,
        other => Next::Retry { cause: "status".into(), error: other.to_string() },
    }
}
