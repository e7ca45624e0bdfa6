//! How an object does: a verdict and why, by the rules of kstatus, and v1's roll-out numbers. Pure functions of an object as
//! the API server returned it; nothing is read or waited for here.

mod awaited;
mod fields;
mod kinds;
mod rollout;
#[cfg(test)]
mod tests;
mod verdict;
mod workloads;

pub use rollout::{Rollout, RolloutStatus, rollout};
pub use verdict::{Assessment, Rules, RunningJob, Verdict, assess};
