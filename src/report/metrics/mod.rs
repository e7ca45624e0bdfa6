//! Every metric of the process, in one place: v1's names, labels and buckets (fluxd-v1 §9) and our own `fluxd_*` ones, whose
//! labels have few values by construction. Serving them is elsewhere.
//!
//! A series appears after its first use, as v1's did.

use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{
    Encoder, GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder,
};

use crate::apply::{Done, Outcome};
use crate::plan::Reach;

mod controllers;
mod images;
mod tokens;

use controllers::Controllers;
pub use controllers::{ControllerMetrics, PassResult, Series, SeriesDetails};
pub use images::ImageWork;
use images::Images;
pub use tokens::TokenCache;

const SYNC_BUCKETS: [f64; 12] = [0.5, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 75.0, 90.0, 120.0, 240.0];
const JOB_BUCKETS: [f64; 12] = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 120.0];
/// Stages reach from a no-change plan of a millisecond to a first apply of minutes.
const STAGE_BUCKETS: [f64; 12] = [0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 300.0];

/// A metric that could not be registered or written; a mistake in this file.
#[derive(Debug, thiserror::Error)]
#[error("metrics: {0}")]
pub struct MetricsError(#[from] prometheus::Error);

/// The process's metrics and the registry that holds them. Clones share all values.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    v1: V1,
    images: Images,
    own: Own,
    controllers: Controllers,
}

/// What v1 had.
#[derive(Clone, Debug)]
struct V1 {
    sync: HistogramVec,
    manifests: IntGaugeVec,
    job: HistogramVec,
    queue: HistogramVec,
    queue_length: IntGaugeVec,
    git_ready: IntGaugeVec,
    request: HistogramVec,
    scrapes: IntCounterVec,
    connection: GaugeVec,
}

/// What it had not.
#[derive(Clone, Debug)]
struct Own {
    objects: IntGaugeVec,
    stage: HistogramVec,
    api_requests: IntCounterVec,
    gc_held: IntGaugeVec,
    drift: IntCounterVec,
    generator: HistogramVec,
    last_sync: GaugeVec,
    paused: IntGaugeVec,
    shed: IntCounterVec,
    events_lost: IntCounterVec,
    build: IntGaugeVec,
}

/// Registers as it builds, so that a metric cannot be forgotten.
struct Builder(Registry);

