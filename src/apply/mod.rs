//! Carries out a plan and tells what became of every object. It never decides what should be done.

mod outcome;

pub use outcome::{Done, Failure, FailureKind, ObjectResult, Outcome, Progress, Stage, Stopped};
