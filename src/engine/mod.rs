//! One pass as a list: read what is live, plan, apply, collect garbage. It has no timers and no triggers.

mod settings;

pub use settings::{Budget, Drift, Gc, Identity, Settings, Validation};
