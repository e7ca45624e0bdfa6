//! Runs the passes of a controller: takes objects from the queue, gives each a worker, and puts what a pass answers back into
//! the queue. What all passes share is here, too.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use kube::api::ApiResource;
use kube::{Resource as _, ResourceExt as _};
use rand::RngExt as _;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::operator::reads::Reads;
use crate::report::{ControllerMetrics, PassResult};
use crate::runtime::{Scoped, Stop, scoped};

use super::builder::spec_or_annotations_changed;
use super::events::EventQueue;
use super::interest::Interests;
use super::pass::Waits;
use super::queue::{Queue, Ticket, Urgency};
use super::store::{Id, id};
use super::{
    ControllerSettings, Dependency, Event, Finalize, Managed, Next, Pass, Reconcile, Store, Trigger, TriggerFilter,
    WriteError,
};

/// How long a pass that may be over its time is left alone between two looks at its clock.
const SHORTEST_LOOK: Duration = Duration::from_secs(1);

/// What all passes of a controller share.
pub(super) struct Shared<K> {
    pub(super) client: kube::Client,
    pub(super) resource: ApiResource,
    pub(super) settings: ControllerSettings,
    pub(super) store: Store<K>,
    pub(super) filter: OnceLock<TriggerFilter<K>>,
    pub(super) queue: Mutex<Queue<Id>>,
    pub(super) changed: Notify,
    pub(super) slots: Arc<Semaphore>,
    pub(super) reads: Reads,
    pub(super) events: EventQueue,
    pub(super) interests: Interests,
    pub(super) metrics: Option<ControllerMetrics>,
    pub(super) passes: watch::Sender<u64>,
}

impl<K> Shared<K> {
    pub(super) fn client(&self) -> &kube::Client {
        &self.client
    }

    pub(super) fn resource(&self) -> &ApiResource {
        &self.resource
    }

    pub(super) fn settings(&self) -> &ControllerSettings {
        &self.settings
    }

    pub(super) fn store(&self) -> &Store<K> {
        &self.store
    }

    pub(super) fn reads(&self) -> &Reads {
        &self.reads
    }

    /// A panic while the queue was locked cannot have left it half-changed for long: the next wish mends it.
    pub(super) fn queue(&self) -> MutexGuard<'_, Queue<Id>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn attempts(&self, id: &Id, cause: &str) -> u32 {
        self.queue().attempts(id, cause)
    }

    /// Tells the loop that a worker is free.
    pub(super) fn slot_freed(&self) {
        self.changed.notify_one();
    }

    pub(super) async fn take_slot(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.slots).acquire_owned().await.ok()
    }

    pub(super) fn depends_on(&self, id: &Id, dependencies: Vec<Dependency>) {
        self.interests.set(id, dependencies);
    }

    /// Wishes for a pass at once.
    pub(super) fn request(&self, id: Id, trigger: Option<Trigger>) {
        self.wish(id, Urgency::Trigger, trigger);
    }

    fn wish(&self, id: Id, urgency: Urgency, trigger: Option<Trigger>) {
        self.queue().add(id, Instant::now(), urgency, trigger);
        if let Some(metrics) = &self.metrics {
            metrics.added();
        }
        self.changed.notify_one();
    }
}

impl<K: Managed> Shared<K> {
    pub(super) fn event(&self, object: &K, event: Event) {
        self.events.push(object, event);
    }

    /// Takes in an object from an answer of the API server.
    pub(super) fn note(&self, object: K) {
        if let Some((before, after)) = self.store.apply(object) {
            self.took_in(before.as_deref(), after.as_deref());
        }
    }

