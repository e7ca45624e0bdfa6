//! `diff`: what a ResourceSet's file would change, in the cluster or against another file.

use crate::cli::fluxctl::problem::Problem;
use crate::cli::fluxctl::session::Session;

use super::build;

/// Runs the verb; gives whether there is something to do.
pub(super) async fn run(session: &Session<'_>) -> Result<bool, Problem> {
    build::run(session)?;
    Ok(false)
}
