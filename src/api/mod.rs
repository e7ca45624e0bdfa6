//! The words of conditions: types, statuses and reasons that appear in the status of objects. No custom resource is defined
//! here yet.

/// Condition types that several kinds share (kstatus and the API conventions).
pub mod condition {
    /// The object does what it is for.
    pub const READY: &str = "Ready";
    /// A controller is bringing the object to what its spec asks for.
    pub const RECONCILING: &str = "Reconciling";
    /// A controller has given up until somebody helps.
    pub const STALLED: &str = "Stalled";
    /// A Deployment's roll-out, an API's wait.
    pub const PROGRESSING: &str = "Progressing";
    /// The object serves.
    pub const AVAILABLE: &str = "Available";
}

/// Values of a condition's `status`.
pub mod status {
    /// It holds.
    pub const TRUE: &str = "True";
    /// It does not hold.
    pub const FALSE: &str = "False";
    /// Nobody can tell.
    pub const UNKNOWN: &str = "Unknown";
}
