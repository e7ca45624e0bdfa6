//! Who depends on what: a watch of metadata per kind that somebody depends on, begun and ended on demand. It keeps no
//! objects; it only wakes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::object::Gvk;

use super::Dependency;
use super::store::Id;

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
