//! Automation, policies, messages and verification, by table (fluxd-v1 §2.7, §6.4-6.6, §14).

mod automation;
pub(super) mod fixture;
mod message;
mod policy;
mod verify;
