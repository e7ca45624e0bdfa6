//! `check`: whether all works between here, the daemon, git and the cluster, and what to do where it does not.

use serde::Serialize;
use serde_json::Value;

use super::ours::answer;
use super::problem::Problem;
use super::session::{Connection, Session};
use crate::client::show::Paint;
use crate::client::{ClientError, GitConfig};

/// How a point stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mark {
    Good,
    Warning,
    Bad,
}

/// One point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Point {
    what: &'static str,
    mark: Mark,
    found: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "str::is_empty")]
    advice: &'static str,
}

fn good(what: &'static str, found: impl Into<String>) -> Point {
    Point { what, mark: Mark::Good, found: found.into(), advice: "" }
}

fn warning(what: &'static str, found: impl Into<String>, advice: &'static str) -> Point {
    Point { what, mark: Mark::Warning, found: found.into(), advice }
}

fn bad(what: &'static str, found: impl Into<String>, advice: &'static str) -> Point {
    Point { what, mark: Mark::Bad, found: found.into(), advice }
}

/// Runs the verb.
pub(super) async fn run(session: &Session<'_>) -> Result<(), Problem> {
    let points = session.screen.patient("Checking", points(session)).await;
    answer(session, &points, |points| text(points, session.screen.paint))?;
    if points.iter().any(|point| point.mark == Mark::Bad) { Err(Problem::Told) } else { Ok(()) }
}

async fn points(session: &Session<'_>) -> Vec<Point> {
    let client = match session.connect().await {
        Ok(client) => client,
        Err(problem) => {
            let advice = "Name the daemon's address with --url, or its namespace with --k8s-fwd-ns. A port forward needs the \
                          right to get and list pods and to create pods/portforward there.";
            return vec![bad("connection", problem.to_string(), advice)];
        }
    };
    let version = match client.version().await {
        Ok(version) => version,
        Err(ClientError::Unauthorized { .. }) => {
            return vec![bad("connection", "the daemon wants a token", "Give one with --token or FLUX_SERVICE_TOKEN.")];
        }
        Err(error) => {
            let advice = "The address ends in /api/flux. Does the daemon run, and does its log say that it listens?";
            return vec![bad("connection", error.to_string(), advice)];
        }
    };
    let mut points = vec![good("connection", client.address()), of_version(&version)];
    points.push(match client.ping().await {
        Ok(()) => good("cluster", "the daemon reaches its API server"),
        Err(error) => {
            bad("cluster", error.to_string(), "Look at the daemon's log, its service account and its kubeconfig.")
        }
    });
    points.push(match client.git_config(false).await {
        Ok(git) => of_git(&git),
        Err(error) => bad("git", error.to_string(), "Look at the daemon's log."),
    });
    points.push(permissions(&client).await);
    points.extend(syncs(&client).await);
    points
}

fn of_version(daemon: &str) -> Point {
    let own = env!("CARGO_PKG_VERSION");
    let found = format!("fluxctl {own}, daemon {daemon}");
    match daemon {
        _ if daemon == own => good("version", found),
        "1.25.4" => {
            warning("version", found, "The daemon is Flux v1: diff, tree, trace, events, pause and resume need fluxd.")
        }
        _ => warning("version", found, "Use the fluxctl of the daemon's version."),
    }
}

fn of_git(git: &GitConfig) -> Point {
    let (url, branch) = (&git.remote.url, &git.remote.branch);
    let found = format!("{url} branch {branch} is {}: {}", git.status, git.errors);
    match git.status.as_str() {
        "ready" => good("git", format!("{url} branch {branch} is ready")),
        "unconfigured" => bad("git", "no repository is configured", "Start the daemon with --git-url."),
        "unreachable" => {
            bad("git", found, "Is the key of fluxctl identity a deploy key of the repository, and the URL right?")
        }
        "cloned" => bad(
            "git",
            found,
            "The daemon cannot write: give its deploy key write access, or start it with --git-readonly.",
        ),
        _ if git.errors.is_empty() => warning("git", found, "The first clone may take a while; look again."),
        _ => bad("git", found, "Mend what the error names; the daemon tries again by itself."),
    }
}

/// Whether workloads can be read, which needs rights that a narrowed role may lack, and files in git that load.
async fn permissions(client: &Connection) -> Point {
    match client.workloads("").await {
        Ok(list) => good("permissions", format!("{} workloads can be read", list.items.len())),
        Err(ClientError::Api { help, error, .. }) if help.starts_with("Unable to parse files") => {
            bad("manifests", error, "Mend the file that the error names; nothing is synced until then.")
        }
        Err(error) => {
            bad("permissions", error.to_string(), "Give the daemon's service account the rights that the error names.")
        }
    }
}

/// What the last sync came to, where the daemon tells.
async fn syncs(client: &Connection) -> Vec<Point> {
    let Ok(status) = client.status().await else { return Vec::new() };
    let text = |pointer: &str| status.pointer(pointer).and_then(Value::as_str);
    let mut points = Vec::new();
    if let Some(since) = text("/pausedSince") {
        points.push(warning("pause", format!("paused since {since}"), "fluxctl resume ends the pause."));
    }
    points.push(match (text("/error"), status.pointer("/lastSync/success").and_then(Value::as_bool)) {
        (Some(error), _) if !error.is_empty() => {
            bad("sync", error, "Mend what the error names; the daemon tries again by itself.")
        }
        (_, Some(true)) => {
            good("sync", format!("{} is applied", text("/lastSync/revision").unwrap_or("the last revision")))
        }
        (_, Some(false)) => {
            bad("sync", "not every object could be applied", "fluxctl tree shows which, fluxctl trace OBJECT why.")
        }
        (_, None) => warning("sync", "none has ended yet", "Wait, or ask for one: fluxctl sync."),
    });
    match status.pointer("/heldDeletes").and_then(Value::as_u64) {
        Some(held) if held > 0 => {
            let advice = "fluxctl diff shows them; fluxctl sync --allow-deletes=DIGEST lets them through.";
            points.push(warning("deletes", format!("{held} deletes are held"), advice));
        }
        _ => {}
    }
    points
}

fn text(points: &[Point], paint: Paint) -> String {
    let mut text = String::new();
    for point in points {
        let mark = match point.mark {
            Mark::Good => paint.added("ok  "),
            Mark::Warning => paint.changed("warn"),
            Mark::Bad => paint.removed("FAIL"),
        };
        text.push_str(&format!(
            "{mark}  {:12} {}\n",
            point.what,
            point.found.trim_end().replace('\n', "\n                   ")
        ));
        if !point.advice.is_empty() {
            text.push_str(&format!("                   {}\n", paint.faint(point.advice)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_of_git_has_its_advice() {
        let of = |status: &str| of_git(&GitConfig { status: status.to_owned(), ..GitConfig::default() });
        assert_eq!(of("ready").mark, Mark::Good);
        for state in ["unconfigured", "unreachable", "cloned", "new"] {
            assert!(of(state).mark != Mark::Good && !of(state).advice.is_empty(), "{state}");
        }
    }

    #[test]
    fn points_are_lines_with_their_advice_below() {
        let points = [good("git", "fine"), bad("sync", "one\ntwo", "Mend it.")];
        let expected =
            "ok    git          fine\nFAIL  sync         one\n                   two\n                   Mend it.\n";
        assert_eq!(text(&points, Paint(false)), expected);
    }
}
