//! Which image a workload should run next, and what a commit says about it: functions of data, without a clock, a
//! registry or a repository of their own.
