//! v1's routes (fluxd-v1 §8.1). What they mean is the daemon's business.

use axum::response::Response;
use base64::Engine as _;
use http::StatusCode;
use serde_json::{Value, json};

use super::answer::{self, json as ok};
use super::api::Api;
use super::dispatch::{Call, Query};
use super::routes::Endpoint;
use crate::object::ObjectId;
use crate::object::image::ImageRef;
use crate::report::{ALL_LATEST, ALL_WORKLOADS, ApiError, DecodeError, decode_change, first_value, null_when_empty};

/// Answers one request.
pub(super) async fn answer<A: Api>(api: &A, call: &Call<'_>) -> Result<Response, ApiError> {
    let query = call.query;
    match call.route.endpoint {
        Endpoint::Ping => api.ping().await.map(|()| answer::empty(StatusCode::NO_CONTENT)),
        Endpoint::Version => ok(&api.version()),
        Endpoint::Notify => {
            api.notify(decode_change(&call.body)?).await?;
            Ok(answer::empty(StatusCode::ACCEPTED))
        }
        Endpoint::ListServices => {
            let found = api.list_services(query.first("namespace"), &ids(query.first("services"))?).await?;
            ok(&NullWhenEmpty(&found))
        }
        Endpoint::UpdateManifests => ok(&api.update_manifests(&first_value(&call.body)?).await?),
        Endpoint::UpdateImages => ok(&api.update_manifests(&image_release(query)?).await?),
        Endpoint::UpdatePolicies => {
            let spec = json!({ "type": "policy", "cause": cause(query), "spec": first_value(&call.body)? });
            ok(&api.update_manifests(&spec).await?)
        }
        Endpoint::JobStatus => ok(&api.job_status(query.first("id")).await?),
        Endpoint::SyncStatus => ok(&api.sync_status(query.first("ref")).await?),
        Endpoint::Export => ok(&base64::engine::general_purpose::STANDARD.encode(api.export().await?)),
        Endpoint::GitRepoConfig => ok(&api.git_repo_config(regenerate(&call.body)?).await?),
        Endpoint::PublicKey => ok(&api.public_key()),
        Endpoint::RegenerateKey => api.regenerate_key().await.map(|()| answer::empty(StatusCode::NO_CONTENT)),
        Endpoint::ListImages => images(api, query).await,
        _ => Err(no_such_route(call.route.path)),
    }
}

async fn images<A: Api>(api: &A, query: &Query) -> Result<Response, ApiError> {
    let workload = match query.first("service") {
        "" | ALL_WORKLOADS => ALL_WORKLOADS,
        id => {
            let bad = |e| malformed(format!("parsing service spec {id:?}: invalid workload spec: {e}"));
            id.parse::<ObjectId>().map_err(bad)?;
            id
        }
    };
    let fields = query.first("containerFields").split(',').filter(|field| !field.is_empty());
    let fields: Vec<String> = fields.map(str::to_owned).collect();
    ok(&NullWhenEmpty(&api.list_images(workload, query.first("namespace"), &fields).await?))
}

/// A list that is `null` when it is empty.
struct NullWhenEmpty<'a, T>(&'a [T]);

impl<T: serde::Serialize> serde::Serialize for NullWhenEmpty<'_, T> {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        null_when_empty(self.0, s)
    }
}

fn malformed(text: impl Into<String>) -> ApiError {
    ApiError::malformed(&DecodeError::Value(text.into()))
}

fn ids(list: &str) -> Result<Vec<ObjectId>, ApiError> {
    // an empty name among others is a mistake, as in v1
    let wanted = list.split(',').filter(|_| !list.is_empty());
    wanted
        .map(|id| id.parse::<ObjectId>().map_err(|e| malformed(format!("parsing service spec {id:?}: {e}"))))
        .collect()
}

fn regenerate(body: &[u8]) -> Result<bool, ApiError> {
    match first_value(body)? {
        Value::Bool(yes) => Ok(yes),
        Value::Null => Ok(false),
        _ => Err(malformed("expected true or false: whether to make a new deploy key")),
    }
}

fn cause(query: &Query) -> Value {
    json!({ "User": query.first("user"), "Message": query.first("message") })
}

/// The query of old clients as today's specification.
fn image_release(query: &Query) -> Result<Value, ApiError> {
    let kind = query.first("kind");
    if !matches!(kind, "plan" | "execute") {
        return Err(malformed(format!(
            "parsing release kind {kind:?}: invalid release kind: expected plan or execute"
        )));
    }
    let list = |key: &str| -> Result<Vec<String>, ApiError> {
        for id in query.all(key).filter(|id| *id != ALL_WORKLOADS) {
            let bad = |e| malformed(format!("parsing service spec {id:?}: invalid workload spec: {e}"));
            id.parse::<ObjectId>().map_err(bad)?;
        }
        Ok(query.all(key).map(str::to_owned).collect())
    };
    let image = query.first("image");
    if image != ALL_LATEST {
        let bad = |e| malformed(format!("parsing image spec {image:?}: {e}"));
        image.parse::<ImageRef>().map_err(bad)?;
    }
    let excludes = list("exclude")?;
    let spec = json!({
        "ServiceSpecs": list("service")?,
        "ImageSpec": image,
        "Kind": kind,
        "Excludes": if excludes.is_empty() { Value::Null } else { json!(excludes) },
        "Force": false,
    });
    Ok(json!({ "type": "image", "cause": cause(query), "spec": spec }))
}

/// The answer to routes of the first five versions.
pub(super) fn deprecated() -> ApiError {
    let help = "The API endpoint requested is no longer served.\n\nThis usually means that the client is too old for this daemon. \
                Please use a newer fluxctl.\n";
    ApiError::missing("API endpoint deprecated", help)
}

/// The answer to everything else below the prefix.
pub(super) fn no_such_route(path: &str) -> ApiError {
    let help = format!(
        "The API endpoint requested is not served by this daemon:\n\n    {path}\n\n\
         This usually means that the client is newer or older than the daemon, that the URL has a mistake,\n\
         or that a needed query parameter is missing.\n"
    );
    ApiError::missing("API endpoint not found", help)
}
