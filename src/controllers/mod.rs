//! The controllers of our own custom resources: users of the public library like any other.

pub mod inputprovider;
pub mod notifier;
pub mod resourceset;
