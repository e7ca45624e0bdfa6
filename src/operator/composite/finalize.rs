//! The end of a composite: what it owns is deleted, and the object stays until all of it is gone.

use std::time::Duration;

use jiff::Timestamp;

use crate::api::condition::APPLY_SUCCEEDED;
use crate::operator::controller::{Finalize, Next, WriteError};
use crate::operator::sets::Entry;

use super::pass::Work;
use super::{Composite, reason};

/// How often a guard is asked again.
const BLOCKED: Duration = Duration::from_secs(5);
/// How often what is being deleted is looked at.
const VANISHING: Duration = Duration::from_secs(1);
/// Reads in flight while it is.
const READS: usize = 8;

impl<C: Composite> Work<'_, C> {
    pub(super) async fn finalize(&mut self) -> Finalize {
        if let Some(message) = self.all.composite.deletion_blocked(&self.object, &self.context()).await {
            return self.keep((reason::DELETION_BLOCKED, message), poll("blocked", BLOCKED)).await;
        }
        let owned = self.status.entries();
        if owned.is_empty() {
            return Finalize::Done;
        }
        let pruned = self.set.prune(&owned, &self.how(false)).await;
        if self.cx.attempts(DELETING) == 0 && !pruned.changes.is_empty() {
            let lines: Vec<String> = pruned.changes.iter().map(ToString::to_string).collect();
            self.tell(false, APPLY_SUCCEEDED, lines.join("\n"));
        }
        if let Some(message) = pruned.error {
            self.tell(true, reason::DELETION_FAILED, message.clone());
            let next = Next::Retry { cause: "delete".into(), error: message.clone() };
            return self.keep((reason::DELETION_FAILED, message), next).await;
        }
        let skipped =
            |entry: &Entry| pruned.changes.iter().any(|c| c.entry == *entry && c.action.as_str() == "skipped");
        let deleted: Vec<Entry> = owned.into_iter().filter(|entry| !skipped(entry)).collect();
        let left = self.still_there(deleted).await;
        if left.is_empty() {
            return Finalize::Done;
        }
        let message = format!("waiting for {} objects to be gone, such as {}", left.len(), left[0]);
        self.status.set_entries(&left);
        self.keep((DELETING, message), poll(DELETING, VANISHING)).await
    }

    async fn still_there(&self, entries: Vec<Entry>) -> Vec<Entry> {
        use futures::StreamExt as _;
        let look = |entry: Entry| async move {
            let read = self.set.get(&entry.gvk(), entry.key.namespace.as_deref(), &entry.key.name).await;
            // What cannot be read may be there.
            let gone = matches!(read, Err(error) if error.not_found);
            (!gone).then_some(entry)
        };
        let looks = futures::stream::iter(entries).map(look).buffered(READS);
        looks.filter_map(|entry| async { entry }).collect().await
    }

    async fn keep(&mut self, (reason, message): (&str, String), next: Next) -> Finalize {
        self.status.failed((reason, &message), self.generation, Timestamp::now());
        match self.write().await {
            Ok(()) | Err(WriteError::Gone { .. }) => Finalize::Keep(next),
            Err(error) => Finalize::Keep(Next::Retry { cause: "status".into(), error: error.to_string() }),
        }
    }
}

/// Reason and cause while what was deleted vanishes.
const DELETING: &str = "Deleting";

fn poll(cause: &str, after: Duration) -> Next {
    Next::Poll { cause: cause.to_owned(), after }
}
