//! Puts a controller together: the reconciler, what else wakes its objects, and the tasks that this takes.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use kube::api::{ApiResource, DynamicObject, ObjectMeta};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{Resource as _, ResourceExt as _};
use tokio::sync::{Notify, Semaphore, mpsc, watch};

use crate::object::Gvk;
use crate::operator::Error;
use crate::operator::reads::Reads;
use crate::runtime::{Scoped, Stop, scoped};

use super::events::{EventQueue, Told};
use super::forward::Forwarder;
use super::interest::{Interests, watch_dependencies};
use super::queue::{Queue, Urgency};
use super::recorder::Recorder;
use super::run::{Run, Shared};
use super::store::{Change, Store, id_of};
use super::watch::{Synced, Watched, follow, follow_metadata};
use super::{ControllerSettings, Managed, Reconcile, Trigger};

/// How long the first passes wait for the first lists of other kinds.
const FIRST_LISTS: Duration = Duration::from_secs(30);

/// Whether a change of an object, from the first to the second, asks for a pass.
pub type TriggerFilter<K> = Arc<dyn Fn(&K, &K) -> bool + Send + Sync>;

type Follow<K> = Box<dyn FnOnce(Arc<Shared<K>>, Arc<Synced>) -> BoxFuture<'static, ()> + Send>;

/// Watches a kind and gives each object its passes.
pub struct Controller<R: Reconcile> {
    reconciler: Arc<R>,
    shared: Arc<Shared<R::Kind>>,
    events: mpsc::Receiver<Told>,
    follows: Vec<Follow<R::Kind>>,
    leading: Option<watch::Receiver<bool>>,
}

impl<R: Reconcile> Controller<R> {
    /// Makes one; nothing is read before it runs.
    pub fn new(reconciler: R, client: kube::Client, settings: ControllerSettings) -> Self {
        let (queue, events) = EventQueue::new();
        let metrics = settings.metrics.as_ref().map(|metrics| metrics.controller(settings.name, settings.concurrency));
        let shared = Shared {
            resource: ApiResource::erase::<R::Kind>(&()),
            store: Store::new(),
            filter: OnceLock::new(),
            queue: Mutex::new(Queue::new()),
            changed: Notify::new(),
            slots: Arc::new(Semaphore::new(settings.concurrency.max(1))),
            reads: Reads::new(client.clone(), settings.namespaces.clone(), &settings.field_manager),
            events: queue,
            interests: Interests::new(),
            metrics,
            passes: watch::Sender::new(0),
            client,
            settings,
        };
        Self { reconciler: Arc::new(reconciler), shared: Arc::new(shared), events, follows: Vec::new(), leading: None }
    }

    /// Decides which changes of an object trigger it; without this, those of its spec (generation) and annotations do.
    /// New objects and deletions always do. Of several filters the first counts.
    #[must_use]
    pub fn trigger_filter(self, filter: impl Fn(&R::Kind, &R::Kind) -> bool + Send + Sync + 'static) -> Self {
        let filter: TriggerFilter<R::Kind> = Arc::new(filter);
        self.shared.filter.get_or_init(|| filter);
        self
    }

    /// Watches another kind into `store`. Each change is given to `map` as (before, after), which names the objects of our
    /// own kind that it triggers. The kind need not exist yet.
    #[must_use]
    pub fn watches<O: Managed>(
        mut self,
        config: watcher::Config,
        store: Store<O>,
        map: impl Fn(Option<&O>, Option<&O>, &Store<R::Kind>) -> Vec<ObjectRef<R::Kind>> + Send + Sync + 'static,
    ) -> Self {
        let map = Arc::new(map);
        let resource = ApiResource::erase::<O>(&());
        let namespaces = scopes(&self.shared.settings);
        for namespace in namespaces {
            let (map, resource, store, config) = (Arc::clone(&map), resource.clone(), store.clone(), config.clone());
            self.follows.push(Box::new(move |shared, synced| {
                Box::pin(async move {
                    let watched = Watched { client: shared.client.clone(), resource, namespace, config, needed: false };
                    let kind = watched.resource.kind.clone();
                    let changed = |(before, after): Change<O>| {
                        let woken = map(before.as_deref(), after.as_deref(), &shared.store);
                        let meta = after.as_deref().or(before.as_deref()).map(|o| o.meta());
                        wake(&shared, &kind, meta, woken);
                    };
                    follow(watched, store, &synced, changed).await;
                })
            }));
        }
        self
    }

    /// Watches the metadata of objects of any kind that a label selector (empty for all) finds, as
    /// [`Controller::watches`] does.
    #[must_use]
    pub fn watches_metadata(
        mut self,
        gvk: &Gvk,
        selector: &str,
        map: impl Fn(Option<&ObjectMeta>, Option<&ObjectMeta>, &Store<R::Kind>) -> Vec<ObjectRef<R::Kind>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let map = Arc::new(map);
        let resource = resource_of(gvk);
        for namespace in scopes(&self.shared.settings) {
            let (map, resource) = (Arc::clone(&map), resource.clone());
            let config = watcher::Config::default().labels(selector);
            self.follows.push(Box::new(move |shared, synced| {
                Box::pin(async move {
                    type Meta = PartialObjectMeta<DynamicObject>;
                    let watched = Watched { client: shared.client.clone(), resource, namespace, config, needed: false };
                    let kind = watched.resource.kind.clone();
                    let changed = |(before, after): Change<Meta>| {
                        let metas = (before.as_deref().map(|o| o.meta()), after.as_deref().map(|o| o.meta()));
                        let woken = map(metas.0, metas.1, &shared.store);
                        wake(&shared, &kind, metas.1.or(metas.0), woken);
                    };
                    follow_metadata(watched, Store::new(), &synced, changed).await;
                })
            }));
        }
        self
    }

