//! Carries out a plan and tells what became of every object. It never decides what should be done.

mod body;
mod failure;
mod meter;
mod object;
mod outcome;
mod run;

pub use body::{RECREATE_ANNOTATION, effective};
pub use meter::Meter;
pub use outcome::{Done, Failure, FailureKind, ObjectResult, Outcome, Progress, Stage, Stopped};
pub use run::{Frame, Report, run};
