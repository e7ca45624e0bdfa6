//! The daemon's handle as what the server asks.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::Api;
use crate::daemon::{Feed, Handle};
use crate::object::ObjectId;
use crate::operator::{self, Held, Outcome, Person, Plan, Progress, Step};
use crate::report::{
    ApiError, Change, ControllerStatus, FieldDiff, GitConfig, ImageStatus, JobStatus, Metrics, ObjectsView, PublicKey,
    TraceView,
};

fn running(handle: &Handle) -> Result<&operator::Handle, ApiError> {
    let help = "The sync loop has not started yet. Try again in a moment.";
    handle.operator().ok_or_else(|| ApiError::server("the sync loop does not run", help))
}

/// Why there is no plan; before the first commit that may be synced, why there is none.
fn no_plan(handle: &Handle, e: &operator::Error) -> ApiError {
    let early = matches!(e, operator::Error::NotReady(_));
    let cause = handle.head_error().filter(|_| early).unwrap_or_else(|| e.to_string());
    let help = format!(
        "No plan can be made\n\nWhat the cluster should hold, or what it holds, could not be read:\n\n    {cause}\n\n\
         Mend what the error names, then ask again.\n"
    );
    ApiError::user(cause, help)
}

impl Api for Handle {
    async fn ping(&self) -> Result<(), ApiError> {
        Self::ping(self).await
    }

    fn version(&self) -> String {
        Self::version(self).to_owned()
    }

    async fn notify(&self, change: Change) -> Result<(), ApiError> {
        Self::notify(self, change).await
    }

    async fn list_services(&self, namespace: &str, ids: &[ObjectId]) -> Result<Vec<ControllerStatus>, ApiError> {
        Self::list_services(self, namespace, ids).await
    }

    async fn list_images(
        &self,
        workload: &str,
        namespace: &str,
        fields: &[String],
    ) -> Result<Vec<ImageStatus>, ApiError> {
        Self::list_images(self, workload, namespace, fields).await
    }

    async fn update_manifests(&self, spec: &Value) -> Result<String, ApiError> {
        Self::update_manifests(self, spec).await
    }

    async fn job_status(&self, id: &str) -> Result<JobStatus, ApiError> {
        Self::job_status(self, id).await
    }

    async fn sync_status(&self, reference: &str) -> Result<Vec<String>, ApiError> {
        Self::sync_status(self, reference).await
    }

    async fn export(&self) -> Result<Vec<u8>, ApiError> {
        Self::export(self).await
    }

    async fn git_repo_config(&self, regenerate: bool) -> Result<GitConfig, ApiError> {
        Self::git_repo_config(self, regenerate).await
    }

    fn public_key(&self) -> PublicKey {
        Self::public_key(self)
    }

    async fn regenerate_key(&self) -> Result<(), ApiError> {
        Self::regenerate_key(self).await
    }

    fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(Self::metrics(self))
    }

    fn feed(&self) -> Feed {
        Self::feed(self).clone()
    }

    async fn fresh_plan(&self) -> Result<Arc<Plan>, ApiError> {
        running(self)?.plan().await.map_err(|e| no_plan(self, &e))
    }

    async fn diff(&self, step: &Step) -> Result<Vec<FieldDiff>, ApiError> {
        Self::diff(self, step).await
    }

    async fn objects(&self) -> Result<ObjectsView, ApiError> {
        Self::objects(self).await
    }

    async fn trace(&self, id: &ObjectId) -> Result<TraceView, ApiError> {
        Self::trace(self, id).await
    }

    async fn authenticate(&self, token: &str) -> Result<Option<Person>, ApiError> {
        self.reads().authenticate(token).await.map_err(|e| ApiError::untyped(e.to_string()))
    }

    async fn may(&self, who: &Person, verb: &str, path: &str) -> Result<bool, ApiError> {
        self.reads().may(who, verb, path).await.map_err(|e| ApiError::untyped(e.to_string()))
    }

    fn last_plan(&self) -> Option<Arc<Plan>> {
        self.operator()?.last_plan()
    }

    fn last_outcome(&self) -> Option<Arc<Outcome>> {
        self.operator()?.last_outcome()
    }

    fn last_error(&self) -> Option<String> {
        self.head_error().or_else(|| self.operator()?.last_error())
    }

    fn progress(&self) -> Progress {
        self.operator().map(operator::Handle::progress).unwrap_or_default()
    }

    fn held(&self) -> Vec<Held> {
        self.operator().map(operator::Handle::held).unwrap_or_default()
    }

    fn approve(&self, digest: &str) -> Result<(), ApiError> {
        let help = "No deletes are held under this digest. Ask for the held deletes again: they may have changed.";
        running(self)?.approve(digest).map_err(|e| ApiError::missing(e.to_string(), help))
    }

    fn pause(&self) -> Result<(), ApiError> {
        running(self)?.pause();
        Ok(())
    }

    fn resume(&self) -> Result<(), ApiError> {
        running(self)?.resume();
        Ok(())
    }

    fn sync_now(&self) -> Result<(), ApiError> {
        running(self)?.request();
        Ok(())
    }

    fn paused_since(&self) -> Option<Timestamp> {
        self.operator()?.paused_since()
    }
}
