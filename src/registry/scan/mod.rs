//! Which repository is asked next, for what, and what is done with the answer.

mod choose;
mod job;
mod plan;
mod run;

pub(super) use choose::{Agenda, Known, agenda, newest};
pub(super) use plan::Plan;
