//! Asks the remote side of an input provider, with everything that its spec refers to, within its time.

use std::time::Duration;

use kube::ResourceExt as _;
use tokio::time::timeout;

use super::artifacts;
use super::cluster;
use super::reconciler::InputProviders;
use crate::api::duration;
use crate::api::inputprovider::{Filter as Written, ProviderType, ResourceSetInputProvider};
use crate::operator::controller::Pass;
use crate::provider::{Asker, Export, Filter, Pair, Request};
use crate::registry::Account;

/// Lists, or says why not.
pub(super) async fn list(
    shared: &InputProviders,
    object: &ResourceSetInputProvider,
    cx: &Pass<ResourceSetInputProvider>,
    within: Duration,
) -> Result<Export, String> {
    // waiting for others takes none of the object's own time: slow services make nobody else's listing fail
    let _turn = shared.calls.acquire().await.map_err(|e| e.to_string())?;
    let late = |_| format!("no complete answer within {}: context deadline exceeded", duration::format(within));
    if object.spec.provider_type == ProviderType::ExternalArtifact {
        let listed = timeout(within, artifacts::list(shared, object, cx.client())).await;
        return listed.map_err(|e| artifacts::failed(late(e))).flatten();
    }
    let request = timeout(within, request(shared, object, cx, within)).await.map_err(late).flatten()?;
    shared.providers.list(&request).await.map_err(|e| e.to_string())
}

async fn request(
    shared: &InputProviders,
    object: &ResourceSetInputProvider,
    cx: &Pass<ResourceSetInputProvider>,
    timeout: Duration,
) -> Result<Request, String> {
    let (spec, namespace) = (&object.spec, object.namespace().unwrap_or_default());
    let mut request = Request {
        asker: Asker { namespace: namespace.clone(), name: object.name_any() },
        kind: spec.provider_type,
        url: spec.url.clone().unwrap_or_default(),
        insecure: spec.insecure.unwrap_or_default(),
        filter: spec.filter.as_ref().map(filter).unwrap_or_default(),
        skip: spec.skip.as_ref().map(|skip| skip.labels.clone()).unwrap_or_default(),
        before: object.status.as_ref().map(|status| status.exported_inputs.clone()).unwrap_or_default(),
        defaults: spec.default_values.clone().unwrap_or_default(),
        secret: None,
        certificates: None,
        pull_secrets: Vec::new(),
        account: None,
        timeout,
    };
    if let Some(reference) = &spec.secret_ref {
        request.secret = Some(cluster::secret(cx.reads(), &namespace, &reference.name).await?);
    }
    if let Some(reference) = &spec.cert_secret_ref {
        request.certificates = Some(cluster::secret(cx.reads(), &namespace, &reference.name).await?);
    }
    if spec.provider_type == ProviderType::OCIArtifactTag
        && let Some(account) = spec.service_account_name.as_deref().filter(|name| !name.is_empty())
    {
        request.pull_secrets = cluster::pull_secrets(cx.reads(), &namespace, account).await?;
    }
    request.account = account(shared, object, cx, &namespace).await?;
    Ok(request)
}

/// Whose identity clouds are shown; only the clouds' own kinds show any.
async fn account(
    shared: &InputProviders,
    object: &ResourceSetInputProvider,
    cx: &Pass<ResourceSetInputProvider>,
    namespace: &str,
) -> Result<Option<Account>, String> {
    use ProviderType as T;
    let spec = &object.spec;
    let shown = match spec.provider_type {
        T::AzureDevOpsBranch | T::AzureDevOpsTag | T::AzureDevOpsPullRequest => spec.secret_ref.is_none(),
        T::AWSCodeCommitBranch | T::AWSCodeCommitTag | T::AWSCodeCommitPullRequest => true,
        T::ACRArtifactTag | T::ECRArtifactTag | T::GARArtifactTag => true,
        _ => false,
    };
    let default = || shared.settings.default_workload_identity_service_account.as_deref();
    let name = spec.service_account_name.as_deref().filter(|name| !name.is_empty()).or_else(default);
    match name.filter(|name| shown && !name.is_empty()) {
        Some(name) => cluster::account(cx.reads(), namespace, name).await.map(Some),
        None => Ok(None),
    }
}

fn filter(written: &Written) -> Filter {
    let pair = |include: &Option<String>, exclude: &Option<String>| Pair {
        include: include.clone(),
        exclude: exclude.clone(),
    };
    Filter {
        branch: pair(&written.include_branch, &written.exclude_branch),
        tag: pair(&written.include_tag, &written.exclude_tag),
        environment: pair(&written.include_environment, &written.exclude_environment),
        labels: written.labels.clone(),
        limit: Some(written.limit),
        semver: written.semver.clone(),
    }
}
