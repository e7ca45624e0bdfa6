//! The routes that v1 did not have: plan, outcome per object, progress, held deletes, pause. Views only; nothing is decided.

use axum::response::Response;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::answer::{self, Form, json as ok};
use super::api::Api;
use super::dispatch::Call;
use super::plans::{self, Wish};
use super::routes::Endpoint;
use crate::object::ObjectId;
use crate::operator::{Done, ObjectResult, Outcome};
use crate::report::{ApiError, DecodeError};

/// Answers one request.
pub(super) async fn answer<A: Api>(api: &A, call: &Call<'_>) -> Result<Response, ApiError> {
    let all = call.query.first("all") == "true";
    match call.route.endpoint {
        Endpoint::Status => ok(&status(api).await?),
        Endpoint::Plan => plan(api, call).await,
        Endpoint::Objects => ok(&api.objects().await?),
        Endpoint::Trace => ok(&api.trace(&object_id(call)?).await?),
        Endpoint::Outcome => {
            let outcome = api.last_outcome().ok_or_else(|| none_yet("outcome"))?;
            ok(&outcome_view(&outcome, all))
        }
        Endpoint::Progress => ok(&api.progress()),
        Endpoint::Deletes => ok(&api.held().iter().map(plans::held_view).collect::<Vec<_>>()),
        Endpoint::Approve => {
            api.approve(call.segment)?;
            tracing::info!(component = "daemon", digest = call.segment, "held deletes were approved");
            Ok(answer::empty(StatusCode::ACCEPTED))
        }
        Endpoint::Pause => {
            api.pause()?;
            ok(&pause_view(api))
        }
        Endpoint::Resume => {
            api.resume()?;
            ok(&pause_view(api))
        }
        Endpoint::SyncNow => {
            api.sync_now()?;
            Ok(answer::empty(StatusCode::ACCEPTED))
        }
        _ => Err(super::v1::no_such_route(call.route.path)),
    }
}

/// The plan: made now from fresh reads, or with `last=true` the one of the last sync.
async fn plan<A: Api>(api: &A, call: &Call<'_>) -> Result<Response, ApiError> {
    let is = |key: &str| call.query.first(key) == "true";
    let wish = Wish { fresh: !is("last"), all: is("all"), diff: is("diff") };
    let plan = match wish.fresh {
        true => api.fresh_plan().await?,
        false => api.last_plan().ok_or_else(|| none_yet("plan"))?,
    };
    match answer::negotiate(call.headers) {
        Form::Help => Ok(answer::plain(StatusCode::OK, plan.to_string())),
        Form::Json | Form::Short => ok(&plans::view(api, &plan, wish).await),
    }
}

fn object_id(call: &Call<'_>) -> Result<ObjectId, ApiError> {
    let text = call.query.first("id");
    text.parse().map_err(|e| ApiError::malformed(&DecodeError::Value(format!("parsing id {text:?}: {e}"))))
}

fn none_yet(what: &str) -> ApiError {
    let help = format!("There is no {what} yet: no sync has come that far since the daemon started.\n");
    ApiError::missing(format!("no {what} yet"), help)
}

fn pause_view(api: &impl Api) -> Value {
    json!({ "pausedSince": api.paused_since() })
}

async fn status(api: &impl Api) -> Result<Value, ApiError> {
    let git = api.git_repo_config(false).await?;
    let outcome = api.last_outcome();
    let deletes: usize = api.held().iter().map(|held| held.deletes.len()).sum();
    Ok(json!({
        "version": api.version(),
        "git": { "url": git.remote.url, "branch": git.remote.branch, "path": git.remote.path, "status": git.status, "error": git.errors },
        "pausedSince": api.paused_since(),
        "progress": api.progress(),
        "error": api.last_error(),
        "heldDeletes": deletes,
        "lastSync": outcome.map(|o| Value::Object(summary(&o))),
    }))
}

fn summary(outcome: &Outcome) -> Map<String, Value> {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("revision", json!(outcome.revision));
    put("success", json!(outcome.is_success()));
    put("started", json!(outcome.started));
    put("ended", json!(outcome.ended));
    put("stopped", json!(outcome.stopped.as_ref().map(ToString::to_string)));
    put("counts", json!(outcome.counts()));
    put("managed", json!(outcome.managed));
    put("gcOff", json!(outcome.gc_off));
    map
}

fn outcome_view(outcome: &Outcome, all: bool) -> Value {
    let mut map = summary(outcome);
    let stages: Map<_, _> =
        outcome.stages.iter().map(|(s, t)| (s.as_str().to_owned(), json!(t.as_secs_f64()))).collect();
    let shown = outcome.results.iter().filter(|r| all || r.done != Done::Unchanged || !r.warnings.is_empty());
    map.insert("reach".into(), json!(outcome.reach));
    map.insert("stageSeconds".into(), Value::Object(stages));
    map.insert("requests".into(), json!(outcome.requests));
    map.insert("held".into(), json!(outcome.held));
    map.insert("objects".into(), shown.map(object_view).collect());
    Value::Object(map)
}

fn object_view(result: &ObjectResult) -> Value {
    let reason = match &result.done {
        Done::Skipped(reason) => Some(reason.to_string()),
        Done::Held(reason) => Some(reason.to_string()),
        _ => None,
    };
    json!({
        "id": result.id(),
        "group": result.key().group,
        "result": result.done.as_str(),
        "reason": reason,
        "error": result.failure(),
        "file": result.origin().map(|o| o.file.to_string()),
        "line": result.origin().map(|o| o.line),
        "generated": result.origin().is_some_and(|o| o.generated),
        "seconds": result.elapsed.as_secs_f64(),
        "warnings": result.warnings,
    })
}
