//! The deploy key: where the daemon keeps it in the cluster, and how the API shows it (fluxd-v1 §2.8).

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;

use crate::operator::reads::{Reads, Secret};
use crate::report;
use crate::runtime::Stop;
use crate::source::git::{self, KeyPair, KeyRing, KeySettings, LoadKey, StoreKey};

/// Opens the key ring over a secret of the daemon's own namespace; makes and stores a key when there is none.
///
/// # Errors
/// When the secret does not exist, cannot be read or written, or the key in it is none.
pub async fn open_key_ring(
    settings: KeySettings,
    reads: Reads,
    at: (String, String),
    stop: &Stop,
) -> Result<KeyRing, git::Error> {
    let data_key = settings.data_key.clone();
    let ring = KeyRing::open(settings, load(reads.clone(), at.clone(), data_key), store(reads, at), stop).await?;
    let path = ring.identities().into_iter().next().unwrap_or_default();
    tracing::info!(component = "cluster", identity = %path.display());
    tracing::info!(component = "cluster", identity.pub = %ring.public_key().key.trim_end());
    Ok(ring)
}

fn load(reads: Reads, (namespace, name): (String, String), data_key: String) -> LoadKey {
    Arc::new(move || {
        let (reads, namespace, name, data_key) = (reads.clone(), namespace.clone(), name.clone(), data_key.clone());
        async move {
            let secret = reads.get_secret(&namespace, &name).await.map_err(|e| e.to_string())?;
            let secret = secret.ok_or_else(|| format!("secrets \"{name}\" not found in namespace {namespace}"))?;
            Ok(secret.data.get(&data_key).cloned())
        }
        .boxed()
    })
}

fn store(reads: Reads, (namespace, name): (String, String)) -> StoreKey {
    Arc::new(move |pair: KeyPair| {
        let (reads, namespace, name) = (reads.clone(), namespace.clone(), name.clone());
        async move {
            let data = BTreeMap::from([(pair.data_key, pair.private), ("identity.pub".to_owned(), pair.public)]);
            let patch = Secret { data, ..Secret::default() };
            reads.patch_secret(&namespace, &name, &patch).await.map_err(|e| e.to_string())
        }
        .boxed()
    })
}

/// The key in the API's shape.
pub(super) fn shown(key: git::PublicKey) -> report::PublicKey {
    let fingerprints = key.fingerprints.map(|all| {
        let one = |f: git::Fingerprint| report::Fingerprint { hash: f.hash, randomart: f.randomart };
        all.into_iter().map(|(algorithm, f)| (algorithm.to_owned(), one(f))).collect()
    });
    report::PublicKey { key: key.key, fingerprints }
}
