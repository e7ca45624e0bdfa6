//! Metrics of controllers, with the names and labels that users of controller-runtime have alerts on, and the info metrics
//! of our custom resources (resourceset §9). One series per object, replaced after each pass and removed with the object.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus::{GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec, Opts};

use super::tokens::TokenCache;
use super::{Builder, number};

const PASS_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5,
    1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
];
const QUEUE_BUCKETS: [f64; 12] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0];

/// How a pass ended, as the label `result` of `controller_runtime_reconcile_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassResult {
    /// Done; nothing is due by itself.
    Success,
    /// Failed.
    Error,
    /// Failed, and is not tried again by itself.
    TerminalError,
    /// Wanted again at once, or with a back-off.
    Requeue,
    /// Wanted again later.
    RequeueAfter,
}

impl PassResult {
    fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error | Self::TerminalError => "error",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
        }
    }
}

/// The info series of an object: its labels; the value is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The object's uid.
    pub uid: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The status of its condition Ready: `True`, `False` or `Unknown`.
    pub ready: String,
    /// The reason of that condition.
    pub reason: String,
    /// Whether somebody paused it.
    pub suspended: bool,
    /// What its kind adds, and by it which metric the series belongs to.
    pub details: SeriesDetails,
}

/// Labels that only some kinds have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeriesDetails {
    /// `flux_resourceset_info`.
    ResourceSet {
        /// Size of the inventory.
        resources: usize,
        /// The revision applied last.
        revision: String,
    },
    /// `flux_resourcesetinputprovider_info`.
    InputProvider {
        /// Where it asks.
        url: String,
    },
    /// `fluxd_object_info`: any other kind.
    Object,
}

/// All metrics of all controllers.
#[derive(Clone, Debug)]
pub(super) struct Controllers {
    passes: IntCounterVec,
    errors: IntCounterVec,
    terminal_errors: IntCounterVec,
    panics: IntCounterVec,
    time: HistogramVec,
    active: IntGaugeVec,
    most_active: IntGaugeVec,
    queue: QueueSeries,
    requests: IntCounterVec,
    resource_sets: IntGaugeVec,
    input_providers: IntGaugeVec,
    objects: IntGaugeVec,
    pub(super) tokens: TokenCache,
    /// The series told last, by kind, namespace and name, with its labels' values in order.
    told: Arc<Mutex<HashMap<[String; 3], Series>>>,
    running: Arc<Mutex<HashMap<&'static str, HashMap<u64, Instant>>>>,
}

#[derive(Clone, Debug)]
struct QueueSeries {
    depth: IntGaugeVec,
    adds: IntCounterVec,
    retries: IntCounterVec,
    waited: HistogramVec,
    worked: HistogramVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
}

impl QueueSeries {
    fn new(build: &Builder) -> Result<Self, prometheus::Error> {
        let by = ["controller", "name"];
        let gauge = |name, help| build.add(GaugeVec::new(Opts::new(name, help), &by)?);
        Ok(Self {
            depth: build.gauge(
                "workqueue_depth",
                "Number of objects whose next pass is due and has not begun.",
                &by,
            )?,
            adds: build.counter("workqueue_adds_total", "Number of objects put into the queue.", &by)?,
            retries: build.counter("workqueue_retries_total", "Number of passes repeated with a back-off.", &by)?,
            waited: build.histogram(
                "workqueue_queue_duration_seconds",
                "Time between the moment a pass is due and its start, in seconds.",
                &by,
                &QUEUE_BUCKETS,
            )?,
            worked: build.histogram(
                "workqueue_work_duration_seconds",
                "Duration of passes, in seconds.",
                &by,
                &QUEUE_BUCKETS,
            )?,
            unfinished: gauge(
                "workqueue_unfinished_work_seconds",
                "Sum of the times that running passes have taken until this scrape, in seconds.",
            )?,
            longest: gauge(
                "workqueue_longest_running_processor_seconds",
                "Time that the longest running pass has taken until this scrape, in seconds.",
            )?,
        })
    }
}

