//! Whether the process lives and is ready, and its metrics.

use std::time::Instant;

use axum::response::Response;
use http::StatusCode;

use super::answer;
use super::api::Api;
use crate::report::{ApiError, Metrics, MetricsError};
use crate::runtime::{Liveness, Readiness};

/// What the probes ask.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// Stages under way.
    pub liveness: Liveness,
    /// What is awaited.
    pub readiness: Readiness,
}

impl Probes {
    pub(super) fn live(&self) -> Response {
        let overdue: Vec<_> = self.liveness.overdue(Instant::now()).iter().map(ToString::to_string).collect();
        verdict(&overdue)
    }

    pub(super) fn ready(&self) -> Response {
        let awaited: Vec<_> = self.readiness.awaited().iter().map(|(what, why)| format!("{what}: {why}")).collect();
        verdict(&awaited)
    }
}

fn verdict(complaints: &[String]) -> Response {
    if complaints.is_empty() {
        return answer::plain(StatusCode::OK, "ok\n");
    }
    answer::plain(StatusCode::SERVICE_UNAVAILABLE, complaints.join("\n") + "\n")
}

pub(super) fn metrics(api: &impl Api) -> Result<Response, ApiError> {
    let metrics = api.metrics();
    metrics.paused(api.paused_since().is_some());
    exposed(&metrics).map_err(|e| ApiError::server("metrics could not be written", e.to_string()))
}

/// All series as Prometheus reads them.
pub(super) fn exposed(metrics: &Metrics) -> Result<Response, MetricsError> {
    Ok(answer::with_body(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", metrics.expose()?))
}
