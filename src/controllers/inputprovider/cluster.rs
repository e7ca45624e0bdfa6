//! What a listing needs to know from the cluster: secrets, service accounts and their tokens. Read anew each time, from the
//! object's own namespace only.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::FutureExt as _;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};

use crate::provider::SecretData;
use crate::registry::{Account, Oidc};

/// How long a token of an account is good for, in seconds: the shortest that API servers give out.
const VALID: i64 = 600;

/// An API server's words, without the client's around them.
pub(super) fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

/// Reads a secret.
pub(super) async fn secret(client: &kube::Client, namespace: &str, name: &str) -> Result<SecretData, String> {
    let reference = format!("{namespace}/{name}");
    let read = Api::<Secret>::namespaced(client.clone(), namespace).get(name).await;
    let read = read.map_err(|e| format!("failed to read secret '{reference}': {}", said(&e)))?;
    let data = read.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect();
    Ok(SecretData { reference, data })
}

async fn service_account(client: &kube::Client, namespace: &str, name: &str) -> Result<ServiceAccount, String> {
    let read = Api::<ServiceAccount>::namespaced(client.clone(), namespace).get(name).await;
    read.map_err(|e| format!("failed to read service account '{namespace}/{name}': {}", said(&e)))
}

/// Reads the pull secrets that a service account names.
pub(super) async fn pull_secrets(
    client: &kube::Client,
    namespace: &str,
    name: &str,
) -> Result<Vec<SecretData>, String> {
    let account = service_account(client, namespace, name).await?;
    let names: BTreeSet<String> =
        account.image_pull_secrets.unwrap_or_default().into_iter().map(|secret| secret.name).collect();
    let mut secrets = Vec::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        secrets.push(secret(client, namespace, name).await?);
    }
    Ok(secrets)
}

/// Reads a service account as clouds see it.
pub(super) async fn account(client: &kube::Client, namespace: &str, name: &str) -> Result<Account, String> {
    let account = service_account(client, namespace, name).await?;
    let api = Api::<ServiceAccount>::namespaced(client.clone(), namespace);
    let (tokens, owner) = (Arc::new(api), name.to_owned());
    let oidc = move |audience: String| {
        let (tokens, owner) = (Arc::clone(&tokens), owner.clone());
        async move {
            let spec = TokenRequestSpec {
                audiences: Some(vec![audience]),
                expiration_seconds: Some(VALID),
                ..TokenRequestSpec::default()
            };
            let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
            let created = tokens.create_token_request(&owner, &PostParams::default(), &request).await;
            let status = created.map_err(|e| said(&e))?.status;
            status.and_then(|status| status.token).ok_or_else(|| "the API server gave no token".to_owned())
        }
        .boxed()
    };
    Ok(Account {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        annotations: account.annotations().clone(),
        oidc: Oidc(Arc::new(oidc)),
    })
}
