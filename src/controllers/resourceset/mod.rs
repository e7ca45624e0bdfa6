//! ResourceSet: objects made from templates and a matrix of inputs, and kept as they were made (resourceset §1-§7).

mod apply;
pub mod build;
pub mod dependency;
pub mod expression;
mod finalize;
mod halt;
mod inputs;
mod pass;
mod providers;
mod reconciler;
mod settings;
mod state;
pub mod transform;
pub mod watch;

pub use reconciler::{ResourceSetController, ResourceSets, controller};
pub use settings::Settings;
