//! What a pass would do, and why: a pure function of what is wanted, what is live, what was applied last, and the policies.
//! A plan prints itself. It reads nothing and changes nothing.

mod step;

pub use step::{Action, GcSummary, Held, HoldReason, Plan, Reach, SkipReason, Step, Target, Wanted, Why};
