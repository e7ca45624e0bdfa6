//! What exists elsewhere, as lists of inputs: branches, tags and change requests of git hosts, tags of artifacts, answers
//! of services; with their filters and schedules (resourceset §8). It lists; what is made of the lists is decided above.
//!
//! A listing is complete or an error: a page that failed, or a limit that was met, never makes a shorter list.
//!
//! ```text
//! Request ─► git: which host, which credentials ─► github, gitlab, … ─► paging ─► wire ─► network
//!         ─► oci (the room registry), external_service
//!                                            filter, skip ─► Export: sets of inputs and their digest
//! ```

mod address;
mod advertisement;
mod answers;
mod azure_devops;
mod cloud;
mod codecommit;
mod error;
mod export;
mod external_service;
mod filter;
mod found;
mod git;
mod gitea;
mod github;
mod github_app;
mod gitlab;
mod oci;
mod paging;
mod providers;
pub mod schedule;
mod secret;
mod settings;
mod skip;
mod tokens;
mod wire;

pub use advertisement::{Refs, read_refs};
pub use answers::read_answers;
pub use error::Error;
pub use export::{Export, InputSet, add_defaults, complete, id_of};
pub use external_service::read_inputs;
pub use filter::{Filter, FilterError, Pair};
pub use providers::{Providers, Request};
pub use secret::SecretData;
pub use settings::{Endpoints, Settings};
pub use tokens::{Asker, TokenEvent, TokenObserver};