    /// Wishes for a pass where a change asks for one.
    pub(super) fn took_in(&self, before: Option<&K>, after: Option<&K>) {
        let (before, after) = (before.filter(|o| self.owns(o)), after.filter(|o| self.owns(o)));
        match (before, after) {
            (None, None) => {}
            (Some(gone), None) => self.forget(gone),
            // The first list is no news; what is made afterwards is.
            (None, Some(new)) if self.store.is_complete() => self.request(id(new), None),
            (None, Some(new)) => self.wish(id(new), Urgency::Timer, None),
            (Some(old), Some(new)) => {
                let replaced = old.meta().uid != new.meta().uid;
                let dying = old.meta().deletion_timestamp.is_none() && new.meta().deletion_timestamp.is_some();
                if replaced || dying || self.is_trigger(old, new) {
                    self.request(id(new), Some(self.trigger_of(new)));
                }
            }
        }
    }

    fn is_trigger(&self, old: &K, new: &K) -> bool {
        self.filter.get().map_or_else(|| spec_or_annotations_changed(old, new), |filter| filter(old, new))
    }

    /// Wishes for a pass over every object, as after a start.
    fn wish_all(&self) {
        for object in self.store.list() {
            if self.owns(&object) {
                self.wish(id(&*object), Urgency::Timer, None);
            }
        }
    }

    /// Wishes for a pass over an object that another's change concerns; one that is not known (yet) has its own start.
    pub(super) fn wake(&self, id: Id, urgency: Urgency, trigger: Trigger) {
        if self.owned(&id).is_some() {
            self.wish(id, urgency, Some(trigger));
        }
    }

    fn trigger_of(&self, object: &K) -> Trigger {
        let (namespace, name) = id(object);
        Trigger { kind: self.resource.kind.clone(), namespace, name }
    }

    /// Whether an object is this replica's.
    fn owns(&self, object: &K) -> bool {
        self.settings.shard.as_ref().is_none_or(|shard| shard.owns(object.meta()))
    }

    fn owned(&self, id: &Id) -> Option<Arc<K>> {
        self.store.by_id(id).filter(|object| self.owns(object))
    }

    fn forget(&self, object: &K) {
        let id = id(object);
        self.queue().forget(&id);
        self.forget_words(&id);
    }

    /// Takes back what passes have said of an object.
    fn forget_words(&self, id: &Id) {
        self.interests.set(id, Vec::new());
        self.forget_series(id);
    }

    fn forget_series(&self, id: &Id) {
        if let Some(metrics) = &self.metrics {
            metrics.forget(&self.resource.kind, &id.0, &id.1);
        }
    }

    /// The moment of the next pass, and how the last one is counted.
    fn follow(&self, id: &Id, next: Next) -> (Option<Instant>, PassResult) {
        let now = Instant::now();
        let mut queue = self.queue();
        if !matches!(next, Next::Retry { .. } | Next::Poll { .. }) {
            queue.succeed(id);
        }
        match next {
            Next::Done => (None, PassResult::Success),
            Next::After(wait) => (Some(now + wait), PassResult::RequeueAfter),
            Next::AfterJittered(wait) => (Some(now + self.jittered(wait)), PassResult::RequeueAfter),
            Next::At(moment) => {
                let wait = Duration::try_from(moment.duration_since(Timestamp::now())).unwrap_or_default();
                (Some(now + wait), PassResult::RequeueAfter)
            }
            Next::Now => (Some(now), PassResult::Requeue),
            Next::Poll { cause, after } => {
                queue.retry(id, &cause);
                (Some(now + after), PassResult::RequeueAfter)
            }
            Next::Retry { cause, error } => {
                let before = queue.retry(id, &cause);
                let wait = self.settings.min_retry_delay.saturating_mul(2_u32.saturating_pow(before.min(31)));
                let wait = wait.min(self.settings.max_retry_delay);
                tracing::warn!(controller = self.settings.name, namespace = id.0, name = id.1, err = error, ?wait);
                if let Some(metrics) = &self.metrics {
                    metrics.retried();
                }
                (Some(now + wait), PassResult::Error)
            }
            Next::Terminal { error } => {
                tracing::error!(controller = self.settings.name, namespace = id.0, name = id.1, err = error);
                (None, PassResult::TerminalError)
            }
        }
    }

