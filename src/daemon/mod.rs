//! The git loop: one [`Component`](crate::operator::Component) whose spec is flags and whose desired state is a git tree.
//!
//! It is a user of the operator library like any other: it says what a commit wants, hears what became of it, and then
//! moves the sync marker. It never looks into the engine.

mod automation;
mod commit;
mod component;
mod events;
mod feed;
mod handle;
mod head;
mod identity;
mod images;
mod jobs;
mod live;
mod marker;
mod policies;
mod release;
mod services;
mod settings;
mod shared;
mod snapshot;
mod sync_job;
mod trace;
mod wants;
mod words;
mod worker;

pub use component::Daemon;
pub use feed::{Feed, Item, job_news};
pub use handle::Handle;
pub use identity::open_key_ring;
pub use settings::{MarkerStore, Settings};
pub use shared::Parts;
