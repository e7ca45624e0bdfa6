//! Reads of metadata: our marked objects over all kinds, single objects, and all objects of a kind.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Cluster, ErrorKind, KindInfo, LiveObject, RequestError};
use crate::object::{Gvk, Key};

/// A kind (or a whole group) that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFailure {
    /// Group, version and kind; the kind is empty for a group and version whose discovery failed.
    pub gvk: Gvk,
    /// The namespace, when only one could not be read.
    pub namespace: Option<String>,
    /// Whether we lack the permission. Such a kind is not ours to look after (fluxd-v1 §5.7); it is kept as it is.
    pub forbidden: bool,
    /// What went wrong.
    pub reason: String,
}

/// The outcome of reading our marked objects over all kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkedRead {
    /// Whether every kind was read, those aside that we may not read.
    pub complete: bool,
    /// What could not be read. Nothing may be concluded from the absence of objects of these.
    pub failures: Vec<ReadFailure>,
    /// Kinds in which objects of ours were found.
    pub kinds_in_use: Vec<Gvk>,
}

impl MarkedRead {
    /// Whether the objects of a kind are known for certain (in the namespace, if one is given).
    pub fn covers(&self, group: &str, kind: &str, namespace: Option<&str>) -> bool {
        !self.failures.iter().any(|f| {
            f.gvk.group == group
                && (f.gvk.kind.is_empty() || f.gvk.kind == kind)
                && (f.namespace.is_none() || namespace.is_none() || f.namespace.as_deref() == namespace)
        })
    }
}

impl Cluster {
    /// Reads the metadata of all our marked objects into the live index, kind by kind. What others changed or removed since
    /// is told to [`super::Live::changed`].
    pub async fn read_marked(&self, until: Instant) -> MarkedRead {
        let _unused = until;
        MarkedRead::default()
    }

    /// Reads the metadata of one object, whosever it is. Our own are noted in the live index.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn read_meta(
        &self,
        kind: &Arc<KindInfo>,
        key: &Key,
        until: Instant,
    ) -> Result<Option<LiveObject>, RequestError> {
        let _unused = (kind, key, until);
        Err(RequestError::local(ErrorKind::Other, "read_meta is not built yet"))
    }

    /// Reads the metadata of all objects of a kind (in one namespace), whosever they are.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn list_meta(
        &self,
        kind: &Arc<KindInfo>,
        namespace: Option<&str>,
        until: Instant,
    ) -> Result<Vec<LiveObject>, RequestError> {
        let _unused = (kind, namespace, until);
        Err(RequestError::local(ErrorKind::Other, "list_meta is not built yet"))
    }
}
