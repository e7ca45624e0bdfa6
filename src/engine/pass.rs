//! The pass: read, plan, apply, collect garbage; and its shorter forms.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::time::Instant;

use crate::apply::{self, Meter, Outcome, Stage, Stopped};
use crate::cluster::{self, Client, Cluster, OnRequest};
use crate::object::{GC_MARK_LABEL, Gvk, Key, Object, ObjectId, gc_mark};
use crate::plan::{
    self, Candidate, Collect, Doubts, GcMode, Input, Limit, Live, Managed, Plan, Reach, Rules, Target, Uid,
};
use crate::runtime::Stop;

use super::probe::{self, Probed};
use super::read::{self, Reading};
use super::records::{CacheError, Records};
use super::resolve::Resolver;
use super::{Budget, Drift, Gc, Settings};

/// What a pass is asked to bring about.
#[derive(Clone, Copy)]
pub struct Want<'a> {
    /// The wanted objects, each identity once.
    pub objects: &'a [Arc<Object>],
    /// Where they come from.
    pub revision: &'a str,
    /// Whether these are all.
    pub complete: bool,
    /// Apply every object, whatever is known.
    pub force: bool,
    /// Look for our marks on every kind first.
    pub full: bool,
    /// Lives of objects whose delete was approved.
    pub approved: &'a HashSet<Uid>,
}

/// What a pass runs in.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// Counts what is done.
    pub meter: &'a Meter,
    /// When it is pulled, objects under way are finished and nothing new is begun.
    pub stop: &'a Stop,
}

/// What a pass was to do, and what became of it.
pub struct Passed {
    /// The plan; empty when reading failed.
    pub plan: Arc<Plan>,
    /// The outcome.
    pub outcome: Outcome,
}

/// What a plan is made for.
#[derive(Clone, Copy)]
struct Scope<'a> {
    revision: &'a str,
    reach: Reach,
    force: bool,
}

/// One cluster, one identity, and what is remembered between passes.
pub struct Engine {
    cluster: Cluster,
    settings: Settings,
    resolver: Resolver,
    /// What the last whole pass wanted; a plan that was only looked at may have resolved something else since.
    wanted: Arc<Vec<Candidate>>,
    records: Records,
    reading: Reading,
    requests: Arc<Mutex<BTreeMap<&'static str, u64>>>,
    own: HashSet<ObjectId>,
    /// A kind that we believed in turned out not to be served.
    kind_missing: bool,
}

impl Engine {
    /// Makes one; nothing is asked of the API server yet. `on_request` hears of every request.
    ///
    /// # Errors
    /// When the cache file cannot be used.
    pub fn new(client: Client, settings: Settings, on_request: Option<OnRequest>) -> Result<Self, CacheError> {
        let requests: Arc<Mutex<BTreeMap<&'static str, u64>>> = Arc::default();
        let cluster = Cluster::new(client, cluster_settings(&settings, Arc::clone(&requests), on_request));
        let mut own: HashSet<ObjectId> = settings.self_objects.iter().cloned().collect();
        own.extend(settings.self_namespace.as_deref().map(|name| ObjectId::new(None, "Namespace", name)));
        Ok(Self {
            resolver: Resolver::new(settings.identity.sync_set(), &settings.default_namespace),
            records: Records::open(settings.cache.as_deref())?,
            wanted: Arc::default(),
            reading: Reading::default(),
            cluster,
            settings,
            requests,
            own,
            kind_missing: false,
        })
    }

    /// The cluster it works on.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Whether some wanted object's kind is unknown, or some kind could not be read: worth another look soon.
    pub fn is_unsettled(&self) -> bool {
        let kinds = self.cluster.kinds();
        self.reading.is_due() || self.resolver.last().iter().any(|c| is_homeless(c, &kinds))
    }

    /// Plans, and changes nothing.
    ///
    /// # Errors
    /// When the cluster could not be read.
    pub async fn plan_only(&mut self, want: &Want<'_>) -> Result<Plan, Stopped> {
        let until = Instant::now() + self.settings.deadline;
        let fresh = self.read(want.full, until).await?;
        self.plan(want, fresh, until).await.map(|(plan, _)| plan)
    }

