//! One pass as a list: read what is live, plan, apply, collect garbage. It has no timers and no triggers.

pub mod owned;
mod pass;
mod probe;
mod read;
mod records;
mod resolve;
mod settings;
#[cfg(test)]
mod tests;

pub use crate::cluster::Validation;
pub use pass::{Engine, Frame, Passed, Want};
pub use records::CacheError;
pub use settings::{Budget, Drift, Gc, Identity, Settings};
