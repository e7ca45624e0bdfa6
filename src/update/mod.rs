//! Which image a workload should run next, and what a commit says about it: functions of data, without a clock, a
//! registry or a repository of their own.

mod automation;
mod choice;
mod message;
mod policy;
mod release;
#[cfg(test)]
mod tests;
mod verify;
mod workload;

pub use automation::{Decision, Remark, Verdict, automated, decide};
pub use choice::{Images, MissingMetadata, latest};
pub use message::commit;
pub use policy::{Edits, PolicyPlan, failed as policies_failed, plan as plan_policies};
pub use release::{ImageChange, Release, ReleaseError, World, candidates, select};
pub use verify::{VerifyError, verify};
pub use workload::GitWorkload;
