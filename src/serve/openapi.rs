//! The OpenAPI document, made from the table of routes, so that it names what is served and nothing else.

use http::Method;
use serde_json::{Value, json};
use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::{
    Content, ContentBuilder, InfoBuilder, OpenApiBuilder, Paths, Ref, Required, Response, ResponseBuilder,
};

use super::routes::{Endpoint, ROUTES, Route};

/// The schemas of bodies, by name; a test holds them against what is really answered.
const SCHEMAS: &str = include_str!("schemas.json");

/// The document as JSON.
///
/// # Errors
/// When it cannot be written, which would be a bug.
pub fn document(version: &str) -> Result<Vec<u8>, serde_json::Error> {
    let mut paths = Paths::new();
    for route in ROUTES {
        paths.add_path_operation(route.path, vec![http_method(&route.method)], operation(route));
    }
    let description = "The API of Flux v1's daemon below /api/flux, and what it did not have below /api/fluxd/v1. \
                       Whoever reaches the port may use all of it, unless the daemon runs with --api-auth=kubernetes: then \
                       it takes a bearer's token of the cluster, and the cluster decides by path and verb.";
    let info = InfoBuilder::new().title("fluxd").version(version).description(Some(description)).build();
    let mut document = serde_json::to_value(OpenApiBuilder::new().info(info).paths(paths).build())?;
    document["components"] = json!({
        "schemas": serde_json::from_str::<Value>(SCHEMAS)?,
        "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
    });
    document["security"] = json!([{}, { "token": [] }]);
    serde_json::to_vec(&document)
}

/// A body of JSON, by the name of its schema.
fn content(schema: &str) -> Content {
    ContentBuilder::new().schema(Some(Ref::from_schema_name(schema))).build()
}

fn http_method(method: &Method) -> HttpMethod {
    match *method {
        Method::POST => HttpMethod::Post,
        Method::PATCH => HttpMethod::Patch,
        Method::HEAD => HttpMethod::Head,
        _ => HttpMethod::Get,
    }
}

fn operation(route: &Route) -> Operation {
    let id = format!("{}{}", route.name, route.path.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let mut operation = OperationBuilder::new()
        .operation_id(Some(format!("{}_{id}", route.method.as_str().to_lowercase())))
        .summary(Some(route.about))
        .tag(tag(route))
        .response(success(route.endpoint), answer(route.endpoint));
    let in_path = route.path.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(name, _)| name);
    let required = route.required.iter().map(|key| parameter(key, ParameterIn::Query, Required::True));
    let optional = route.optional.iter().map(|key| parameter(key, ParameterIn::Query, Required::False));
    let parameters =
        required.chain(optional).chain(in_path.map(|name| parameter(name, ParameterIn::Path, Required::True)));
    for parameter in parameters {
        operation = operation.parameter(parameter);
    }
    if let Some((about, schema)) = body(route.endpoint) {
        let content = content(schema);
        let body = RequestBodyBuilder::new().description(Some(about)).content("application/json", content).build();
        operation = operation.request_body(Some(body));
    }
    for (status, about) in failures(route.endpoint) {
        let failure = ResponseBuilder::new().description(*about).content("application/json", content("Error"));
        operation = operation.response(*status, failure.build());
    }
    operation.build()
}

fn tag(route: &Route) -> &'static str {
    if route.path.starts_with("/api/flux/") {
        "v1"
    } else if route.path.starts_with("/api/") {
        "fluxd"
    } else {
        "process"
    }
}

fn parameter(name: &str, place: ParameterIn, required: Required) -> Parameter {
    let text = utoipa::openapi::ObjectBuilder::new().schema_type(utoipa::openapi::schema::Type::String).build();
    ParameterBuilder::new().name(name).parameter_in(place).required(required).schema(Some(text)).build()
}

fn success(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Ping | Endpoint::RegenerateKey => "204",
        Endpoint::Notify | Endpoint::Approve | Endpoint::SyncNow => "202",
        _ => "200",
    }
}

fn answer(endpoint: Endpoint) -> Response {
    let built =
        |about: &str, kind: &str, content| ResponseBuilder::new().description(about).content(kind, content).build();
    match endpoint {
        Endpoint::Metrics => built("Prometheus text format 0.0.4.", "text/plain", ContentBuilder::new().build()),
        Endpoint::Live | Endpoint::Ready | Endpoint::Hook => built("ok", "text/plain", ContentBuilder::new().build()),
        Endpoint::Events | Endpoint::JobEvents => built("A stream of events.", "text/event-stream", content("News")),
        Endpoint::OpenApi => built("The document.", "application/json", ContentBuilder::new().build()),
        _ => match schema(endpoint) {
            Some(name) => built("JSON.", "application/json", content(name)),
            None => Response::new("Done, no body."),
        },
    }
}

/// The schema of what an endpoint answers; `None` when it answers without a body.
pub(super) fn schema(endpoint: Endpoint) -> Option<&'static str> {
    Some(match endpoint {
        Endpoint::Version => "Text",
        Endpoint::ListServices => "ControllerStatuses",
        Endpoint::ListImages => "ImageStatuses",
        Endpoint::UpdateManifests | Endpoint::UpdateImages | Endpoint::UpdatePolicies => "JobId",
        Endpoint::JobStatus => "JobStatus",
        Endpoint::SyncStatus => "Revisions",
        Endpoint::Export => "Export",
        Endpoint::GitRepoConfig => "GitConfig",
        Endpoint::PublicKey => "PublicKey",
        Endpoint::Status => "Status",
        Endpoint::Plan => "Plan",
        Endpoint::Objects => "Objects",
        Endpoint::Trace => "Trace",
        Endpoint::Outcome => "Outcome",
        Endpoint::Progress => "Progress",
        Endpoint::Deletes => "HeldDeletes",
        Endpoint::Pause | Endpoint::Resume => "Pause",
        _ => return None,
    })
}

/// What is sent to an endpoint, and its schema.
fn body(endpoint: Endpoint) -> Option<(&'static str, &'static str)> {
    match endpoint {
        Endpoint::Notify => Some(("What changed.", "Change")),
        Endpoint::UpdateManifests => Some(("What is asked for, and by whom.", "UpdateSpec")),
        Endpoint::GitRepoConfig => Some(("Whether to make a new deploy key first.", "Yes")),
        Endpoint::UpdatePolicies => Some(("Policies to set and to remove, by workload.", "PolicyUpdates")),
        _ => None,
    }
}

fn failures(endpoint: Endpoint) -> &'static [(&'static str, &'static str)] {
    const USUAL: &[(&str, &str)] = &[
        ("400", "The body, an identity or a specification could not be read."),
        ("401", "The daemon wants a token of the cluster, and this is none."),
        ("403", "The cluster says that the token's owner may not."),
        ("404", "What was asked for does not exist."),
        ("422", "The request, the repository or the cluster's state is at fault."),
        ("500", "The daemon failed."),
        ("503", "Too many requests at once; try again."),
    ];
    match endpoint {
        Endpoint::Live | Endpoint::Ready => &[("503", "Not so; the text says why.")],
        Endpoint::PublicKey | Endpoint::Metrics => &[],
        _ => USUAL,
    }
}
