//! What is live: an index of our objects as the API server last told of them, at most 300 bytes each, and the keys of those
//! that others changed or removed. No full object is ever kept.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use super::KindInfo;
use crate::object::{Gvk, Ignore, Key};

/// The first 16 bytes of a SHA-256: tells two texts apart in little memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    /// The fingerprint of a text.
    pub fn of(text: &[u8]) -> Self {
        let hash: [u8; 32] = Sha256::digest(text).into();
        let mut short = [0; 16];
        short.copy_from_slice(&hash[..16]);
        Self(short)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({})", hex::encode(&self.0[..4]))
    }
}

/// The identity of one life of an object: a UUID in 16 bytes (of any other text, its fingerprint).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uid(pub [u8; 16]);

impl Uid {
    /// Takes the API server's text.
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; 16];
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        match hex::decode_to_slice(&digits, &mut bytes) {
            Ok(()) => Self(bytes),
            Err(_) => Self(Fingerprint::of(text.as_bytes()).0),
        }
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let h = hex::encode(self.0);
        write!(f, "{}-{}-{}-{}-{}", &h[..8], &h[8..12], &h[12..16], &h[16..20], &h[20..])
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A resourceVersion as a number, so that the later of two can be told; 0 when the API server's text is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version(pub u64);

impl Version {
    /// Takes the API server's text.
    pub fn new(text: &str) -> Self {
        Self(text.parse().unwrap_or(0))
    }

    /// Whether this is certainly older than `other`.
    pub fn is_before(self, other: Self) -> bool {
        self.0 != 0 && other.0 != 0 && self.0 < other.0
    }
}

/// Whose mark an object carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Ours.
    Ours,
    /// Another sync set's.
    Other,
    /// None.
    None,
}

/// What is kept of a live object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveObject {
    /// The kind it was read as; one value is shared by all objects of the kind.
    pub kind: Arc<KindInfo>,
    /// Namespace, `None` for cluster scope; one text is shared by all objects of a namespace.
    pub namespace: Option<Arc<str>>,
    /// Name.
    pub name: Box<str>,
    /// Which life of the object this is.
    pub uid: Uid,
    /// Its version.
    pub version: Version,
    /// Fingerprint of the fields that we own by server-side apply (main resource); `None` when we own none.
    pub entry: Option<Fingerprint>,
    /// Fingerprint of the checksum annotation's text.
    pub checksum: Option<Fingerprint>,
    /// Whose mark it carries.
    pub mark: Mark,
    /// The `ignore` policy on the live object.
    pub ignore: Option<Ignore>,
    /// Whether another object owns it.
    pub has_owner: bool,
    /// Whether it is being deleted and waits for finalizers.
    pub deleting: bool,
    /// Whether kubectl's client-side apply owns fields that have to move to us before our first apply.
    pub take_over: bool,
    /// Whether someone else wrote to the main resource after (or in the same second as) our last apply.
    pub others_later: bool,
}

impl LiveObject {
    /// The API server's key.
    pub fn key(&self) -> Key {
        Key {
            group: self.kind.gvk.group.clone(),
            kind: self.kind.gvk.kind.clone(),
            namespace: self.namespace.as_deref().map(str::to_owned),
            name: self.name.to_string(),
        }
    }
}

/// Keys whose live object others changed or removed since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The keys, each once, in no order.
    pub keys: Vec<Key>,
    /// Set when there were too many to remember: any of our objects may have changed.
    pub all: bool,
}

/// What of some news the users of [`Live::changed`] are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tell {
    /// Nothing: we did it ourselves.
    Nothing,
    /// What happened to objects that were known: the caller looks at new ones itself.
    Changes,
    /// That, and new objects.
    Everything,
}

/// Most keys remembered between two looks.
const CHANGED_LIMIT: usize = 50_000;

/// The index of our live objects. Cheap to share; every method takes a short lock.
#[derive(Default)]
pub struct Live {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Default)]
struct State {
    objects: HashMap<KeyHash, Arc<LiveObject>>,
    namespaces: HashSet<Arc<str>>,
    changed: HashSet<Key>,
    overflow: bool,
}

/// 16 bytes instead of four texts, so that ten thousand keys stay small.
type KeyHash = Fingerprint;

