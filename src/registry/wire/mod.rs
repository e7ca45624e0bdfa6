//! Speaking to registries: one request at a time, with its limits, credentials and redirects. It keeps what a process
//! learns about hosts (how they want to be spoken to, tokens), and no answers.

mod access;
mod send;
mod session;

use std::sync::Arc;

pub(super) use access::Access;
pub(super) use send::{Asked, Http, host_and_port};
pub(super) use session::{Described, Listed, Session};

use super::limiter::{Limiter, Urgency};
use super::{Credentials, Error, Settings};
use crate::object::image::CanonicalName;

/// The client of all registries.
pub(super) struct Wire {
    pub(super) http: Http,
    pub(super) limiter: Limiter,
    access: Access,
    settings: Arc<Settings>,
}

impl Wire {
    /// Makes the client.
    ///
    /// # Errors
    /// When a proxy's URL is none, or no TLS roots can be loaded.
    pub(super) fn new(settings: &Arc<Settings>) -> Result<Self, Error> {
        Ok(Self {
            http: Http::new(settings)?,
            limiter: Limiter::new(settings.rps, settings.burst),
            access: Access::default(),
            settings: Arc::clone(settings),
        })
    }

    /// Prepares to ask about one repository.
    pub(super) fn session(&self, name: &CanonicalName, credentials: &Credentials, urgency: Urgency) -> Session<'_> {
        Session::new(self, name.clone(), credentials.get(&name.domain).cloned(), urgency)
    }
}