    /// One whole pass.
    pub async fn pass(&mut self, want: &Want<'_>, frame: Frame<'_>) -> Passed {
        let mut book = Book::open(&self.requests, want.revision, Reach::Whole);
        let until = Instant::now() + self.settings.deadline;
        let planned = book.stage(frame.meter, Stage::Read, self.read(want.full || want.force, until)).await;
        let planned = match planned {
            Ok(fresh) => {
                // A whole pass looks at every object, so what was reported up to here is dealt with.
                self.cluster.live().take_changed();
                book.stage(frame.meter, Stage::Plan, self.plan(want, fresh, until)).await
            }
            Err(stopped) => Err(stopped),
        };
        let passed = match planned {
            Ok((plan, candidates)) => {
                self.wanted = candidates;
                self.carry_out(plan, book, frame, until).await
            }
            Err(stopped) => book.close(Plan::default(), Some(stopped)),
        };
        self.watch();
        if self.records.len() > self.cluster.live().len() && passed.outcome.stopped.is_none() {
            let live: HashSet<Uid> = self.cluster.live().all().iter().map(|o| o.uid.0).collect();
            self.records.retain(&live);
        }
        self.records.save().await;
        passed
    }

    /// Puts right what drifted among the objects of the last whole pass; nothing is deleted.
    pub async fn correct(&mut self, keys: &HashSet<Key>, revision: &str, frame: Frame<'_>) -> Passed {
        let book = Book::open(&self.requests, revision, Reach::Drift);
        let until = Instant::now() + self.settings.deadline;
        let candidates: Vec<Candidate> =
            self.wanted.iter().filter(|c| keys.contains(&c.target().key)).cloned().collect();
        let probed = probe::probe(&self.cluster, &candidates, self.settings.concurrency, until).await;
        let plan = self.decide(&candidates, Scope { revision, reach: Reach::Drift, force: false }, &probed);
        let passed = self.carry_out(plan, book, frame, until).await;
        self.records.save().await;
        passed
    }

    /// Deletes every object that carries our mark, those aside that policies keep.
    pub async fn delete_all(&mut self, frame: Frame<'_>) -> Passed {
        let (gc, budget) = (self.settings.gc, self.settings.gc_budget);
        (self.settings.gc, self.settings.gc_budget) = (Gc::On, Budget::Off);
        let approved = HashSet::new();
        let nothing =
            Want { objects: &[], revision: "", complete: true, force: false, full: true, approved: &approved };
        let passed = self.pass(&nothing, frame).await;
        (self.settings.gc, self.settings.gc_budget) = (gc, budget);
        passed
    }

    /// Reads what has to be read before anything may be concluded; answers whether the kinds were asked for anew.
    async fn read(&mut self, full: bool, until: Instant) -> Result<bool, Stopped> {
        let mut whole = full || self.reading.is_due();
        let look = !whole && (self.kind_missing || self.reading.is_broken());
        if look {
            let kinds = self.refresh_kinds(until).await?;
            whole = self.reading.has_healed(&kinds);
        }
        if whole {
            self.reading.refresh(&self.cluster, until).await?;
            self.kind_missing = false;
        }
        Ok(look || whole)
    }

    async fn refresh_kinds(&mut self, until: Instant) -> Result<Arc<cluster::Kinds>, Stopped> {
        let kinds = self.cluster.refresh_kinds(until).await.map_err(|e| Stopped::Read(e.to_string()))?;
        self.kind_missing = false;
        Ok(kinds)
    }

    async fn plan(
        &mut self,
        want: &Want<'_>,
        fresh: bool,
        until: Instant,
    ) -> Result<(Plan, Arc<Vec<Candidate>>), Stopped> {
        let mut candidates = self.resolver.resolve(want.objects, &self.cluster);
        let kinds = self.cluster.kinds();
        if !fresh && candidates.iter().any(|c| is_homeless(c, &kinds)) {
            self.refresh_kinds(until).await?;
            self.resolver.forget();
            candidates = self.resolver.resolve(want.objects, &self.cluster);
        }
        let probed = probe::probe(&self.cluster, &candidates, self.settings.concurrency, until).await;
        let mut plan = self.decide(
            &candidates,
            Scope { revision: want.revision, reach: Reach::Whole, force: want.force },
            &probed,
        );
        plan.gc.managed = self.cluster.live().len();
        if self.settings.gc != Gc::Off {
            let doubts = self.doubts(want.complete, &probed);
            self.collect(&mut plan, &candidates, (&doubts, want.approved), until).await;
        }
        Ok((plan, candidates))
    }

