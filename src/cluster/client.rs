//! The connection: a client without retries of its own, and the handle that the rest of the room adds its methods to.

use std::sync::Arc;

use super::{Live, Settings};

/// A client could not be made from its configuration.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect to the API server: {0}")]
pub struct ConnectError(#[source] kube::Error);

/// Makes a client whose requests are not retried behind our back: retries are this room's own, within a pass's deadline.
///
/// # Errors
/// When the configuration's certificates, keys or proxy are unusable.
pub fn client(mut config: kube::Config) -> Result<kube::Client, ConnectError> {
    config.default_retry = false;
    kube::Client::try_from(config).map_err(ConnectError)
}

/// One cluster, as one field manager sees it. Clones share everything.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    live: Live,
}

impl Cluster {
    /// Makes the handle; nothing is asked of the API server yet.
    pub fn new(client: kube::Client, settings: Settings) -> Self {
        drop(client);
        Self { inner: Arc::new(Inner { settings, live: Live::default() }) }
    }

    /// How the cluster is worked with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The index of our live objects.
    pub fn live(&self) -> &Live {
        &self.inner.live
    }
}
