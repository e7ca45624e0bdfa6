//! What happens when somebody deletes a ResourceSet: what it owns goes with it (resourceset §7.7).

use std::time::{Duration, Instant};

use kube::ResourceExt as _;

use super::apply::entries_of;
use super::reconciler::ResourceSets;
use crate::api::resourceset::ResourceSet;
use crate::api::{annotation, duration};
use crate::object::Gvk;
use crate::operator::controller::{Event, Finalize, Next, Pass};
use crate::operator::sets::{ApplyHow, Identity, Pruned};

/// How often deleting is tried before what is left is given up: an account whose rights went first never gets them back.
const TRIES: u32 = 6;
/// Time for one try. Objects that clean up after themselves get a minute of it.
const DEADLINE: Duration = Duration::from_mins(5);
/// The cause of retries.
const CAUSE: &str = "finalize";

/// Deletes what the ResourceSet owns, unless it is suspended.
pub(super) async fn run(owner: &ResourceSets, object: &ResourceSet, cx: &Pass<ResourceSet>) -> Finalize {
    let begun = Instant::now();
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let inventory = object.status.as_ref().and_then(|status| status.inventory.clone()).unwrap_or_default();
    if annotation::is_disabled(object.annotations()) || inventory.entries.is_empty() {
        owner.forget(object);
        return Finalize::Done;
    }
    let identity = owner.identity(object);
    match account_is_gone(owner, object, &identity).await {
        Ok(true) => {
            tracing::warn!(namespace, name, "the service account is gone: objects are left where they are");
            owner.forget(object);
            return Finalize::Done;
        }
        Ok(false) => {}
        Err(error) => return Finalize::Keep(Next::Retry { cause: CAUSE.to_owned(), error }),
    }
    let how = ApplyHow::within(DEADLINE, cx.stop());
    let set = owner.objects_of(object, identity);
    let entries = entries_of(&inventory);
    let pruned = cx.waiting(set.prune(&entries, &how)).await;
    if let Some(error) = &pruned.error {
        tracing::error!(namespace, name, err = %error, "pruning failed");
        if cx.stop().is_stopped() || cx.attempts(CAUSE) < TRIES {
            return Finalize::Keep(Next::Retry { cause: CAUSE.to_owned(), error: error.clone() });
        }
    }
    let took = duration::rounded(begun.elapsed());
    tell(object, cx, &pruned, &took);
    tracing::info!(namespace, name, "Uninstallation compleated in {took}");
    owner.forget(object);
    Finalize::Done
}

/// Users see what went with a ResourceSet, and how long it took.
fn tell(object: &ResourceSet, cx: &Pass<ResourceSet>, pruned: &Pruned, took: &str) {
    let lines: Vec<String> = pruned.changes.iter().map(ToString::to_string).collect();
    if lines.is_empty() {
        return;
    }
    let message = format!("{}\nUninstallation completed in {took}", lines.join("\n"));
    cx.event(
        object,
        Event { reason: "GarbageCollectionSucceeded".to_owned(), message, forward: true, ..Event::default() },
    );
}

/// Without its service account nothing may be deleted: nobody has the right to.
async fn account_is_gone(owner: &ResourceSets, object: &ResourceSet, identity: &Identity) -> Result<bool, String> {
    let Identity::ServiceAccount { namespace, name } = identity else { return Ok(false) };
    let own = owner.objects_of(object, Identity::Own);
    match own.get(&Gvk::new("v1", "ServiceAccount"), Some(namespace), name).await {
        Ok(_) => Ok(false),
        Err(error) if error.not_found => Ok(true),
        Err(error) => Err(format!("reading ServiceAccount/{namespace}/{name}: {error}")),
    }
}
