//! Metadata-only watches of the kinds in use, selected by our label. One future drives them all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{AbortHandle, Abortable};
use futures::stream::FuturesUnordered;
use futures::{AsyncBufReadExt, StreamExt};
use http::Request;
use http::header::{ACCEPT, USER_AGENT};
use serde::Deserialize;
use tokio::time::Instant;

use super::list::Query;
use super::live::{Scope, Tell};
use super::meta::Partial;
use super::request::{AGENT, METADATA, Raw, from_transport, parse};
use super::{Cluster, ErrorKind, KindInfo, RequestError, Version};
use crate::object::Gvk;
use crate::runtime::Backoff;

/// How long the API server keeps one watch open.
const LENGTH: Duration = Duration::from_secs(290);
/// A watch on which nothing comes for so long is dead: bookmarks come about every minute.
const SILENCE: Duration = Duration::from_secs(150);
/// Time for a list that a watch begins with.
const RELIST: Duration = Duration::from_secs(120);
/// First and longest wait before a broken watch is taken up again.
const WAITS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// How a watch ended.
enum End {
    /// In order: go on from the last version.
    Closed,
    /// The last version is too old: list anew.
    Expired,
}

/// How far the watch of a scope is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Following {
    /// It is open, or was closed in order a moment ago: what changes is heard of.
    Open,
    /// It broke, or could not be opened.
    Broken,
}

/// One line of a watch.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'a str,
    #[serde(borrow)]
    pub(super) object: Raw<'a>,
}

impl Cluster {
    /// Says which kinds to watch from now on; watches of others end. A watch goes on from the last [`Cluster::read_marked`],
    /// or lists first.
    pub fn watch_kinds(&self, kinds: BTreeSet<Gvk>) {
        self.wanted().send_if_modified(|wanted| {
            let is_new = *wanted != kinds;
            *wanted = kinds;
            is_new
        });
    }

    /// Watches more kinds, and waits until each of them is heard of, or cannot be for the time being. Answers whether all are
    /// heard of. Nothing is waited for unless [`Cluster::run_watches`] runs.
    pub async fn follow(&self, kinds: &BTreeSet<Gvk>, until: Instant) -> bool {
        self.wanted().send_if_modified(|wanted| {
            let before = wanted.len();
            let known: BTreeSet<_> = wanted.iter().map(|gvk| (gvk.group.clone(), gvk.kind.clone())).collect();
            // One version of a kind is enough: two would take turns.
            wanted.extend(kinds.iter().filter(|k| !known.contains(&(k.group.clone(), k.kind.clone()))).cloned());
            wanted.len() != before
        });
        let mut following = self.following().subscribe();
        let settled = following.wait_for(|all| kinds.iter().all(|kind| all.contains_key(&Scope::of(kind))));
        let known = tokio::time::timeout_at(until, settled).await.is_ok_and(|settled| settled.is_ok());
        known && kinds.iter().all(|kind| self.is_followed(kind))
    }

    /// Whether changes to objects of a kind are heard of, wherever they are.
    pub fn is_followed(&self, kind: &Gvk) -> bool {
        self.following().borrow().get(&Scope::of(kind)) == Some(&Following::Open)
    }

    fn note_following(&self, scope: &Scope, state: Following) {
        self.following().send_if_modified(|all| all.insert(scope.clone(), state) != Some(state));
    }

    /// Drives the watches for ever; drop it to end them. A watch that breaks is taken up again with back-off; one whose place
    /// in history is gone lists anew.
    pub async fn run_watches(&self) {
        let mut wanted = self.wanted().subscribe();
        let mut running: BTreeMap<Scope, AbortHandle> = BTreeMap::new();
        let mut watches = FuturesUnordered::new();
        loop {
            let scopes = self.scopes(&wanted.borrow_and_update());
            running.retain(|scope, handle| {
                let keep = scopes.contains_key(scope);
                if !keep {
                    handle.abort();
                    self.following().send_if_modified(|all| all.remove(scope).is_some());
                }
                keep
            });
            for (scope, version) in scopes {
                if let std::collections::btree_map::Entry::Vacant(free) = running.entry(scope) {
                    let (handle, registration) = AbortHandle::new_pair();
                    watches.push(Abortable::new(self.watch_scope(free.key().clone(), version), registration));
                    free.insert(handle);
                }
            }
            tokio::select! {
                changed = wanted.changed() => if changed.is_err() { return },
                // Watches end only by being aborted, which needs no answer.
                Some(_) = watches.next() => {}
            }
        }
    }

    /// Where to watch, with the API version to watch at.
    fn scopes(&self, wanted: &BTreeSet<Gvk>) -> BTreeMap<Scope, String> {
        let mut scopes = BTreeMap::new();
        for gvk in wanted {
            let kinds = self.kinds();
            let namespaced = kinds.resolve(gvk).is_ok_and(|k| k.namespaced);
            let scope = |namespace| Scope { group: gvk.group.clone(), kind: gvk.kind.clone(), namespace };
            let allowed = &self.settings().allow_namespaces;
            if namespaced && !allowed.is_empty() {
                scopes.extend(allowed.iter().map(|n| (scope(Some(n.clone())), gvk.version.clone())));
            } else {
                scopes.insert(scope(None), gvk.version.clone());
            }
        }
        scopes
    }

