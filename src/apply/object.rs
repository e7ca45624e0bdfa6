//! One object: try out, take over what others owned, apply, recreate where it is asked for; or delete.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::cluster::{
    Applied, ApplyOptions, Cascade, Cluster, Deleted, Deletion, ErrorKind, Fingerprint, KindInfo, RequestError, Uid,
};
use crate::plan::{Record, SkipReason, Step, Target, Wanted};
use crate::runtime::Backoff;

use super::run::Frame;
use super::{Done, Failure, FailureKind, Phase, compare};

/// What became of one object, with what is to be remembered of it.
pub(super) struct Finished {
    pub(super) done: Done,
    pub(super) warnings: Vec<String>,
    pub(super) record: Option<(Uid, Record)>,
    /// The object as the API server has it, where the next stage waits for it.
    pub(super) object: Option<Value>,
}

impl Finished {
    pub(super) fn new(done: Done) -> Self {
        Self { done, warnings: Vec::new(), record: None, object: None }
    }
}

const CLASH: &str = "another fluxd marks this object as its own too: two repositories define it, or two daemons sync one \
                     repository under different settings";

/// Applies the object of a step.
pub(super) async fn apply(frame: &Frame<'_>, step: &Step, want: &Wanted) -> Finished {
    match Work::new(*frame, step, want) {
        Ok(work) => work.write().await,
        Err(failure) => Finished::new(Done::Failed(failure)),
    }
}

/// Deletes the object of a step.
pub(super) async fn delete(frame: &Frame<'_>, target: &Target, uid: crate::plan::Uid) -> Finished {
    let kinds = frame.cluster.kinds();
    let Some(kind) = kinds.resolve(&target.gvk).ok().or_else(|| find(&kinds, target)) else {
        let text = "its kind is not served any more";
        return Finished::new(Done::Failed((frame.manner.failed)(target, FailureKind::UnknownKind, text)));
    };
    let done = match frame.cluster.delete(kind, &target.key, Uid(uid), frame.until).await {
        Ok(Deleted::Done | Deleted::Terminating | Deleted::AlreadyGone) => Done::Deleted,
        Ok(Deleted::NotOurs) => Done::Skipped(SkipReason::NotOurs),
        Err(error) => Done::Failed((frame.manner.refused)(target, Phase::Apply, &error)),
    };
    Finished::new(done)
}

fn find<'a>(kinds: &'a crate::cluster::Kinds, target: &Target) -> Option<&'a Arc<KindInfo>> {
    kinds.find(&target.key.group, &target.key.kind, "delete")
}

fn resolve(cluster: &Cluster, target: &Target) -> Result<Arc<KindInfo>, (FailureKind, String)> {
    cluster.kinds().resolve(&target.gvk).cloned().map_err(|unresolved| {
        let kind = if unresolved.is_certain() { FailureKind::UnknownKind } else { FailureKind::Unavailable };
        let text = format!(
            "no matches for kind \"{}\" in version \"{}\": {unresolved}",
            target.gvk.kind,
            target.gvk.api_version()
        );
        (kind, text)
    })
}

/// An object on its way.
pub(super) struct Work<'a> {
    frame: Frame<'a>,
    target: &'a Target,
    digest: crate::object::Digest,
    sealed: bool,
    kind: Arc<KindInfo>,
    body: Value,
    warnings: Vec<String>,
    take_over: bool,
    /// The refusal for which it is deleted and created again.
    recreate: Option<RequestError>,
    whole: bool,
}

impl<'a> Work<'a> {
    pub(super) fn new(frame: Frame<'a>, step: &'a Step, want: &Wanted) -> Result<Self, Failure> {
        let target = step.target.as_ref();
        let kind = resolve(frame.cluster, target).map_err(|(kind, text)| (frame.manner.failed)(target, kind, &text))?;
        let (body, mut warnings) = (frame.manner.body)(target, want);
        warnings.extend(step.clash.then(|| CLASH.to_owned()));
        let (take_over, recreate, sealed) = (step.take_over, None, want.object.is_sealed());
        let whole = frame.manner.staging.is_some_and(|staging| (staging.waits)(target));
        Ok(Self { frame, target, digest: want.digest, sealed, kind, body, warnings, take_over, recreate, whole })
    }

    /// Asks what an apply would make of it. `None` when it has to be written.
    pub(super) async fn try_out(&mut self) -> Option<Finished> {
        let (cluster, key, until) = (self.frame.cluster, &self.target.key, self.frame.until);
        let tried = match cluster.dry_run(&self.kind, key, &self.body, self.options(true)).await {
            Ok(tried) if tried.created => {
                self.take_over = false;
                return None;
            }
            Ok(tried) => tried.object,
            Err(error) => return self.refused(error).await,
        };
        // As a reader of one's own writes: the dry run saw it, so that only its deletion can have come between.
        let (live, seen) = match cluster.look(&self.kind, key, until).await {
            Ok(Some(found)) => found,
            Ok(None) => return None,
            Err(error) => return Some(self.failed(Phase::DryRun, &error)),
        };
        self.take_over = cluster.needs_take_over(&live, &self.body);
        if self.take_over || compare::differs(&live, &tried) {
            return None;
        }
        let record = Record { digest: self.digest, entry: seen.entry.map(|Fingerprint(e)| e) };
        let (warnings, object) = (std::mem::take(&mut self.warnings), self.whole.then_some(live));
        Some(Finished { done: Done::Unchanged, warnings, record: Some((seen.uid, record)), object })
    }

