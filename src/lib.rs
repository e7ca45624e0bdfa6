//! fluxd: a GitOps engine. One library (desired objects and policies → plan → apply → outcome) and its users: the daemon
//! that keeps a cluster equal to a git repository, and operators written by others.
//!
//! An author of operators begins at [`operator`]; `docs/library.md` walks through an example.
//!
//! # Rooms
//! From the lowest level to the highest. `ARCHITECTURE.md` gives the reasons, `tests/architecture.rs` holds the direction of
//! imports.
//!
//! - [`object`]: identities, YAML text, marks, order and policies of Kubernetes objects; values only.
//! - [`tree`]: files at a revision, without a disk.
//! - [`runtime`]: stop tokens, named tasks, child processes, back-off, liveness, the lease, logging.
//! - [`api`]: our custom resources as types; words of conditions and reasons.
//! - [`health`]: an object's verdict, and why.
//! - [`cluster`]: the one talker to the API server about managed objects.
//! - [`source`]: revisions of git become trees; markers go back.
//! - [`generate`]: a tree becomes objects: files, `.flux.yaml`, patches, SOPS.
//! - [`registry`]: images that registries offer; answers kept and asked for no faster than allowed.
//! - [`template`]: Go's templates, rendered.
//! - [`provider`]: what exists elsewhere, as lists of inputs.
//! - [`plan`]: what a pass would do, and why; a pure function.
//! - [`apply`]: carries out a plan, and says what became of each object.
//! - [`report`]: types of the API, events and metrics.
//! - [`engine`]: one pass: read, plan, apply, collect garbage.
//! - [`operator`]: the public library: keeps a cluster equal to what a component wants.
//! - [`controllers`]: our own custom resources, as users of the library.
//! - [`update`]: which image comes next, and the words of its commit; pure functions.
//! - [`client`]: the API from its users' side, for `fluxctl`.
//! - [`daemon`]: the component whose wishes are a git tree.
//! - [`serve`]: the HTTP API.
//! - [`cli`]: flags and environment into settings, wiring, exit codes.

pub mod api;
pub mod apply;
pub mod cli;
pub mod client;
pub mod cluster;
pub mod controllers;
pub mod daemon;
pub mod engine;
pub mod generate;
pub mod health;
pub mod object;
pub mod operator;
pub mod plan;
pub mod provider;
pub mod registry;
pub mod report;
pub mod runtime;
pub mod serve;
pub mod source;
pub mod template;
pub mod tree;
pub mod update;
