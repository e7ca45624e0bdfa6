//! What an author of a controller writes: the pass over one object, and when the next one is due. Not how passes are run.

use std::fmt::{self, Debug, Display};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::report::Series;

use super::Pass;

/// A kind whose objects a controller can look after: any type that `kube::CustomResource` derives.
pub trait Managed:
    kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug + Send + Sync + 'static
{
}

impl<K> Managed for K where
    K: kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug + Send + Sync + 'static
{
}

/// A kind with passes of its own. One object never has two passes at once. A pass reads the world anew; what woke it is
/// only a hint.
pub trait Reconcile: Send + Sync + 'static {
    /// The kind.
    type Kind: Managed;

    /// Brings the world to what the object asks for, or as far as is possible at the moment, and says when to look again.
    /// The object is never older than this controller's own last write to it, and carries the finalizer, if there is one.
    fn reconcile(&self, object: Arc<Self::Kind>, cx: &Pass<Self::Kind>) -> impl Future<Output = Next> + Send;

    /// Clears up after an object that somebody deleted. Called only with a finalizer in the settings, again and again
    /// until it answers [`Finalize::Done`], whereupon the finalizer goes.
    fn finalize(&self, object: Arc<Self::Kind>, cx: &Pass<Self::Kind>) -> impl Future<Output = Finalize> + Send {
        let _ = (object, cx);
        async { Finalize::Done }
    }

    /// What the info metric says about an object after a pass. Each object has one series, which goes when it goes.
    fn series(&self, object: &Self::Kind) -> Option<Series> {
        let _ = object;
        None
    }
}

impl<R: Reconcile> Reconcile for Arc<R> {
    type Kind = R::Kind;

    async fn reconcile(&self, object: Arc<Self::Kind>, cx: &Pass<Self::Kind>) -> Next {
        R::reconcile(self, object, cx).await
    }

    async fn finalize(&self, object: Arc<Self::Kind>, cx: &Pass<Self::Kind>) -> Finalize {
        R::finalize(self, object, cx).await
    }

    fn series(&self, object: &Self::Kind) -> Option<Series> {
        R::series(self, object)
    }
}

/// When the next pass is due. Whatever is said, a trigger brings one sooner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// When something triggers it.
    Done,
    /// After this time.
    After(Duration),
    /// After this time, give or take the jitter of the settings, so that many objects do not march in step.
    AfterJittered(Duration),
    /// At this moment.
    At(Timestamp),
    /// At once. No failure, and no back-off.
    Now,
    /// Something failed that may well succeed later: tried again with a back-off that grows with each retry of the same
    /// cause, and starts afresh for another cause or after any other answer.
    Retry {
        /// What kind of trouble it is, in the reconciler's own words, such as `apply`.
        cause: String,
        /// The error, for the log.
        error: String,
    },
    /// No failure but a state that is looked at again soon, such as a roll-out: like `Retry`, it counts attempts per
    /// cause ([`Pass::attempts`]), with a wait that the reconciler chooses.
    Poll {
        /// What is waited for.
        cause: String,
        /// When to look again.
        after: Duration,
    },
    /// It cannot succeed before the object or what it refers to changes.
    Terminal {
        /// The error, for the log.
        error: String,
    },
}

/// What became of clearing up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finalize {
    /// All is gone: the finalizer is removed.
    Done,
    /// Not yet: the finalizer stays, and `finalize` is called again.
    Keep(Next),
}

/// Who woke a pass: the object whose change brought it about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Display for Trigger {
    /// Writes `Kind/namespace/name`, or `Kind/name`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{}/{}", self.kind, self.name),
            namespace => write!(f, "{}/{namespace}/{}", self.kind, self.name),
        }
    }
}

/// A Kubernetes event about the object of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// `true` for `Warning`, `false` for `Normal`.
    pub warning: bool,
    /// One word in camel case.
    pub reason: String,
    /// What happened; may be long, such as a list of changes.
    pub message: String,
    /// Annotations of the event, and metadata of what is forwarded.
    pub metadata: std::collections::BTreeMap<String, String>,
    /// Whether notification-controller is told, too.
    pub forward: bool,
}