    /// A refused dry run: the object may be one that has to be made anew.
    async fn refused(&mut self, error: RequestError) -> Option<Finished> {
        let about_fields = matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Conflict | ErrorKind::Immutable)
            || error.message().contains("immutable");
        if about_fields {
            let live = self.frame.cluster.get(&self.kind, &self.target.key, self.frame.until).await;
            if let Ok(Some(live)) = live
                && (self.frame.manner.may_recreate)(&self.body, Some(&live))
            {
                self.recreate = Some(error);
                return None;
            }
        }
        Some(self.failed(Phase::DryRun, &error))
    }

    /// Writes it.
    pub(super) async fn write(mut self) -> Finished {
        match self.send_all().await {
            Ok((applied, recreated)) => {
                let done = match (recreated, applied.created, applied.unchanged) {
                    (true, ..) => Done::Recreated,
                    (_, true, _) => Done::Created,
                    (_, _, true) => Done::Unchanged,
                    _ => Done::Configured,
                };
                let mut warnings = std::mem::take(&mut self.warnings);
                warnings.extend(applied.warnings);
                let record = Record { digest: self.digest, entry: applied.entry.map(|e| e.0) };
                Finished { done, warnings, record: Some((applied.uid, record)), object: applied.object }
            }
            Err(error) => self.failed(Phase::Apply, &error),
        }
    }

    fn failed(&mut self, phase: Phase, error: &RequestError) -> Finished {
        let failure = (self.frame.manner.refused)(self.target, phase, error);
        Finished { warnings: std::mem::take(&mut self.warnings), ..Finished::new(Done::Failed(failure)) }
    }

    /// Applies; says also whether the object had to be recreated.
    async fn send_all(&self) -> Result<(Applied, bool), RequestError> {
        if let Some(refused) = &self.recreate {
            return self.make_anew(refused.clone()).await.map(|applied| (applied, true));
        }
        if self.take_over {
            self.adopt().await?;
        }
        match self.send().await {
            Ok(applied) if applied.take_over && !self.take_over => {
                self.adopt().await?;
                self.send().await.map(|again| (Applied { created: applied.created, ..again }, false))
            }
            Ok(applied) => Ok((applied, false)),
            Err(e) if e.kind() == ErrorKind::Immutable && (self.frame.manner.may_recreate)(&self.body, None) => {
                self.make_anew(e).await.map(|applied| (applied, true))
            }
            Err(e) => Err(e),
        }
    }

    fn options(&self, dry_run: bool) -> ApplyOptions {
        ApplyOptions { dry_run, until: self.frame.until, sealed: self.sealed, whole: self.whole }
    }

    async fn send(&self) -> Result<Applied, RequestError> {
        self.frame.cluster.apply(&self.kind, &self.target.key, &self.body, self.options(false)).await
    }

    async fn adopt(&self) -> Result<(), RequestError> {
        let (cluster, until) = (self.frame.cluster, self.frame.until);
        if cluster.take_over(&self.kind, &self.target.key, &self.body, until).await? {
            tracing::info!(resource = %self.target.id, "took over the fields of another manager");
        }
        Ok(())
    }

    /// Deletes the object in the life it has now, waits until it is gone, and creates it.
    async fn make_anew(&self, refused: RequestError) -> Result<Applied, RequestError> {
        let (cluster, key, until) = (self.frame.cluster, &self.target.key, self.frame.until);
        let Some(live) = cluster.read_meta(&self.kind, key, until).await? else { return self.send().await };
        if self.delete(live.uid).await? == Deleted::NotOurs {
            return Err(refused);
        }
        tracing::info!(resource = %self.target.id, "deleted to be created again, as its annotation asks for");
        // In stages others wait for their turn meanwhile, and the next pass can go on.
        let patience = self.frame.manner.staging.map(|staging| tokio::time::Instant::now() + staging.timeout);
        let until = patience.map_or(until, |patience| patience.min(until));
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
        while cluster.read_meta(&self.kind, key, until).await?.is_some_and(|now| now.uid == live.uid) {
            if tokio::time::Instant::now() >= until {
                return Err(refused);
            }
            backoff.wait(None).await;
        }
        self.send().await
    }

    /// In stages an object may be adopted by making it anew, so that it carries no mark of ours yet.
    async fn delete(&self, uid: Uid) -> Result<Deleted, RequestError> {
        let (cluster, key, until) = (self.frame.cluster, &self.target.key, self.frame.until);
        if self.frame.manner.staging.is_none() {
            return cluster.delete(&self.kind, key, uid, until).await;
        }
        let may = |seen: &crate::cluster::Seen<'_>| seen.live.uid == uid;
        cluster.delete_if(&self.kind, key, &Deletion { may: &may, cascade: Cascade::Background }, until).await
    }
}
