//! `fluxctl rset` and `fluxctl rsip`: ResourceSets and their input providers, from files or in a cluster. The daemon is not
//! asked: these verbs work with the rights of whoever calls them.

mod build;
mod cluster;
mod custom;
mod diff;
mod files;
mod get;
mod request;
mod tree;
mod verbs;

use std::process::ExitCode;

use super::problem::Problem;
use super::session::Session;
use crate::api::inputprovider::ResourceSetInputProvider;
use crate::api::resourceset::ResourceSet;
use custom::Custom;

pub(super) use verbs::{RSET, RSIP};

/// Which custom resource a verb is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ResourceSet,
    InputProvider,
}

/// What a verb does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Build,
    Diff,
    Get,
    Reconcile,
    Resume,
    Suspend,
    Tree,
}

/// Whether the verb needs no cluster.
pub(super) fn is_offline(deed: Deed) -> bool {
    deed == Deed::Build
}

/// Runs a verb that needs no cluster.
pub(super) fn offline(session: &Session<'_>) -> Result<(), Problem> {
    no_arguments(session)?;
    build::run(session)
}

/// Runs a verb.
pub(super) async fn run(session: &Session<'_>, kind: Kind, deed: Deed) -> Result<ExitCode, Problem> {
    match (kind, deed) {
        (_, Deed::Build) => offline(session)?,
        (_, Deed::Diff) => {
            no_arguments(session)?;
            let to_do = diff::run(session).await?;
            return Ok(ExitCode::from(u8::from(to_do && session.given.bool("exit-code"))));
        }
        (_, Deed::Tree) => tree::run(session, &name(session)?).await?,
        (Kind::ResourceSet, deed) => of_kind::<ResourceSet>(session, deed).await?,
        (Kind::InputProvider, deed) => of_kind::<ResourceSetInputProvider>(session, deed).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn of_kind<K: Custom>(session: &Session<'_>, deed: Deed) -> Result<(), Problem> {
    match deed {
        Deed::Get => get::run::<K>(session).await,
        Deed::Reconcile => request::reconcile::<K>(session, &name(session)?).await,
        Deed::Resume => request::resume::<K>(session, &name(session)?).await,
        Deed::Suspend => request::suspend::<K>(session, &name(session)?).await,
        // They were dealt with before.
        Deed::Build | Deed::Diff | Deed::Tree => Ok(()),
    }
}

/// The one name that was given.
fn name(session: &Session<'_>) -> Result<String, Problem> {
    match session.rest {
        [name] => Ok(name.clone()),
        _ => Err(Problem::Usage("please give one name".to_owned())),
    }
}

fn no_arguments(session: &Session<'_>) -> Result<(), Problem> {
    match session.rest {
        [] => Ok(()),
        _ => Err(Problem::Usage("expected no (non-flag) arguments; the file is given with --filename".to_owned())),
    }
}
