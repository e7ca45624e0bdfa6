//! How an object does: a verdict and why, by the rules of kstatus, and v1's roll-out numbers. Pure functions of an object as
//! the API server returned it.

mod rollout;
mod verdict;

pub use rollout::{Rollout, RolloutStatus, rollout};
pub use verdict::{Assessment, Verdict, assess};
