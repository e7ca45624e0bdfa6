//! ResourceSet: objects made from templates and a matrix of inputs, and kept as they were made (resourceset §1-§7).

pub mod build;
pub mod dependency;
pub mod expression;
mod inputs;
pub mod transform;
pub mod watch;
