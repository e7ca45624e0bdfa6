//! HTTP: v1's API with v1's manners, ours beside it, metrics and probes. It decides nothing: every answer is asked of the
//! program behind it through [`Api`].
//!
//! # Guarantees
//! However busy it is, probes are answered. A request costs at most [`Limits`]. A panic in an answer ends that answer only.

mod answer;
mod api;
mod auth;
mod backend;
mod dispatch;
mod endpoints;
mod events;
mod file;
mod forward;
mod openapi;
mod ours;
mod patient;
mod plans;
mod probes;
pub mod receivers;
mod refusals;
mod routes;
mod server;
#[cfg(test)]
mod tests;
mod tls;
pub mod upstream;
mod v1;

pub use api::Api;
pub use auth::Auth;
pub use dispatch::Limits;
pub use endpoints::Endpoints;
pub use forward::Leader;
pub use openapi::document;
pub use probes::Probes;
pub use server::{Error, Server, Settings};
pub use tls::{TlsError, TlsFiles};
