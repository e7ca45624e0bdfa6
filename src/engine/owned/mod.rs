//! One pass over the objects of an owner: resolve, plan, carry out in stages. Many owners share one knowledge of what is live
//! and what was applied. It has no timers and no triggers, and deletes nothing.

mod body;
mod memory;
mod order;
mod resolve;
mod rights;
mod settings;
mod typed;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::apply::{self, Done, FailureKind, Manner, Meter, ObjectResult, Report, Staging};
use crate::cluster::{self, ApplyOptions, Client, Cluster, ErrorKind, RequestError};
use crate::object::{Gvk, Key, Object};
use crate::plan::{self, Candidate, Input, Plan, Reach, Rules, Target, Wanted};
use crate::runtime::Stop;

use super::read;
use resolve::Scopes;

pub use body::says;
pub use memory::Memory;
pub use order::{kind_order, wave};
pub use settings::SetSettings;
pub use words::{subject, unready};

/// Time that the first read of a kind may take before a pass goes on without the index.
const FIRST_READ: Duration = Duration::from_secs(10);
/// Kinds that nobody knows are not asked for more often than this, however many sets want them.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// What the sets of one controller share.
pub struct Owned {
    cluster: Cluster,
    settings: SetSettings,
    memory: Memory,
}

/// What one pass goes by.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    /// The cluster, as the owner's identity.
    pub cluster: &'a Cluster,
    /// Whether objects with a field that cannot be changed are made anew.
    pub force: bool,
    /// When it has to be over.
    pub until: Instant,
    /// When it is pulled, objects under way are finished and nothing new is begun.
    pub stop: &'a Stop,
    /// Whether the shared watches run.
    pub watched: bool,
}

impl Owned {
    /// Makes it; nothing is asked of the API server yet.
    pub fn new(client: Client, settings: SetSettings) -> Self {
        let owns = Arc::new(|_: &Key, _: &str| true);
        let all = Arc::new(tokio::sync::Semaphore::new(settings.total_concurrency.max(1)));
        let ours = cluster::Settings {
            validation: settings.validation,
            adoption: settings.adoption(),
            policies: false,
            in_flight: Some(all),
            concurrency: settings.concurrency,
            on_request: Arc::clone(&settings.on_request),
            ..cluster::Settings::new(&settings.field_manager, &settings.owner_name_label, owns)
        };
        Self { cluster: Cluster::new(client, ours), settings, memory: Memory::default() }
    }

    /// The cluster, as the process's own identity.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// How sets are applied.
    pub fn settings(&self) -> &SetSettings {
        &self.settings
    }

    /// What was applied, and seen ready.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The kinds as of now, asked for anew when one of these is not among them.
    ///
    /// # Errors
    /// When the API server cannot be asked.
    pub async fn kinds_with(&self, gvks: &BTreeSet<Gvk>, until: Instant) -> Result<Arc<cluster::Kinds>, RequestError> {
        let kinds = self.cluster.kinds();
        if gvks.iter().any(|gvk| kinds.resolve(gvk).is_err()) {
            return self.ask_again(until).await;
        }
        Ok(kinds)
    }

    /// The kinds as of a moment ago.
    async fn ask_again(&self, until: Instant) -> Result<Arc<cluster::Kinds>, RequestError> {
        if self.cluster.age_of_kinds().is_none_or(|age| age > ASK_AGAIN) {
            return self.cluster.refresh_kinds(until).await;
        }
        Ok(self.cluster.kinds())
    }

    /// The keys that objects will have, in their order.
    ///
    /// # Errors
    /// When the API server cannot be asked for its kinds.
    pub async fn keys(&self, objects: &[Arc<Object>], until: Instant) -> Result<Vec<Key>, RequestError> {
        let kinds = self.kinds_of(objects, until).await?;
        let scopes = Scopes::new(&kinds, objects);
        Ok(objects.iter().map(|object| scopes.key(object)).collect())
    }

    async fn kinds_of(&self, objects: &[Arc<Object>], until: Instant) -> Result<Arc<cluster::Kinds>, RequestError> {
        let kinds = self.cluster.kinds();
        let scopes = Scopes::new(&kinds, objects);
        let unknown: BTreeSet<Gvk> =
            objects.iter().map(|o| o.gvk()).filter(|g| scopes.is_unknown(g)).cloned().collect();
        if unknown.is_empty() && !kinds.is_empty() {
            return Ok(kinds);
        }
        self.kinds_with(&unknown, until).await
    }

    /// Plans what becomes of objects, and gives the keys that they will have, in their order.
    ///
    /// # Errors
    /// When the API server cannot be asked for its kinds.
    pub async fn plan(&self, objects: &[Arc<Object>], pass: &Pass<'_>) -> Result<(Plan, Vec<Key>), RequestError> {
        let kinds = self.kinds_of(objects, pass.until).await?;
        let scopes = Scopes::new(&kinds, objects);
        let patience = if pass.watched { FIRST_READ } else { Duration::ZERO };
        self.cluster.follow(&scopes.served(objects), pass.until.min(Instant::now() + patience)).await;
        let keys = objects.iter().map(|object| scopes.key(object)).collect();
        let user = pass.cluster.user();
        let mut plan = self.decide(&resolve::candidates(objects, &scopes, (&self.settings, user)));
        if user.is_some() {
            rights::try_some(&mut plan, rand::random::<u32>() as usize);
        }
        Ok((plan, keys))
    }

