//! The frame of a process: stop signals, named tasks, child processes, back-off, liveness, leadership and logging. It
//! knows nothing of git, Kubernetes objects or flags.

pub mod log;
pub mod process;

mod backoff;
mod lease;
mod liveness;
mod stop;
mod tasks;
mod workplace;

pub use backoff::{Backoff, parse_retry_after};
pub use lease::{Election, ElectionSettings, Leadership};
pub use liveness::{Liveness, Overdue, Readiness, Stage};
pub use stop::Stop;
pub use tasks::{Scoped, TaskError, TaskFailure, Tasks, blocking, scoped, to_the_end, with_stack};
pub use workplace::{Workplace, remove_tree};
