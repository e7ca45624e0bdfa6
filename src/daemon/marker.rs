//! The sync marker: which commit the cluster was last brought to (fluxd-v1 §2.9). A tag in git, or an annotation on the
//! daemon's secret.

use std::collections::BTreeMap;

use crate::operator::{self, reads::Secret};
use crate::source::git;
use crate::tree::Revision;

use super::settings::MarkerStore;
use super::shared::Shared;

/// Annotation of the secret that holds the marker.
const ANNOTATION: &str = "flux.weave.works/sync-hwm";

/// The marker, or what it points into, could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The repository failed.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// The secret failed.
    #[error("sync marker in the secret: {0}")]
    Secret(#[from] operator::Error),
}

/// Reads the marker; `None` before the first sync.
pub(super) async fn read(shared: &Shared) -> Result<Option<Revision>, Error> {
    match shared.settings.marker {
        MarkerStore::Git => Ok(shared.repo.read_marker().await?),
        MarkerStore::Secret => Ok(from_secret(shared).await?),
    }
}

async fn from_secret(shared: &Shared) -> Result<Option<Revision>, operator::Error> {
    let secret = shared.reads.get_secret(&namespace(shared), &shared.settings.secret_name).await?;
    let secret = secret.ok_or_else(|| {
        operator::Error::Cluster(format!("secret {}/{} does not exist", namespace(shared), shared.settings.secret_name))
    })?;
    match secret.annotations.get(ANNOTATION) {
        Some(text) if !text.is_empty() => Ok(Some(Revision(text.as_str().into()))),
        Some(_) => Ok(None),
        None => {
            to_secret(shared, "").await?;
            Ok(None)
        }
    }
}

async fn to_secret(shared: &Shared, value: &str) -> Result<(), operator::Error> {
    let annotations = BTreeMap::from([(ANNOTATION.to_owned(), value.to_owned())]);
    let patch = Secret { annotations, ..Secret::default() };
    shared.reads.patch_secret(&namespace(shared), &shared.settings.secret_name, &patch).await
}

fn namespace(shared: &Shared) -> String {
    shared.settings.own_namespace.clone().unwrap_or_else(|| "default".to_owned())
}

/// Moves the marker to a commit, unless this process wrote that very commit last; the first sync of a process always
/// writes it. Then the mirror is refreshed, so that the API sees the marker where it is.
pub(super) async fn advance(shared: &Shared, old: Option<&Revision>, new: &Revision) -> Result<(), Error> {
    tell_of_foreign_marker(shared, old);
    if shared.state().marker.as_ref() == Some(new) {
        return Ok(());
    }
    match shared.settings.marker {
        MarkerStore::Git => shared.repo.write_marker(new, "Sync pointer").await?,
        MarkerStore::Secret => to_secret(shared, &new.0).await?,
    }
    shared.state().marker = Some(new.clone());
    tracing::info!(
        component = "sync-loop",
        state = %describe(shared),
        old = %old.map(ToString::to_string).unwrap_or_default(),
        new = %new
    );
    Ok(())
}

fn describe(shared: &Shared) -> String {
    match shared.settings.marker {
        MarkerStore::Git => format!("tag {}", shared.settings.sync_tag),
        MarkerStore::Secret => format!("kubernetes {}:secret/{}", namespace(shared), shared.settings.secret_name),
    }
}

fn tell_of_foreign_marker(shared: &Shared, found: Option<&Revision>) {
    let mut state = shared.state();
    if state.marker.is_some() && state.marker.as_ref() != found && !state.told_of_foreign_marker {
        state.told_of_foreign_marker = true;
        tracing::warn!(
            component = "sync-loop",
            "detected external change in sync state; the sync state should not be shared by fluxd instances"
        );
    }
}