impl Controllers {
    pub(super) fn new(build: &Builder) -> Result<Self, prometheus::Error> {
        let by = ["controller"];
        let common = ["uid", "kind", "name", "exported_namespace", "ready", "reason", "suspended"];
        let info = |name: &str, help: &str, more: &[&str]| build.gauge(name, help, &[&common[..], more].concat());
        Ok(Self {
            passes: build.counter(
                "controller_runtime_reconcile_total",
                "Number of passes by controller and result.",
                &["controller", "result"],
            )?,
            errors: build.counter("controller_runtime_reconcile_errors_total", "Number of failed passes.", &by)?,
            terminal_errors: build.counter(
                "controller_runtime_terminal_reconcile_errors_total",
                "Number of failed passes that are not repeated by themselves.",
                &by,
            )?,
            panics: build.counter(
                "controller_runtime_reconcile_panics_total",
                "Number of passes that panicked.",
                &by,
            )?,
            time: build.histogram(
                "controller_runtime_reconcile_time_seconds",
                "Duration of passes, in seconds.",
                &by,
                &PASS_BUCKETS,
            )?,
            active: build.gauge("controller_runtime_active_workers", "Number of workers in use.", &by)?,
            most_active: build.gauge("controller_runtime_max_concurrent_reconciles", "Number of workers.", &by)?,
            queue: QueueSeries::new(build)?,
            requests: build.counter(
                "rest_client_requests_total",
                "Number of requests to the API server by status code, method and host.",
                &["code", "host", "method"],
            )?,
            resource_sets: info("flux_resourceset_info", "A ResourceSet; always 1.", &["resources", "revision"])?,
            input_providers: info(
                "flux_resourcesetinputprovider_info",
                "A ResourceSetInputProvider; always 1.",
                &["url"],
            )?,
            objects: info("fluxd_object_info", "An object of any other kind with a controller; always 1.", &[])?,
            tokens: TokenCache::new(build)?,
            told: Arc::default(),
            running: Arc::default(),
        })
    }

    /// Brings the gauges that depend on the moment up to date; called before a scrape.
    pub(super) fn refresh(&self) {
        for (controller, passes) in lock(&self.running).iter() {
            let ages = || passes.values().map(|began| began.elapsed().as_secs_f64());
            let by = [*controller, *controller];
            self.queue.unfinished.with_label_values(&by).set(ages().sum());
            self.queue.longest.with_label_values(&by).set(ages().fold(0.0, f64::max));
        }
    }

    pub(super) fn request(&self, code: u16, host: &str, method: &str) {
        let code = if code == 0 { "<error>".to_owned() } else { code.to_string() };
        self.requests.with_label_values(&[code.as_str(), host, method]).inc();
    }

    fn gauge(&self, series: &Series) -> (&IntGaugeVec, Vec<String>) {
        let suspended = if series.suspended { "True" } else { "False" };
        let mut labels: Vec<String> =
            [&series.uid, &series.kind, &series.name, &series.namespace, &series.ready, &series.reason]
                .map(String::clone)
                .into();
        labels.push(suspended.to_owned());
        match &series.details {
            SeriesDetails::ResourceSet { resources, revision } => {
                labels.extend([resources.to_string(), revision.clone()]);
                (&self.resource_sets, labels)
            }
            SeriesDetails::InputProvider { url } => {
                labels.push(url.clone());
                (&self.input_providers, labels)
            }
            SeriesDetails::Object => (&self.objects, labels),
        }
    }
}

/// The metrics of one controller. Clones share all values.
#[derive(Clone, Debug)]
pub struct ControllerMetrics {
    name: &'static str,
    all: Controllers,
}

