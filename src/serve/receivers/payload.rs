//! What verified webhooks say, by their sources' public documentation: which repository and branch was pushed to, or which
//! image. A pure function of headers and body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use serde_json::Value;
use url::form_urlencoded;

use super::{HookError, Source};
use crate::object::image::ImageRef;
use crate::report::{Change, decode_change};

/// Changes taken from one webhook; pushes of more branches at once are rare, and one of them makes the daemon look anyway.
const CHANGES: usize = 100;

type Changes = Result<Vec<Change>, HookError>;

fn malformed(text: impl Into<String>) -> HookError {
    HookError::Malformed(text.into())
}

/// What a verified webhook tells of; nothing for tests and events that concern nobody here. `registry_host` is for sources
/// that name images without their host.
///
/// # Errors
/// When the body is not what the source sends.
pub fn changes(
    source: Source,
    headers: &HeaderMap,
    body: &[u8],
    registry_host: &str,
) -> Result<Vec<Change>, HookError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let json = || json(headers, body);
    match source {
        Source::GitHub => github(header("x-github-event"), &json()?),
        Source::Gitea => match header("x-gitea-event") {
            "push" | "create" | "delete" => pushed(&json()?, "/repository/ssh_url"),
            _ => Ok(Vec::new()),
        },
        Source::GitLab => match header("x-gitlab-event") {
            "Push Hook" | "Tag Push Hook" => pushed(&json()?, "/project/git_ssh_url"),
            other => Err(malformed(format!("unexpected X-Gitlab-Event {}: expected Push Hook", quoted(other)))),
        },
        Source::BitbucketCloud => match header("x-event-key") {
            "repo:push" => bitbucket_cloud(&json()?),
            other => Err(malformed(format!("unexpected X-Event-Key {}: expected repo:push", quoted(other)))),
        },
        Source::BitbucketServer => match header("x-event-key") {
            "diagnostics:ping" => Ok(Vec::new()),
            "repo:refs_changed" => bitbucket_server(&json()?),
            other => Err(malformed(format!("unexpected X-Event-Key {}: expected repo:refs_changed", quoted(other)))),
        },
        Source::DockerHub => image(text(&json()?, "/repository/repo_name")?),
        Source::Quay => image(text(&json()?, "/docker_url")?),
        Source::Harbor => harbor(&json()?),
        Source::GoogleContainerRegistry => google(&json()?),
        Source::Nexus => nexus(header("x-nexus-webhook-id"), &json()?, registry_host),
        Source::GenericHMAC => generic(body),
    }
}

/// What a client sent, short enough for a log line.
fn quoted(text: &str) -> String {
    format!("{:?}", text.chars().take(80).collect::<String>())
}

/// The body as JSON; GitHub and Gitea may also send it as the field of a form.
fn json(headers: &HeaderMap, body: &[u8]) -> Result<Value, HookError> {
    let is_form = headers
        .get(http::header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    let parsed = if is_form {
        let payload = form_urlencoded::parse(body).find(|(key, _)| key == "payload").map(|(_, value)| value);
        serde_json::from_str(&payload.unwrap_or_default())
    } else {
        serde_json::from_slice(body)
    };
    // The parser's words name the place only.
    parsed.map_err(|e| malformed(format!("the body is no JSON (line {}, column {})", e.line(), e.column())))
}

fn text<'a>(value: &'a Value, pointer: &str) -> Result<&'a str, HookError> {
    let found = value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    found.ok_or_else(|| malformed(format!("the body has no text at {pointer}")))
}

fn git(url: &str, reference: &str) -> Change {
    let branch = reference.strip_prefix("refs/heads/").unwrap_or(reference);
    Change::Git { url: url.to_owned(), branch: branch.to_owned() }
}

fn pushed(event: &Value, url: &str) -> Changes {
    Ok(vec![git(text(event, url)?, text(event, "/ref")?)])
}

fn image(name: &str) -> Changes {
    let reference: ImageRef = name.parse().map_err(|_| malformed("the image's name is no reference of an image"))?;
    Ok(vec![Change::Image { domain: reference.name.domain, image: reference.name.path }])
}

fn github(event: &str, body: &Value) -> Changes {
    match event {
        "push" => pushed(body, "/repository/ssh_url"),
        // Both are sent for images pushed to ghcr.io.
        "registry_package" | "package" => match body.pointer(&format!("/{event}/package_version/package_url")) {
            Some(Value::String(name)) if !name.is_empty() => image(name.trim_end_matches(':')),
            _ => Ok(Vec::new()),
        },
        _ => Ok(Vec::new()),
    }
}

fn bitbucket_cloud(event: &Value) -> Changes {
    let url = format!("git@bitbucket.org:{}.git", text(event, "/repository/full_name")?);
    let changes = event.pointer("/push/changes").and_then(Value::as_array);
    // A deleted branch has no new state.
    let names = changes.into_iter().flatten().filter_map(|change| change.pointer("/new/name")?.as_str());
    Ok(names.take(CHANGES).map(|name| git(&url, name)).collect())
}

fn bitbucket_server(event: &Value) -> Changes {
    let links = event.pointer("/repository/links/clone").and_then(Value::as_array);
    let link = links.into_iter().flatten().find(|link| link["name"] == "ssh").and_then(|link| link["href"].as_str());
    let url = link.ok_or_else(|| malformed("the repository has no link of the name ssh to clone it with"))?;
    let changes = event["changes"].as_array().into_iter().flatten();
    let branches = changes.filter(|change| change["ref"]["type"] == "BRANCH");
    Ok(branches.filter_map(|change| change["ref"]["id"].as_str()).take(CHANGES).map(|id| git(url, id)).collect())
}

fn harbor(event: &Value) -> Changes {
    match text(event, "/type")? {
        // The words of Harbor 2 and 1. All resources of one event are of one repository.
        "PUSH_ARTIFACT" | "pushImage" => image(text(event, "/event_data/resources/0/resource_url")?),
        _ => Ok(Vec::new()),
    }
}

/// A message of Pub/Sub with the registry's event in it, base64.
fn google(message: &Value) -> Changes {
    let data = STANDARD.decode(text(message, "/message/data")?).map_err(|_| malformed("/message/data is no base64"))?;
    let event: Value = serde_json::from_slice(&data).map_err(|_| malformed("/message/data holds no JSON"))?;
    if !text(&event, "/action")?.eq_ignore_ascii_case("insert") {
        return Ok(Vec::new());
    }
    image(text(&event, "/tag").or_else(|_| text(&event, "/digest"))?)
}

fn nexus(id: &str, event: &Value, registry_host: &str) -> Changes {
    if id != "rm:repository:component" {
        let id = quoted(id);
        return Err(malformed(format!("unexpected X-Nexus-Webhook-Id {id}: expected rm:repository:component")));
    }
    if event["action"] != "CREATED" || event.pointer("/component/format") != Some(&Value::from("docker")) {
        return Ok(Vec::new());
    }
    let name = text(event, "/component/name")?;
    // It does not say under which host clients know it.
    match registry_host.trim_end_matches('/') {
        "" => image(name),
        host => image(&format!("{host}/{name}")),
    }
}

/// v1's notification; an empty one makes the daemon look at its repository.
fn generic(body: &[u8]) -> Changes {
    if body.trim_ascii().is_empty() || body.trim_ascii() == b"{}" {
        return Ok(vec![Change::Git { url: String::new(), branch: String::new() }]);
    }
    decode_change(body).map(|change| vec![change]).map_err(|e| malformed(e.to_string()))
}
