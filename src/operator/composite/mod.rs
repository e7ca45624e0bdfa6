//! Objects made of objects: an author says which objects one of a kind stands for ([`Composite`]), and a
//! [`CompositeOperator`] applies them, waits for them, keeps them so, and deletes what is no longer wanted. It is written
//! with what an outsider has, too: [`Reconcile`](super::controller::Reconcile) and [`Sets`](super::sets::Sets).

mod finalize;
mod labels;
mod operator;
mod pass;
mod settings;
mod status;

use std::time::Duration;

use super::controller::{Dependency, Managed};
use super::sets::Identity;
use super::{Context, Desired, Error};

pub use operator::{CompositeHandle, CompositeOperator};
pub use settings::CompositeSettings;
pub use status::CompositeStatus;

/// Words of conditions and events that other kinds do not have.
mod reason {
    /// Something else has to go before the object's own can be deleted.
    pub(super) const DELETION_BLOCKED: &str = "DeletionBlocked";
    /// What was applied did not become healthy.
    pub(super) const HEALTH_CHECK_FAILED: &str = "HealthCheckFailed";
    /// What is wanted is not known yet.
    pub(super) const NOT_READY: &str = "NotReady";
    /// Something could not be deleted.
    pub(super) const DELETION_FAILED: &str = "DeletionFailed";
}

/// An author's part: what an object stands for.
///
/// The object's status has to hold a [`CompositeStatus`], usually by `#[serde(flatten)]`; other fields of the status are the
/// author's ([`Composite::publish`]).
pub trait Composite: Send + Sync + 'static {
    /// The kind.
    type Kind: Managed;

    /// Says which objects are wanted. Called in each pass; it reads what it needs anew and writes nothing. With
    /// [`Desired::complete`] unset, nothing is deleted.
    ///
    /// # Errors
    /// [`Error::NotReady`] for what is only not there yet, [`Error::Invalid`] for what cannot succeed before the object
    /// changes, [`Error::component`] for what broke and is tried again.
    fn desired(&self, object: &Self::Kind, cx: &Context) -> impl Future<Output = Result<Desired, Error>> + Send;

    /// Objects that must exist and be ready first. While one is not, the object waits, holding no worker, and is woken when
    /// it changes. They are read with the operator's own identity.
    fn dependencies(&self, object: &Self::Kind) -> Vec<Dependency> {
        let _ = object;
        Vec::new()
    }

    /// As whom everything is applied, read back and deleted.
    fn identity(&self, object: &Self::Kind) -> Identity {
        let _ = object;
        Identity::Own
    }

    /// How often everything is looked at although nothing has happened; zero for never.
    fn interval(&self, object: &Self::Kind) -> Duration {
        let _ = object;
        Duration::from_mins(10)
    }

    /// How long applying may take, and how long becoming healthy may.
    fn timeout(&self, object: &Self::Kind) -> Duration {
        let _ = object;
        Duration::from_mins(5)
    }

    /// Whether the object is ready only when all that was applied is.
    fn wait(&self, object: &Self::Kind) -> bool {
        let _ = object;
        true
    }

    /// Whether somebody has paused it: nothing is applied, and on deletion everything is left where it is.
    fn is_suspended(&self, object: &Self::Kind) -> bool {
        let _ = object;
        false
    }

    /// Why the object's own may not be deleted yet, although the object itself was: a guard.
    fn deletion_blocked(&self, object: &Self::Kind, cx: &Context) -> impl Future<Output = Option<String>> + Send {
        let _ = (object, cx);
        async { None }
    }

    /// Further fields of the status of an object that is ready; a JSON object.
    fn publish(&self, object: &Self::Kind) -> serde_json::Value {
        let _ = object;
        serde_json::Value::Null
    }
}
