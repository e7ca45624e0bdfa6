//! One call of the upstream service: JSON-RPC 1.0 as Go's `net/rpc/jsonrpc` speaks it, and v1's methods (fluxd-v1 §8.6).

use std::time::Duration;

use base64::Engine as _;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::api::Api;
use crate::object::ObjectId;
use crate::report::{ApiError, ControllerStatus, ErrorKind, decode_change, go_json, null_when_empty};

/// What a method answers, or why it cannot.
type Answered = Result<Value, String>;

/// Answers one request; the answer's line ends as Go's encoder ends it.
pub(super) async fn answer<A: Api>(api: &A, request: &[u8], timeout: Duration) -> Vec<u8> {
    let request: Value = match serde_json::from_slice(request) {
        Ok(request) => request,
        Err(e) => return line(&Value::Null, Err(format!("the request is no JSON (column {})", e.column()))),
    };
    let (id, method) = (&request["id"], request["method"].as_str().unwrap_or_default());
    let answered = match request["params"].as_array() {
        None => Err("jsonrpc: request body missing params".into()),
        Some(params) => {
            let argument = params.first().unwrap_or(&Value::Null);
            match tokio::time::timeout(timeout, call(api, method, argument)).await {
                Ok(answered) => answered,
                Err(_) => Err("context deadline exceeded".into()),
            }
        }
    };
    line(id, answered)
}

fn line(id: &Value, answered: Answered) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        id: &'a Value,
        result: Value,
        error: Option<String>,
    }
    let (result, error) = match answered {
        Ok(result) => (result, None),
        Err(error) => (Value::Null, Some(error)),
    };
    let mut line = go_json(&Line { id, result, error }).unwrap_or_default();
    line.push(b'\n');
    line
}

async fn call<A: Api>(api: &A, method: &str, argument: &Value) -> Answered {
    let Some(name) = method.strip_prefix("RPCServer.") else { return Err(format!("rpc: can't find service {method}")) };
    let text = || argument.as_str().unwrap_or_default();
    match name {
        "Ping" => api.ping().await.map(|()| json!({})).map_err(|e| e.error),
        "Version" => Ok(json!(api.version())),
        "Export" => {
            let encoded = api.export().await.map(|yaml| base64::engine::general_purpose::STANDARD.encode(yaml));
            wrapped(encoded)
        }
        "ListServices" => wrapped(services(api, text(), &Value::Null).await),
        "ListServicesWithOptions" => wrapped(services(api, field(argument, "Namespace"), &argument["Services"]).await),
        "ListImages" => wrapped(api.list_images(text(), "", &[]).await),
        "ListImagesWithOptions" => wrapped(images(api, argument).await),
        "UpdateManifests" => wrapped(api.update_manifests(argument).await),
        "NotifyChange" => notified(api, argument).await,
        "JobStatus" => wrapped(api.job_status(text()).await),
        "SyncStatus" => wrapped(api.sync_status(text()).await),
        "GitRepoConfig" => wrapped(api.git_repo_config(*argument == Value::Bool(true)).await),
        _ => Err(format!("rpc: can't find method {method}")),
    }
}

fn field<'a>(argument: &'a Value, name: &str) -> &'a str {
    argument[name].as_str().unwrap_or_default()
}

/// As v1 wraps results: errors that somebody classified travel beside the result, others as the call's own.
fn wrapped<T: Serialize>(result: Result<T, ApiError>) -> Answered {
    match result {
        Ok(value) => Ok(json!({ "Result": value, "ApplicationError": null })),
        Err(e) if is_classified(&e) => Ok(json!({ "Result": null, "ApplicationError": e })),
        Err(e) => Err(e.error),
    }
}

fn is_classified(e: &ApiError) -> bool {
    !matches!(e.kind, ErrorKind::Untyped | ErrorKind::Malformed { .. })
}

async fn services<A: Api>(api: &A, namespace: &str, ids: &Value) -> Result<Value, ApiError> {
    let texts = ids.as_array().into_iter().flatten().filter_map(Value::as_str);
    let ids: Result<Vec<ObjectId>, _> = texts.map(str::parse).collect();
    let ids = ids.map_err(|e| ApiError::untyped(e.to_string()))?;
    let found: Vec<ControllerStatus> = api.list_services(namespace, &ids).await?;
    null_when_empty(&found, serde_json::value::Serializer).map_err(|e| ApiError::untyped(e.to_string()))
}

async fn images<A: Api>(api: &A, options: &Value) -> Result<Value, ApiError> {
    let fields = options["OverrideContainerFields"].as_array().into_iter().flatten();
    let fields: Vec<String> = fields.filter_map(|field| field.as_str().map(str::to_owned)).collect();
    let found = api.list_images(field(options, "Spec"), field(options, "Namespace"), &fields).await?;
    serde_json::to_value(found).map_err(|e| ApiError::untyped(e.to_string()))
}

/// A notification has no result, only the error that may be.
async fn notified<A: Api>(api: &A, argument: &Value) -> Answered {
    let change = decode_change(argument.to_string().as_bytes()).map_err(|e| e.to_string())?;
    match api.notify(change).await {
        Ok(()) => Ok(json!({ "ApplicationError": null })),
        Err(e) if is_classified(&e) => Ok(json!({ "ApplicationError": e })),
        Err(e) => Err(e.error),
    }
}