    fn jittered(&self, wait: Duration) -> Duration {
        let part = f64::from(self.settings.jitter_percentage.min(100)) / 100.0;
        wait.mul_f64(rand::rng().random_range(1.0 - part..=1.0 + part))
    }
}

/// The loop.
pub(super) struct Run<R: Reconcile> {
    pub(super) reconciler: Arc<R>,
    pub(super) shared: Arc<Shared<R::Kind>>,
    pub(super) leading: Option<watch::Receiver<bool>>,
    pub(super) numbers: AtomicU64,
}

type Running = FuturesUnordered<Scoped<()>>;

impl<R: Reconcile> Run<R> {
    /// Runs passes until stopped, then lets running ones end.
    pub(super) async fn run(mut self, stop: &Stop) {
        let mut running = Running::new();
        while !stop.is_stopped() {
            if self.leads() {
                self.lead(stop, &mut running).await;
            } else if stop.or(leadership(self.leading.as_mut())).await.is_none() {
                break;
            }
        }
    }

    /// Takes the state in: what changed before is no news any more.
    fn leads(&mut self) -> bool {
        self.leading.as_mut().is_none_or(|leading| *leading.borrow_and_update())
    }

    /// Runs passes while this replica leads.
    async fn lead(&mut self, stop: &Stop, running: &mut Running) {
        let passes = stop.child();
        self.shared.wish_all();
        while !stop.is_stopped() {
            let next = self.start_due(&passes, running);
            tokio::select! {
                () = stop.stopped() => {}
                // Also when the lead is back already: somebody else may have had it.
                () = leadership(self.leading.as_mut()) => break,
                () = self.shared.changed.notified() => {}
                () = sleep_until(next) => {}
                Some(ended) = running.next(), if !running.is_empty() => self.note_panic(ended.is_err()),
            }
        }
        passes.stop();
        let all = async { while running.next().await.is_some() {} };
        if tokio::time::timeout(self.shared.settings.grace, all).await.is_err() {
            let count = running.len();
            tracing::warn!(controller = self.shared.settings.name, count, "passes did not end in time and are cut off");
            running.clear();
        }
        // Whoever leads next tells of the objects.
        self.shared.store.list().iter().for_each(|object| self.shared.forget_series(&id(&**object)));
    }

    /// Starts what is due while there are workers; answers when something falls due next.
    fn start_due(&self, stop: &Stop, running: &mut Running) -> Option<Instant> {
        let shared = &self.shared;
        let mut queue = shared.queue();
        let now = Instant::now();
        while let Ok(slot) = Arc::clone(&shared.slots).try_acquire_owned() {
            let Some(ticket) = queue.pop(now) else { break };
            running.push(scoped(self.pass(ticket, slot, stop.child())));
        }
        if let Some(metrics) = &shared.metrics {
            let free = shared.slots.available_permits();
            metrics.load(queue.depth(now), shared.settings.concurrency.max(1).saturating_sub(free));
        }
        queue.next_due()
    }

    fn note_panic(&self, panicked: bool) {
        if panicked {
            tracing::error!(controller = self.shared.settings.name, "a pass ended without an answer");
        }
    }

