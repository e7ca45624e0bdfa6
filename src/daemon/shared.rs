//! What the loop, the jobs and the API share: the repository, the generator, and what the last load saw.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures::FutureExt as _;
use tokio::sync::Notify;

use crate::generate::{Export, Generator, Loaded};
use crate::operator::{self, reads::Reads};
use crate::registry::Registry;
use crate::report::{ApiError, Metrics};
use crate::runtime::Stop;
use crate::source::git::{self, Commit, KeyRing, Repo};
use crate::tree::{Revision, Tree};

use super::feed::Feed;
use super::jobs::JobLog;
use super::settings::Settings;
use super::words;

/// What the daemon is put together from.
pub struct Parts {
    /// Its own settings.
    pub settings: Settings,
    /// The repository.
    pub repo: Repo,
    /// Loads trees.
    pub generator: Generator,
    /// Reads of the cluster.
    pub reads: Reads,
    /// What is known of images.
    pub registry: Registry,
    /// Where figures go.
    pub metrics: Arc<Metrics>,
    /// The deploy key; `None` out of a cluster and for http addresses.
    pub keys: Option<KeyRing>,
}

/// A load and the revision it shows.
pub(super) type LoadedAt = (Revision, Arc<Loaded>);

pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) repo: Repo,
    pub(super) generator: Generator,
    pub(super) reads: Reads,
    pub(super) registry: Registry,
    pub(super) metrics: Arc<Metrics>,
    pub(super) keys: Option<KeyRing>,
    pub(super) jobs: JobLog,
    /// News for those who watch; the jobs tell theirs themselves.
    pub(super) feed: Feed,
    /// Told when a sync changed what runs.
    pub(super) cluster_changed: Notify,
    /// Told when somebody automated a workload.
    pub(super) automation_wanted: Notify,
    pub(super) operator: OnceLock<operator::Handle>,
    pub(super) state: Mutex<State>,
}

/// What changes while the daemon runs.
#[derive(Default)]
pub(super) struct State {
    /// The newest commit that may be synced; `None` before the first refresh.
    pub(super) head: Option<Revision>,
    /// Why the last look at the mirror gave no commit that may be synced.
    pub(super) head_error: Option<String>,
    /// What the running sync wants; an API read may have loaded another revision since.
    pub(super) wanted: Option<LoadedAt>,
    /// The last load.
    pub(super) loaded: Option<LoadedAt>,
    /// Revisions that are being loaded.
    pub(super) loading: HashMap<Revision, Arc<tokio::sync::Mutex<()>>>,
    /// What was synced last.
    pub(super) synced: Option<Arc<Loaded>>,
    /// The marker that this process wrote last.
    pub(super) marker: Option<Revision>,
    /// When the running sync began.
    pub(super) started: Option<std::time::Instant>,
    /// Whether a marker moved by somebody else was told of.
    pub(super) told_of_foreign_marker: bool,
}

