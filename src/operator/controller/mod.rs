//! Controllers: a kind with passes of its own ([`Reconcile`]), and a [`Controller`] that watches, queues and runs them.
//! What a pass does is the author's; objects for which others are applied are simpler written as a
//! [`Composite`](crate::operator::Composite).

mod builder;
mod events;
mod forward;
mod interest;
mod pass;
mod queue;
mod reconcile;
mod recorder;
mod run;
mod settings;
mod shard;
mod status;
mod store;
mod watch;

pub use crate::report::{Series, SeriesDetails};
pub use builder::{Controller, ControllerHandle, TriggerFilter};
pub use events::Forward;
pub use kube::runtime::reflector::ObjectRef;
pub use kube::runtime::watcher::Config as WatchConfig;
pub use pass::{Dependency, Pass, WriteError};
pub use reconcile::{Event, Finalize, Managed, Next, Reconcile, Trigger};
pub use settings::ControllerSettings;
pub use shard::Shard;
pub use store::Store;

#[cfg(test)]
mod tests;
