//! What input providers export at the moment, and whether that is all (resourceset §3.1).
//!
//! Providers are read live: a list that a cache has not finished must never pass for a short one.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use kube::core::Selector;

use super::build::Source;
use crate::api::condition;
use crate::api::inputprovider::ResourceSetInputProvider;
use crate::api::resourceset::InputSource;

/// Longest time for one read.
const DEADLINE: Duration = Duration::from_secs(30);
/// Providers per page of a list. Each may be as large as the API server takes.
const PAGE: u32 = 50;

/// The exports of all providers that a ResourceSet refers to.
#[derive(Debug, Default)]
pub(super) struct Exports {
    /// One per provider.
    pub(super) sources: Vec<Source>,
    /// Providers, as `namespace/name`, that have not exported yet: what they will export is not known.
    pub(super) unknown: Vec<String>,
}

/// Exports cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// The spec names what does not exist, or selects by what is no selector.
    #[error("{0}")]
    Wrong(String),
    /// The API server did not answer as it should.
    #[error("{0}")]
    Cluster(String),
}

/// Reads the exports of the providers of a namespace that are named or selected.
///
/// # Errors
/// When a provider does not exist or cannot be read.
pub(super) async fn read(
    client: &kube::Client,
    namespace: &str,
    references: &[InputSource],
) -> Result<Exports, ReadError> {
    let api: Api<ResourceSetInputProvider> = Api::namespaced(client.clone(), namespace);
    let mut found: BTreeMap<String, ResourceSetInputProvider> = BTreeMap::new();
    for reference in references {
        if let Some(name) = reference.name.as_deref().filter(|name| !name.is_empty()) {
            found.insert(name.to_owned(), named(&api, namespace, name).await?);
        } else if let Some(selector) = &reference.selector {
            let selector = Selector::try_from(selector.clone())
                .map_err(|e| ReadError::Wrong(format!("failed to parse selector: {e}")))?;
            found.extend(selected(&api, &selector).await?.into_iter().map(|p| (p.name_any(), p)));
        }
    }
    let mut exports = Exports::default();
    for (name, provider) in found {
        if !has_exported(&provider) {
            exports.unknown.push(format!("{namespace}/{name}"));
        }
        exports.sources.push(Source {
            kind: "ResourceSetInputProvider".to_owned(),
            namespace: namespace.to_owned(),
            name,
            inputs: provider.status.map(|status| status.exported_inputs).unwrap_or_default(),
        });
    }
    Ok(exports)
}

/// Whether what a provider exports is the answer of a listing that once came to its end, be it an empty one. A provider that
/// failed since keeps its last answer.
fn has_exported(provider: &ResourceSetInputProvider) -> bool {
    let Some(status) = &provider.status else { return false };
    let succeeded = condition::get(&status.conditions, condition::READY)
        .is_some_and(|ready| ready.status == "True" && ready.reason == condition::RECONCILIATION_SUCCEEDED);
    status.last_exported_revision.is_some() || !status.exported_inputs.is_empty() || succeeded
}

async fn named(
    api: &Api<ResourceSetInputProvider>,
    namespace: &str,
    name: &str,
) -> Result<ResourceSetInputProvider, ReadError> {
    let failed = |why: &str| format!("failed to get provider {namespace}/{name}: {why}");
    match tokio::time::timeout(DEADLINE, api.get(name)).await {
        Ok(Ok(provider)) => Ok(provider),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(ReadError::Wrong(failed(&status.message))),
        Ok(Err(error)) => Err(ReadError::Cluster(failed(&error.to_string()))),
        Err(_) => Err(ReadError::Cluster(failed("the API server does not answer"))),
    }
}

async fn selected(
    api: &Api<ResourceSetInputProvider>,
    selector: &Selector,
) -> Result<Vec<ResourceSetInputProvider>, ReadError> {
    let failed = |why: &str| ReadError::Cluster(format!("failed to list providers: {why}"));
    let mut params = ListParams::default().labels(&selector.to_string()).limit(PAGE);
    let mut found = Vec::new();
    loop {
        let page = tokio::time::timeout(DEADLINE, api.list(&params)).await;
        let page = page.map_err(|_| failed("the API server does not answer"))?.map_err(|e| failed(&e.to_string()))?;
        let next = page.metadata.continue_.filter(|token| !token.is_empty());
        found.extend(page.items);
        match next {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn provider(status: Value) -> ResourceSetInputProvider {
        serde_json::from_value(json!({
            "apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
            "metadata": { "name": "a" }, "spec": { "type": "Static" }, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn a_provider_is_known_from_its_first_complete_answer_on() {
        let ready = |status: &str, reason: &str| json!([{ "type": "Ready", "status": status, "reason": reason, "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z" }]);
        let failed = ready("False", "ReconciliationFailed");
        for (status, known) in [
            (json!({}), false),
            (json!({ "conditions": failed }), false),
            (json!({ "conditions": ready("True", "SkippedDueToSchedule") }), false),
            (json!({ "conditions": ready("True", "ReconciliationSucceeded") }), true),
            (json!({ "conditions": failed, "lastExportedRevision": "sha256:1" }), true),
            (json!({ "exportedInputs": [{ "id": "1" }] }), true),
        ] {
            assert_eq!(has_exported(&provider(status.clone())), known, "{status}");
        }
    }
}