impl Shared {
    pub(super) fn new(parts: Parts) -> Arc<Self> {
        let Parts { settings, repo, generator, reads, registry, metrics, keys } = parts;
        let feed = Feed::default();
        Arc::new(Self {
            settings,
            repo,
            generator,
            reads,
            registry,
            metrics,
            keys,
            jobs: JobLog::new(feed.clone()),
            feed,
            cluster_changed: Notify::new(),
            automation_wanted: Notify::new(),
            operator: OnceLock::new(),
            state: Mutex::default(),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the operator for a sync; before it is known, it syncs at its start anyway.
    pub(super) fn request(&self, full: bool) {
        if let Some(operator) = self.operator.get() {
            if full { operator.request_full() } else { operator.request() }
        }
    }

    /// Whether somebody paused the daemon for incident work: then nothing is released that no person asks for.
    pub(super) fn is_paused(&self) -> bool {
        self.operator.get().is_some_and(operator::Handle::is_paused)
    }

    /// Waits for the end of a pause, if there is one.
    pub(super) async fn resumed(&self) {
        let Some(operator) = self.operator.get() else { return };
        // The sender lives as long as the operator's handle, which is ours.
        drop(operator.pauses().wait_for(Option::is_none).await);
    }

    /// A function that writes a tree to a directory, for generators.
    pub(super) fn export(&self) -> Export {
        let repo = self.repo.clone();
        Arc::new(move |tree: Tree, dir: PathBuf| {
            let repo = repo.clone();
            async move { repo.export(&tree, &dir).await.map_err(|e| e.to_string()) }.boxed()
        })
    }

    /// What a revision wants. A load of the same revision is reused unless `rerun` asks for the commands to run again.
    pub(super) async fn load(&self, revision: &Revision, rerun: bool, stop: &Stop) -> Result<Arc<Loaded>, LoadError> {
        // Who wants a revision that is being loaded waits for that: commands take time, and run once.
        let turn = Arc::clone(self.state().loading.entry(revision.clone()).or_default());
        let _turn = if rerun { None } else { Some(turn.lock().await) };
        let known = self.state().loaded.clone();
        if let Some((_, loaded)) = known.filter(|(at, _)| at == revision && !rerun) {
            self.state().loading.remove(revision);
            return Ok(loaded);
        }
        let loaded = self.load_anew(revision, rerun, stop).await;
        // After a failure too: revisions come and go as long as the process lives.
        let mut state = self.state();
        state.loading.remove(revision);
        let loaded = loaded?;
        state.loaded = Some((revision.clone(), Arc::clone(&loaded)));
        drop(state);
        Ok(loaded)
    }

    async fn load_anew(&self, revision: &Revision, rerun: bool, stop: &Stop) -> Result<Arc<Loaded>, LoadError> {
        let tree = self.repo.tree(revision).await.map_err(LoadError::Git)?;
        let loaded = self.generator.load(&tree, &self.export(), rerun, stop).await.map_err(LoadError::Manifests)?;
        Ok(Arc::new(loaded))
    }

    /// The repository's address without password.
    pub(super) fn safe_url(&self) -> String {
        git::sanitise_url(&self.settings.url)
    }

    /// Commits after `old` up to `new`, newest first. With generation every commit counts, because bases and configs may
    /// lie outside of the configured paths (fluxd-v1 §4.6).
    pub(super) async fn commits_between(
        &self,
        old: Option<&Revision>,
        new: &Revision,
    ) -> Result<Vec<Commit>, git::Error> {
        let everywhere = Vec::new();
        let paths = if self.settings.manifest_generation { &everywhere } else { &self.settings.paths };
        self.commits_since(old, new, paths).await
    }

    /// Commits after `old` up to `new` on the given paths. A marker that the mirror does not know any more, as after a
    /// force-push, counts as none: then every commit is named rather than none.
    pub(super) async fn commits_since(
        &self,
        old: Option<&Revision>,
        new: &Revision,
        paths: &[String],
    ) -> Result<Vec<Commit>, git::Error> {
        match self.repo.commits(old, new, paths).await {
            Err(git::Error::UnknownRevision(_)) if old.is_some() => self.repo.commits(None, new, paths).await,
            commits => commits,
        }
    }

    /// What the head of the branch wants, for API reads.
    pub(super) async fn resources(&self) -> Result<Arc<Loaded>, ResourcesError> {
        self.repo.ready().map_err(ResourcesError::Repo)?;
        // Never a commit that may not be synced: its generators would run.
        let head = if self.settings.verify_signatures {
            let none = || git::Error::NotReady("no commit with a good signature is known yet".into());
            self.state().head.clone().ok_or_else(|| ResourcesError::Repo(none()))?
        } else {
            self.repo.head().await.map_err(ResourcesError::Repo)?
        };
        self.load(&head, false, &Stop::new()).await.map_err(|e| match e {
            LoadError::Git(e) => ResourcesError::Repo(e),
            LoadError::Manifests(e) => ResourcesError::Manifests(words::unparseable(&e.to_string())),
        })
    }
}

/// Why a revision could not be turned into objects.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    /// The tree could not be read.
    #[error("{0}")]
    Git(#[source] git::Error),
    /// A file or a generator failed.
    #[error("loading {stage}: {0}", stage = stage(.0))]
    Manifests(#[source] crate::generate::Error),
}

/// v1 found the `.flux.yaml` files before it loaded anything, and said so.
fn stage(error: &crate::generate::Error) -> &'static str {
    match error {
        crate::generate::Error::Config { .. }
        | crate::generate::Error::Discover { .. }
        | crate::generate::Error::Outside(_) => "new resources",
        _ => "resources from repo",
    }
}

/// Why the API cannot tell what is in git.
#[derive(Debug)]
pub(super) enum ResourcesError {
    /// The repository is not usable (yet).
    Repo(git::Error),
    /// Its files are wrong.
    Manifests(ApiError),
}
