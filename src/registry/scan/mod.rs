//! Which repository is asked next, for what, and what is done with the answer.

mod choose;

pub(super) use choose::newest;
