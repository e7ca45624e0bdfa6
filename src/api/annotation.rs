//! Annotations by which users steer our custom resources and what they generate (resourceset §2.5), and their values.

use std::collections::BTreeMap;
use std::time::Duration;

use super::duration;

/// Suspends an object, or leaves out a generated one.
pub const RECONCILE: &str = "fluxcd.controlplane.io/reconcile";
/// How often an object is reconciled.
pub const RECONCILE_EVERY: &str = "fluxcd.controlplane.io/reconcileEvery";
/// How long health checks (ResourceSet) or provider calls (input provider) may take.
pub const RECONCILE_TIMEOUT: &str = "fluxcd.controlplane.io/reconcileTimeout";
/// Recreates objects whose immutable fields change.
pub const FORCE: &str = "fluxcd.controlplane.io/force";
/// Keeps an object from garbage collection.
pub const PRUNE: &str = "fluxcd.controlplane.io/prune";
/// Recreates failed Jobs.
pub const RECREATE_ON_FAILURE: &str = "fluxcd.controlplane.io/recreateOnFailure";
/// Copies data of a ConfigMap or Secret.
pub const COPY_FROM: &str = "fluxcd.controlplane.io/copyFrom";
/// Takes address and CA out of a kubeconfig in a Secret.
pub const CONVERT_KUBECONFIG_FROM: &str = "fluxcd.controlplane.io/convertKubeConfigFrom";
/// Asks for a checksum of ConfigMaps and Secrets.
pub const CHECKSUM_FROM: &str = "fluxcd.controlplane.io/checksumFrom";
/// The checksum asked for.
pub const CHECKSUM: &str = "fluxcd.controlplane.io/checksum";
/// Asks for a reconciliation; any new value does.
pub const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
/// Asks an input provider for a run outside of its schedule; equal to [`REQUESTED_AT`].
pub const FORCE_AT: &str = "reconcile.fluxcd.io/forceAt";
/// Who suspended an object.
pub const SUSPENDED_BY: &str = "fluxcd.controlplane.io/suspendedBy";
/// Metadata of events: revision.
pub const EVENT_REVISION: &str = "fluxcd.controlplane.io/revision";
/// Metadata of events: a token that makes each of them unique.
pub const EVENT_TOKEN: &str = "fluxcd.controlplane.io/token";
/// Annotations with this prefix are copied into the metadata of events.
pub const EVENT_PREFIX: &str = "event.toolkit.fluxcd.io/";

/// The value that switches [`RECONCILE`] and [`PRUNE`] off.
pub const DISABLED: &str = "disabled";
/// The value that switches [`FORCE`] and [`RECREATE_ON_FAILURE`] on.
pub const ENABLED: &str = "enabled";

/// Periods of a kind where no annotation says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// How often an object is reconciled.
    pub every: Duration,
    /// How long it may take.
    pub timeout: Duration,
}

/// Periods of ResourceSets.
pub const RESOURCE_SET: Defaults = Defaults { every: Duration::from_hours(1), timeout: Duration::from_mins(5) };
/// Periods of input providers.
pub const INPUT_PROVIDER: Defaults = Defaults { every: Duration::from_mins(10), timeout: Duration::from_mins(2) };

/// An object's annotations.
pub type Annotations = BTreeMap<String, String>;

/// Whether the object is suspended.
pub fn is_disabled(annotations: &Annotations) -> bool {
    annotations.get(RECONCILE).is_some_and(|v| v.eq_ignore_ascii_case(DISABLED))
}

/// Whether objects with immutable changes are recreated.
pub fn is_forced(annotations: &Annotations) -> bool {
    annotations.get(FORCE).is_some_and(|v| v.eq_ignore_ascii_case(ENABLED))
}

/// How often the object is reconciled; `None` when it is suspended or the period is zero or negative. What is no duration
/// counts as absent.
pub fn every(annotations: &Annotations, defaults: Defaults) -> Option<Duration> {
    if is_disabled(annotations) {
        return None;
    }
    match annotations.get(RECONCILE_EVERY).map(|v| duration::parse(v)) {
        Some(Ok(nanos)) => u64::try_from(nanos).ok().filter(|n| *n > 0).map(Duration::from_nanos),
        Some(Err(_)) | None => Some(defaults.every),
    }
}

/// How long the object's health checks or calls may take. What is no duration counts as absent; a negative one as zero.
pub fn timeout(annotations: &Annotations, defaults: Defaults) -> Duration {
    match annotations.get(RECONCILE_TIMEOUT).map(|v| duration::parse(v)) {
        Some(Ok(nanos)) => Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)),
        Some(Err(_)) | None => defaults.timeout,
    }
}

/// The token of a requested reconciliation.
pub fn requested_at(annotations: &Annotations) -> Option<&str> {
    annotations.get(REQUESTED_AT).map(String::as_str)
}
