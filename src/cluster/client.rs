//! The connection: a client without retries of its own, and the handle that the rest of the room adds its methods to.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use http::request::Builder;
use tokio::sync::watch;
use tokio::time::Instant;

use super::live::Scope;
use super::watch::Following;
use super::{ErrorKind, Kinds, Live, RequestError, Settings, Version};
use crate::object::Gvk;

const IMPERSONATE_USER: &str = "impersonate-user";

/// A client could not be made from its configuration.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect to the API server: {0}")]
pub struct ConnectError(#[source] kube::Error);

/// Makes a client whose requests are not retried behind our back: retries are this room's own, within a pass's deadline.
/// Answers come uncompressed: lists of metadata are bounded by processor time at both ends, not by the network between.
///
/// # Errors
/// When the configuration's certificates, keys or proxy are unusable.
pub fn client(config: kube::Config) -> Result<kube::Client, ConnectError> {
    kube::Client::try_from(quiet(config)).map_err(ConnectError)
}

/// The configuration without retries and compression.
pub(super) fn quiet(mut config: kube::Config) -> kube::Config {
    config.default_retry = false;
    config.disable_compression = true;
    config
}

impl ConnectError {
    pub(super) fn new(error: kube::Error) -> Self {
        Self(error)
    }
}

/// One cluster, as one field manager sees it. Clones share everything; what is asked carries the handle's own identity.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
    /// The user to act as. A header of each request rather than a client of its own: thousands of identities share the
    /// connections of one client, and there is nothing to evict.
    user: Option<HeaderValue>,
}

struct Inner {
    client: kube::Client,
    settings: Settings,
    live: Live,
    kinds: Mutex<Arc<Kinds>>,
    /// When the kinds were asked for last.
    kinds_at: Mutex<Option<Instant>>,
    /// Where a watch may go on from: the version of the last whole list of a scope.
    positions: Mutex<HashMap<Scope, String>>,
    /// The version of the last list of each scope.
    listed: Mutex<HashMap<Scope, Version>>,
    wanted: watch::Sender<BTreeSet<Gvk>>,
    /// How far the watch of each scope is.
    following: watch::Sender<HashMap<Scope, Following>>,
    /// Allowed namespaces about whose absence the user was told.
    missing_namespaces: Mutex<BTreeSet<String>>,
}

impl Cluster {
    /// Makes the handle; nothing is asked of the API server yet.
    pub fn new(client: kube::Client, settings: Settings) -> Self {
        let inner = Inner {
            client,
            settings,
            live: Live::default(),
            kinds: Mutex::default(),
            kinds_at: Mutex::default(),
            positions: Mutex::default(),
            listed: Mutex::default(),
            wanted: watch::Sender::new(BTreeSet::new()),
            following: watch::Sender::new(HashMap::new()),
            missing_namespaces: Mutex::default(),
        };
        Self { inner: Arc::new(inner), user: None }
    }

    /// The same cluster as another user sees it: every request of the returned handle impersonates them. What is known is
    /// shared.
    ///
    /// # Errors
    /// When the name cannot be sent.
    pub fn acting_as(&self, user: &str) -> Result<Self, RequestError> {
        let unusable = |_| RequestError::local(ErrorKind::Forbidden, format!("cannot act as user {user:?}"));
        Ok(Self { inner: Arc::clone(&self.inner), user: Some(HeaderValue::from_str(user).map_err(unusable)?) })
    }

    /// The user whom requests of this handle impersonate.
    pub fn user(&self) -> Option<&str> {
        self.user.as_ref()?.to_str().ok()
    }

    /// Names the user to act as in a request.
    pub(super) fn identify(&self, mut request: Builder) -> Builder {
        if let Some(user) = &self.user {
            request = request.header(IMPERSONATE_USER, user);
        }
        request
    }

    /// How the cluster is worked with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The index of our live objects.
    pub fn live(&self) -> &Live {
        &self.inner.live
    }

    /// The last snapshot of discovery; empty before the first [`Cluster::refresh_kinds`].
    pub fn kinds(&self) -> Arc<Kinds> {
        Arc::clone(&lock(&self.inner.kinds))
    }

    pub(super) fn client(&self) -> &kube::Client {
        &self.inner.client
    }

    pub(super) fn set_kinds(&self, kinds: Kinds) -> Arc<Kinds> {
        *lock(&self.inner.kinds_at) = Some(Instant::now());
        let mut known = lock(&self.inner.kinds);
        // The same knowledge stays the same allocation: what others worked out from it stays valid.
        if **known != kinds {
            *known = Arc::new(kinds);
        }
        Arc::clone(&known)
    }

    /// How long ago the kinds were asked for; `None` before the first time.
    pub fn age_of_kinds(&self) -> Option<Duration> {
        lock(&self.inner.kinds_at).map(|at| at.elapsed())
    }

    pub(super) fn set_position(&self, scope: &Scope, version: String) {
        lock(&self.inner.positions).insert(scope.clone(), version);
    }

    pub(super) fn take_position(&self, scope: &Scope) -> Option<String> {
        lock(&self.inner.positions).remove(scope)
    }

    /// Notes the version of a list; answers whether an earlier list was newer, which only a rewound history explains.
    pub(super) fn note_list(&self, scope: &Scope, version: Version) -> bool {
        let before = lock(&self.inner.listed).insert(scope.clone(), version);
        before.is_some_and(|before| version.is_before(before))
    }

    pub(super) fn following(&self) -> &watch::Sender<HashMap<Scope, Following>> {
        &self.inner.following
    }

    pub(super) fn wanted(&self) -> &watch::Sender<BTreeSet<Gvk>> {
        &self.inner.wanted
    }

    /// Notes whether an allowed namespace can be read; answers whether that is news to be told.
    pub(super) fn note_namespace(&self, name: &str, readable: bool) -> bool {
        let mut missing = lock(&self.inner.missing_namespaces);
        if readable {
            missing.remove(name);
            return false;
        }
        missing.insert(name.to_owned())
    }
}

/// A panic while one of these locks was held cannot leave its value half-written: each holds one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