    /// Works only while the receiver says that this replica leads. The watches run all the time, so that a new leader
    /// knows the objects already.
    #[must_use]
    pub fn with_leadership(mut self, leading: watch::Receiver<bool>) -> Self {
        self.leading = Some(leading);
        self
    }

    /// The objects of the kind, as they will be known once it runs.
    pub fn store(&self) -> Store<R::Kind> {
        self.shared.store.clone()
    }

    /// A handle, which may be taken before it runs.
    pub fn handle(&self) -> ControllerHandle<R::Kind> {
        ControllerHandle { shared: Arc::clone(&self.shared) }
    }

    /// Runs until stopped, and until running passes have ended or their grace is over.
    ///
    /// # Errors
    /// [`Error::Component`] when the settings cannot work.
    pub fn run(self, stop: Stop) -> impl Future<Output = Result<(), Error>> + Send {
        self.start(stop)
    }

    async fn start(self, stop: Stop) -> Result<(), Error> {
        let shared = self.shared;
        let _events = record(&shared, self.events)?;
        let _dependencies = scoped(watch_dependencies(Arc::clone(&shared)));
        let own = scopes(&shared.settings).into_iter().map(follow_own::<R::Kind>);
        let (_watches, first_lists): (Vec<_>, Vec<_>) = own
            .chain(self.follows)
            .map(|begin| {
                let tell = Arc::new(watch::Sender::new(false));
                let synced = tell.subscribe();
                (scoped(begin(Arc::clone(&shared), tell)), synced)
            })
            .unzip();
        let lists = join_all(first_lists.into_iter().map(|mut synced| async move {
            // A watch that has ended has nothing to wait for.
            synced.wait_for(|done| *done).await.is_ok()
        }));
        match stop.or(tokio::time::timeout(FIRST_LISTS, lists)).await {
            None => return Ok(()),
            Some(Err(_)) => tracing::warn!(controller = shared.settings.name, "some kinds could not be listed in time"),
            Some(Ok(_)) => {}
        }
        Run { reconciler: self.reconciler, shared, leading: self.leading, numbers: AtomicU64::new(0) }.run(&stop).await;
        Ok(())
    }
}

/// A cheap handle of a controller.
#[derive(Clone)]
pub struct ControllerHandle<K> {
    shared: Arc<Shared<K>>,
}

impl<K: Managed> ControllerHandle<K> {
    /// The objects of the kind.
    pub fn store(&self) -> &Store<K> {
        &self.shared.store
    }

    /// Asks for a pass over an object soon. Requests made while one is waiting count once.
    pub fn request(&self, object: &ObjectRef<K>) {
        self.shared.request(id_of(object), None);
    }

    /// Counts finished passes.
    pub fn passes(&self) -> watch::Receiver<u64> {
        self.shared.passes.subscribe()
    }
}

/// Follows the controller's own kind in a namespace (all, if empty).
fn follow_own<K: Managed>(namespace: String) -> Follow<K> {
    Box::new(move |shared, synced| {
        Box::pin(async move {
            let config = watcher::Config::default().labels(&shared.settings.label_selector);
            let (client, resource) = (shared.client.clone(), shared.resource.clone());
            let changed = |(before, after): Change<K>| shared.took_in(before.as_deref(), after.as_deref());
            let watched = Watched { client, resource, namespace, config, needed: true };
            follow(watched, shared.store.clone(), &synced, changed).await;
        })
    })
}

/// Starts the tasks that write and forward events.
fn record<K>(shared: &Shared<K>, events: mpsc::Receiver<Told>) -> Result<Vec<Scoped<()>>, Error> {
    let settings = &shared.settings;
    let made = settings.forward.as_ref().map(|forward| Forwarder::new(forward, &settings.field_manager));
    let (forwarder, postman) = made.transpose().map_err(Error::component)?.unzip();
    let recorder = Recorder::new(shared.client.clone(), settings.field_manager.clone(), forwarder);
    let mut tasks = vec![scoped(recorder.run(events))];
    tasks.extend(postman.map(|postman| scoped(postman.run())));
    Ok(tasks)
}

/// Generation or annotations: what people change. Labels and status are not looked at.
pub(super) fn spec_or_annotations_changed<K: Managed>(old: &K, new: &K) -> bool {
    old.meta().generation != new.meta().generation || old.annotations() != new.annotations()
}

fn scopes(settings: &ControllerSettings) -> Vec<String> {
    if settings.namespaces.is_empty() { vec![String::new()] } else { settings.namespaces.clone() }
}

fn wake<K: Managed>(shared: &Shared<K>, kind: &str, meta: Option<&ObjectMeta>, woken: Vec<ObjectRef<K>>) {
    let Some(meta) = meta else { return };
    let trigger = Trigger {
        kind: kind.to_owned(),
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
    };
    for object in woken {
        shared.wake(id_of(&object), Urgency::Trigger, trigger.clone());
    }
}

/// The resource of a kind by the usual rule for plurals.
fn resource_of(gvk: &Gvk) -> ApiResource {
    ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(&gvk.group, &gvk.version, &gvk.kind))
}
