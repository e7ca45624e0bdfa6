//! The job of `fluxctl sync`: look at the remote, ask for a sync, and say which commit the client waits for (fluxd-v1 §6.1,
//! §2.10). The sync itself is the operator's.

use crate::report::{ApiError, JobResult};

use super::jobs::{Ended, Failed};
use super::shared::Shared;
use super::{head, words};

/// What git writes for no commit at all.
const NO_REVISION: &str = "0000000000000000000000000000000000000000";

/// Looks at the remote, and asks for a sync that reads every kind anew. The revision is what the client waits for.
pub(super) async fn run(shared: &Shared) -> Ended {
    shared.repo.refresh().await.map_err(Failed::untyped)?;
    head::follow(shared).await.map_err(Failed::untyped)?;
    let head = shared.repo.head().await.map_err(Failed::untyped)?;
    let valid = shared.state().head.clone();
    shared.request(true);
    if !shared.settings.verify_signatures || valid.as_ref() == Some(&head) {
        return Ok(JobResult { revision: head.to_string(), ..JobResult::default() });
    }
    // git's null id: fluxctl cuts seven characters off without looking, and fails at once where there is nothing to
    // wait for.
    let revision = valid.as_ref().map_or_else(|| NO_REVISION.to_owned(), ToString::to_string);
    let error = ApiError::untyped(words::head_not_verified(valid.as_ref(), &head));
    Err(Failed { error, result: Box::new(JobResult { revision, ..JobResult::default() }) })
}
