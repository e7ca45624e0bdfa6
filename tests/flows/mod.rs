//! Whole flows: real git, a real API server, the built program.

mod api;
pub(crate) mod chart;
mod clouds;
mod cluster;
mod controller;
mod controllers;
mod deploy;
mod engine;
mod faults;
mod fluxctl;
mod generators;
mod git;
mod helm_releases;
mod holds;
mod in_cluster;
mod inputprovider;
mod parity;
mod process;
mod provider;
mod registry;
mod resourceset;
mod rig;
mod safety;
mod sets;
mod strategic_merge;
mod updates;
mod upgrade;
