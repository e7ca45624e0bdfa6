//! What the API can ask of the daemon. Nothing here waits for a running sync.

use std::sync::Arc;

use crate::object::image::ImageName;
use crate::object::{ObjectId, yaml};
use crate::operator;
use crate::report::{
    ApiError, Change, ControllerStatus, GitConfig, GitRemote, ImageStatus, JobState, JobStatus, Metrics, PublicKey,
    Update, UpdateSpec, decode_update,
};
use crate::runtime::Stop;
use crate::source::git;
use crate::tree::Revision;

use super::feed::Feed;
use super::jobs::{self, Job};
use super::shared::{ResourcesError, Shared};
use super::{automation, commit, identity, images, marker, services, wants, words, worker};

/// A cheap handle of the daemon for those who serve it.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

fn untyped(e: impl std::fmt::Display) -> ApiError {
    ApiError::untyped(e.to_string())
}

impl Handle {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Tells the daemon which operator runs it. Called once, before anything runs; a second call changes nothing.
    pub fn attach(&self, operator: operator::Handle) {
        self.shared.operator.get_or_init(|| operator);
    }

    /// The operator that runs the daemon; `None` before it is attached.
    pub fn operator(&self) -> Option<&operator::Handle> {
        self.shared.operator.get()
    }

    /// Why there is no new commit to sync, where the last look at the repository's mirror failed: signatures, for example.
    pub fn head_error(&self) -> Option<String> {
        self.shared.state().head_error.clone()
    }

    /// Typed reads of the cluster.
    pub fn reads(&self) -> &operator::reads::Reads {
        &self.shared.reads
    }

    /// News for those who watch.
    pub fn feed(&self) -> &Feed {
        &self.shared.feed
    }

    /// The registry of figures, brought up to date.
    pub fn metrics(&self) -> &Arc<Metrics> {
        let (status, _) = self.shared.repo.status();
        self.shared.metrics.git_ready(status == git::Status::Ready);
        self.shared.metrics.queue_length(self.shared.jobs.waiting());
        &self.shared.metrics
    }

