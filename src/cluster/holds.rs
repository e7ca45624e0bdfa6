//! What would go down with a Namespace or a CustomResourceDefinition: objects in it that are not part of the same deletion.

use std::collections::HashSet;

use tokio::time::Instant;

use super::{Cluster, ErrorKind, RequestError};
use crate::object::Key;

/// An object that would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The first one found.
    pub example: Key,
    /// Why it counts, in words: it is not part of the deletion, or a kind could not be read.
    pub reason: String,
}

impl Cluster {
    /// Looks for an object that a deletion of `target` (a Namespace or CustomResourceDefinition) would take with it although
    /// it is not among `deletes`. A namespace's default service account and root CA do not count. What cannot be read counts
    /// as held.
    ///
    /// # Errors
    /// When the API server does not answer until the deadline.
    pub async fn holds_foreign_objects(
        &self,
        target: &Key,
        deletes: &HashSet<Key>,
        until: Instant,
    ) -> Result<Option<Foreign>, RequestError> {
        let _unused = (target, deletes, until);
        Err(RequestError::local(ErrorKind::Other, "holds_foreign_objects is not built yet"))
    }
}
