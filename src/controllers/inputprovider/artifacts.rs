//! ExternalArtifacts of the cluster as inputs (resourceset §8.7): read as the account that the object names, and watched so
//! that a change of one wakes those who export it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{ApiResource, DynamicObject, ListParams, ObjectMeta};
use kube::core::{Selector, SelectorExt as _};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, ResourceExt as _};
use serde_json::Value;

use super::reconciler::InputProviders;
use crate::api::inputprovider::{ArtifactSelector, DEFAULT_LIMIT, ProviderType, ResourceSetInputProvider};
use crate::operator::controller::Store;
use crate::provider::{Export, InputSet, complete, id_of};

pub(super) const API_VERSION: &str = "source.toolkit.fluxcd.io/v1";
pub(super) const KIND: &str = "ExternalArtifact";
/// Stands for all namespaces.
const ALL: &str = "*";
/// Objects of one page of a list.
const PAGE: u32 = 500;

/// Lists the artifacts that the selectors find.
pub(super) async fn list(
    shared: &InputProviders,
    object: &ResourceSetInputProvider,
    own: &kube::Client,
) -> Result<Export, String> {
    let spec = &object.spec;
    let default = || shared.settings.default_service_account.as_deref();
    let account = spec.service_account_name.as_deref().filter(|name| !name.is_empty()).or_else(default);
    let namespace = object.namespace().unwrap_or_default();
    let client = match account.filter(|name| !name.is_empty()) {
        Some(account) => client_of(&shared.config, &namespace, account).map_err(failed)?,
        None => own.clone(),
    };
    let reads = Reads { client, account: account.map(str::to_owned), namespace };
    let mut found = BTreeMap::new();
    for selector in spec.selectors.iter().flatten() {
        for artifact in reads.select(selector).await.map_err(failed)? {
            found.insert((artifact.namespace().unwrap_or_default(), artifact.name_any()), artifact);
        }
    }
    let limit = spec.filter.as_ref().map_or(DEFAULT_LIMIT, |filter| filter.limit);
    let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(DEFAULT_LIMIT as usize);
    let mut sets: Vec<InputSet> = found.values().take(limit).map(export).collect();
    complete(&mut sets, spec.default_values.as_ref().unwrap_or(&InputSet::new())).map_err(|e| failed(e.to_string()))?;
    Ok(Export { sets, nil_when_empty: false })
}

/// What failed, in the original's words.
pub(super) fn failed(reason: String) -> String {
    format!("failed to call ExternalArtifact provider: {reason}")
}

/// A client that can do nothing but as the account.
fn client_of(config: &kube::Config, namespace: &str, account: &str) -> Result<kube::Client, String> {
    let mut config = config.clone();
    if config.auth_info.impersonate.is_some() {
        return Err(
            "the connection impersonates somebody already, so it cannot impersonate service accounts".to_owned()
        );
    }
    config.auth_info.impersonate = Some(format!("system:serviceaccount:{namespace}:{account}"));
    kube::Client::try_from(config).map_err(|e| format!("a client for service account '{account}' cannot be made: {e}"))
}

struct Reads {
    client: kube::Client,
    account: Option<String>,
    /// The provider's own namespace.
    namespace: String,
}

impl Reads {
    async fn select(&self, selector: &ArtifactSelector) -> Result<Vec<DynamicObject>, String> {
        let namespace = selector.namespace.as_deref().filter(|name| !name.is_empty()).unwrap_or(&self.namespace);
        let name = selector.name.as_deref().filter(|name| !name.is_empty());
        // In all namespaces neither stands in a path.
        if let Some(text) = [Some(namespace), name].into_iter().flatten().find(|t| namespace != ALL && !fits(t)) {
            return Err(format!(
                "invalid resource name '{}': expected letters, digits, '-' and '.'",
                text.escape_debug()
            ));
        }
        match name {
            Some(name) if namespace == ALL => {
                let all = self.list(ALL, &Selector::default()).await?;
                Ok(all.into_iter().filter(|artifact| artifact.name_any() == name).collect())
            }
            Some(name) => Ok(self.get(namespace, name).await?.into_iter().collect()),
            None => self.list(namespace, &labels_of(selector)?).await,
        }
    }

    fn api(&self, namespace: &str) -> Api<DynamicObject> {
        let resource = resource();
        match namespace {
            ALL => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }

    async fn get(&self, namespace: &str, name: &str) -> Result<Option<DynamicObject>, String> {
        match self.api(namespace).get(name).await {
            Ok(found) => Ok(Some(found)),
            // a kind that does not exist is not found either, but names no object
            Err(kube::Error::Api(status)) if status.is_not_found() && status.message.contains(name) => Ok(None),
            Err(error) => Err(self.refused(&error, "get", namespace)),
        }
    }

    /// All pages of a list; one that fails fails it.
    async fn list(&self, namespace: &str, selector: &Selector) -> Result<Vec<DynamicObject>, String> {
        let api = self.api(namespace);
        let mut params = ListParams::default().labels(&selector.to_string()).limit(PAGE);
        let mut all = Vec::new();
        loop {
            let page = api.list(&params).await.map_err(|error| self.refused(&error, "list", namespace))?;
            all.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(all),
            }
        }
    }

    fn refused(&self, error: &kube::Error, verb: &str, namespace: &str) -> String {
        let place = match namespace {
            ALL => "in all namespaces".to_owned(),
            namespace => format!("in namespace '{namespace}'"),
        };
        match (&self.account, error) {
            (Some(account), kube::Error::Api(status)) if status.is_forbidden() => format!(
                "impersonated service account '{account}' lacks permissions to {verb} ExternalArtifacts {place}: {}",
                said(error)
            ),
            _ => format!("failed to {verb} ExternalArtifacts {place}: {}", said(error)),
        }
    }
}