impl Builder {
    fn add<C: Collector + Clone + 'static>(&self, collector: C) -> Result<C, prometheus::Error> {
        self.0.register(Box::new(collector.clone()))?;
        Ok(collector)
    }

    fn histogram(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        buckets: &[f64],
    ) -> Result<HistogramVec, prometheus::Error> {
        self.add(HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets.to_vec()), labels)?)
    }

    fn gauge(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, prometheus::Error> {
        self.add(IntGaugeVec::new(Opts::new(name, help), labels)?)
    }

    fn counter(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, prometheus::Error> {
        self.add(IntCounterVec::new(Opts::new(name, help), labels)?)
    }
}

impl V1 {
    fn new(build: &Builder) -> Result<Self, prometheus::Error> {
        let default = prometheus::DEFAULT_BUCKETS;
        Ok(Self {
            sync: build.histogram(
                "flux_daemon_sync_duration_seconds",
                "Duration of git-to-cluster synchronisation, in seconds.",
                &["success"],
                &SYNC_BUCKETS,
            )?,
            manifests: build.gauge(
                "flux_daemon_sync_manifests",
                "Number of manifests applied, or failing to apply, at the last synchronisation.",
                &["success"],
            )?,
            job: build.histogram(
                "flux_daemon_job_duration_seconds",
                "Duration of job execution, in seconds.",
                &["success"],
                &JOB_BUCKETS,
            )?,
            queue: build.histogram(
                "flux_daemon_queue_duration_seconds",
                "Duration of time spent in the job queue before execution, in seconds.",
                &[],
                &JOB_BUCKETS,
            )?,
            queue_length: build.gauge(
                "flux_daemon_queue_length_count",
                "Count of jobs waiting in the queue to be run.",
                &[],
            )?,
            git_ready: build.gauge("flux_git_ready", "Status of the git repository: 1 ready, 0 not ready.", &[])?,
            request: build.histogram(
                "flux_request_duration_seconds",
                "Time spent serving HTTP requests, in seconds.",
                &["method", "route", "status_code", "ws"],
                default,
            )?,
            connection: build.add(GaugeVec::new(
                Opts::new(
                    "flux_fluxd_connection_duration_seconds",
                    "Duration in seconds of the current connection to the upstream service; zero means unconnected.",
                ),
                &["target"],
            )?)?,
            scrapes: build.counter(
                "promhttp_metric_handler_requests_total",
                "Total number of scrapes by HTTP status code.",
                &["code"],
            )?,
        })
    }
}

impl Own {
    fn new(build: &Builder) -> Result<Self, prometheus::Error> {
        Ok(Self {
            objects: build.gauge(
                "fluxd_objects",
                "Number of desired objects by state at the last pass.",
                &["state"],
            )?,
            stage: build.histogram(
                "fluxd_pass_stage_duration_seconds",
                "Duration of each stage of a pass, in seconds.",
                &["stage"],
                &STAGE_BUCKETS,
            )?,
            api_requests: build.counter(
                "fluxd_api_requests_total",
                "Number of requests to the Kubernetes API by verb and class of status code.",
                &["verb", "code"],
            )?,
            gc_held: build.gauge("fluxd_gc_held", "Number of deletes held back until somebody approves them.", &[])?,
            drift: build.counter(
                "fluxd_drift_corrections_total",
                "Number of objects put back after somebody else changed them.",
                &[],
            )?,
            generator: build.histogram(
                "fluxd_generator_duration_seconds",
                "Duration of generator commands, in seconds.",
                &["success"],
                &STAGE_BUCKETS,
            )?,
            last_sync: build.add(GaugeVec::new(
                Opts::new("fluxd_last_sync_timestamp_seconds", "Unix time at which the last synchronisation ended."),
                &["success"],
            )?)?,
            paused: build.gauge("fluxd_paused", "Whether synchronisation is paused: 1 paused, 0 running.", &[])?,
            shed: build.counter(
                "fluxd_http_shed_total",
                "Number of HTTP requests refused because too many were being served.",
                &[],
            )?,
            events_lost: build.counter(
                "fluxd_upstream_events_lost_total",
                "Number of events that could not be told to the upstream service.",
                &[],
            )?,
            build: build.gauge("fluxd_build_info", "Always 1; the version is a label.", &["version"])?,
        })
    }
}

impl Metrics {
    /// Makes all metrics; `version` becomes a label of `fluxd_build_info`.
    ///
    /// # Errors
    /// When two definitions clash.
    pub fn new(version: &str) -> Result<Self, MetricsError> {
        let build = Builder(Registry::new());
        build.0.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;
        let metrics = Self {
            v1: V1::new(&build)?,
            images: Images::new(&build)?,
            own: Own::new(&build)?,
            controllers: Controllers::new(&build)?,
            registry: build.0,
        };
        metrics.own.build.with_label_values(&[version]).set(1);
        Ok(metrics)
    }

    /// The metrics of a controller; `workers` is how many of its passes run at most at a time.
    pub fn controller(&self, name: &'static str, workers: usize) -> ControllerMetrics {
        ControllerMetrics::new(self.controllers.clone(), name, workers)
    }

    /// The metrics of kept tokens, of which those that belong to no object appear at once.
    pub fn token_cache(&self) -> TokenCache {
        self.controllers.tokens.show();
        self.controllers.tokens.clone()
    }

    /// Counts a request to an API server in the metric that controller-runtime has; status 0 is no answer.
    pub fn rest_request(&self, status: u16, host: &str, method: &str) {
        self.controllers.request(status, host, method);
    }

    /// Counts one sync.
    pub fn sync_duration(&self, success: bool, took: Duration) {
        self.v1.sync.with_label_values(&[word(success)]).observe(took.as_secs_f64());
    }

    /// Sets how many manifests were applied and how many failed at the last sync.
    pub fn sync_manifests(&self, applied: usize, failed: usize) {
        self.v1.manifests.with_label_values(&["true"]).set(number(applied));
        self.v1.manifests.with_label_values(&["false"]).set(number(failed));
    }

    /// Counts one job.
    pub fn job(&self, took: Duration, success: bool) {
        self.v1.job.with_label_values(&[word(success)]).observe(took.as_secs_f64());
    }

    /// Counts how long one job waited for its turn.
    pub fn queued(&self, waited: Duration) {
        self.v1.queue.with_label_values::<&str>(&[]).observe(waited.as_secs_f64());
    }

    /// Counts work on registries and on what is remembered of them.
    pub fn images(&self, work: ImageWork, took: Duration, success: bool) {
        self.images.observe(work, took, success);
    }

    /// Counts a release: `latest_images`, `specific_image`, `containers` or `automated`; planned or executed.
    pub fn release(&self, release_type: &'static str, is_plan: bool, took: Duration, success: bool) {
        let kind = if is_plan { "plan" } else { "execute" };
        let labels = [release_type, kind, word(success)];
        self.images.release.with_label_values(&labels).observe(took.as_secs_f64());
    }

    /// Counts a stage of a release: `select_workloads`, `lookup_images`, `write_changes` or `verify_changes`.
    pub fn release_stage(&self, stage: &'static str, took: Duration) {
        self.images.stage.with_label_values(&[stage]).observe(took.as_secs_f64());
    }

    /// Sets how many jobs wait.
    pub fn queue_length(&self, jobs: usize) {
        self.v1.queue_length.with_label_values::<&str>(&[]).set(number(jobs));
    }

    /// Sets whether the repository is ready.
    pub fn git_ready(&self, ready: bool) {
        self.v1.git_ready.with_label_values::<&str>(&[]).set(ready.into());
    }

    /// Counts one HTTP request; `route` is the route's name, never a path that a client chose.
    pub fn request(&self, method: &'static str, route: &'static str, status: u16, took: Duration) {
        let status = status.to_string();
        self.v1.request.with_label_values(&[method, route, &status, "false"]).observe(took.as_secs_f64());
    }

    /// Sets for how long the upstream service has been connected; zero when it is not.
    pub fn connected(&self, target: &str, since: Duration) {
        self.v1.connection.with_label_values(&[target]).set(since.as_secs_f64());
    }

    /// Counts events that the upstream service is not told.
    pub fn events_lost(&self, count: u64) {
        self.own.events_lost.with_label_values::<&str>(&[]).inc_by(count);
    }

    /// Counts one HTTP request refused under load.
    pub fn shed(&self) {
        self.own.shed.with_label_values::<&str>(&[]).inc();
    }

    /// Counts what a pass came to: objects by state, time by stage, deletes held back, drift put right.
    pub fn pass(&self, outcome: &Outcome) {
        for (stage, took) in &outcome.stages {
            self.own.stage.with_label_values(&[stage.as_str()]).observe(took.as_secs_f64());
        }
        let wrote = |done: &Done| matches!(done, Done::Created | Done::Configured | Done::Recreated);
        if outcome.reach == Reach::Drift {
            let corrected = outcome.results.iter().filter(|r| wrote(&r.done)).count();
            self.own.drift.with_label_values::<&str>(&[]).inc_by(corrected as u64);
            return;
        }
        for (state, count) in states(outcome) {
            self.own.objects.with_label_values(&[state]).set(number(count));
        }
        let held = outcome.held.as_ref().map_or(0, |held| held.deletes.len());
        self.own.gc_held.with_label_values::<&str>(&[]).set(number(held));
        if let Some(ended) = outcome.ended {
            let seconds = ended.as_second() as f64;
            self.own.last_sync.with_label_values(&[word(outcome.is_success())]).set(seconds);
        }
    }

    /// Counts a request to the API server. An unknown verb counts as `other`; the status becomes its class (`2xx`), or
    /// `none` when there was no answer, which is status 0.
    pub fn api_request(&self, verb: &str, status: u16) {
        const VERBS: [&str; 9] = ["apply", "create", "delete", "get", "list", "patch", "update", "watch", "discovery"];
        const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];
        let verb = VERBS.iter().find(|known| known.eq_ignore_ascii_case(verb)).unwrap_or(&"other");
        let class = CLASSES.get(usize::from(status / 100)).unwrap_or(&"none");
        self.own.api_requests.with_label_values(&[*verb, *class]).inc();
    }

    /// Counts one generator command.
    pub fn generator(&self, took: Duration, success: bool) {
        self.own.generator.with_label_values(&[word(success)]).observe(took.as_secs_f64());
    }

    /// Sets whether synchronisation is paused.
    pub fn paused(&self, paused: bool) {
        self.own.paused.with_label_values::<&str>(&[]).set(paused.into());
    }

    /// All series in the Prometheus text format, this scrape counted.
    ///
    /// # Errors
    /// When a collector yields what cannot be written.
    pub fn expose(&self) -> Result<Vec<u8>, MetricsError> {
        self.v1.scrapes.with_label_values(&["200"]).inc();
        self.controllers.refresh();
        let mut out = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut out)?;
        Ok(out)
    }
}

/// The states of wanted objects after a whole pass; every state is there, so that a series goes back to zero.
fn states(outcome: &Outcome) -> [(&'static str, usize); 4] {
    let count = |is: fn(&Done) -> bool| outcome.results.iter().filter(|r| is(&r.done)).count();
    [
        ("synced", count(|d| matches!(d, Done::Created | Done::Configured | Done::Recreated | Done::Unchanged))),
        ("failed", count(|d| matches!(d, Done::Failed(_)))),
        ("skipped", count(|d| matches!(d, Done::Skipped(_)))),
        ("held", count(|d| matches!(d, Done::Held(_)))),
    ]
}

fn word(success: bool) -> &'static str {
    if success { "true" } else { "false" }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