    fn decide(&self, wanted: &[Candidate]) -> Plan {
        // What is not heard of may have changed since it was noted.
        let live = |target: &Target| {
            let found = self.cluster.live().get(&target.key).filter(|_| self.cluster.is_followed(&target.gvk));
            found.map(|object| read::live(&object))
        };
        plan::plan(&Input {
            revision: "",
            reach: Reach::Whole,
            wanted,
            live: &live,
            record: &|uid| self.memory.record(uid),
            force: false,
            correct_drift: true,
            rules: Rules::OWNED,
        })
    }

    /// Carries a plan out; with `dry` it only finds out what would be written.
    pub async fn carry_out(&self, plan: &Plan, pass: &Pass<'_>, dry: bool) -> Report {
        let labels = [self.settings.owner_name_label.as_str(), self.settings.owner_namespace_label.as_str()];
        let body = |target: &Target, want: &Wanted| body::make(target, want, labels);
        let force = &self.settings.force;
        let may_recreate = |wanted: &serde_json::Value, live: Option<&serde_json::Value>| {
            pass.force || body::says(wanted, force) || live.is_some_and(|live| body::says(live, force))
        };
        let (timeout, poll) = (self.settings.stage_timeout, self.settings.poll.min(STAGE_POLL));
        let staging = Staging { late: order::is_late, waits: order::waits, timeout, poll, dry };
        let manner = Manner {
            body: &body,
            may_recreate: &may_recreate,
            refused: words::refused,
            failed: words::failed,
            staging: Some(staging),
        };
        let frame = apply::Frame {
            cluster: pass.cluster,
            concurrency: self.settings.concurrency,
            until: pass.until,
            meter: &Meter::default(),
            stop: pass.stop,
            manner: &manner,
        };
        let report = apply::run(plan, frame).await;
        self.remember(&report);
        let is_missing = |failure: &apply::Failure| failure.kind == FailureKind::UnknownKind;
        if report.results.iter().filter_map(ObjectResult::failure).any(is_missing) {
            // A kind that was known may be gone; the next pass has to know. That it could not be asked is for that pass to tell.
            self.ask_again(pass.until).await.ok();
        }
        report
    }

    /// The object as an apply would leave it, by a dry run; of one that cannot be tried out, because it is not there and its
    /// namespace neither, as it would be sent. `None` when nothing is wanted.
    ///
    /// # Errors
    /// When the API server cannot be asked, or refuses the object.
    pub async fn preview(&self, target: &Target, pass: &Pass<'_>) -> Result<Option<serde_json::Value>, RequestError> {
        let Some(want) = &target.want else { return Ok(None) };
        let labels = [self.settings.owner_name_label.as_str(), self.settings.owner_namespace_label.as_str()];
        let (body, _) = body::make(target, want, labels);
        let kinds = self.kinds_with(&BTreeSet::from([target.gvk.clone()]), pass.until).await?;
        let Ok(kind) = kinds.resolve(&target.gvk) else { return Ok(Some(body)) };
        let options = ApplyOptions { dry_run: true, until: pass.until, sealed: want.object.is_sealed(), whole: true };
        match pass.cluster.dry_run(kind, &target.key, &body, options).await {
            // A try that would create is not read back.
            Ok(tried) if tried.created => Ok(Some(body)),
            Ok(tried) => Ok(Some(tried.object)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Some(body)),
            Err(error) => Err(error),
        }
    }

    /// Keeps what was applied. After a stage that did not become ready nothing is kept, so that the next pass waits again.
    fn remember(&self, report: &Report) {
        if report.unready.is_none() {
            for (uid, record) in &report.records {
                self.memory.put(uid.0, *record);
            }
        }
        self.memory.bound(|| self.cluster.live().all().iter().map(|o| o.uid.0).collect());
    }
}

/// Longest time between two looks at what a stage waits for.
const STAGE_POLL: Duration = Duration::from_secs(2);

/// Objects that may be live and ours after a run, by key, with what became of them: all that were dealt with, and those of
/// which a write may have arrived although no answer came.
pub fn reached(report: &Report) -> BTreeMap<&Key, &ObjectResult> {
    let written: HashSet<&Key> = report.written.iter().collect();
    let is_refused = |kind: FailureKind| {
        matches!(
            kind,
            FailureKind::Invalid
                | FailureKind::Denied
                | FailureKind::Forbidden
                | FailureKind::Namespace
                | FailureKind::UnknownKind
        )
    };
    let counts = |result: &&ObjectResult| match &result.done {
        Done::Failed(failure) => written.contains(result.key()) && !is_refused(failure.kind),
        _ => true,
    };
    report.results.iter().filter(counts).map(|result| (result.key(), result)).collect()
}

/// Why a run ended early, in the words of resourceset §7.4.7.
pub fn error_of(report: &Report) -> Option<String> {
    let failures = || report.results.iter().filter_map(ObjectResult::failure);
    let first = failures().find(|failure| failure.kind != FailureKind::NotReached);
    // The wait of a stage names its objects, and no more.
    let unready = || Some(unready(report.unready.as_ref()?).lines().next()?.to_owned());
    first.map(|f| f.message.clone()).or_else(unready).or_else(|| failures().next().map(|f| f.message.clone()))
}
