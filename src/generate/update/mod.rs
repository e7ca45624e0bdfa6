//! Changes to workloads, written where the workloads come from: into the raw file, by the updaters of the `.flux.yaml` that
//! generated them, or into its patch file (fluxd-v1 §4.6). Nothing is committed here, and no file of a repository is
//! touched: what comes out says what the files are to be.

mod command;
mod patch;
mod raw;
mod run;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::object::image::ImageRef;
use crate::object::{Object, ObjectId};
use crate::runtime::Stop;
use crate::tree::{FileChange, Tree};

use super::{Error, Export, Generator, Loaded};

/// Finds out which files of a directory differ from those of the tree that was exported into it, and how; files that the
/// repository's `.gitignore` leaves out do not count. An error is a reason in words.
pub type Collect =
    Arc<dyn Fn(Tree, PathBuf) -> BoxFuture<'static, Result<BTreeMap<String, FileChange>, String>> + Send + Sync>;

/// How a working copy is made for updaters, and read again.
#[derive(Clone)]
pub struct Working {
    /// Writes the files of a tree into a directory.
    pub export: Export,
    /// Tells what the updaters changed in it.
    pub collect: Collect,
}

/// What is to change in one workload.
#[derive(Clone, Debug)]
pub struct WorkloadChange {
    /// The identity with the namespace that the workload really has; updaters see it, and errors name it.
    pub id: ObjectId,
    /// The workload as the tree gave it when it was loaded; its origin says where the change belongs.
    pub object: Arc<Object>,
    /// The changes, made in this order.
    pub changes: Vec<Change>,
}

/// One change to a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A container runs another image.
    Image {
        /// The container, or the alias of an image.
        container: String,
        /// The image.
        image: ImageRef,
    },
    /// A policy is set, or removed.
    Policy {
        /// Name without prefix, such as `automated` or `tag.web`. `tag_all` is for the caller to expand.
        policy: String,
        /// The value; `None` removes it.
        value: Option<String>,
    },
}

/// What an update makes of a tree.
#[derive(Clone, Debug)]
pub struct Updated {
    /// The files that differ; empty when nothing does.
    pub files: BTreeMap<String, FileChange>,
    /// What the changed tree says should exist.
    pub loaded: Loaded,
    /// For each workload, whether anything was changed for it. Where commands made the changes that is taken for granted,
    /// as in v1; `files` says whether they did.
    pub changed: BTreeMap<ObjectId, bool>,
}

/// Why an update cannot be made. Nothing is changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// One workload cannot be changed as asked (fluxd-v1 §6.4).
    #[error("updating resource {id} in {place}: {reason}")]
    Workload {
        /// The workload.
        id: ObjectId,
        /// The file, or the display name of the `.flux.yaml`, that it comes from.
        place: String,
        /// Why.
        reason: String,
    },
    /// The tree, or what became of it, cannot be loaded.
    #[error(transparent)]
    Load(#[from] Error),
    /// What updaters left in the working copy cannot be read.
    #[error("reading back what updaters changed: {0}")]
    Collect(String),
}

impl WorkloadChange {
    fn failed(&self, reason: impl Into<String>) -> UpdateError {
        let place = self.object.origin().file.to_string();
        UpdateError::Workload { id: self.id.clone(), place, reason: reason.into() }
    }
}

impl Generator {
    /// Makes changes to workloads of a tree, and loads the tree that results. Raw files are edited in memory; a directory
    /// is made only when updaters have to run, one for all of them.
    ///
    /// # Errors
    /// [`UpdateError`]; the first that is met, and nothing is to be written then.
    pub async fn update(
        &self,
        tree: &Tree,
        changes: &[WorkloadChange],
        working: &Working,
        stop: &Stop,
    ) -> Result<Updated, UpdateError> {
        run::Run::new(self, tree, working, stop).run(changes).await
    }
}

impl std::fmt::Debug for Working {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Working")
    }
}