    fn decide(&self, wanted: &[Candidate], scope: Scope<'_>, probed: &Probed) -> Plan {
        let replaced: Vec<Candidate>;
        let wanted = if probed.failed.is_empty() {
            wanted
        } else {
            replaced = wanted.iter().map(|c| unread(c, probed)).collect();
            &replaced
        };
        let live = |target: &Target| -> Option<Live> {
            match self.cluster.live().get(&target.key) {
                Some(object) => Some(read::live(&object)),
                None => probed.found.get(&target.key).map(read::live),
            }
        };
        plan::plan(&Input {
            revision: scope.revision,
            reach: scope.reach,
            wanted,
            live: &live,
            record: &|uid| self.records.get(uid),
            force: scope.force,
            correct_drift: self.settings.drift != Drift::Off,
            rules: Rules::MARKED,
        })
    }

    /// What must not be concluded from. A failed look at a new object concerns no delete; it still says that reads fail.
    fn doubts(&self, generated: bool, probed: &Probed) -> Doubts {
        let mut doubts = self.reading.doubts(generated);
        if let Some((key, reason)) = probed.failed.iter().next() {
            doubts.all.get_or_insert_with(|| format!("{key} {reason}"));
        }
        doubts
    }

    /// Adds garbage collection. When every live object of ours is wanted there is nothing to look at.
    async fn collect(
        &self,
        plan: &mut Plan,
        wanted: &[Candidate],
        (doubts, approved): (&Doubts, &HashSet<Uid>),
        until: Instant,
    ) {
        plan.gc.off.clone_from(&doubts.all);
        let live = self.cluster.live().all();
        if plan.matched == live.len() {
            return;
        }
        let allowed = live.iter().map(|o| (o.key(), o)).filter(|(key, _)| self.cluster.settings().is_allowed(key));
        let managed: Vec<Managed> =
            allowed.map(|(key, o)| Managed { key, gvk: o.kind.gvk.clone(), live: read::live(o) }).collect();
        let nothing = HashSet::new();
        let mut collect = Collect {
            mode: if self.settings.gc == Gc::On { GcMode::On } else { GcMode::DryRun },
            limit: limit(self.settings.gc_budget, managed.len()),
            managed: &managed,
            doubts,
            own: &self.own,
            in_use: &nothing,
            approved,
        };
        let in_use = if collect.mode == GcMode::On && collect.limit != Limit::Off {
            read::in_use(&self.cluster, &plan::deletes(wanted, &collect), until).await
        } else {
            HashSet::new()
        };
        collect.in_use = &in_use;
        plan::collect(plan, wanted, &collect);
    }

    async fn carry_out(&mut self, plan: Plan, mut book: Book, frame: Frame<'_>, until: Instant) -> Passed {
        let frame = apply::Frame {
            cluster: &self.cluster,
            concurrency: self.settings.concurrency,
            until,
            meter: frame.meter,
            stop: frame.stop,
            manner: &apply::Manner::MARKED,
        };
        let report = apply::run(&plan, frame).await;
        for (uid, record) in report.records {
            self.records.put(uid.0, record);
        }
        if self.records.len() < plan.matched {
            self.adopt(&plan);
        }
        self.kind_missing |= report.results.iter().filter_map(apply::ObjectResult::failure).any(is_missing_kind);
        book.outcome.stages.extend(report.stages);
        book.outcome.results = report.results;
        book.close(plan, report.stopped)
    }

    /// Objects that were left alone because the checksum on them fits get a record, so that later drift is seen by it.
    fn adopt(&mut self, plan: &Plan) {
        for step in plan.steps.iter().filter(|s| s.action == plan::Action::Keep) {
            let (Some(want), Some(live)) = (&step.target.want, self.cluster.live().get(&step.target.key)) else {
                continue;
            };
            if self.records.get(&live.uid.0).is_none() {
                let record = plan::Record { digest: want.digest, entry: live.entry.map(|e| e.0) };
                self.records.put(live.uid.0, record);
            }
        }
    }