fn hash(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> KeyHash {
    // Keyed by chance, so that nobody can choose names that collide; it never leaves the process.
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    let keys = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    let mut both = [0; 16];
    for (half, key) in both.chunks_exact_mut(8).zip(keys) {
        half.copy_from_slice(&key.hash_one((group, kind, namespace, name)).to_ne_bytes());
    }
    Fingerprint(both)
}

fn hash_of(object: &LiveObject) -> KeyHash {
    let gvk = &object.kind.gvk;
    hash(&gvk.group, &gvk.kind, object.namespace.as_deref(), &object.name)
}

impl Live {
    /// Looks one of our objects up.
    pub fn get(&self, key: &Key) -> Option<Arc<LiveObject>> {
        let hash = hash(&key.group, &key.kind, key.namespace.as_deref(), &key.name);
        self.lock().objects.get(&hash).cloned()
    }

    /// All our objects as of now, in no order.
    pub fn all(&self) -> Vec<Arc<LiveObject>> {
        self.lock().objects.values().cloned().collect()
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.lock().objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until something of ours was changed or removed by others, then takes all such keys at once.
    pub async fn changed(&self) -> Changed {
        loop {
            let woken = self.wake.notified();
            let taken = self.take_changed();
            if taken != Changed::default() {
                return taken;
            }
            woken.await;
        }
    }

    /// Takes the keys that wait, without waiting.
    pub fn take_changed(&self) -> Changed {
        let mut state = self.lock();
        Changed { keys: state.changed.drain().collect(), all: std::mem::take(&mut state.overflow) }
    }

    /// Takes in what the API server told about an object: stores it if it is ours, forgets it if it no longer is. News older
    /// than what is known are left out.
    pub(super) fn note(&self, object: LiveObject, tell: Tell) {
        let hash = hash_of(&object);
        let mut state = self.lock();
        let known = state.objects.get(&hash).cloned();
        if known.as_ref().is_some_and(|k| object.version.is_before(k.version)) {
            return;
        }
        let is_news = match &known {
            None => object.mark == Mark::Ours && tell == Tell::Everything,
            Some(known) => differs(known, &object) && tell != Tell::Nothing,
        };
        let news = is_news.then(|| object.key());
        if object.mark == Mark::Ours {
            let namespace = object.namespace.clone().map(|n| state.shared_namespace(&n));
            state.objects.insert(hash, Arc::new(LiveObject { namespace, ..object }));
        } else {
            state.objects.remove(&hash);
        }
        self.report(state, news);
    }

    /// Takes in that an object is gone (or carries our label no more) as of `version`.
    pub(super) fn note_gone(&self, key: &Key, version: Version, tell: Tell) {
        let hash = hash(&key.group, &key.kind, key.namespace.as_deref(), &key.name);
        let mut state = self.lock();
        let Some(known) = state.objects.get(&hash) else { return };
        if version.is_before(known.version) {
            return;
        }
        state.objects.remove(&hash);
        self.report(state, (tell != Tell::Nothing).then(|| key.clone()));
    }

    /// After a whole list of a kind as of `version`: forgets, and tells, those of the kind (in the namespace, if one is
    /// given) that the list did not hold and that are not newer than it.
    pub(super) fn retain_listed(&self, scope: &Scope, listed: &HashSet<Uid>, version: Version) {
        let mut state = self.lock();
        let gone: Vec<(KeyHash, Key)> = state
            .objects
            .iter()
            .filter(|(_, o)| scope.holds(o) && !listed.contains(&o.uid) && !version.is_before(o.version))
            .map(|(hash, o)| (*hash, o.key()))
            .collect();
        for (hash, _) in &gone {
            state.objects.remove(hash);
        }
        self.report(state, gone.into_iter().map(|(_, key)| key));
    }

    /// Forgets a scope: the API server's history began anew (a restored backup), so versions say nothing any more.
    pub(super) fn forget(&self, scope: &Scope) {
        self.lock().objects.retain(|_, o| !scope.holds(o));
    }

    fn report(&self, mut state: MutexGuard<'_, State>, keys: impl IntoIterator<Item = Key>) {
        let mut any = false;
        for key in keys {
            any = true;
            if state.changed.len() < CHANGED_LIMIT {
                state.changed.insert(key);
            } else {
                state.overflow = true;
            }
        }
        drop(state);
        if any {
            self.wake.notify_one();
        }
    }

    /// A panic while the lock was held cannot leave the maps half-written: every critical section ends in single inserts.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn shared_namespace(&mut self, name: &Arc<str>) -> Arc<str> {
        if let Some(shared) = self.namespaces.get(name) {
            return Arc::clone(shared);
        }
        self.namespaces.insert(Arc::clone(name));
        Arc::clone(name)
    }
}

/// Differences that a pass has to look at; a new version alone (a status, a foreign annotation) is none.
fn differs(a: &LiveObject, b: &LiveObject) -> bool {
    a.mark != b.mark
        || a.uid != b.uid
        || a.entry != b.entry
        || a.ignore != b.ignore
        || a.deleting != b.deleting
        || a.checksum != b.checksum
}

/// Where a list or watch looks: one kind, in one namespace or everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Scope {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
}

impl Scope {
    /// A kind, everywhere.
    pub(super) fn of(gvk: &Gvk) -> Self {
        Self { group: gvk.group.clone(), kind: gvk.kind.clone(), namespace: None }
    }

    fn holds(&self, object: &LiveObject) -> bool {
        object.kind.gvk.group == self.group
            && object.kind.gvk.kind == self.kind
            && (self.namespace.is_none() || self.namespace.as_deref() == object.namespace.as_deref())
    }
}
