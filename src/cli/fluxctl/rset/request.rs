//! `reconcile`, `suspend`, `resume`: annotations that the controller hears, and the wait until it is through
//! (resourceset §10).

use std::time::Duration;

use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::cluster::{failed, objects, open};
use super::custom::Custom;
use crate::api::annotation::{DISABLED, ENABLED, FORCE_AT, RECONCILE, REQUESTED_AT, SUSPENDED_BY};
use crate::api::condition::HEALTH_CHECK_CANCELED;
use crate::api::status;
use crate::cli::fluxctl::problem::Problem;
use crate::cli::fluxctl::session::Session;
use crate::cli::fluxctl::terminal::tell;

/// Whose hand changes the annotations.
const MANAGER: &str = "fluxctl";
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// Asks for a reconciliation.
pub(super) async fn reconcile<K: Custom>(session: &Session<'_>, name: &str) -> Result<(), Problem> {
    let api = objects::<K>(session, &open(session).await?.client);
    let object = api.get(name).await.map_err(failed::<K>("reading", name))?;
    if object.is_suspended() {
        return Err(Problem::Usage(format!("{} {name} is suspended; resume it first", K::KIND)));
    }
    let token = token();
    let mut changes = vec![(REQUESTED_AT, json!(token))];
    if session.given.bool("force") {
        changes.push((FORCE_AT, json!(token)));
    }
    annotate(&api, name, changes).await?;
    tell(&format!("{} {name}: reconciliation requested", K::KIND));
    follow(session, &api, name, &token).await
}

/// Suspends.
pub(super) async fn suspend<K: Custom>(session: &Session<'_>, name: &str) -> Result<(), Problem> {
    let api = objects::<K>(session, &open(session).await?.client);
    annotate::<K>(&api, name, vec![(RECONCILE, json!(DISABLED))]).await?;
    tell(&format!("{} {name}: suspended", K::KIND));
    Ok(())
}

/// Resumes, which asks for a reconciliation.
pub(super) async fn resume<K: Custom>(session: &Session<'_>, name: &str) -> Result<(), Problem> {
    let api = objects::<K>(session, &open(session).await?.client);
    let token = token();
    let changes = vec![(RECONCILE, json!(ENABLED)), (REQUESTED_AT, json!(token)), (SUSPENDED_BY, Value::Null)];
    annotate(&api, name, changes).await?;
    tell(&format!("{} {name}: resumed", K::KIND));
    follow(session, &api, name, &token).await
}

/// The time with nanoseconds, as Go's RFC3339Nano writes it.
fn token() -> String {
    Timestamp::now().to_string()
}

async fn annotate<K: Custom>(api: &Api<K>, name: &str, changes: Vec<(&str, Value)>) -> Result<(), Problem> {
    let annotations: Map<String, Value> = changes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let manager = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    api.patch(name, &manager, &patch).await.map_err(failed::<K>("changing", name))?;
    Ok(())
}

/// Waits until the controller is through with the request, unless that is not wanted.
async fn follow<K: Custom>(session: &Session<'_>, api: &Api<K>, name: &str, token: &str) -> Result<(), Problem> {
    if !session.given.bool("wait") {
        return Ok(());
    }
    let waiting = session.screen.patient("Waiting until it is ready", through(api, name, token));
    let after = session.globals.timeout;
    let end = Instant::now() + after;
    match tokio::time::timeout_at(end, waiting).await {
        Ok(ended) => {
            tell(&format!("{} {name}: {}", K::KIND, ended?));
            Ok(())
        }
        Err(_) => Err(Problem::Timeout { after, what: format!("{} {name}", K::KIND) }),
    }
}

async fn through<K: Custom>(api: &Api<K>, name: &str, token: &str) -> Result<String, Problem> {
    loop {
        let object = api.get(name).await.map_err(failed::<K>("reading", name))?;
        match verdict(&object, token) {
            Verdict::Waiting => tokio::time::sleep(LOOK).await,
            Verdict::Ready(message) => return Ok(message),
            Verdict::Failed(message) => return Err(Problem::Usage(format!("{} {name}: {message}", K::KIND))),
        }
    }
}

/// What can be said of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Waiting,
    Ready(String),
    Failed(String),
}

/// The controller is through when it has taken the token up; then its Ready condition says how that went. A wait for health
/// that another change cut off begins anew.
fn verdict(object: &impl Custom, token: &str) -> Verdict {
    let Some(ready) = object.ready().filter(|_| object.last_handled() == Some(token)) else { return Verdict::Waiting };
    match ready.status.as_str() {
        status::TRUE if ready.observed_generation == object.meta().generation => Verdict::Ready(ready.message.clone()),
        status::FALSE if ready.reason != HEALTH_CHECK_CANCELED => {
            Verdict::Failed(format!("{}: {}", ready.reason, ready.message))
        }
        _ => Verdict::Waiting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::resourceset::ResourceSet;

    fn set(handled: &str, ready: &str, reason: &str, generation: i64) -> ResourceSet {
        serde_json::from_value(json!({
            "apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
            "metadata": {"name": "a", "namespace": "b", "generation": 2},
            "spec": {},
            "status": {
                "lastHandledReconcileAt": handled,
                "conditions": [{
                    "type": "Ready", "status": ready, "reason": reason, "message": "m",
                    "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z"
                }]
            }
        }))
        .unwrap()
    }

    #[test]
    fn a_request_is_through_when_its_token_is_handled_and_ready_says_how() {
        for ((handled, ready, reason, generation), expected) in [
            (("old", "True", "ReconciliationSucceeded", 2), Verdict::Waiting),
            (("old", "False", "ReconciliationFailed", 2), Verdict::Waiting),
            (("t", "True", "ReconciliationSucceeded", 2), Verdict::Ready("m".into())),
            (("t", "True", "ReconciliationSucceeded", 1), Verdict::Waiting),
            (("t", "Unknown", "Progressing", 2), Verdict::Waiting),
            (("t", "False", "ReconciliationFailed", 2), Verdict::Failed("ReconciliationFailed: m".into())),
            (("t", "False", "HealthCheckCanceled", 2), Verdict::Waiting),
        ] {
            let seen = verdict(&set(handled, ready, reason, generation), "t");
            assert_eq!(seen, expected, "{handled} {ready} {reason} {generation}");
        }
    }
}
