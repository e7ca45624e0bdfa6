//! What the daemon wants of the cluster, and what follows a sync: events, then the marker (fluxd-v1 §5.2).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use crate::generate::Loaded;
use crate::object::{Digest, ObjectId};
use crate::operator::{self, Component, Context, Desired, Done, ObjectResult, Outcome, Reach, SkipReason, Trigger};
use crate::runtime::Stop;
use crate::tree::Revision;

use super::handle::Handle;
use super::shared::{Parts, Shared};
use super::{events, head, marker, words};

/// The git loop as a component of an operator.
///
/// # Flow
/// `desired` loads the newest commit that may be synced; the operator plans and applies it; `observe` reports and moves the
/// marker.
///
/// # Guarantees
/// The marker never names a commit of which a pass ended early. A file that does not load applies nothing and deletes
/// nothing. Events are told before the marker moves, so a killed process tells them again rather than never.
pub struct Daemon {
    shared: Arc<Shared>,
}

impl Daemon {
    /// Puts the loop together. The handle serves the API; it answers before the repository is ready.
    pub fn new(parts: Parts) -> (Self, Handle) {
        let shared = Shared::new(parts);
        (Self { shared: Arc::clone(&shared) }, Handle::new(shared))
    }

    /// Watches the mirror and asks for a sync at each new head, until stopped. It needs the operator's handle, which is
    /// known only after the operator took this component, so it comes through the API's handle.
    ///
    /// # Errors
    /// When the repository's own loop is gone.
    pub async fn watch_head(handle: Handle, stop: Stop) -> Result<(), operator::Error> {
        head::watch(handle.shared(), stop).await
    }

    async fn want(&self, cx: &Context) -> Result<Desired, operator::Error> {
        let shared = &self.shared;
        if let Err(e) = shared.repo.ready() {
            // Once a commit is known, a sync that cannot be made is tried again; before that, the first refresh asks for it.
            let known = shared.state().head.is_some();
            return Err(if known { operator::Error::component(e) } else { operator::Error::NotReady(e.to_string()) });
        }
        let head = shared.state().head.clone();
        let head = head.ok_or_else(|| operator::Error::NotReady("no commit of the branch is known yet".into()))?;
        let old = marker::read(shared).await.map_err(operator::Error::component)?;
        words::log_trying(old.as_ref(), &head);
        self.remember_last_synced(old.as_ref(), &head, &cx.stop).await;
        let rerun = matches!(cx.trigger, Trigger::Interval | Trigger::Full);
        let loaded = shared.load(&head, rerun, &cx.stop).await.map_err(operator::Error::component)?;
        for warning in &loaded.warnings {
            tracing::warn!(component = "sync-loop", origin = %warning.origin, "{}", warning.message);
        }
        for error in &loaded.errors {
            tracing::error!(component = "sync-loop", impact = "left out of this sync; nothing is deleted", "{error}");
        }
        let objects = loaded.objects.clone();
        shared.state().wanted = Some((head.clone(), Arc::clone(&loaded)));
        Ok(Desired { objects, revision: head.to_string(), complete: loaded.complete, ..Desired::default() })
    }

    /// After a start, learns what the marker's revision wanted, so that the first event names what really changed.
    async fn remember_last_synced(&self, old: Option<&Revision>, head: &Revision, stop: &Stop) {
        let known = self.shared.state().synced.is_some();
        let Some(old) = old.filter(|old| !known && *old != head) else { return };
        match self.shared.load(old, false, stop).await {
            Ok(loaded) => self.shared.state().synced = Some(loaded),
            Err(e) => tracing::warn!(
                component = "sync-loop",
                err = %e,
                "failed to load last-synced resources. sync event may be inaccurate"
            ),
        }
    }

    async fn conclude(&self, outcome: &Outcome) -> Result<(), operator::Error> {
        let shared = &self.shared;
        words::log_outcome(outcome);
        if outcome.changed() {
            shared.cluster_changed.notify_one();
        }
        let (ok, failed) = words::applied(outcome);
        shared.metrics.sync_manifests(ok, failed);
        events::record(shared, outcome).await;
        if let Some(stopped) = &outcome.stopped {
            if outcome.changed() {
                shared.request(false);
            }
            return Err(operator::Error::component(stopped.to_string()));
        }
        let Some((revision, loaded)) = shared.state().wanted.clone().filter(|(at, _)| *at.0 == *outcome.revision)
        else {
            return Ok(());
        };
        let old = marker::read(shared).await.map_err(operator::Error::component)?;
        let changed = changed_ids(shared.state().synced.as_ref(), &loaded, outcome);
        events::tell(shared, old.as_ref(), &revision, changed, outcome).await.map_err(operator::Error::component)?;
        shared.state().synced = Some(loaded);
        marker::advance(shared, old.as_ref(), &revision).await.map_err(operator::Error::component)
    }
}

impl Component for Daemon {
    async fn desired(&self, cx: &Context) -> Result<Desired, operator::Error> {
        let started = Instant::now();
        self.shared.state().started = Some(started);
        let wanted = self.want(cx).await;
        if let Err(e) = &wanted
            && !matches!(e, operator::Error::NotReady(_))
        {
            self.shared.feed.sync(None, Some(e));
            self.shared.metrics.sync_duration(false, started.elapsed());
        }
        wanted
    }

    async fn observe(&self, _cx: &Context, outcome: &Outcome) -> Result<(), operator::Error> {
        self.shared.metrics.pass(outcome);
        if outcome.reach != Reach::Whole {
            return Ok(());
        }
        let concluded = self.conclude(outcome).await;
        self.shared.feed.sync(Some(outcome), concluded.as_ref().err());
        let started = self.shared.state().started.take().unwrap_or_else(Instant::now);
        self.shared.metrics.sync_duration(concluded.is_ok(), started.elapsed());
        concluded
    }
}

/// Identities, with the namespaces that the objects really have, of what differs from the last sync: added or modified. A
/// digest covers the whole object, its identity too, so one that was there before is the same object unchanged.
fn changed_ids(before: Option<&Arc<Loaded>>, now: &Arc<Loaded>, outcome: &Outcome) -> Vec<ObjectId> {
    if before.is_some_and(|before| Arc::ptr_eq(before, now)) {
        return Vec::new();
    }
    let before: HashSet<Digest> = before.iter().flat_map(|b| &b.objects).map(|o| o.digest()).collect();
    // Objects of unknown kinds are left out, as v1 left them out of the set before it compared anything.
    let is_new = |r: &&ObjectResult| {
        let known = !matches!(r.done, Done::Skipped(SkipReason::KindUnknown(_)));
        known && r.target.want.as_ref().is_some_and(|w| !before.contains(&w.object.digest()))
    };
    let mut ids: Vec<ObjectId> = outcome.results.iter().filter(is_new).map(|r| r.id().clone()).collect();
    ids.sort();
    ids.dedup();
    ids
}
