//! The last outcomes of an object, in its status (resourceset §7.8).

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{condition, duration};

/// Outcomes that are kept.
const KEPT: usize = 5;

/// What came of one revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Checksum of what was reconciled, in the format `<algo>:<checksum>`.
    pub digest: String,
    /// When this outcome was first seen.
    pub first_reconciled: Time,
    /// When this outcome was last seen.
    pub last_reconciled: Time,
    /// How long the last such reconciliation took.
    pub last_reconciled_duration: String,
    /// The reason of the Ready condition after it.
    pub last_reconciled_status: String,
    /// How often there was this outcome.
    pub total_reconciliations: i64,
    /// More about the revision.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// One outcome, to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Checksum of what was reconciled.
    pub digest: String,
    /// The reason of the Ready condition.
    pub status: String,
    /// How long it took.
    pub took: Duration,
    /// More about the revision.
    pub metadata: BTreeMap<String, String>,
}

/// Records an outcome: one of equal digest and status is counted and moved to the front, another is put there; five are kept.
pub fn record(history: &mut Vec<Snapshot>, outcome: Outcome, now: Timestamp) {
    let now = condition::seconds(now);
    let found = history.iter().position(|s| s.digest == outcome.digest && s.last_reconciled_status == outcome.status);
    let old = found.map(|at| history.remove(at));
    let (first, total) = old.map_or((now.clone(), 0), |s| (s.first_reconciled, s.total_reconciliations));
    let snapshot = Snapshot {
        digest: outcome.digest,
        first_reconciled: first,
        last_reconciled: now,
        last_reconciled_duration: duration::format(outcome.took),
        last_reconciled_status: outcome.status,
        total_reconciliations: total + 1,
        metadata: outcome.metadata,
    };
    history.insert(0, snapshot);
    history.truncate(KEPT);
}

/// The last outcome.
pub fn latest(history: &[Snapshot]) -> Option<&Snapshot> {
    history.first()
}
