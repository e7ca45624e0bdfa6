//! Our custom resources as types with their schemas, and the words that their statuses share: conditions, inventories,
//! histories, annotations, durations. Functions of values only; nothing here acts or knows the time.

pub mod annotation;
pub mod condition;
pub mod duration;
pub mod history;
pub mod inputprovider;
pub mod inventory;
pub mod resourceset;
mod schema;
#[cfg(test)]
mod tests;

pub use schema::definitions;

/// API group of our custom resources.
pub const GROUP: &str = "fluxcd.controlplane.io";
/// `apiVersion` of our custom resources.
pub const API_VERSION: &str = "fluxcd.controlplane.io/v1";
/// Finalizer of our custom resources.
pub const FINALIZER: &str = "fluxcd.controlplane.io/finalizer";
/// Field manager of what is applied and of statuses, and source of events.
pub const FIELD_MANAGER: &str = "flux-operator";
/// Label of every generated object: name of the ResourceSet that owns it.
pub const OWNER_NAME_LABEL: &str = "resourceset.fluxcd.controlplane.io/name";
/// Label of every generated object: namespace of the ResourceSet that owns it.
pub const OWNER_NAMESPACE_LABEL: &str = "resourceset.fluxcd.controlplane.io/namespace";

/// Values of a condition's `status`.
pub mod status {
    /// It holds.
    pub const TRUE: &str = "True";
    /// It does not hold.
    pub const FALSE: &str = "False";
    /// Nobody can tell.
    pub const UNKNOWN: &str = "Unknown";
}
