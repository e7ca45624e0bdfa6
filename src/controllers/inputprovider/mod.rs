//! ResourceSetInputProvider: exports what exists elsewhere as inputs of ResourceSets (resourceset §8).

mod settings;

pub use settings::Settings;
