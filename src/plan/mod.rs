//! What a pass would do, and why: a pure function of what is wanted, what is live, what was applied last, and the policies.
//! A plan prints itself. It reads nothing and changes nothing.

mod decide;
mod gc;
mod step;
#[cfg(test)]
mod tests;

pub use decide::{Candidate, Input, Live, Record, Rules, plan};
pub use gc::{Collect, Deletes, Doubts, GcMode, Limit, Managed, collect, deletes};
pub use step::{
    Action, GcSummary, Held, HeldDelete, HoldReason, Plan, Reach, SkipReason, Step, Target, Uid, Wanted, Why,
};
