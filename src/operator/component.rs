//! What a user of the library writes: where the wanted objects come from, and what follows an outcome.

use std::sync::Arc;

use crate::apply::Outcome;
use crate::object::{Object, Origin};
use crate::runtime::Stop;

use super::reads::Reads;

/// Why a pass could not begin, or what followed it failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What is wanted is not known yet; it is no fault, and tried again at the next trigger.
    #[error("{0}")]
    NotReady(String),
    /// What is asked for cannot be had before somebody changes it: not tried again by itself where that is known to come.
    #[error("{0}")]
    Invalid(String),
    /// The component failed.
    #[error("{0}")]
    Component(Box<dyn std::error::Error + Send + Sync>),
    /// The API server could not be read.
    #[error("reading the cluster: {0}")]
    Cluster(String),
    /// An approval that fits no held deletes.
    #[error("no deletes are held under digest {digest}; see the held deletes of the last sync")]
    NothingHeld {
        /// The digest given.
        digest: String,
    },
    /// The cache file cannot be used.
    #[error(transparent)]
    Cache(#[from] crate::engine::CacheError),
    /// The operator does not run (any more).
    #[error("the sync loop does not run")]
    NotRunning,
}

impl Error {
    /// Wraps a component's own error.
    pub fn component(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Component(source.into())
    }
}

/// What started a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// Objects have drifted.
    Drift,
    /// Someone asked for a sync.
    Request,
    /// The sync interval is over: commands of generators run again.
    Interval,
    /// The full interval is over, or someone asked for a full sync: every kind is read anew.
    Full,
    /// The process has just started.
    Start,
}

/// What a component is given.
#[derive(Clone)]
pub struct Context {
    /// Ends long work early.
    pub stop: Stop,
    /// What started the pass.
    pub trigger: Trigger,
    /// Typed reads of the cluster.
    pub reads: Reads,
}

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct Desired {
    /// The objects, each identity once.
    pub objects: Vec<Arc<Object>>,
    /// What they come from, such as a commit.
    pub revision: String,
    /// Whether these are all; if not, nothing is deleted.
    pub complete: bool,
    /// Whether every object is to be applied, also where nothing seems to have changed.
    pub force: bool,
    /// Whether our marks are to be looked for on every kind first.
    pub force_full: bool,
}

impl Desired {
    /// These objects and no others.
    pub fn all(objects: Vec<Arc<Object>>) -> Self {
        Self { objects, complete: true, ..Self::default() }
    }

    /// None at all; [`Desired::add`] puts objects in.
    pub fn none() -> Self {
        Self::all(Vec::new())
    }

    /// Adds an object: a value with `apiVersion` and `kind`, such as one of `k8s_openapi`'s types or `serde_json::json!`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it is no object.
    pub fn add(&mut self, object: &impl serde::Serialize) -> Result<&mut Self, Error> {
        let value = serde_json::to_value(object).map_err(|e| Error::Invalid(e.to_string()))?;
        let origin = Origin { file: "an object of the operator".into(), line: 1, generated: true };
        let object = Object::new(&value, origin).map_err(|e| Error::Invalid(e.to_string()))?;
        self.objects.push(Arc::new(object));
        Ok(self)
    }
}

/// An author's part: what is wanted, and what follows an outcome.
pub trait Component: Send + Sync + 'static {
    /// Says what is wanted now. Called before each whole pass, not when drift is put right.
    fn desired(&self, cx: &Context) -> impl Future<Output = Result<Desired, Error>> + Send;

    /// Hears what became of a pass, also of one that put drift right ([`Outcome::reach`]). An error is logged.
    fn observe(&self, cx: &Context, outcome: &Outcome) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = (cx, outcome);
        async { Ok(()) }
    }
}