    async fn watch_scope(&self, scope: Scope, api_version: String) {
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        let mut position = self.take_position(&scope);
        let gvk = Gvk { group: scope.group.clone(), version: api_version, kind: scope.kind.clone() };
        loop {
            let begun = Instant::now();
            let result = match self.kinds().resolve(&gvk) {
                Ok(kind) => self.watch_once(kind, &scope, &mut position).await,
                Err(e) => Err(RequestError::local(ErrorKind::KindMissing, e.to_string())),
            };
            if begun.elapsed() > WAITS.1 {
                backoff.reset();
            }
            match result {
                Ok(End::Closed) => {}
                Ok(End::Expired) => {
                    self.note_following(&scope, Following::Broken);
                    position = None;
                }
                Err(error) => {
                    self.note_following(&scope, Following::Broken);
                    if error.kind() == ErrorKind::Forbidden {
                        // A list may still be allowed: then it is looked again and again.
                        position = None;
                    }
                    tracing::debug!(kind = %gvk, namespace = scope.namespace, err = %error, "watch broke; will try again");
                }
            }
            backoff.wait(None).await;
        }
    }

    /// Lists if there is no place to go on from, then follows the events until the watch ends. A kind that cannot be watched
    /// is only listed, again and again.
    async fn watch_once(
        &self,
        kind: &Arc<KindInfo>,
        scope: &Scope,
        position: &mut Option<String>,
    ) -> Result<End, RequestError> {
        let namespace = scope.namespace.as_deref();
        if position.is_none() {
            let query = Query { kind, namespace, marked: true, until: Instant::now() + RELIST };
            self.read_scope(query, Tell::Everything).await?;
            *position = self.take_position(scope);
        }
        if !kind.can("watch") {
            self.note_following(scope, Following::Broken);
            *position = None;
            return Ok(End::Closed);
        }
        let uri = self.watch_uri(kind, namespace, position.as_deref().unwrap_or_default());
        let request = Request::get(uri).header(ACCEPT, METADATA).header(USER_AGENT, AGENT).body(Vec::new());
        let request = request.map_err(|e| RequestError::local(ErrorKind::Protocol, format!("cannot watch: {e}")))?;
        let opened = tokio::time::timeout(self.settings().request_timeout, self.client().request_stream(request)).await;
        let silent = |_| RequestError::local(ErrorKind::Timeout, "the API server did not begin the watch in time");
        let opened = opened.map_err(silent).and_then(|r| r.map_err(|e| from_transport(&e)));
        (self.settings().on_request)("watch", opened.as_ref().map_or_else(RequestError::status, |_| 200));
        let stream = match opened {
            Ok(stream) => stream,
            Err(e) if e.kind() == ErrorKind::Expired => return Ok(End::Expired),
            Err(e) => return Err(e),
        };
        self.note_following(scope, Following::Open);
        let mut lines = std::pin::pin!(stream.lines());
        while let Ok(Some(line)) = tokio::time::timeout(SILENCE, lines.next()).await {
            let broken = |e| RequestError::local(ErrorKind::Unavailable, format!("the watch broke: {e}"));
            if let Some(end) = self.take_event(kind, line.map_err(broken)?.as_bytes(), position)? {
                return Ok(end);
            }
        }
        Ok(End::Closed)
    }

    fn take_event(
        &self,
        kind: &Arc<KindInfo>,
        line: &[u8],
        position: &mut Option<String>,
    ) -> Result<Option<End>, RequestError> {
        let event: Event<'_> = parse(line)?;
        if event.kind == "ERROR" {
            let text = event.object.get().as_bytes();
            let status: StatusCode = parse(text)?;
            let error = RequestError::from_answer(status.code, text, None);
            return if error.kind() == ErrorKind::Expired { Ok(Some(End::Expired)) } else { Err(error) };
        }
        let partial: Partial<'_> = parse(event.object.get().as_bytes())?;
        let metadata = partial.metadata;
        *position = Some(metadata.resource_version.to_string());
        let key = metadata.key(kind);
        match event.kind {
            "ADDED" | "MODIFIED" if self.settings().is_allowed(&key) => {
                self.live().note(metadata.to_live(kind, self.settings()), Tell::Everything);
            }
            // Also what lost our label comes so.
            "DELETED" => {
                let version = Version::new(&metadata.resource_version);
                self.live().note_gone(&key, version, Tell::Everything);
            }
            _ => {}
        }
        Ok(None)
    }

    fn watch_uri(&self, kind: &KindInfo, namespace: Option<&str>, from: &str) -> String {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("watch", "true")
            .append_pair("allowWatchBookmarks", "true")
            .append_pair("labelSelector", &self.settings().mark_label)
            .append_pair("resourceVersion", from)
            .append_pair("timeoutSeconds", &LENGTH.as_secs().to_string())
            .finish();
        format!("{}?{query}", kind.path(namespace, ""))
    }
}

#[derive(Deserialize)]
struct StatusCode {
    #[serde(default)]
    code: u16,
}