    /// Whether the API server answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self) -> Result<(), ApiError> {
        self.shared.reads.ping().await.map_err(untyped)
    }

    /// The daemon's version.
    pub fn version(&self) -> &str {
        &self.shared.settings.version
    }

    /// Hears that something changed outside. A change of another branch of our repository means nothing to us; any other
    /// git change makes the mirror look (fluxd-v1 §8.4).
    ///
    /// # Errors
    /// None today.
    pub async fn notify(&self, change: Change) -> Result<(), ApiError> {
        let settings = &self.shared.settings;
        match change {
            Change::Git { url, branch } => {
                let other = git::equivalent(&url, &settings.url) && branch != settings.branch && !branch.is_empty();
                if other {
                    let url = git::sanitise_url(&url);
                    tracing::info!(component = "daemon", msg = "notified about unrelated change", url, branch);
                } else {
                    self.shared.repo.notify();
                }
            }
            Change::Image { domain, image } => {
                let name = ImageName { domain, path: image };
                self.shared.registry.notify(&name.canonical());
            }
        }
        Ok(())
    }

    /// Commits up to `reference` that are not synced yet, newest first.
    ///
    /// # Errors
    /// When the repository is not ready or the reference is not known.
    pub async fn sync_status(&self, reference: &str) -> Result<Vec<String>, ApiError> {
        let shared = &self.shared;
        shared.repo.ready().map_err(untyped)?;
        let marker = marker::read(shared).await.map_err(untyped)?;
        // `marker..` is git's word for `marker..HEAD`.
        let end = if reference.is_empty() { "HEAD" } else { reference };
        // git's searches by pattern take what time they like; no client of the API needs them.
        if end.contains([':', '{']) {
            return Err(unknown_range(marker.as_ref(), reference, git::Error::UnknownRevision(end.to_owned())));
        }
        let revision = shared.repo.resolve(end).await.map_err(|e| unknown_range(marker.as_ref(), reference, e))?;
        let paths = &shared.settings.paths;
        let commits = shared.commits_since(marker.as_ref(), &revision, paths).await.map_err(untyped)?;
        Ok(commits.into_iter().map(|c| c.revision.to_string()).collect())
    }

    /// Settings and state of the repository; with `regenerate` a new deploy key is made first.
    ///
    /// # Errors
    /// When the key cannot be made.
    pub async fn git_repo_config(&self, regenerate: bool) -> Result<GitConfig, ApiError> {
        if regenerate {
            self.regenerate_key().await?;
        }
        let settings = &self.shared.settings;
        let (status, error) = self.shared.repo.status();
        let url = self.shared.safe_url();
        let (branch, path) = (settings.branch.clone(), settings.paths.join(","));
        Ok(GitConfig {
            remote: GitRemote { url, branch, path },
            public_key: self.public_key(),
            status: status.to_string(),
            errors: error.unwrap_or_default(),
        })
    }

    /// The public deploy key; zero without a key ring.
    pub fn public_key(&self) -> PublicKey {
        self.shared.keys.as_ref().map(|keys| identity::shown(keys.public_key())).unwrap_or_default()
    }

    /// Makes a new deploy key; without a key ring nothing is done, as in v1.
    ///
    /// # Errors
    /// When it cannot be made or stored.
    pub async fn regenerate_key(&self) -> Result<(), ApiError> {
        match &self.shared.keys {
            Some(keys) => keys.regenerate(&Stop::new()).await.map_err(untyped),
            None => Ok(()),
        }
    }

    /// The allowed namespaces and their workloads as YAML, as `fluxctl save` reads them.
    ///
    /// # Errors
    /// When the cluster cannot be read.
    pub async fn export(&self) -> Result<Vec<u8>, ApiError> {
        let objects = self.shared.reads.export().await.map_err(untyped)?;
        let documents: Vec<String> = objects.iter().map(yaml::write).collect();
        Ok(documents.join("---\n").into_bytes())
    }

    /// Workloads of a namespace, or those named, or all when both are empty.
    ///
    /// # Errors
    /// When both are given, when the cluster cannot be read, or when the files in git cannot.
    pub async fn list_services(&self, namespace: &str, ids: &[ObjectId]) -> Result<Vec<ControllerStatus>, ApiError> {
        if !namespace.is_empty() && !ids.is_empty() {
            return Err(ApiError::untyped("cannot filter by 'namespace' and 'workloads' at the same time"));
        }
        services::list(&self.shared, namespace, ids).await
    }

    /// The images that workloads run and could run: all workloads when `workload` is `<all>`, else the one named
    /// (fluxd-v1 §8.3). `fields` names what is shown of each container; none for all.
    ///
    /// # Errors
    /// When a namespace and a workload are both given, for unknown fields and unreadable identities, when the cluster
    /// cannot be read, or when the files in git cannot.
    pub async fn list_images(
        &self,
        workload: &str,
        namespace: &str,
        fields: &[String],
    ) -> Result<Vec<ImageStatus>, ApiError> {
        images::list(&self.shared, workload, namespace, fields).await
    }

    /// Starts an update and gives the job's name. A plan is made at once, beside whatever runs; the others are queued.
    ///
    /// # Errors
    /// On a specification that cannot be read, for `auto`, when too many jobs wait, and when a plan fails.
    pub async fn update_manifests(&self, body: &serde_json::Value) -> Result<String, ApiError> {
        let spec = decode_update(body)?;
        if let Update::Auto(_) = &spec.update {
            return Err(ApiError::untyped("unknown update type \"auto\""));
        }
        self.update(spec).await
    }

    /// As [`Handle::update_manifests`], for a specification that is read already.
    ///
    /// # Errors
    /// When too many jobs wait, and when a plan fails.
    pub async fn update(&self, spec: UpdateSpec) -> Result<String, ApiError> {
        let shared = &self.shared;
        if !spec.update.is_plan() {
            let id = shared.jobs.queue(spec)?;
            tracing::info!(component = "sync-loop", jobID = id, state = "queued");
            return Ok(id);
        }
        let job = Job { id: jobs::new_id(), spec };
        match worker::execute(shared, &job, &Stop::new()).await {
            Ok(_) => Ok(job.id),
            Err(failed) => Err(failed.error),
        }
    }

    /// Where a job stands.
    ///
    /// # Errors
    /// When nobody knows it.
    pub async fn job_status(&self, id: &str) -> Result<JobStatus, ApiError> {
        if let Some(status) = self.shared.jobs.get(id) {
            return Ok(status);
        }
        let result = commit::landed(&self.shared, id).await.ok_or_else(|| ApiError::unknown_job(id))?;
        Ok(JobStatus { result, err: String::new(), state: JobState::Succeeded })
    }

    /// Looks for new images of automated workloads, until stopped.
    ///
    /// # Errors
    /// When the repository's own loop is gone.
    pub async fn automate(self, stop: Stop) -> Result<(), operator::Error> {
        automation::run(&self.shared, &stop).await
    }

    /// Tells the registry which images to look for, until stopped. Nothing is looked for where scanning is disabled.
    ///
    /// # Errors
    /// None: what cannot be read is told and asked again.
    pub async fn watch_images(self, stop: Stop) -> Result<(), operator::Error> {
        if !self.shared.settings.scanning {
            stop.stopped().await;
            return Ok(());
        }
        wants::run(&self.shared, &stop).await
    }

    /// Works on queued jobs one at a time, until stopped.
    ///
    /// # Errors
    /// None: a job's failure is the job's.
    pub async fn run_jobs(self, stop: Stop) -> Result<(), operator::Error> {
        worker::run(&self.shared, &stop).await
    }
}

/// git's words for a range of which one end is not known (fluxd-v1 §2.2, errata 14).
fn unknown_range(marker: Option<&Revision>, reference: &str, error: git::Error) -> ApiError {
    let git::Error::UnknownRevision(_) = error else { return untyped(error) };
    let from = marker.map(ToString::to_string).unwrap_or_default();
    let line = format!("fatal: bad revision '{from}..{reference}'");
    ApiError::untyped(format!("{line}, full output:\n {line}\n"))
}

impl From<ResourcesError> for ApiError {
    fn from(e: ResourcesError) -> Self {
        match e {
            ResourcesError::Repo(e) => words::repo_not_ready(&e.to_string()),
            ResourcesError::Manifests(e) => e,
        }
    }
}
