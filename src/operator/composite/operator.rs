//! Puts the operator of a kind together: its controller, its sets, and the drift that wakes the owners of what drifted.

use std::collections::HashSet;
use std::sync::Arc;

use kube::api::ObjectMeta;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::inventory::entry_id;
use crate::object::Gvk;
use crate::operator::contention::Contention;
use crate::operator::controller::{Controller, ControllerHandle, Managed, ObjectRef, Store, WatchConfig};
use crate::operator::reads::Reads;
use crate::operator::sets::{ApplyHow, Sets};
use crate::operator::{Context, Error, Trigger, client};
use crate::plan::Plan;
use crate::runtime::{Stop, scoped};

use super::pass::Composites;
use super::{Composite, CompositeSettings, CompositeStatus};

/// Keeps every object of a kind equal to what a [`Composite`] makes of it.
pub struct CompositeOperator<C: Composite> {
    controller: Controller<Arc<Composites<C>>>,
    handle: CompositeHandle<C>,
}

/// A cheap handle of an operator of composites.
pub struct CompositeHandle<C: Composite> {
    composites: Arc<Composites<C>>,
    controller: ControllerHandle<C::Kind>,
    reads: Reads,
}

impl<C: Composite> Clone for CompositeHandle<C> {
    fn clone(&self) -> Self {
        Self {
            composites: Arc::clone(&self.composites),
            controller: self.controller.clone(),
            reads: self.reads.clone(),
        }
    }
}

impl<C: Composite> CompositeOperator<C> {
    /// Makes one; nothing is read before it runs. It takes a configuration instead of a client because objects may be
    /// applied as service accounts.
    ///
    /// # Errors
    /// [`Error::Component`] when no client can be made of the configuration.
    pub fn new(composite: C, config: kube::Config, settings: CompositeSettings) -> Result<Self, Error> {
        let client = client(config.clone()).map_err(Error::component)?;
        let sets = Sets::new(&config, client.clone(), settings.sets.clone()).map_err(Error::component)?;
        let controller = &settings.controller;
        let reads = Reads::new(client.clone(), controller.namespaces.clone(), &controller.field_manager);
        let controller = controller.clone();
        let composites = Arc::new(Composites { composite: Arc::new(composite), sets, settings });
        let controller = Controller::new(Arc::clone(&composites), client, controller);
        let handle = CompositeHandle { composites, controller: controller.handle(), reads };
        Ok(Self { controller, handle })
    }

    /// Watches another kind into `store`, as [`Controller::watches`] does.
    #[must_use]
    pub fn watches<O: Managed>(
        mut self,
        config: WatchConfig,
        store: Store<O>,
        map: impl Fn(Option<&O>, Option<&O>, &Store<C::Kind>) -> Vec<ObjectRef<C::Kind>> + Send + Sync + 'static,
    ) -> Self {
        self.controller = self.controller.watches(config, store, map);
        self
    }

    /// Watches the metadata of objects of any kind, as [`Controller::watches_metadata`] does.
    #[must_use]
    pub fn watches_metadata(
        mut self,
        gvk: &Gvk,
        selector: &str,
        map: impl Fn(Option<&ObjectMeta>, Option<&ObjectMeta>, &Store<C::Kind>) -> Vec<ObjectRef<C::Kind>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.controller = self.controller.watches_metadata(gvk, selector, map);
        self
    }

    /// Works only while the receiver says that this replica leads.
    #[must_use]
    pub fn with_leadership(mut self, leading: watch::Receiver<bool>) -> Self {
        self.controller = self.controller.with_leadership(leading);
        self
    }

    /// A handle, which may be taken before it runs.
    pub fn handle(&self) -> CompositeHandle<C> {
        self.handle.clone()
    }

    /// Runs until stopped, and until running passes have ended or their grace is over.
    ///
    /// # Errors
    /// Only when it cannot work at all.
    pub fn run(self, stop: Stop) -> impl Future<Output = Result<(), Error>> + Send {
        let sets = self.handle.composites.sets.clone();
        let Self { controller, handle } = self;
        async move {
            // The watches serve passes until the last one has ended, and go with this future.
            let _watches = scoped(async move { sets.run(Stop::new()).await });
            let _drift = scoped(wake_on_drift(handle));
            controller.run(stop).await
        }
    }
}

impl<C: Composite> CompositeHandle<C> {
    /// The objects of the kind.
    pub fn store(&self) -> &Store<C::Kind> {
        self.controller.store()
    }

    /// Asks for a pass over an object soon.
    pub fn request(&self, object: &ObjectRef<C::Kind>) {
        self.controller.request(object);
    }

    /// Counts finished passes.
    pub fn passes(&self) -> watch::Receiver<u64> {
        self.controller.passes()
    }

    /// What a pass over an object would do, by fresh reads and dry runs; the object need not exist. Changes nothing.
    ///
    /// # Errors
    /// When it is not known what is wanted, the cluster cannot be read, or it refuses an object.
    pub async fn plan(&self, object: &C::Kind, stop: &Stop) -> Result<Plan, Error> {
        let all = &self.composites;
        let cx = Context { stop: stop.clone(), trigger: Trigger::Request, reads: self.reads.clone() };
        let desired = all.composite.desired(object, &cx).await?;
        let objects = all.owned(object, &desired).map_err(Error::Invalid)?;
        let (status, _) = CompositeStatus::of(object);
        let inventory = if desired.complete { status.entries() } else { Vec::new() };
        let how = ApplyHow::within(all.composite.timeout(object), stop);
        all.set(object).plan(&objects, &inventory, &how).await.map_err(Error::Cluster)
    }
}

/// Asks for passes over the owners of objects that others changed or removed, with patience where another controller
/// insists.
async fn wake_on_drift<C: Composite>(handle: CompositeHandle<C>) {
    let mut contention = Contention::default();
    loop {
        let keys = tokio::select! {
            changed = handle.composites.sets.drifted() => changed,
            () = sleep_until(contention.next()) => Some(Vec::new()),
        };
        let now = Instant::now();
        let drifted = match keys {
            Some(keys) => contention.admit(keys, now),
            None => {
                handle.store().list().iter().for_each(|object| handle.request(&ObjectRef::from_obj(&**object)));
                continue;
            }
        };
        for key in &drifted {
            if let Some(times) = contention.corrected(key, now) {
                tracing::warn!(?key, times, "another controller changes this object again and again");
            }
        }
        let ids: HashSet<String> = drifted.iter().map(entry_id).collect();
        if ids.is_empty() {
            continue;
        }
        for object in handle.store().list() {
            let (status, _) = CompositeStatus::of(&*object);
            let owns = status.inventory.is_some_and(|listed| listed.entries.iter().any(|e| ids.contains(&e.id)));
            if owns {
                handle.request(&ObjectRef::from_obj(&*object));
            }
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
