//! Who depends on what: a watch of metadata per kind that somebody depends on, begun and ended on demand. It keeps no
//! objects; it only wakes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use kube::Api;
use kube::api::DynamicObject;
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::runtime::watcher::{self, Event};
use tokio::sync::watch;

use crate::object::Gvk;
use crate::runtime::{Backoff, Scoped, scoped};

use super::Dependency;
use super::queue::Urgency;
use super::run::Shared;
use super::store::{Id, id};
use super::watch::{MISSING_KIND, is_missing};
use super::{Managed, Trigger};

/// Kinds that are watched for dependencies at a time. Whoever depends on more has to look again by itself.
const KINDS: usize = 64;

#[derive(Default)]
struct State {
    /// What each object depends on.
    of: BTreeMap<Id, BTreeSet<Dependency>>,
    /// Who depends on an object.
    by: BTreeMap<Dependency, BTreeSet<Id>>,
}

/// All dependencies of the objects of a controller. Clones share them.
#[derive(Clone)]
pub(super) struct Interests {
    state: Arc<Mutex<State>>,
    kinds: watch::Sender<BTreeSet<Gvk>>,
}

impl Interests {
    pub(super) fn new() -> Self {
        Self { state: Arc::default(), kinds: watch::Sender::new(BTreeSet::new()) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces what an object depends on.
    pub(super) fn set(&self, id: &Id, dependencies: Vec<Dependency>) {
        let wanted: BTreeSet<Dependency> = dependencies.into_iter().collect();
        let mut state = self.lock();
        let before = state.of.remove(id).unwrap_or_default();
        if before == wanted {
            if !wanted.is_empty() {
                state.of.insert(id.clone(), wanted);
            }
            return;
        }
        for dependency in before.difference(&wanted) {
            if let Some(ids) = state.by.get_mut(dependency) {
                ids.remove(id);
                if ids.is_empty() {
                    state.by.remove(dependency);
                }
            }
        }
        for dependency in &wanted {
            state.by.entry(dependency.clone()).or_default().insert(id.clone());
        }
        if !wanted.is_empty() {
            state.of.insert(id.clone(), wanted);
        }
        let kinds: BTreeSet<Gvk> = state.by.keys().map(|dependency| dependency.gvk.clone()).collect();
        drop(state);
        self.kinds.send_if_modified(|known| {
            *known != kinds && {
                *known = kinds;
                true
            }
        });
    }

    /// Who depends on an object of a kind.
    pub(super) fn dependents(&self, gvk: &Gvk, namespace: &str, name: &str) -> Vec<Id> {
        let key = Dependency { gvk: gvk.clone(), namespace: namespace.to_owned(), name: name.to_owned() };
        self.lock().by.get(&key).into_iter().flatten().cloned().collect()
    }

    /// The kinds that somebody depends on.
    pub(super) fn kinds(&self) -> watch::Receiver<BTreeSet<Gvk>> {
        self.kinds.subscribe()
    }
}

/// Watches the kinds that somebody depends on, until dropped.
pub(super) async fn watch_dependencies<K: Managed>(shared: Arc<Shared<K>>) {
    let mut kinds = shared.interests.kinds();
    let mut watches: BTreeMap<Gvk, Scoped<()>> = BTreeMap::new();
    loop {
        let wanted = kinds.borrow_and_update().clone();
        watches.retain(|gvk, _| wanted.contains(gvk));
        for gvk in wanted {
            if watches.len() >= KINDS {
                tracing::warn!(kind = gvk.kind, "too many kinds are depended on; this one is not watched");
                break;
            }
            let shared = Arc::clone(&shared);
            watches.entry(gvk.clone()).or_insert_with(|| scoped(watch_kind(shared, gvk)));
        }
        if kinds.changed().await.is_err() {
            return;
        }
    }
}

/// Wakes those who depend on an object of a kind whenever it changes. A list wakes all whose object is in it: what happened
/// before is not known.
async fn watch_kind<K: Managed>(shared: Arc<Shared<K>>, gvk: Gvk) {
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
    let named = GroupVersionKind::gvk(&gvk.group, &gvk.version, &gvk.kind);
    let resource = loop {
        match kube::discovery::pinned_kind(&shared.client, &named).await {
            Ok((resource, _)) => break resource,
            Err(error) => {
                tracing::debug!(kind = gvk.kind, %error, "a kind that is depended on is not known; it is asked for again");
                tokio::time::sleep(MISSING_KIND).await;
            }
        }
    };
    let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(shared.client.clone(), &resource);
    let mut events = std::pin::pin!(watcher::watcher(api, watcher::Config::default()));
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object) | Event::Delete(object)) => {
                backoff.reset();
                let (namespace, name) = id(&object);
                for dependent in shared.interests.dependents(&gvk, &namespace, &name) {
                    let kind = gvk.kind.clone();
                    let trigger = Trigger { kind, namespace: namespace.clone(), name: name.clone() };
                    shared.wake(dependent, Urgency::Dependency, trigger);
                }
            }
            Ok(Event::Init | Event::InitDone) => {}
            Err(error) => {
                let wait = if is_missing(&error) { MISSING_KIND } else { backoff.next_wait() };
                tracing::debug!(kind = gvk.kind, %error, ?wait, "the watch of a dependency failed and is begun again");
                tokio::time::sleep(wait).await;
            }
        }
    }
}
