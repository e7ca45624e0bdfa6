//! The objects of one kind as the watch and our own writes last showed them. An object in it is never older than the last
//! write that went through it, and one that is gone does not come back with a late answer.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use kube::Resource;
use kube::runtime::reflector::ObjectRef;

/// Uids of deleted objects that are remembered, so that a late answer does not bring them back.
const GRAVES: usize = 1024;

/// Namespace and name; the namespace of cluster-scoped objects is empty.
pub(super) type Id = (String, String);

pub(super) fn id<K: Resource>(object: &K) -> Id {
    let meta = object.meta();
    (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
}

pub(super) fn id_of<K: Resource>(reference: &ObjectRef<K>) -> Id {
    (reference.namespace.clone().unwrap_or_default(), reference.name.clone())
}

/// What a change was: the object before (`None` if it is new) and after (`None` if it is gone).
pub(super) type Change<K> = (Option<Arc<K>>, Option<Arc<K>>);

struct State<K> {
    objects: BTreeMap<Id, Arc<K>>,
    graves: HashSet<String>,
    order: VecDeque<String>,
    complete: bool,
}

/// All objects of a kind that a controller looks after. Clones share everything; reads are cheap.
pub struct Store<K> {
    state: Arc<RwLock<State<K>>>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self { state: Arc::clone(&self.state) }
    }
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> std::fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({} objects)", self.read().objects.len())
    }
}

impl<K> Store<K> {
    /// Makes an empty one, for a watch to fill.
    pub fn new() -> Self {
        let state = State { objects: BTreeMap::new(), graves: HashSet::new(), order: VecDeque::new(), complete: false };
        Self { state: Arc::new(RwLock::new(state)) }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, State<K>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, State<K>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// All objects, by namespace and name.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.read().objects.values().cloned().collect()
    }

    /// The objects of a namespace, by name.
    pub fn list_in(&self, namespace: &str) -> Vec<Arc<K>> {
        let from = (namespace.to_owned(), String::new());
        let state = self.read();
        state.objects.range(from..).take_while(|((ns, _), _)| ns == namespace).map(|(_, o)| Arc::clone(o)).collect()
    }

    /// The object of this namespace (empty for cluster-scoped kinds) and name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.by_id(&(namespace.to_owned(), name.to_owned()))
    }

    /// Whether the watch has taken in a whole list. Before, an object that is not here may well exist.
    pub fn is_complete(&self) -> bool {
        self.read().complete
    }

    pub(super) fn set_complete(&self) {
        self.write().complete = true;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn by_id(&self, id: &Id) -> Option<Arc<K>> {
        self.read().objects.get(id).cloned()
    }
}

impl<K: Resource> Store<K> {
    /// Takes in an object from the watch or from an answer. `None` when it is no news: older than or as old as what is
    /// known, or of an object that is gone.
    pub(super) fn apply(&self, object: K) -> Option<Change<K>> {
        let id = id(&object);
        let mut state = self.write();
        if object.meta().uid.as_ref().is_some_and(|uid| state.graves.contains(uid)) {
            return None;
        }
        let before = state.objects.get(&id);
        if before.is_some_and(|before| !is_newer(&object, &**before)) {
            return None;
        }
        let object = Arc::new(object);
        let before = state.objects.insert(id, Arc::clone(&object));
        Some((before, Some(object)))
    }

    /// Takes in that an object is gone. `None` when another of its name has been seen since.
    pub(super) fn delete(&self, object: &K) -> Option<Change<K>> {
        let id = id(object);
        let mut state = self.write();
        state.bury(object);
        if state.objects.get(&id)?.meta().uid != object.meta().uid {
            return None;
        }
        let before = state.objects.remove(&id)?;
        Some((Some(before), None))
    }

    /// Takes in that a whole list of a scope (a namespace, or all for an empty one) has shown these objects and no others.
    pub(super) fn retain(&self, scope: &str, seen: &HashSet<Id>) -> Vec<Change<K>> {
        let mut state = self.write();
        let in_scope = |id: &Id| scope.is_empty() || id.0 == scope;
        let gone: Vec<Id> = state.objects.keys().filter(|id| in_scope(id) && !seen.contains(*id)).cloned().collect();
        let mut changes = Vec::with_capacity(gone.len());
        for id in gone {
            if let Some(before) = state.objects.remove(&id) {
                state.bury(&*before);
                changes.push((Some(before), None));
            }
        }
        changes
    }
}

impl<K: Resource> State<K> {
    fn bury(&mut self, object: &K) {
        let Some(uid) = object.meta().uid.clone() else { return };
        if self.graves.insert(uid.clone()) {
            self.order.push_back(uid);
        }
        if self.order.len() > GRAVES
            && let Some(oldest) = self.order.pop_front()
        {
            self.graves.remove(&oldest);
        }
    }
}

/// Versions are compared as Kubernetes has declared it (KEP-5504): decimal numbers without a bound. Those that are not
/// (of some aggregated API servers) are told apart only.
fn is_newer<K: Resource>(new: &K, old: &K) -> bool {
    let version = |object: &K| object.meta().resource_version.clone().unwrap_or_default();
    let (new_version, old_version) = (version(new), version(old));
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if number(&new_version) && number(&old_version) {
        (new_version.len(), &new_version) > (old_version.len(), &old_version)
    } else {
        new_version != old_version
    }
}
