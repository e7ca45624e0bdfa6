//! `sync`: the cluster to the state of the repository, now.

use super::job::{short, wait_until_applied};
use super::problem::Problem;
use super::session::{Connection, Session, ours};
use super::terminal::tell;
use crate::client::{ClientError, Ended, GitConfig};
use crate::report::{Cause, Update, UpdateSpec};

/// Runs the verb.
pub(super) async fn run(session: &Session<'_>) -> Result<(), Problem> {
    let client = session.connect().await?;
    let allowed = session.given.text("allow-deletes");
    if !allowed.is_empty() {
        client.approve(&allowed).await.map_err(ours)?;
        tell(&format!("The held deletes of {allowed} are let through"));
    }
    let git = client.git_config(false).await?;
    check(&git)?;
    tell(&format!("Synchronizing with {}", git.remote.url));
    let job = client.update(&UpdateSpec { cause: Cause::default(), update: Update::Sync }).await?;
    let revision = revision(session, &client, &job).await?;
    let short = short(&revision);
    tell(&format!("Revision of {} to apply is {short}", git.remote.branch));
    tell(&format!("Waiting for {short} to be applied ..."));
    wait_until_applied(session, &client, short).await?;
    tell("Done.");
    hint(&client).await;
    Ok(())
}

/// Whether the repository can be synced with.
fn check(git: &GitConfig) -> Result<(), Problem> {
    let full = format!("\n\nFull error message: {}", git.errors);
    let text = match git.status.as_str() {
        "ready" if !git.remote.url.is_empty() => return Ok(()),
        "unconfigured" | "ready" => "no git repository is configured".to_owned(),
        "unreachable" => format!("can not connect to git repository with URL {}{full}", git.remote.url),
        _ => {
            let full = if git.errors.is_empty() { "" } else { &full };
            format!("git repository {} is not ready to sync{full}", git.remote.url)
        }
    };
    Err(Problem::Usage(text))
}

/// The commit to wait for: what the job found, or the last one that is verified.
async fn revision(session: &Session<'_>, client: &Connection, job: &str) -> Result<String, Problem> {
    let ended = client.ended(job, session.globals.timeout);
    match session.screen.patient("Waiting for the job to end", ended).await {
        Ok(Ended::Well(result)) => Ok(result.revision),
        Ok(Ended::Failed(job)) if is_unverified(&job.err) && !job.result.revision.is_empty() => {
            tell(&format!("Warning: {}", job.err));
            Ok(job.result.revision)
        }
        Ok(Ended::Failed(failed)) => Err(told(job, ClientError::Job(failed.err))),
        Err(error) => Err(told(job, error)),
    }
}

fn told(job: &str, error: ClientError) -> Problem {
    tell(&format!("Failed to complete sync job (ID {job:?})"));
    error.into()
}

/// Whether only the last verified commit could be synced; v1's client looks for the same words.
fn is_unverified(error: &str) -> bool {
    error.contains("branch HEAD in the git repo is not verified") && error.contains("last verified commit was")
}

/// Says what a sync left undone, where the daemon tells: v1 does not.
async fn hint(client: &Connection) {
    let Ok(status) = client.status().await else { return };
    if status.pointer("/lastSync/success").and_then(serde_json::Value::as_bool) == Some(false) {
        tell("Warning: not every object could be applied; fluxctl tree shows which, fluxctl trace OBJECT why.");
    }
    if let Ok(held) = client.held().await {
        for held in held.iter().filter(|held| !held.deletes.is_empty()) {
            let (count, digest) = (held.deletes.len(), &held.digest);
            tell(&format!(
                "Warning: {count} deletes are held: {}. To let them through: fluxctl sync --allow-deletes={digest}",
                held.reason
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: &str, errors: &str) -> String {
        let mut git = GitConfig { status: status.to_owned(), errors: errors.to_owned(), ..GitConfig::default() };
        git.remote.url = "ssh://git@h/r".to_owned();
        check(&git).map_or_else(|e| e.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn a_repository_that_cannot_be_synced_with_is_told_in_v1s_words() {
        for (status, errors, text) in [
            ("ready", "", "fine"),
            ("unconfigured", "e", "no git repository is configured"),
            ("new", "", "git repository ssh://git@h/r is not ready to sync"),
            ("cloned", "e", "git repository ssh://git@h/r is not ready to sync\n\nFull error message: e"),
            ("unreachable", "", "can not connect to git repository with URL ssh://git@h/r\n\nFull error message: "),
        ] {
            assert_eq!(error(status, errors), text, "{status}");
        }
    }
}
