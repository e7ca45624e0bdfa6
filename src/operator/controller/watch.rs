//! Watches: keep a store equal to what the API server has, and tell each change as (before, after). A kind that does not
//! exist yet is asked for again and again; nothing waits for it.

use std::collections::HashSet;
use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{ApiResource, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::runtime::Backoff;

use super::store::{Change, Id, Store, id};

/// How often a kind that does not exist is asked for.
pub(super) const MISSING_KIND: Duration = Duration::from_secs(10);

/// What is watched.
#[derive(Clone)]
pub(super) struct Watched {
    pub(super) client: kube::Client,
    pub(super) resource: ApiResource,
    /// The namespace; empty for all.
    pub(super) namespace: String,
    pub(super) config: watcher::Config,
    /// Whether nothing can be done before the kind exists.
    pub(super) needed: bool,
}

/// Whether a first whole list was taken in, or there can be none yet.
pub(super) type Synced = watch::Sender<bool>;

/// Follows whole objects.
pub(super) async fn follow<K>(watched: Watched, store: Store<K>, synced: &Synced, changed: impl Fn(Change<K>))
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
{
    let api: Api<DynamicObject> = match watched.namespace.as_str() {
        "" => Api::all_with(watched.client.clone(), &watched.resource),
        namespace => Api::namespaced_with(watched.client.clone(), namespace, &watched.resource),
    };
    let parse = |mut object: DynamicObject| -> Option<K> {
        object.managed_fields_mut().clear();
        let (namespace, name) = id(&object);
        match object.try_parse() {
            Ok(object) => Some(object),
            Err(error) => {
                let kind = &watched.resource.kind;
                tracing::warn!(kind, namespace, name, %error, "an object does not fit its kind and is left alone");
                None
            }
        }
    };
    Keeper { watched: &watched, store, synced, parse, changed }.keep(api).await
}

/// Follows metadata.
pub(super) async fn follow_metadata(
    watched: Watched,
    store: Store<PartialObjectMeta<DynamicObject>>,
    synced: &Synced,
    changed: impl Fn(Change<PartialObjectMeta<DynamicObject>>),
) {
    let api: Api<PartialObjectMeta<DynamicObject>> = match watched.namespace.as_str() {
        "" => Api::all_with(watched.client.clone(), &watched.resource),
        namespace => Api::namespaced_with(watched.client.clone(), namespace, &watched.resource),
    };
    let parse = |mut object: PartialObjectMeta<DynamicObject>| {
        object.managed_fields_mut().clear();
        Some(object)
    };
    Keeper { watched: &watched, store, synced, parse, changed }.keep(api).await
}

/// One watch and where its news goes.
struct Keeper<'a, K, P, C> {
    watched: &'a Watched,
    store: Store<K>,
    synced: &'a Synced,
    parse: P,
    changed: C,
}

impl<K: Resource, P, C: Fn(Change<K>)> Keeper<'_, K, P, C> {
    async fn keep<T>(self, api: Api<T>)
    where
        T: Resource + DeserializeOwned + Clone + Debug + Send + 'static,
        P: Fn(T) -> Option<K>,
    {
        let mut events = std::pin::pin!(watcher::watcher(api, self.watched.config.clone()));
        let mut backoff = Backoff::new(Duration::from_millis(800), Duration::from_secs(30));
        let mut listed = HashSet::new();
        let mut missing = false;
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    // A list that begins has proved nothing yet.
                    if !matches!(event, Event::Init | Event::InitApply(_)) {
                        backoff.reset();
                        missing = self.tell_missing(missing, false);
                    }
                    self.take_in(event, &mut listed);
                }
                Err(error) => {
                    missing = self.tell_missing(missing, missing || is_missing(&error));
                    self.wait(&error, &mut backoff).await;
                }
            }
        }
    }

    /// Says once that the kind does not exist, and once that it does after all; answers with how it is now.
    fn tell_missing(&self, before: bool, now: bool) -> bool {
        let (kind, group) = (&self.watched.resource.kind, &self.watched.resource.group);
        match (before, now) {
            (false, true) if self.watched.needed => {
                tracing::warn!(kind, group, "the API server does not know the kind; nothing is done before it does");
            }
            (true, false) if self.watched.needed => tracing::info!(kind, group, "the API server knows the kind"),
            _ => {}
        }
        now
    }

    async fn wait(&self, error: &watcher::Error, backoff: &mut Backoff) {
        let missing = is_missing(error);
        // Nobody waits for what cannot be read: passes begin without it, and hear of it when it can.
        self.synced.send_replace(true);
        let kind = &self.watched.resource.kind;
        let wait = if missing { MISSING_KIND } else { backoff.next_wait() };
        if missing {
            tracing::debug!(kind, ?wait, "the kind does not exist; it is asked for again");
        } else {
            tracing::warn!(kind, %error, ?wait, "a watch failed and is begun again");
        }
        tokio::time::sleep(wait).await;
    }

    fn take_in<T: Resource>(&self, event: Event<T>, listed: &mut HashSet<Id>)
    where
        P: Fn(T) -> Option<K>,
    {
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(object) => {
                listed.insert(id(&object));
                self.apply(object);
            }
            Event::InitDone => {
                self.store.retain(&self.watched.namespace, listed).into_iter().for_each(&self.changed);
                *listed = HashSet::new();
                self.store.set_complete();
                self.synced.send_replace(true);
            }
            Event::Apply(object) => self.apply(object),
            Event::Delete(object) => {
                let gone = (self.parse)(object).and_then(|object| self.store.delete(&object));
                gone.into_iter().for_each(&self.changed);
            }
        }
    }

    fn apply<T>(&self, object: T)
    where
        P: Fn(T) -> Option<K>,
    {
        let news = (self.parse)(object).and_then(|object| self.store.apply(object));
        news.into_iter().for_each(&self.changed);
    }
}

/// Whether the kind itself is unknown to the API server, rather than an object.
pub(super) fn is_missing(error: &watcher::Error) -> bool {
    use watcher::Error as E;
    match error {
        E::InitialListFailed(kube::Error::Api(status)) | E::WatchStartFailed(kube::Error::Api(status)) => {
            status.code == 404
        }
        E::WatchError(status) => status.code == 404,
        _ => false,
    }
}
