//! Tags of a repository at once, for those who keep no answers: all names, and digests of those that were chosen.

use std::sync::Arc;

use super::limiter::Urgency;
use super::wire::{Listed, Wire};
use super::{Credentials, Error, Settings};
use crate::object::image::CanonicalName;

/// Asks registries about tags; it keeps what it learns about hosts, and no answers.
pub struct Listing {
    wire: Wire,
}

impl std::fmt::Debug for Listing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listing")
    }
}

impl Listing {
    /// Makes one.
    ///
    /// # Errors
    /// When a proxy's URL or a certificate is none.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Ok(Self { wire: Wire::new(&Arc::new(settings))? })
    }

    /// All tags of a repository, each once, in the registry's order.
    ///
    /// # Errors
    /// When any page of them cannot be had.
    pub async fn tags(&self, name: &CanonicalName, credentials: &Credentials) -> Result<Vec<String>, Error> {
        match self.wire.session(name, credentials, Urgency::Now).tags(None).await? {
            Listed::Tags(tags, _) => Ok(tags),
            // an answer to a validator, of which none was sent
            Listed::Same => Ok(Vec::new()),
        }
    }

    /// The digest of what a tag points to itself: an index, or a manifest.
    ///
    /// # Errors
    /// When the registry does not say, not even with the manifest.
    pub async fn digest(&self, name: &CanonicalName, tag: &str, credentials: &Credentials) -> Result<String, Error> {
        self.wire.session(name, credentials, Urgency::Now).digest(tag).await
    }
}
