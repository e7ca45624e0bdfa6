//! `identity`: the public key that the daemon reaches git with.

use super::problem::Problem;
use super::session::Session;
use super::terminal::{out, tell};

/// Runs the verb.
pub(super) async fn run(session: &Session<'_>) -> Result<(), Problem> {
    let client = session.connect().await?;
    let regenerate = session.given.bool("regenerate");
    let key = session.screen.patient("Asking for the key", client.git_config(regenerate)).await?.key;
    let md5 = key.fingerprints.get("md5").cloned().unwrap_or_default();
    let text = if session.given.bool("visual") {
        format!("{}\n{}", md5.hash, md5.randomart)
    } else if session.given.bool("fingerprint") {
        format!("{}\n", md5.hash)
    } else {
        key.key.clone()
    };
    out(&text)?;
    if key.key.is_empty() {
        tell("The daemon has no key: its repository is not reached by ssh, or it does not run in a cluster.");
    }
    Ok(())
}