    fn pass(
        &self,
        ticket: Ticket<Id>,
        slot: OwnedSemaphorePermit,
        stop: Stop,
    ) -> impl Future<Output = ()> + Send + use<R> {
        let (reconciler, shared) = (Arc::clone(&self.reconciler), Arc::clone(&self.shared));
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        async move {
            if let Some(metrics) = &shared.metrics {
                metrics.began(number, ticket.waited);
            }
            let id = ticket.id.clone();
            let waits = Arc::default();
            let work = one_pass(Arc::clone(&reconciler), Arc::clone(&shared), ticket, (slot, stop), Arc::clone(&waits));
            let next = bounded(shared.settings.longest_pass, scoped(work), &waits).await.unwrap_or_else(|| {
                if let Some(metrics) = &shared.metrics {
                    metrics.panicked();
                }
                let error = "the pass panicked; this is a bug in the controller".to_owned();
                Next::Retry { cause: "panic".into(), error }
            });
            let (due, result) = shared.follow(&id, next);
            if let Some(metrics) = &shared.metrics {
                metrics.ended(number, result);
                if let Some(series) = shared.owned(&id).and_then(|object| reconciler.series(&object)) {
                    metrics.tell(series);
                }
            }
            shared.queue().finish(&id, due);
            if shared.owned(&id).is_none() {
                // It went, or went to another shard, during the pass: what the pass said of it since goes, too. Wishes stay:
                // they may be those of a new object of its name.
                shared.forget_words(&id);
            }
            shared.passes.send_modify(|passes| *passes += 1);
        }
    }
}

/// Gives a pass its longest time, in which waits do not count; `None` when it panics: that is a failure like others, so that
/// one object cannot end the process.
pub(super) async fn bounded(longest: Duration, work: Scoped<Next>, waits: &Waits) -> Option<Next> {
    let (begun, mut work) = (Instant::now(), work);
    loop {
        let now = Instant::now();
        let worked = now.duration_since(begun).saturating_sub(waits.total(now));
        if worked >= longest {
            let error = format!("the pass was given up: it took more than {} s", longest.as_secs());
            return Some(Next::Retry { cause: "deadline".into(), error });
        }
        // Without an end it may have waited meanwhile.
        if let Ok(ended) = tokio::time::timeout((longest - worked).max(SHORTEST_LOOK), &mut work).await {
            return ended.ok();
        }
    }
}

async fn one_pass<R: Reconcile>(
    reconciler: Arc<R>,
    shared: Arc<Shared<R::Kind>>,
    ticket: Ticket<Id>,
    (slot, stop): (OwnedSemaphorePermit, Stop),
    waits: Arc<Waits>,
) -> Next {
    let Some(object) = shared.owned(&ticket.id) else { return Next::Done };
    let finalizer = shared.settings.finalizer.clone();
    let mut pass = Pass {
        shared: Arc::clone(&shared),
        id: ticket.id,
        trigger: ticket.trigger,
        is_new: false,
        stop,
        woken: ticket.woken,
        slot: tokio::sync::Mutex::new(Some(slot)),
        waits,
    };
    let has = |object: &R::Kind| finalizer.as_ref().is_some_and(|name| object.finalizers().contains(name));
    if object.meta().deletion_timestamp.is_some() {
        let Some(name) = finalizer.as_deref().filter(|_| has(&object)) else { return Next::Done };
        return match reconciler.finalize(Arc::clone(&object), &pass).await {
            Finalize::Keep(next) => next,
            Finalize::Done => answer(shared.set_finalizer(&object, name, false).await.map(|_| Next::Done)),
        };
    }
    let Some(name) = finalizer.as_deref().filter(|_| !has(&object)) else {
        return reconciler.reconcile(object, &pass).await;
    };
    match shared.set_finalizer(&object, name, true).await {
        Ok(Some(object)) if object.meta().deletion_timestamp.is_some() => Next::Now,
        Ok(Some(object)) => {
            pass.is_new = true;
            reconciler.reconcile(Arc::new(object), &pass).await
        }
        Ok(None) => Next::Done,
        Err(error) => answer(Err(error)),
    }
}

fn answer(written: Result<Next, WriteError>) -> Next {
    match written {
        Ok(next) => next,
        Err(WriteError::Gone { .. }) => Next::Done,
        Err(error) => Next::Retry { cause: "finalizer".into(), error: error.to_string() },
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Waits until leadership changes.
async fn leadership(leading: Option<&mut watch::Receiver<bool>>) {
    let Some(leading) = leading else { return std::future::pending().await };
    if leading.changed().await.is_err() {
        std::future::pending().await
    }
}
