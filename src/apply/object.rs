//! One object: take over what kubectl owned, apply, recreate where it is asked for; or delete.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::cluster::{Applied, ApplyOptions, Cluster, Deleted, ErrorKind, KindInfo, RequestError, Uid};
use crate::plan::{Record, SkipReason, Step, Target, Wanted};
use crate::runtime::Backoff;

use super::run::Frame;
use super::{Done, Failure, FailureKind, body, failure};

/// What became of one object, with what is to be remembered of it.
pub(super) struct Finished {
    pub(super) done: Done,
    pub(super) warnings: Vec<String>,
    pub(super) record: Option<(Uid, Record)>,
}

impl Finished {
    fn new(done: Done) -> Self {
        Self { done, warnings: Vec::new(), record: None }
    }
}

const CLASH: &str = "another fluxd marks this object as its own too: two repositories define it, or two daemons sync one \
                     repository under different settings";

/// Applies the object of a step.
pub(super) async fn apply(frame: &Frame<'_>, step: &Step, want: &Wanted) -> Finished {
    let target = &step.target;
    let kind = match resolve(frame.cluster, target) {
        Ok(kind) => kind,
        Err(failure) => return Finished::new(Done::Failed(failure)),
    };
    let (body, mut warnings) = body::effective(target, want);
    let work = Work { frame, target, kind, body };
    match work.apply(step.take_over).await {
        Ok((applied, recreated)) => {
            warnings.extend(applied.warnings.iter().cloned());
            warnings.extend(step.clash.then(|| CLASH.to_owned()));
            let done = match (recreated, applied.created, applied.unchanged) {
                (true, ..) => Done::Recreated,
                (_, true, _) => Done::Created,
                (_, _, true) => Done::Unchanged,
                _ => Done::Configured,
            };
            let record = Record { digest: want.digest, entry: applied.entry.map(|e| e.0) };
            Finished { done, warnings, record: Some((applied.uid, record)) }
        }
        Err(error) => Finished { warnings, ..Finished::new(Done::Failed(failure::of(target, &error))) },
    }
}

/// Deletes the object of a step.
pub(super) async fn delete(frame: &Frame<'_>, target: &Target, uid: crate::plan::Uid) -> Finished {
    let kinds = frame.cluster.kinds();
    let Some(kind) = kinds.resolve(&target.gvk).ok().or_else(|| find(&kinds, target)) else {
        let text = "its kind is not served any more";
        return Finished::new(Done::Failed(failure::plain(target, FailureKind::UnknownKind, text)));
    };
    let done = match frame.cluster.delete(kind, &target.key, Uid(uid), frame.until).await {
        Ok(Deleted::Done | Deleted::Terminating | Deleted::AlreadyGone) => Done::Deleted,
        Ok(Deleted::NotOurs) => Done::Skipped(SkipReason::NotOurs),
        Err(error) => Done::Failed(failure::of(target, &error)),
    };
    Finished::new(done)
}

fn find<'a>(kinds: &'a crate::cluster::Kinds, target: &Target) -> Option<&'a Arc<KindInfo>> {
    kinds.find(&target.key.group, &target.key.kind, "delete")
}

fn resolve(cluster: &Cluster, target: &Target) -> Result<Arc<KindInfo>, Failure> {
    cluster.kinds().resolve(&target.gvk).cloned().map_err(|unresolved| {
        let kind = if unresolved.is_certain() { FailureKind::UnknownKind } else { FailureKind::Unavailable };
        let text = format!(
            "no matches for kind \"{}\" in version \"{}\": {unresolved}",
            target.gvk.kind,
            target.gvk.api_version()
        );
        failure::plain(target, kind, &text)
    })
}

struct Work<'a> {
    frame: &'a Frame<'a>,
    target: &'a Target,
    kind: Arc<KindInfo>,
    body: Value,
}

impl Work<'_> {
    /// Applies; says also whether the object had to be recreated.
    async fn apply(&self, take_over: bool) -> Result<(Applied, bool), RequestError> {
        if take_over {
            self.take_over().await?;
        }
        match self.send().await {
            Ok(applied) if applied.take_over && !take_over => {
                self.take_over().await?;
                self.send().await.map(|again| (Applied { created: applied.created, ..again }, false))
            }
            Ok(applied) => Ok((applied, false)),
            Err(e) if e.kind() == ErrorKind::Immutable && body::may_recreate(&self.body) => {
                self.recreate(e).await.map(|applied| (applied, true))
            }
            Err(e) => Err(e),
        }
    }

    async fn send(&self) -> Result<Applied, RequestError> {
        let sealed = self.target.want.as_ref().is_some_and(|want| want.object.is_sealed());
        let options = ApplyOptions { dry_run: false, until: self.frame.until, sealed };
        self.frame.cluster.apply(&self.kind, &self.target.key, &self.body, options).await
    }

    async fn take_over(&self) -> Result<(), RequestError> {
        let moved = self.frame.cluster.take_over(&self.kind, &self.target.key, self.frame.until).await?;
        if moved {
            tracing::info!(resource = %self.target.id, "took over the fields of kubectl's client-side apply");
        }
        Ok(())
    }

    /// Deletes the object in the life it has now, waits until it is gone, and creates it.
    async fn recreate(&self, refused: RequestError) -> Result<Applied, RequestError> {
        let (cluster, key, until) = (self.frame.cluster, &self.target.key, self.frame.until);
        let Some(live) = cluster.read_meta(&self.kind, key, until).await? else { return self.send().await };
        if cluster.delete(&self.kind, key, live.uid, until).await? == Deleted::NotOurs {
            return Err(refused);
        }
        tracing::info!(resource = %self.target.id, "deleted to be created again, as its annotation asks for");
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
        while cluster.read_meta(&self.kind, key, until).await?.is_some_and(|now| now.uid == live.uid) {
            if tokio::time::Instant::now() >= until {
                return Err(refused);
            }
            backoff.wait(None).await;
        }
        self.send().await
    }
}
