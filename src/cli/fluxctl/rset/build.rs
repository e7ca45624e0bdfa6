//! `build`: what a ResourceSet generates, from files alone.

use crate::cli::fluxctl::problem::Problem;
use crate::cli::fluxctl::session::Session;

use super::files;

/// Runs the verb.
pub(super) fn run(session: &Session<'_>) -> Result<(), Problem> {
    let given = session.given;
    let set = files::resource_set(&given.text("filename"))?;
    let (_, _) = (files::inputs(&given.list("inputs-from"))?, files::providers(&given.list("inputs-from-provider"))?);
    Err(Problem::Usage(format!("{} cannot be built yet", set.metadata.name.unwrap_or_default())))
}