    /// Watches the kinds that are wanted, and those in which objects of ours were found.
    fn watch(&self) {
        let kinds = self.cluster.kinds();
        let mut watched: BTreeSet<Gvk> = self.reading.kinds_in_use().cloned().collect();
        let mut last = None;
        for candidate in self.resolver.last().iter() {
            let gvk = &candidate.target().gvk;
            if last != Some(gvk) && kinds.resolve(gvk).is_ok() {
                watched.insert(gvk.clone());
            }
            last = Some(gvk);
        }
        self.cluster.watch_kinds(watched);
    }
}

/// Whether nobody knows the object's kind, for certain or because its group does not answer.
fn is_homeless(candidate: &Candidate, kinds: &cluster::Kinds) -> bool {
    match candidate {
        Candidate::Skipped(_, plan::SkipReason::KindUnknown(_)) => true,
        Candidate::Rejected(target, _) => kinds.resolve(&target.gvk).is_err(),
        _ => false,
    }
}

fn is_missing_kind(failure: &apply::Failure) -> bool {
    failure.kind == apply::FailureKind::UnknownKind
}

fn unread(candidate: &Candidate, probed: &Probed) -> Candidate {
    match (candidate, probed.failed.get(&candidate.target().key)) {
        (Candidate::Known(target), Some(reason)) => Candidate::Rejected(Arc::clone(target), reason.clone()),
        _ => candidate.clone(),
    }
}

/// The least number of deletes that need no approval.
const SMALL: usize = 10;

fn limit(budget: Budget, managed: usize) -> Limit {
    match budget {
        Budget::Default => Limit::Objects((managed / 5).max(SMALL)),
        Budget::Objects(n) => Limit::Objects(n),
        Budget::Percent(p) => Limit::Objects(managed.saturating_mul(usize::from(p)) / 100),
        Budget::Off => Limit::Off,
    }
}

fn cluster_settings(
    settings: &Settings,
    requests: Arc<Mutex<BTreeMap<&'static str, u64>>>,
    on_request: Option<OnRequest>,
) -> cluster::Settings {
    let set = settings.identity.sync_set();
    let owns = Arc::new(move |key: &Key, mark: &str| gc_mark(&set, &key.id()) == mark);
    let mut out = cluster::Settings::new(&settings.field_manager, GC_MARK_LABEL, owns);
    out.allow_namespaces.clone_from(&settings.allow_namespaces);
    out.exclude.clone_from(&settings.exclude_resources);
    out.validation = settings.validation;
    out.on_request = Arc::new(move |verb, status| {
        *requests.lock().unwrap_or_else(PoisonError::into_inner).entry(verb).or_default() += 1;
        if let Some(hook) = &on_request {
            hook(verb, status);
        }
    });
    out
}

/// Keeps the times and requests of a pass. Watches run beside passes, so their requests belong to none.
struct Book {
    outcome: Outcome,
    requests: Arc<Mutex<BTreeMap<&'static str, u64>>>,
    before: BTreeMap<&'static str, u64>,
}

impl Book {
    fn open(requests: &Arc<Mutex<BTreeMap<&'static str, u64>>>, revision: &str, reach: Reach) -> Self {
        let before = requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let outcome =
            Outcome { revision: revision.to_owned(), reach, started: Some(Timestamp::now()), ..Outcome::default() };
        Self { outcome, requests: Arc::clone(requests), before }
    }

    async fn stage<T>(&mut self, meter: &Meter, stage: Stage, work: impl Future<Output = T>) -> T {
        meter.begin(stage, 0);
        let began = Instant::now();
        let result = work.await;
        self.outcome.stages.push((stage, began.elapsed()));
        result
    }

    fn close(mut self, plan: Plan, stopped: Option<Stopped>) -> Passed {
        let after = self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let spent = after.into_iter().filter(|(verb, _)| *verb != "watch");
        let spent = spent.map(|(verb, n)| (verb, n - self.before.get(verb).copied().unwrap_or_default()));
        self.outcome.requests = spent.filter(|(_, n)| *n > 0).collect();
        self.outcome.held.clone_from(&plan.held);
        self.outcome.gc_off.clone_from(&plan.gc.off);
        self.outcome.managed = plan.gc.managed;
        self.outcome.stopped = stopped;
        self.outcome.ended = Some(Timestamp::now());
        Passed { plan: Arc::new(plan), outcome: self.outcome }
    }
}
