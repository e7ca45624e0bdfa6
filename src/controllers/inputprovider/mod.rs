//! ResourceSetInputProvider: exports what exists elsewhere as inputs of ResourceSets (resourceset §8). One pass lists once;
//! whatever fails, what was exported before stays in the status and in use.

mod artifacts;
mod call;
mod cluster;
mod pass;
mod reconciler;
mod rules;
mod settings;
mod state;

pub use reconciler::{InputProviders, controller};
pub use settings::Settings;
