//! The public library: say what is wanted ([`Component`]), and an [`Operator`] keeps a cluster equal to it. The daemon and
//! the controllers are users of this room like any other.

mod component;
mod handle;
pub mod reads;
mod run;

pub use crate::apply::{Done, Failure, FailureKind, ObjectResult, Outcome, Progress, Stage, Stopped};
pub use crate::engine::{Budget, Drift, Gc, Identity, Settings, Validation};
pub use crate::plan::{Action, GcSummary, Held, HeldDelete, HoldReason, Plan, Reach, SkipReason, Step, Target, Why};
pub use component::{Component, Context, Desired, Error, Trigger};
pub use handle::Handle;
pub use run::Operator;