impl ControllerMetrics {
    /// Makes every series of the controller appear; `workers` is how many passes run at most at a time.
    pub(super) fn new(all: Controllers, name: &'static str, workers: usize) -> Self {
        all.most_active.with_label_values(&[name]).set(number(workers));
        all.active.with_label_values(&[name]).set(0);
        all.errors.with_label_values(&[name]).inc_by(0);
        all.terminal_errors.with_label_values(&[name]).inc_by(0);
        all.panics.with_label_values(&[name]).inc_by(0);
        for result in [PassResult::Success, PassResult::Error, PassResult::Requeue, PassResult::RequeueAfter] {
            all.passes.with_label_values(&[name, result.word()]).inc_by(0);
        }
        all.queue.adds.with_label_values(&[name, name]).inc_by(0);
        all.queue.retries.with_label_values(&[name, name]).inc_by(0);
        lock(&all.running).entry(name).or_default();
        Self { name, all }
    }

    /// Counts objects put into the queue.
    pub fn added(&self) {
        self.all.queue.adds.with_label_values(&[self.name, self.name]).inc();
    }

    /// Counts a pass that will be repeated with a back-off.
    pub fn retried(&self) {
        self.all.queue.retries.with_label_values(&[self.name, self.name]).inc();
    }

    /// Sets how many passes are due and have not begun, and how many workers are in use.
    pub fn load(&self, depth: usize, active: usize) {
        self.all.queue.depth.with_label_values(&[self.name, self.name]).set(number(depth));
        self.all.active.with_label_values(&[self.name]).set(number(active));
    }

    /// Notes that a pass begins, `waited` after it was due; `number` tells it from the others that run.
    pub fn began(&self, number: u64, waited: Duration) {
        self.all.queue.waited.with_label_values(&[self.name, self.name]).observe(waited.as_secs_f64());
        lock(&self.all.running).entry(self.name).or_default().insert(number, Instant::now());
    }

    /// Notes that a pass has ended.
    pub fn ended(&self, number: u64, result: PassResult) {
        let began = lock(&self.all.running).entry(self.name).or_default().remove(&number);
        let took = began.map_or(0.0, |began| began.elapsed().as_secs_f64());
        self.all.queue.worked.with_label_values(&[self.name, self.name]).observe(took);
        self.all.time.with_label_values(&[self.name]).observe(took);
        self.all.passes.with_label_values(&[self.name, result.word()]).inc();
        if matches!(result, PassResult::Error | PassResult::TerminalError) {
            self.all.errors.with_label_values(&[self.name]).inc();
        }
        if result == PassResult::TerminalError {
            self.all.terminal_errors.with_label_values(&[self.name]).inc();
        }
    }

    /// Counts a pass that panicked.
    pub fn panicked(&self) {
        self.all.panics.with_label_values(&[self.name]).inc();
    }

    /// Sets the one series of an object.
    pub fn tell(&self, series: Series) {
        let key = [series.kind.clone(), series.namespace.clone(), series.name.clone()];
        let mut told = lock(&self.all.told);
        if told.get(&key) == Some(&series) {
            return;
        }
        if let Some(before) = told.remove(&key) {
            self.remove(&before);
        }
        let (gauge, labels) = self.all.gauge(&series);
        gauge.with_label_values(&labels).set(1);
        told.insert(key, series);
    }

    /// Removes the series of an object that is gone.
    pub fn forget(&self, kind: &str, namespace: &str, name: &str) {
        self.all.tokens.forget(kind, namespace, name);
        let key = [kind, namespace, name].map(str::to_owned);
        if let Some(before) = lock(&self.all.told).remove(&key) {
            self.remove(&before);
        }
    }

    fn remove(&self, series: &Series) {
        let (gauge, labels) = self.all.gauge(series);
        if let Err(error) = gauge.remove_label_values(&labels) {
            tracing::debug!(%error, "a series to be removed was not there");
        }
    }
}

/// A panic while a lock was held cannot leave its value half-written: each critical section is one insertion or removal.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
