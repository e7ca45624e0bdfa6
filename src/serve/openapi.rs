//! The OpenAPI document, made from the table of routes, so that it names what is served and nothing else.

use http::Method;
use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::{ContentBuilder, InfoBuilder, OpenApiBuilder, Paths, Required, Response, ResponseBuilder};

use super::routes::{Endpoint, ROUTES, Route};

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
                       There is no authentication: whoever reaches the port may use all of it.";
    let info = InfoBuilder::new().title("fluxd").version(version).description(Some(description)).build();
    serde_json::to_vec(&OpenApiBuilder::new().info(info).paths(paths).build())
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
    if let Some(about) = body(route.endpoint) {
        let content = ContentBuilder::new().build();
        let body = RequestBodyBuilder::new().description(Some(about)).content("application/json", content).build();
        operation = operation.request_body(Some(body));
    }
    for (status, about) in failures(route.endpoint) {
        operation = operation.response(*status, Response::new(*about));
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
        Endpoint::Notify | Endpoint::Approve => "202",
        _ => "200",
    }
}

fn answer(endpoint: Endpoint) -> Response {
    let (content_type, about) = match endpoint {
        Endpoint::Ping | Endpoint::RegenerateKey | Endpoint::Notify | Endpoint::Approve => {
            return Response::new("Done, no body.");
        }
        Endpoint::Metrics => ("text/plain", "Prometheus text format 0.0.4."),
        Endpoint::Live | Endpoint::Ready => ("text/plain", "ok"),
        Endpoint::Export => ("application/json", "A string: base64 of YAML documents."),
        Endpoint::UpdateManifests | Endpoint::UpdateImages | Endpoint::UpdatePolicies => {
            ("application/json", "A string: the job's id.")
        }
        Endpoint::ListServices => ("application/json", "A list of workloads, null when it is empty."),
        _ => ("application/json", "JSON."),
    };
    ResponseBuilder::new().description(about).content(content_type, ContentBuilder::new().build()).build()
}

fn body(endpoint: Endpoint) -> Option<&'static str> {
    match endpoint {
        Endpoint::Notify => Some(
            "{\"Kind\":\"git\",\"Source\":{\"URL\":…,\"Branch\":…}} or {\"Kind\":\"image\",\"Source\":{\"Name\":{\"Domain\":…,\"Image\":…}}}",
        ),
        Endpoint::UpdateManifests => Some(
            "{\"type\":\"image\"|\"containers\"|\"policy\"|\"sync\",\"cause\":{\"Message\":…,\"User\":…},\"spec\":{…}}",
        ),
        Endpoint::GitRepoConfig => Some("true or false: whether to make a new deploy key first"),
        Endpoint::UpdatePolicies => Some("{\"ns:kind/name\":{\"add\":{…},\"remove\":{…}}}"),
        _ => None,
    }
}

fn failures(endpoint: Endpoint) -> &'static [(&'static str, &'static str)] {
    const USUAL: &[(&str, &str)] = &[
        ("400", "The body, an identity or a specification could not be read."),
        ("404", "What was asked for does not exist: {\"type\":\"missing\",\"help\":…,\"error\":…}."),
        ("422", "The request, the repository or the cluster's state is at fault: {\"type\":\"user\",…}."),
        ("500", "The daemon failed: {\"type\":\"server\",…}."),
        ("503", "Too many requests at once; try again."),
    ];
    match endpoint {
        Endpoint::Live | Endpoint::Ready => &[("503", "Not so; the text says why.")],
        Endpoint::PublicKey | Endpoint::Metrics => &[],
        _ => USUAL,
    }
}
