//! The requests that `fluxctl` makes, v1's in v1's spelling (fluxd-v1 §11). What is done with the answers is elsewhere.

use std::time::Duration;

use base64::Engine;
use futures::{Stream, StreamExt};
use reqwest::Method;
use serde_json::Value;

use super::answer::{GitConfig, Job, List, Workload, WorkloadImages};
use super::error::{ClientError, causes};
use super::http::{Api, Client, decode};
use super::sse::Lines;
use crate::report::{HeldView, News, ObjectsView, PlanView, TraceView, UpdateSpec, go_json};

const GET: Method = Method::GET;
const POST: Method = Method::POST;

/// Which plan is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanQuery {
    /// That of the last sync, instead of a fresh one.
    pub last: bool,
    /// Also what stays as it is.
    pub all: bool,
    /// Also what would change, field by field.
    pub diff: bool,
}

impl Client {
    /// The version of the daemon.
    ///
    /// # Errors
    /// See [`ClientError`], here and below.
    pub async fn version(&self) -> Result<String, ClientError> {
        self.json((GET, Api::V1, "/v11/version"), &[], None).await
    }

    /// Whether the daemon reaches its cluster.
    ///
    /// # Errors
    /// The daemon's, when it does not.
    pub async fn ping(&self) -> Result<(), ClientError> {
        self.fetch((GET, Api::V1, "/v11/ping"), &[], None).await.map(|_| ())
    }

    /// Workloads of a namespace, or of all when it is empty.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn workloads(&self, namespace: &str) -> Result<List<Workload>, ClientError> {
        self.json((GET, Api::V1, "/v6/services"), &[("namespace", namespace)], None).await
    }

    /// The named workloads.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn named_workloads(&self, ids: &[String]) -> Result<List<Workload>, ClientError> {
        let ids = ids.join(",");
        self.json((GET, Api::V1, "/v11/services"), &[("namespace", ""), ("services", &ids)], None).await
    }

    /// Images of one workload (`ns:kind/name`), or of a namespace's when it is `<all>`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn images(&self, workload: &str, namespace: &str) -> Result<List<WorkloadImages>, ClientError> {
        let query = [("containerFields", ""), ("namespace", namespace), ("service", workload)];
        self.json((GET, Api::V1, "/v10/images"), &query, None).await
    }

    /// Starts an update; gives the job's id.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn update(&self, spec: &UpdateSpec) -> Result<String, ClientError> {
        let body = go_json(spec).map_err(|e| ClientError::Decode(e.to_string()))?;
        self.json((POST, Api::V1, "/v9/update-manifests"), &[], Some(body)).await
    }

    /// Where a job stands.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn job(&self, id: &str) -> Result<Job, ClientError> {
        self.json((GET, Api::V1, "/v6/jobs"), &[("id", id)], None).await
    }

    /// Commits up to `reference` that are not applied yet.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn pending(&self, reference: &str) -> Result<Vec<String>, ClientError> {
        let pending: Option<Vec<String>> = self.json((GET, Api::V1, "/v6/sync"), &[("ref", reference)], None).await?;
        Ok(pending.unwrap_or_default())
    }

    /// Settings and state of the repository, after a new key was made if asked for.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn git_config(&self, regenerate: bool) -> Result<GitConfig, ClientError> {
        let body = regenerate.to_string().into_bytes();
        self.json((POST, Api::V1, "/v9/git-repo-config"), &[], Some(body)).await
    }

    /// Namespaces and workloads as YAML documents.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn export(&self) -> Result<Vec<u8>, ClientError> {
        let text: String = self.json((GET, Api::V1, "/v6/export"), &[], None).await?;
        let decoded = base64::engine::general_purpose::STANDARD.decode(text);
        decoded.map_err(|e| ClientError::Decode(format!("the export is no base64: {e}")))
    }

    /// What the daemon does and how the last sync went.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn status(&self) -> Result<Value, ClientError> {
        self.json((GET, Api::Ours, "/status"), &[], None).await
    }

    /// How far a running sync is, in one line; that something is waited for when the daemon does not tell.
    pub async fn progress(&self) -> String {
        let told: Result<Value, ClientError> = self.json((GET, Api::Ours, "/progress"), &[], None).await;
        let told = told.unwrap_or_default();
        let number = |key: &str| told.get(key).and_then(Value::as_u64);
        match (told.get("stage").and_then(Value::as_str), number("done"), number("total")) {
            (Some(stage), Some(done), Some(total)) => format!("Syncing: {stage} {done}/{total}"),
            _ => "Waiting for the sync".to_owned(),
        }
    }

    /// A plan.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn plan(&self, query: PlanQuery) -> Result<PlanView, ClientError> {
        let given = [("last", query.last), ("all", query.all), ("diff", query.diff)];
        let pairs: Vec<(&str, &str)> = given.iter().filter(|(_, on)| *on).map(|(name, _)| (*name, "true")).collect();
        self.json((GET, Api::Ours, "/plan"), &pairs, None).await
    }

    /// The managed objects by file.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn objects(&self) -> Result<ObjectsView, ClientError> {
        self.json((GET, Api::Ours, "/objects"), &[], None).await
    }

    /// Where an object comes from and who owns its fields.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn trace(&self, id: &str) -> Result<TraceView, ClientError> {
        self.json((GET, Api::Ours, "/trace"), &[("id", id)], None).await
    }

    /// Deletes that wait for an approval.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn held(&self) -> Result<Vec<HeldView>, ClientError> {
        self.json((GET, Api::Ours, "/deletes"), &[], None).await
    }

    /// Lets held deletes through.
    ///
    /// # Errors
    /// The daemon's, when nothing of that digest is held.
    pub async fn approve(&self, digest: &str) -> Result<(), ClientError> {
        let path =
            format!("/deletes/{}/approve", url::form_urlencoded::byte_serialize(digest.as_bytes()).collect::<String>());
        self.fetch((POST, Api::Ours, &path), &[], Some(Vec::new())).await.map(|_| ())
    }

    /// Starts no sync any more; gives since when.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn pause(&self) -> Result<Value, ClientError> {
        self.json((POST, Api::Ours, "/pause"), &[], Some(Vec::new())).await
    }

    /// Ends a pause.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn resume(&self) -> Result<Value, ClientError> {
        self.json((POST, Api::Ours, "/resume"), &[], Some(Vec::new())).await
    }

    /// News from now on, until the connection ends.
    ///
    /// # Errors
    /// See [`ClientError`]; the stream's elements may fail too, which ends it.
    pub async fn news(&self) -> Result<impl Stream<Item = Result<News, ClientError>> + Unpin, ClientError> {
        let answer = self.send((GET, Api::Ours, "/events"), &[], None, None).await?;
        let parts = answer.bytes_stream().map(|part| part.map_err(|e| ClientError::Decode(causes(&e.without_url()))));
        Ok(Lines::new(parts).map(|data| decode(data?.as_bytes())))
    }
}

/// How long one request may take at least: reads of large repositories are slow (fluxd-v1 §8.5).
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);
