//! Conditions in the status of objects: their words, and how they are set. The time comes as an argument.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::status;

/// The object does what it is for.
pub const READY: &str = "Ready";
/// A controller is bringing the object to what its spec asks for.
pub const RECONCILING: &str = "Reconciling";
/// A controller has given up until somebody helps.
pub const STALLED: &str = "Stalled";
/// A Deployment's roll-out, an API's wait; also the reason of a pass under way.
pub const PROGRESSING: &str = "Progressing";
/// The object serves.
pub const AVAILABLE: &str = "Available";

/// Reason: a pass failed, and another one follows.
pub const PROGRESSING_WITH_RETRY: &str = "ProgressingWithRetry";
/// Reason: a pass ended well.
pub const RECONCILIATION_SUCCEEDED: &str = "ReconciliationSucceeded";
/// Reason: a pass failed while it acted.
pub const RECONCILIATION_FAILED: &str = "ReconciliationFailed";
/// Reason: the object is suspended.
pub const RECONCILIATION_DISABLED: &str = "ReconciliationDisabled";
/// Reason: an object that this one depends on is missing or not ready.
pub const DEPENDENCY_NOT_READY: &str = "DependencyNotReady";
/// Reason: an expression over a dependency cannot be read.
pub const INVALID_CEL_EXPRESSION: &str = "InvalidCELExpression";
/// Reason: the spec, its inputs or its templates are wrong.
pub const BUILD_FAILED: &str = "BuildFailed";
/// Reason: something else woke the object while it waited for health.
pub const HEALTH_CHECK_CANCELED: &str = "HealthCheckCanceled";
/// Reason of the event that lists what was applied.
pub const APPLY_SUCCEEDED: &str = "ApplySucceeded";
/// Reason: outside of the schedule.
pub const SKIPPED_DUE_TO_SCHEDULE: &str = "SkippedDueToSchedule";
/// Reason: a schedule cannot be read.
pub const INVALID_SCHEDULE: &str = "InvalidSchedule";
/// Reason: default values cannot be read.
pub const INVALID_DEFAULT_VALUES: &str = "InvalidDefaultValues";
/// Reason: the spec breaks a rule that the schema also has.
pub const INVALID_SPEC: &str = "InvalidSpec";
/// Reason: what would be exported cannot be.
pub const INVALID_EXPORTED_INPUTS: &str = "InvalidExportedInputs";

/// Message of a pass under way.
pub const IN_PROGRESS_MESSAGE: &str = "Reconciliation in progress";

/// Bytes that a message may have (the API server's bound of a condition's message).
const MESSAGE_BYTES: usize = 32_768;

/// Order in which our condition types stand in a status (resourceset §7.3).
const ORDER: [&str; 3] = [STALLED, RECONCILING, READY];

/// What a condition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Says<'a> {
    /// Its type, such as [`READY`].
    pub kind: &'a str,
    /// One of [`status`]'s.
    pub status: &'a str,
    /// One word.
    pub reason: &'a str,
    /// A sentence for people; cut when longer than 32 KiB.
    pub message: &'a str,
}

impl<'a> Says<'a> {
    /// `kind` holds.
    pub fn yes(kind: &'a str, reason: &'a str, message: &'a str) -> Self {
        Self { kind, status: status::TRUE, reason, message }
    }

    /// `kind` does not hold.
    pub fn no(kind: &'a str, reason: &'a str, message: &'a str) -> Self {
        Self { kind, status: status::FALSE, reason, message }
    }

    /// Nobody can tell about `kind`.
    pub fn unknown(kind: &'a str, reason: &'a str, message: &'a str) -> Self {
        Self { kind, status: status::UNKNOWN, reason, message }
    }
}

/// The condition of a type.
pub fn get<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|c| c.type_ == kind)
}

/// Whether the condition of a type is `True`.
pub fn is_true(conditions: &[Condition], kind: &str) -> bool {
    get(conditions, kind).is_some_and(|c| c.status == status::TRUE)
}

/// Sets a condition. The time of the last transition moves when status, reason or message change (resourceset §7.3);
/// conditions are kept in the order Stalled, Reconciling, Ready, others after them.
pub fn set(conditions: &mut Vec<Condition>, says: &Says<'_>, generation: i64, now: Timestamp) {
    let message = cut(says.message);
    let found = conditions.iter_mut().find(|c| c.type_ == says.kind);
    if let Some(old) = found {
        old.observed_generation = Some(generation);
        if old.status == says.status && old.reason == says.reason && old.message == message {
            return;
        }
        old.status = says.status.to_owned();
        old.reason = says.reason.to_owned();
        old.message = message;
        old.last_transition_time = seconds(now);
        return;
    }
    conditions.push(Condition {
        type_: says.kind.to_owned(),
        status: says.status.to_owned(),
        reason: says.reason.to_owned(),
        message,
        observed_generation: Some(generation),
        last_transition_time: seconds(now),
    });
    conditions.sort_by_key(|c| ORDER.iter().position(|kind| *kind == c.type_).unwrap_or(ORDER.len()));
}

/// Removes the condition of a type, if there is one.
pub fn remove(conditions: &mut Vec<Condition>, kind: &str) {
    conditions.retain(|c| c.type_ != kind);
}

/// The API's times have whole seconds.
pub fn seconds(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

fn cut(message: &str) -> String {
    if message.len() <= MESSAGE_BYTES {
        return message.to_owned();
    }
    let mut end = MESSAGE_BYTES - 3;
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}...", &message[..end])
}
