//! v1's metrics of images: what registries were asked, what was remembered, and the releases made of it (fluxd-v1 §9).

use std::time::Duration;

use prometheus::HistogramVec;

use super::{Builder, word};

/// What is done about images beside deciding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageWork {
    /// A repository was scanned.
    Fetch,
    /// A repository's tags were listed.
    Tags,
    /// An image's metadata was fetched.
    Metadata,
    /// An answer was looked up.
    CacheGet,
    /// An answer was kept.
    CacheSet,
}

#[derive(Clone, Debug)]
pub(super) struct Images {
    cache: HistogramVec,
    fetch: HistogramVec,
    client: HistogramVec,
    pub(super) release: HistogramVec,
    pub(super) stage: HistogramVec,
}

impl Images {
    pub(super) fn new(build: &Builder) -> Result<Self, prometheus::Error> {
        let default = prometheus::DEFAULT_BUCKETS;
        Ok(Self {
            cache: build.histogram(
                "flux_cache_request_duration_seconds",
                "Duration of cache requests, in seconds.",
                &["method", "success"],
                default,
            )?,
            fetch: build.histogram(
                "flux_registry_fetch_duration_seconds",
                "Duration of image metadata requests (from cache), in seconds.",
                &["success"],
                default,
            )?,
            client: build.histogram(
                "flux_client_fetch_duration_seconds",
                "Duration of remote image metadata requests, in seconds.",
                &["kind", "success"],
                default,
            )?,
            release: build.histogram(
                "flux_fluxsvc_release_duration_seconds",
                "Release method duration, in seconds.",
                &["release_type", "release_kind", "success"],
                default,
            )?,
            stage: build.histogram(
                "flux_fluxsvc_release_stage_duration_seconds",
                "Duration in seconds of each stage of a release, including dry-runs.",
                &["stage"],
                default,
            )?,
        })
    }

    pub(super) fn observe(&self, work: ImageWork, took: Duration, success: bool) {
        let success = word(success);
        let series = match work {
            ImageWork::Fetch => self.fetch.with_label_values(&[success]),
            ImageWork::Tags => self.client.with_label_values(&["tags", success]),
            ImageWork::Metadata => self.client.with_label_values(&["metadata", success]),
            ImageWork::CacheGet => self.cache.with_label_values(&["GetKey", success]),
            ImageWork::CacheSet => self.cache.with_label_values(&["SetKey", success]),
        };
        series.observe(took.as_secs_f64());
    }
}
