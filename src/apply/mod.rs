//! Carries out a plan and tells what became of every object. It never decides what should be done.

mod body;
mod compare;
mod failure;
mod manner;
mod meter;
mod object;
mod outcome;
mod ready;
mod run;
mod stage;

pub use body::{RECREATE_ANNOTATION, effective};
pub use failure::kind_of;
pub use manner::{Body, Manner, MayRecreate, Phase, Staging};
pub use meter::Meter;
pub use outcome::{Done, Failure, FailureKind, ObjectResult, Outcome, Progress, Stage, Stopped};
pub use ready::{Awaited, Unready, Wait, WaitError};
pub use run::{Frame, Report, run};
