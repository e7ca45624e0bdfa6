//! Automation: looks now and then, and whenever registries have something new, whether automated workloads are due for
//! newer images, and queues one job for all of them (fluxd-v1 §5.1, §6.6).
//!
//! What is due is decided again when the job runs. A look costs no request when nothing is automated. While the daemon is
//! paused it does not look, and what is queued waits; the end of the pause brings a look.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use crate::object::image::ImageRef;
use crate::operator;
use crate::report::{ApiError, Cause, Update, UpdateSpec};
use crate::runtime::Stop;
use crate::tree::Revision;
use crate::update::{self, Remark, Verdict, World};

use super::shared::Shared;
use super::{live, release, snapshot};

/// News of registries come in bursts: this long without any ends a burst.
const QUIET: Duration = Duration::from_millis(400);
/// And this long is the longest that a burst is waited for.
const BURST: Duration = Duration::from_secs(2);

/// Looks until stopped.
///
/// # Errors
/// When the repository's own loop is gone.
pub(super) async fn run(shared: &Shared, stop: &Stop) -> Result<(), operator::Error> {
    let settings = &shared.settings;
    if settings.readonly || !settings.scanning {
        let why = if settings.readonly { "Repo is read-only" } else { "Registry scanning is disabled" };
        tracing::info!(component = "sync-loop", info = format!("{why}; no image updates will be attempted"));
        stop.stopped().await;
        return Ok(());
    }
    let mut looker = Looker { shared, told: HashSet::new(), looked_at: None };
    let (mut images, mut commits) = (shared.registry.changes(), shared.repo.changes());
    loop {
        if stop.or(shared.resumed()).await.is_none() {
            return Ok(());
        }
        // What comes while we look is news for the next look.
        images.mark_unchanged();
        commits.mark_unchanged();
        if stop.or(looker.look()).await.is_none() {
            return Ok(());
        }
        let again = Instant::now() + settings.automation_interval;
        loop {
            tokio::select! {
                () = stop.stopped() => return Ok(()),
                () = tokio::time::sleep_until(again) => break,
                () = shared.automation_wanted.notified() => break,
                changed = images.changed() => {
                    changed.map_err(|_| operator::Error::NotRunning)?;
                    stop.or(settle(&mut images)).await;
                    break;
                }
                changed = commits.changed() => {
                    changed.map_err(|_| operator::Error::NotRunning)?;
                    if looker.has_new_head().await {
                        break;
                    }
                }
            }
        }
    }
}

/// Waits for the end of a burst, so that all that is due goes into one commit.
async fn settle(images: &mut tokio::sync::watch::Receiver<u64>) {
    let end = Instant::now() + BURST;
    while let Ok(Ok(())) = tokio::time::timeout_at(end.min(Instant::now() + QUIET), images.changed()).await {}
}

/// An image's name as it is spelled, without tag and digest.
fn repository(image: &str) -> String {
    image.parse::<ImageRef>().map_or_else(|_| image.to_owned(), |image| image.with_tag("").with_digest(None).full())
}

struct Looker<'a> {
    shared: &'a Shared,
    /// Warnings of the last look, which are not told again.
    told: HashSet<String>,
    looked_at: Option<Revision>,
}

impl Looker<'_> {
    /// Whether the branch has a head that was not looked at yet; people automate by commits too.
    async fn has_new_head(&self) -> bool {
        self.shared.repo.ready().is_ok() && self.shared.repo.head().await.ok() != self.looked_at
    }

    async fn look(&mut self) {
        match self.due().await {
            Ok(true) => self.queue(),
            Ok(false) => {}
            // Until the repository is ready there is nothing to look at, and its first refresh brings a look.
            Err(e) if self.shared.repo.ready().is_err() => {
                tracing::debug!(component = "sync-loop", err = %e, "no look at automated workloads yet");
            }
            Err(e) => tracing::error!(component = "sync-loop", error = %e, "looking for new images"),
        }
    }

    async fn due(&mut self) -> Result<bool, ApiError> {
        let shared = self.shared;
        let snapshot = snapshot::take(shared, &Stop::new()).await?;
        tracing::info!(component = "sync-loop", msg = "polling for new images for automated workloads");
        self.looked_at = Some(snapshot.head.clone());
        let git = snapshot.workloads();
        let ids = update::automated(&git);
        if ids.is_empty() {
            tracing::info!(component = "sync-loop", msg = "no automated workloads");
            return Ok(false);
        }
        let cluster = live::some(shared, &ids, &snapshot.objects).await;
        let cluster = cluster.map_err(|e| ApiError::untyped(e.to_string()))?;
        let of_git = ids.iter().filter_map(|id| git.get(id));
        let images = release::images(shared, of_git, cluster.values());
        let decision = update::decide(&World { git: &git, cluster: &cluster, images: &images });
        self.tell(&decision.remarks);
        Ok(!decision.changes.is_empty())
    }

    /// Tells of each container that is due, and once of each that something is in the way of.
    fn tell(&mut self, remarks: &[Remark]) {
        let mut warned = HashSet::new();
        for remark in remarks {
            let Remark { workload, container, current, pattern, verdict } = remark;
            match verdict {
                Verdict::Update { new, reason } => tracing::info!(
                    component = "sync-loop", %workload, container, repo = repository(current), pattern, current, info = %verdict, new, reason
                ),
                _ => {
                    let text = format!("{workload} {container} {current} {pattern} {verdict}");
                    if !self.told.contains(&text) {
                        tracing::warn!(
                            component = "sync-loop", %workload, container, pattern, current,
                            warning = %verdict, action = "skip container"
                        );
                    }
                    warned.insert(text);
                }
            }
        }
        self.told = warned;
    }

    fn queue(&self) {
        let jobs = &self.shared.jobs;
        if jobs.has_waiting_automation() {
            return;
        }
        match jobs.queue(UpdateSpec { cause: Cause::default(), update: Update::Auto(Vec::new()) }) {
            Ok(id) => tracing::info!(component = "sync-loop", jobID = id, state = "queued"),
            Err(e) => tracing::error!(component = "sync-loop", error = %e, "queueing an automated release"),
        }
    }
}
