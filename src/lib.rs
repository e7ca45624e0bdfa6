//! fluxd: a GitOps engine. One library (desired objects and policies → plan → apply → outcome) with three kinds of users:
//! the daemon that keeps a cluster equal to a git repository, controllers for custom resources, and operators written by
//! others.
//!
//! The rooms and the direction of their imports are described in `ARCHITECTURE.md` and held by `tests/architecture.rs`.

pub mod api;
pub mod apply;
pub mod cli;
pub mod cluster;
pub mod daemon;
pub mod engine;
pub mod generate;
pub mod health;
pub mod object;
pub mod operator;
pub mod plan;
pub mod report;
pub mod runtime;
pub mod serve;
pub mod source;
pub mod tree;
