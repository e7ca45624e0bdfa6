//! Workloads as people write them: every form, read and written back.
