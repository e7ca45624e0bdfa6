//! Follows the mirror: after each refresh, decides which commit may be synced, and asks for a sync when it is another one
//! (fluxd-v1 §5.1, §2.10).

use std::sync::Arc;

use crate::operator;
use crate::runtime::Stop;
use crate::tree::Revision;

use super::marker::{self, Error};
use super::shared::Shared;

/// Runs until stopped.
pub(super) async fn watch(shared: Arc<Shared>, stop: Stop) -> Result<(), operator::Error> {
    let mut changes = shared.repo.changes();
    loop {
        tokio::select! {
            () = stop.stopped() => return Ok(()),
            changed = changes.changed() => {
                if changed.is_err() {
                    return if stop.is_stopped() { Ok(()) } else { Err(operator::Error::NotRunning) };
                }
            }
        }
        changes.mark_unchanged();
        let followed = follow(&shared).await;
        if let Err(e) = &followed {
            tracing::error!(component = "sync-loop", url = %shared.safe_url(), "{e}");
        }
        shared.state().head_error = followed.err().map(|e| e.to_string());
    }
}

/// Looks at the mirror once; asks for a sync when the commit to sync is another than before.
pub(super) async fn follow(shared: &Shared) -> Result<(), Error> {
    let Some(head) = valid_head(shared).await? else { return Ok(()) };
    tracing::info!(
        component = "sync-loop",
        event = "refreshed",
        url = %shared.safe_url(),
        branch = %shared.settings.branch,
        HEAD = %head
    );
    let is_new = {
        let mut state = shared.state();
        let is_new = state.head.as_ref() != Some(&head);
        state.head = Some(head);
        is_new
    };
    if is_new {
        shared.request(false);
    }
    Ok(())
}

/// The branch's head, or with verification the last commit before the first that has no good signature.
async fn valid_head(shared: &Shared) -> Result<Option<Revision>, Error> {
    if !shared.settings.verify_signatures {
        return Ok(Some(shared.repo.head().await?));
    }
    let marker = marker::read(shared).await?;
    let verified = shared.repo.latest_valid(marker.as_ref()).await?;
    if let Some(offender) = verified.offender {
        tracing::warn!(
            component = "sync-loop",
            err = "found invalid GPG signature for commit",
            revision = %offender.revision,
            key = %offender.key
        );
    }
    Ok(verified.revision)
}
