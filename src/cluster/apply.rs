//! Server-side apply of one object.

use serde_json::Value;
use tokio::time::Instant;

use super::{Cluster, ErrorKind, Fingerprint, KindInfo, RequestError, Uid, Version};
use crate::object::Key;

/// How an object is applied.
#[derive(Clone, Copy, Debug)]
pub struct ApplyOptions {
    /// Ask what would happen, change nothing.
    pub dry_run: bool,
    /// When retries end.
    pub until: Instant,
}

/// What became of an applied object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Which life of the object it is.
    pub uid: Uid,
    /// Its version after the apply.
    pub version: Version,
    /// Fingerprint of the fields that we own now.
    pub entry: Option<Fingerprint>,
    /// Whether it did not exist before.
    pub created: bool,
    /// Whether the object is as it was in the live index (false when it was not known there).
    pub unchanged: bool,
    /// Whether kubectl's client-side apply still owns fields, see [`Cluster::take_over`].
    pub take_over: bool,
    /// What the API server warned about.
    pub warnings: Vec<String>,
}

impl Cluster {
    /// Applies one object with force and notes the answer in the live index. `body` has the effective namespace, mark and
    /// checksum, and has been through [`super::normalise`].
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn apply(
        &self,
        kind: &KindInfo,
        key: &Key,
        body: &Value,
        options: ApplyOptions,
    ) -> Result<Applied, RequestError> {
        let _unused = (kind, key, body, options);
        Err(RequestError::local(ErrorKind::Other, "apply is not built yet"))
    }
}
