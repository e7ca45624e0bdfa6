//! Metrics of kept tokens, with the names and labels of Flux's other controllers (resourceset §9).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus::{IntCounterVec, IntGaugeVec};

use super::{Builder, number};

/// What tokens are asked for in.
const OPERATION: &str = "reconcile";
const EVENTS: [&str; 2] = ["cache_hit", "cache_miss"];

/// Counts what happens to kept tokens. Clones share all values.
#[derive(Clone, Debug)]
pub struct TokenCache {
    events: IntCounterVec,
    items: IntGaugeVec,
    requests: IntCounterVec,
    evictions: IntCounterVec,
    /// The objects with series of their own, by kind, namespace and name.
    told: Arc<Mutex<HashSet<[String; 3]>>>,
}

impl TokenCache {
    pub(super) fn new(build: &Builder) -> Result<Self, prometheus::Error> {
        Ok(Self {
            events: build.counter(
                "flux_token_cache_events_total",
                "Number of tokens found, or not found, for an object.",
                &["event_type", "kind", "name", "namespace", "operation"],
            )?,
            items: build.gauge("flux_token_cached_items", "Number of kept tokens.", &[])?,
            requests: build.counter(
                "flux_token_cache_requests_total",
                "Number of requests for tokens, by success or failure.",
                &["status"],
            )?,
            evictions: build.counter(
                "flux_token_cache_evictions_total",
                "Number of tokens that made room for others.",
                &[],
            )?,
            told: Arc::default(),
        })
    }

    /// Makes the series that belong to no object appear.
    pub(super) fn show(&self) {
        self.items.with_label_values::<&str>(&[]).set(0);
        self.evictions.with_label_values::<&str>(&[]).inc_by(0);
        for status in ["success", "failure"] {
            self.requests.with_label_values(&[status]).inc_by(0);
        }
    }

    /// Counts a token that was there (`hit`) or was not, for an object of a kind.
    pub fn looked(&self, hit: bool, kind: &str, namespace: &str, name: &str) {
        let event = EVENTS[usize::from(!hit)];
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert([kind, namespace, name].map(str::to_owned));
        self.events.with_label_values(&[event, kind, name, namespace, OPERATION]).inc();
    }

    /// Counts a request for a token.
    pub fn requested(&self, success: bool) {
        self.requests.with_label_values(&[if success { "success" } else { "failure" }]).inc();
    }

    /// Counts a token that made room for another.
    pub fn evicted(&self) {
        self.evictions.with_label_values::<&str>(&[]).inc();
    }

    /// Sets how many tokens are kept.
    pub fn kept(&self, count: usize) {
        self.items.with_label_values::<&str>(&[]).set(number(count));
    }

    /// Removes the series of an object that is gone.
    pub(super) fn forget(&self, kind: &str, namespace: &str, name: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.remove(&[kind, namespace, name].map(str::to_owned)) {
            return;
        }
        for event in EVENTS {
            // there may have been events of one type only
            self.events.remove_label_values(&[event, kind, name, namespace, OPERATION]).ok();
        }
    }
}
