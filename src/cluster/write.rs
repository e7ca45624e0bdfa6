//! Single writes besides apply: taking over the fields of kubectl's client-side apply, and deletion.

use tokio::time::Instant;

use super::{Cluster, ErrorKind, KindInfo, RequestError, Uid};
use crate::object::Key;

/// What became of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// The API server took it; dependants follow in the background.
    Done,
    /// It took it, and the object waits for its finalizers.
    Terminating,
    /// It was gone before.
    AlreadyGone,
    /// It is not ours (any more): another mark, another life of the name, an owner, or an `ignore` policy. Left alone.
    NotOurs,
}

impl Cluster {
    /// Moves the fields that kubectl's client-side apply owns to us, so that what leaves git then leaves the cluster. Answers
    /// whether anything had to move.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn take_over(&self, kind: &KindInfo, key: &Key, until: Instant) -> Result<bool, RequestError> {
        let _unused = (kind, key, until);
        Err(RequestError::local(ErrorKind::Other, "take_over is not built yet"))
    }

    /// Deletes one object of ours after a fresh look at its mark, only in the life `uid`.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn delete(&self, kind: &KindInfo, key: &Key, uid: Uid, until: Instant) -> Result<Deleted, RequestError> {
        let _unused = (kind, key, uid, until);
        Err(RequestError::local(ErrorKind::Other, "delete is not built yet"))
    }
}
