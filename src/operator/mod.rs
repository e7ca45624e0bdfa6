//! The public library: say what is wanted ([`Component`]), and an [`Operator`] keeps a cluster equal to it. The daemon
//! is a user of this room like any other.
//!
//! What an operator promises:
//! - one pass at a time, each with a deadline and an outcome, however badly it goes;
//! - a pass that finds nothing to do sends nothing;
//! - what others change is put right when it happens, with growing patience where another controller insists;
//! - nothing is deleted on incomplete knowledge, nor more than the budget without an approval;
//! - when it is asked to stop, the objects under way are finished and nothing new is begun.

mod component;
mod contention;
pub mod controller;
mod handle;
mod own;
mod preview;
pub mod reads;
mod reviews;
mod run;
pub mod sets;
mod triggers;

pub use crate::apply::{Done, Failure, FailureKind, ObjectResult, Outcome, Progress, Stage, Stopped};
pub use crate::cluster::{ConnectError, OnRequest, client};
pub use crate::engine::{Budget, CacheError, Drift, Gc, Identity, Settings, Validation};
pub use crate::plan::{Action, GcSummary, Held, HeldDelete, HoldReason, Plan, Reach, SkipReason, Step, Target, Why};
pub use component::{Component, Context, Desired, Error, Trigger};
pub use handle::Handle;
pub use preview::Preview;
pub use reviews::Person;
pub use run::Operator;