/// Whether a text can be a name or a namespace. It becomes a part of an address, where others would lead elsewhere.
fn fits(text: &str) -> bool {
    !matches!(text, "." | "..") && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b))
}

/// An API server's words, without the client's around them.
fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => other.to_string(),
    }
}

fn resource() -> ApiResource {
    let (group, version) = API_VERSION.split_once('/').unwrap_or(("", API_VERSION));
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        plural: "externalartifacts".to_owned(),
    }
}

fn labels_of(selector: &ArtifactSelector) -> Result<Selector, String> {
    let labels = LabelSelector {
        match_labels: selector.match_labels.clone(),
        match_expressions: selector.match_expressions.clone(),
    };
    Selector::try_from(labels).map_err(|e| format!("invalid label selector: {e}"))
}

/// All labels as keys, under those that are always the same.
fn export(artifact: &DynamicObject) -> InputSet {
    let (namespace, name) = (artifact.namespace().unwrap_or_default(), artifact.name_any());
    let text = |value: &str| Value::String(value.to_owned());
    let mut set: InputSet = artifact.labels().iter().map(|(key, value)| (key.clone(), text(value))).collect();
    set.insert("id".to_owned(), text(&id_of(&format!("{namespace}/{name}"))));
    set.insert("name".to_owned(), text(&name));
    set.insert("namespace".to_owned(), text(&namespace));
    let revision = artifact.data.pointer("/status/artifact/revision").and_then(Value::as_str);
    if let Some(revision) = revision.filter(|revision| !revision.is_empty()) {
        set.insert("revision".to_owned(), text(revision));
    }
    set
}

/// The providers, of all namespaces, that an artifact matters to, as it was or as it is.
pub(super) fn woken(
    before: Option<&ObjectMeta>,
    after: Option<&ObjectMeta>,
    store: &Store<ResourceSetInputProvider>,
) -> Vec<ObjectRef<ResourceSetInputProvider>> {
    let metas: Vec<&ObjectMeta> = before.into_iter().chain(after).collect();
    let concerned = |object: &ResourceSetInputProvider| {
        let own = object.namespace().unwrap_or_default();
        object.spec.provider_type == ProviderType::ExternalArtifact
            && object.spec.selectors.iter().flatten().any(|s| metas.iter().any(|meta| selects(s, &own, meta)))
    };
    let objects = store.list();
    objects.iter().filter(|object| concerned(object)).map(|object| ObjectRef::from_obj(&**object)).collect()
}

fn selects(selector: &ArtifactSelector, own: &str, meta: &ObjectMeta) -> bool {
    let namespace = selector.namespace.as_deref().filter(|name| !name.is_empty()).unwrap_or(own);
    if namespace != ALL && meta.namespace.as_deref() != Some(namespace) {
        return false;
    }
    match selector.name.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => meta.name.as_deref() == Some(name),
        None => {
            let none = BTreeMap::new();
            labels_of(selector).is_ok_and(|wanted| wanted.matches(meta.labels.as_ref().unwrap_or(&none)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn artifact(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn labels_are_exported_under_what_is_always_the_same() {
        let found = artifact(json!({
            "apiVersion": API_VERSION, "kind": KIND,
            "metadata": {"name": "a", "namespace": "ns", "labels": {"team": "x", "id": "mine", "revision": "mine"}},
            "status": {"artifact": {"revision": "main@sha1:c0ffee"}},
        }));
        let want =
            json!({"team": "x", "id": id_of("ns/a"), "name": "a", "namespace": "ns", "revision": "main@sha1:c0ffee"});
        assert_eq!(Value::Object(export(&found)), want);
        let bare = artifact(json!({"metadata": {"name": "a", "namespace": "ns"}}));
        assert_eq!(Value::Object(export(&bare)), json!({"id": id_of("ns/a"), "name": "a", "namespace": "ns"}));
    }

    #[test]
    fn what_is_no_name_never_becomes_a_part_of_an_address() {
        for (text, fit) in
            [("a", true), ("a-1.b", true), ("..", false), ("a/b", false), ("a?watch=true", false), ("a%2Fb", false)]
        {
            assert_eq!(fits(text), fit, "{text}");
        }
    }

    #[test]
    fn selectors_find_by_namespace_then_by_name_or_labels() {
        let meta: ObjectMeta =
            serde_json::from_value(json!({"name": "a", "namespace": "ns", "labels": {"team": "x"}})).unwrap();
        for (selector, finds) in [
            (json!({"matchLabels": {"team": "x"}}), true),
            (json!({"matchLabels": {"team": "y"}}), false),
            (json!({"matchExpressions": [{"key": "team", "operator": "In", "values": ["x", "y"]}]}), true),
            (json!({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}), false),
            (json!({}), true),
            (json!({"name": "a"}), true),
            (json!({"name": "b"}), false),
            (json!({"name": "a", "namespace": "other"}), false),
            (json!({"name": "a", "namespace": "*"}), true),
            (json!({"matchLabels": {"team": "x"}, "namespace": "*"}), true),
        ] {
            let read: ArtifactSelector = serde_json::from_value(selector.clone()).unwrap();
            assert_eq!(selects(&read, "ns", &meta), finds, "{selector}");
        }
        let read: ArtifactSelector = serde_json::from_value(json!({})).unwrap();
        assert!(!selects(&read, "elsewhere", &meta));
    }
}
