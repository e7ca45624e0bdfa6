//! The loop: one pass at a time, with leadership, pauses and stops. What a pass does is the engine's.

use std::collections::HashSet;
use std::sync::Arc;

use futures::FutureExt as _;
use tokio::sync::watch;

use crate::apply::{Done, FailureKind, Outcome, Stage, Stopped};
use crate::cluster::OnRequest;
use crate::engine::{Engine, Frame, Passed, Settings, Want};
use crate::object::Key;
use crate::plan::{Plan, Uid};
use crate::runtime::{Stop, scoped};

use super::handle::lock;
use super::reads::{Event, Reads};
use super::triggers::{Next, Triggers};
use super::{Component, Context, Desired, Error, Handle, Trigger};

/// Keeps a cluster equal to what a component wants.
pub struct Operator<C> {
    component: C,
    settings: Settings,
    client: kube::Client,
    handle: Handle,
    leading: Option<watch::Receiver<bool>>,
    on_request: Option<OnRequest>,
}

impl<C: Component> Operator<C> {
    /// Makes one; nothing is read before it runs.
    pub fn new(component: C, settings: Settings, client: kube::Client) -> Self {
        Self { component, settings, client, handle: Handle::new(), leading: None, on_request: None }
    }

    /// Works only while the receiver says that this replica leads.
    #[must_use]
    pub fn with_leadership(mut self, leading: watch::Receiver<bool>) -> Self {
        self.leading = Some(leading);
        self
    }

    /// Tells every finished API request to a hook: its verb, and the HTTP status (0 without an answer).
    #[must_use]
    pub fn on_request(mut self, hook: OnRequest) -> Self {
        self.on_request = Some(hook);
        self
    }

    /// A handle, which may be taken before it runs.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Typed reads of the same cluster.
    pub fn reads(&self) -> Reads {
        let settings = &self.settings;
        Reads::new(self.client.clone(), settings.allow_namespaces.clone(), &settings.field_manager)
    }

    /// Plans once, from fresh reads, and changes nothing.
    ///
    /// # Errors
    /// When the component does not know what is wanted, or the cluster cannot be read.
    pub async fn plan(&self, stop: &Stop) -> Result<Plan, Error> {
        let settings = Settings { cache: None, ..self.settings.clone() };
        let mut engine = Engine::new(self.client.clone(), settings, self.on_request.clone())?;
        let cx = Context { stop: stop.clone(), trigger: Trigger::Full, reads: self.reads() };
        let desired = self.component.desired(&cx).await?;
        let plan = engine.plan_only(&want(&desired, Trigger::Full, &HashSet::new())).await;
        plan.map_err(|stopped| Error::Cluster(stopped.to_string()))
    }

    /// Runs until stopped: a pass at the start, at each request, at the intervals, and when objects drift.
    ///
    /// # Errors
    /// Only when it cannot work at all, such as with a cache file that cannot be used.
    pub fn run(self, stop: Stop) -> impl Future<Output = Result<(), Error>> + Send {
        self.start(stop)
    }

    async fn start(self, stop: Stop) -> Result<(), Error> {
        let reads = self.reads();
        let engine = Engine::new(self.client, self.settings.clone(), self.on_request)?;
        let watched = engine.cluster().clone();
        let _watches = scoped(async move { watched.run_watches().await });
        let triggers = Triggers::new(&self.settings, self.leading);
        let desired = Desired::default();
        Run {
            component: self.component,
            settings: self.settings,
            engine,
            handle: self.handle,
            triggers,
            desired,
            reads,
        }
        .run(&stop)
        .await;
        Ok(())
    }
}

struct Run<C> {
    component: C,
    settings: Settings,
    engine: Engine,
    handle: Handle,
    triggers: Triggers,
    desired: Desired,
    reads: Reads,
}

impl<C: Component> Run<C> {
    async fn run(mut self, stop: &Stop) {
        loop {
            let cluster = self.engine.cluster().clone();
            // Boxed because the compiler cannot see through so many borrows that the whole is `Send`.
            match self.triggers.wait(&self.handle.shared, cluster.live(), stop).boxed().await {
                Next::Stop => return,
                Next::Whole(trigger) => self.whole(trigger, stop).boxed().await,
                Next::Drift(keys) => self.drift(&keys, stop).boxed().await,
                Next::Plan(planners) => {
                    for planner in planners {
                        let plan = self.plan(stop).boxed().await;
                        // Whoever asked may have gone away meanwhile.
                        drop(planner.send(plan));
                    }
                }
            }
            self.handle.shared.meter.begin(Stage::Idle, 0);
        }
    }

    fn context(&self, trigger: Trigger, stop: &Stop) -> Context {
        Context { stop: stop.clone(), trigger, reads: self.reads.clone() }
    }

    async fn plan(&mut self, stop: &Stop) -> Result<Arc<Plan>, Error> {
        let cx = self.context(Trigger::Request, stop);
        let desired = self.wanted(&cx).await?;
        let approved = lock(&self.handle.shared.state).approved.clone();
        let plan = self.engine.plan_only(&want(&desired, Trigger::Request, &approved)).boxed().await;
        plan.map(Arc::new).map_err(|stopped| Error::Cluster(stopped.to_string()))
    }

