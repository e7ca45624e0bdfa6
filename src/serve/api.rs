//! What the server needs of the program behind it. The daemon's handle is the one implementation outside the tests, which
//! serve canned answers so that HTTP can be tested without git and Kubernetes.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::daemon::Feed;
use crate::object::ObjectId;
use crate::operator::{Held, Outcome, Person, Plan, Progress, Step};
use crate::report::{
    ApiError, Change, ControllerStatus, FieldDiff, GitConfig, ImageStatus, JobStatus, Metrics, ObjectsView, PublicKey,
    TraceView,
};

/// The answers behind the routes. None of them waits for a running sync.
pub trait Api: Clone + Send + Sync + 'static {
    /// Whether the API server answers.
    fn ping(&self) -> impl Future<Output = Result<(), ApiError>> + Send;
    /// The program's version.
    fn version(&self) -> String;
    /// Hears that something changed outside.
    fn notify(&self, change: Change) -> impl Future<Output = Result<(), ApiError>> + Send;
    /// Workloads of a namespace (empty for all) or those named.
    fn list_services(
        &self,
        namespace: &str,
        ids: &[ObjectId],
    ) -> impl Future<Output = Result<Vec<ControllerStatus>, ApiError>> + Send;
    /// Images of all workloads (`<all>`) or one; `fields` names what is shown of each container, all when it is empty.
    fn list_images(
        &self,
        workload: &str,
        namespace: &str,
        fields: &[String],
    ) -> impl Future<Output = Result<Vec<ImageStatus>, ApiError>> + Send;
    /// Starts an update and returns the job's id.
    fn update_manifests(&self, spec: &Value) -> impl Future<Output = Result<String, ApiError>> + Send;
    /// Where a job stands.
    fn job_status(&self, id: &str) -> impl Future<Output = Result<JobStatus, ApiError>> + Send;
    /// Commits up to a reference that are not synced yet, newest first.
    fn sync_status(&self, reference: &str) -> impl Future<Output = Result<Vec<String>, ApiError>> + Send;
    /// Namespaces and workloads as YAML.
    fn export(&self) -> impl Future<Output = Result<Vec<u8>, ApiError>> + Send;
    /// Settings and state of the repository.
    fn git_repo_config(&self, regenerate: bool) -> impl Future<Output = Result<GitConfig, ApiError>> + Send;
    /// The public deploy key; zero when there is none.
    fn public_key(&self) -> PublicKey;
    /// Makes a new deploy key.
    fn regenerate_key(&self) -> impl Future<Output = Result<(), ApiError>> + Send;
    /// All metrics, brought up to date.
    fn metrics(&self) -> Arc<Metrics>;
    /// News for those who watch.
    fn feed(&self) -> Feed;
    /// A plan from fresh reads; waits for a running pass.
    fn fresh_plan(&self) -> impl Future<Output = Result<Arc<Plan>, ApiError>> + Send;
    /// What a step would change, values of Secrets masked.
    fn diff(&self, step: &Step) -> impl Future<Output = Result<Vec<FieldDiff>, ApiError>> + Send;
    /// The managed objects.
    fn objects(&self) -> impl Future<Output = Result<ObjectsView, ApiError>> + Send;
    /// Where an object comes from, what became of it, and who owns its fields.
    fn trace(&self, id: &ObjectId) -> impl Future<Output = Result<TraceView, ApiError>> + Send;
    /// Whose token it is; `None` when it is nobody's.
    fn authenticate(&self, token: &str) -> impl Future<Output = Result<Option<Person>, ApiError>> + Send;
    /// Whether somebody may use a path, by the verb.
    fn may(&self, who: &Person, verb: &str, path: &str) -> impl Future<Output = Result<bool, ApiError>> + Send;
    /// The plan of the last whole pass.
    fn last_plan(&self) -> Option<Arc<Plan>>;
    /// The outcome of the last whole pass.
    fn last_outcome(&self) -> Option<Arc<Outcome>>;
    /// Why the last pass could not even say what is wanted.
    fn last_error(&self) -> Option<String>;
    /// How far a running pass is.
    fn progress(&self) -> Progress;
    /// Deletes that wait for an approval.
    fn held(&self) -> Vec<Held>;
    /// Lets held deletes through.
    ///
    /// # Errors
    /// When nothing is held under this digest.
    fn approve(&self, digest: &str) -> Result<(), ApiError>;
    /// Starts no pass any more.
    ///
    /// # Errors
    /// When no operator runs yet.
    fn pause(&self) -> Result<(), ApiError>;
    /// Ends a pause.
    ///
    /// # Errors
    /// When no operator runs yet.
    fn resume(&self) -> Result<(), ApiError>;
    /// Asks for a sync of what is known of git.
    ///
    /// # Errors
    /// When no operator runs yet.
    fn sync_now(&self) -> Result<(), ApiError>;
    /// Since when it is paused.
    fn paused_since(&self) -> Option<Timestamp>;
}
