//! Reads of whole objects for those who show or follow them: workloads, namespaces, pods, secrets; and the server itself.

use serde_json::Value;
use tokio::time::Instant;

use super::{Cluster, ErrorKind, KindInfo, RequestError};
use crate::object::Key;

impl Cluster {
    /// Whether the API server answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self, until: Instant) -> Result<(), RequestError> {
        self.server_version(until).await.map(|_| ())
    }

    /// The API server's version, such as `v1.36.3`.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn server_version(&self, until: Instant) -> Result<String, RequestError> {
        let _unused = until;
        Err(RequestError::local(ErrorKind::Other, "server_version is not built yet"))
    }

    /// Names of the namespaces that we may look at and that exist.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn namespaces(&self, until: Instant) -> Result<Vec<String>, RequestError> {
        let _unused = until;
        Err(RequestError::local(ErrorKind::Other, "namespaces is not built yet"))
    }

    /// Reads one whole object.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn get(&self, kind: &KindInfo, key: &Key, until: Instant) -> Result<Option<Value>, RequestError> {
        let _unused = (kind, key, until);
        Err(RequestError::local(ErrorKind::Other, "get is not built yet"))
    }

    /// Reads all whole objects of a kind (in one namespace), page by page. An element that is no object is left out.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn list(
        &self,
        kind: &KindInfo,
        namespace: Option<&str>,
        until: Instant,
    ) -> Result<Vec<Value>, RequestError> {
        let _unused = (kind, namespace, until);
        Err(RequestError::local(ErrorKind::Other, "list is not built yet"))
    }

    /// Workloads as fluxd-v1 §3.4 knows them, of one namespace or of all that we may look at: Deployments, DaemonSets,
    /// StatefulSets, CronJobs and HelmReleases. Kinds that the API server lacks, or forbids us, have none.
    ///
    /// # Errors
    /// When a kind that exists cannot be read.
    pub async fn workloads(&self, namespace: Option<&str>, until: Instant) -> Result<Vec<Value>, RequestError> {
        let _unused = (namespace, until);
        Err(RequestError::local(ErrorKind::Other, "workloads is not built yet"))
    }

    /// Merges a JSON merge patch into an object and returns the result.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn merge(
        &self,
        kind: &KindInfo,
        key: &Key,
        patch: &Value,
        until: Instant,
    ) -> Result<Value, RequestError> {
        let _unused = (kind, key, patch, until);
        Err(RequestError::local(ErrorKind::Other, "merge is not built yet"))
    }
}