    async fn whole(&mut self, trigger: Trigger, stop: &Stop) {
        let meter = self.handle.shared.meter.clone();
        meter.begin(Stage::Desired, 0);
        let cx = self.context(trigger, stop);
        let began = std::time::Instant::now();
        match self.wanted(&cx).await {
            Ok(desired) => self.desired = desired,
            Err(error) => {
                let ready = !matches!(error, Error::NotReady(_));
                if ready {
                    tracing::warn!(component = "sync-loop", err = %error);
                } else {
                    tracing::info!(component = "sync-loop", reason = %error, "no sync yet");
                }
                self.handle.note_error(Some(error.to_string()));
                self.handle.finished();
                self.triggers.passed(trigger, ready);
                return;
            }
        }
        self.handle.note_error(None);
        let spent = began.elapsed();
        let approved = lock(&self.handle.shared.state).approved.clone();
        let want = want(&self.desired, trigger, &approved);
        let ended = while_leading(self.triggers.leading.clone(), stop);
        let frame = Frame { meter: &meter, stop: &ended.stop };
        let mut passed = ended.run(self.engine.pass(&want, frame).boxed()).await;
        passed.outcome.stages.insert(0, (Stage::Desired, spent));
        if passed.outcome.stopped.is_none() {
            // An approval is for the pass that follows it; one that came meanwhile is for the next.
            lock(&self.handle.shared.state).approved.retain(|uid| !approved.contains(uid));
        }
        let trouble = is_trouble(&passed.outcome) || self.engine.is_unsettled();
        self.conclude(passed, &cx).await;
        self.triggers.passed(trigger, trouble);
    }

    async fn wanted(&self, cx: &Context) -> Result<Desired, Error> {
        let deadline = self.settings.deadline;
        tokio::select! {
            desired = self.component.desired(cx) => desired,
            () = cx.stop.stopped() => Err(Error::NotRunning),
            () = tokio::time::sleep(deadline) => {
                let text = format!("what is wanted was not known within {} s (--sync-timeout)", deadline.as_secs());
                Err(Error::component(text))
            }
        }
    }

    async fn drift(&mut self, keys: &HashSet<Key>, stop: &Stop) {
        let meter = self.handle.shared.meter.clone();
        let revision = self.desired.revision.clone();
        let ended = while_leading(self.triggers.leading.clone(), stop);
        let frame = Frame { meter: &meter, stop: &ended.stop };
        let passed = ended.run(self.engine.correct(keys, &revision, frame).boxed()).await;
        if is_trouble(&passed.outcome) {
            self.handle.request();
        }
        if passed.plan.is_empty() {
            return;
        }
        self.tell_fights(&passed.outcome).await;
        let cx = self.context(Trigger::Drift, stop);
        self.conclude(passed, &cx).await;
    }

    /// One warning and one event per object over which another controller fights with us.
    async fn tell_fights(&mut self, outcome: &Outcome) {
        let now = tokio::time::Instant::now();
        for result in &outcome.results {
            if !matches!(result.done, Done::Created | Done::Configured | Done::Recreated | Done::Failed(_)) {
                continue;
            }
            let Some(times) = self.triggers.contention.corrected(result.key(), now) else { continue };
            let message = format!(
                "put right {times} times in a short while: another controller changes fields that git sets; \
                 it is put right less often from now on"
            );
            tracing::warn!(resource = %result.id(), "{message}");
            let about = result.key().clone();
            let event = Event { about, warning: true, reason: "DriftContended".into(), message };
            if let Err(error) = self.reads.record_event(event).await {
                tracing::warn!(err = %error, "an event could not be recorded");
            }
        }
    }

    async fn conclude(&mut self, passed: Passed, cx: &Context) {
        let outcome = Arc::new(passed.outcome);
        self.handle.note(&passed.plan, &outcome);
        self.handle.shared.meter.begin(Stage::Observe, 0);
        if let Err(error) = self.component.observe(cx, &outcome).await {
            tracing::warn!(component = "sync-loop", err = %error);
            self.handle.note_error(Some(error.to_string()));
        }
        self.handle.finished();
    }
}

fn want<'a>(desired: &'a Desired, trigger: Trigger, approved: &'a HashSet<Uid>) -> Want<'a> {
    Want {
        objects: &desired.objects,
        revision: &desired.revision,
        complete: desired.complete,
        force: desired.force,
        full: desired.force_full || trigger >= Trigger::Full,
        approved,
    }
}

/// Whether another try may well help before anyone does something.
fn is_trouble(outcome: &Outcome) -> bool {
    let transient = |kind: FailureKind| match kind {
        FailureKind::Namespace
        | FailureKind::UnknownKind
        | FailureKind::Conflict
        | FailureKind::Unavailable
        | FailureKind::Denied
        | FailureKind::NotReached => true,
        FailureKind::Invalid | FailureKind::Immutable | FailureKind::Forbidden => false,
    };
    outcome.failures().any(|(_, failure)| transient(failure.kind))
        || matches!(outcome.stopped, Some(Stopped::Deadline | Stopped::Read(_)))
}

/// A stop token that is also pulled when leadership is lost.
struct Ended {
    stop: Stop,
    leading: Option<watch::Receiver<bool>>,
}

fn while_leading(leading: Option<watch::Receiver<bool>>, stop: &Stop) -> Ended {
    Ended { stop: stop.child(), leading }
}

impl Ended {
    async fn run(&self, work: impl Future<Output = Passed>) -> Passed {
        let Some(mut leading) = self.leading.clone() else { return work.await };
        tokio::pin!(work);
        tokio::select! {
            passed = &mut work => return passed,
            _ = leading.wait_for(|leads| !leads) => self.stop.stop(),
        }
        let mut passed = work.await;
        // Also when every step was done: what follows a pass is for the one who leads.
        passed.outcome.stopped = Some(Stopped::NotLeading);
        passed
    }
}
