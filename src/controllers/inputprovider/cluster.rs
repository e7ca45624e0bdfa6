//! What a listing needs to know from the cluster: secrets, service accounts and their tokens. Read anew each time, from the
//! object's own namespace only.

use std::sync::Arc;

use futures::FutureExt as _;

use crate::operator::reads::{Reads, ServiceAccount};
use crate::provider::SecretData;
use crate::registry::{Account, Oidc};

/// How long a token of an account is good for, in seconds: the shortest that API servers give out.
const VALID: u32 = 600;

/// Reads a secret.
pub(super) async fn secret(reads: &Reads, namespace: &str, name: &str) -> Result<SecretData, String> {
    let reference = format!("{namespace}/{name}");
    let found = match reads.get_secret(namespace, name).await {
        Ok(Some(secret)) => Ok(secret),
        Ok(None) => Err(format!("secrets \"{name}\" not found")),
        Err(error) => Err(error.to_string()),
    };
    let secret = found.map_err(|reason| format!("failed to read secret '{reference}': {reason}"))?;
    Ok(SecretData { reference, data: secret.data })
}

async fn service_account(reads: &Reads, namespace: &str, name: &str) -> Result<ServiceAccount, String> {
    let found = match reads.get_service_account(namespace, name).await {
        Ok(Some(account)) => Ok(account),
        Ok(None) => Err(format!("serviceaccounts \"{name}\" not found")),
        Err(error) => Err(error.to_string()),
    };
    found.map_err(|reason| format!("failed to read service account '{namespace}/{name}': {reason}"))
}

/// Reads the pull secrets that a service account names.
pub(super) async fn pull_secrets(reads: &Reads, namespace: &str, name: &str) -> Result<Vec<SecretData>, String> {
    let mut names = service_account(reads, namespace, name).await?.pull_secrets;
    names.sort();
    names.dedup();
    let mut secrets = Vec::new();
    for name in &names {
        secrets.push(secret(reads, namespace, name).await?);
    }
    Ok(secrets)
}

/// Reads a service account as clouds see it.
pub(super) async fn account(reads: &Reads, namespace: &str, name: &str) -> Result<Account, String> {
    let account = service_account(reads, namespace, name).await?;
    let shared = Arc::new((reads.clone(), namespace.to_owned(), name.to_owned()));
    let oidc = move |audience: String| {
        let shared = Arc::clone(&shared);
        async move {
            let (reads, namespace, name) = &*shared;
            let token = reads.service_account_token(namespace, name, &audience, VALID).await;
            token.map(|token| token.token).map_err(|e| e.to_string())
        }
        .boxed()
    };
    Ok(Account {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        annotations: account.annotations,
        oidc: Oidc(Arc::new(oidc)),
    })
}
