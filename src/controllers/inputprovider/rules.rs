//! Rules that the schema also has, checked again because objects may be older than it (resourceset §8.1 step 5).

use crate::api::inputprovider::{ProviderType, ResourceSetInputProviderSpec};

/// Finds the rule that a spec breaks.
pub(super) fn check(spec: &ResourceSetInputProviderSpec) -> Result<(), &'static str> {
    use ProviderType as T;
    let url = spec.url.as_deref().unwrap_or_default();
    let insecure = spec.insecure.unwrap_or_default();
    let oci =
        matches!(spec.provider_type, T::OCIArtifactTag | T::ACRArtifactTag | T::ECRArtifactTag | T::GARArtifactTag);
    let without_url = matches!(spec.provider_type, T::Static | T::ExternalArtifact);
    let rules = [
        (!without_url || url.is_empty(), "spec.url must be empty when spec.type is 'Static' or 'ExternalArtifact'"),
        (
            without_url || !url.is_empty(),
            "spec.url must not be empty when spec.type is not 'Static' or 'ExternalArtifact'",
        ),
        (
            !insecure || matches!(spec.provider_type, T::ExternalService | T::OCIArtifactTag),
            "spec.insecure can be true only when spec.type is 'ExternalService' or 'OCIArtifactTag'",
        ),
        (
            spec.provider_type != T::ExternalService || url.starts_with("http"),
            "spec.url must start with 'http://' or 'https://' when spec.type is 'ExternalService'",
        ),
        (
            spec.provider_type != T::ExternalService || !url.starts_with("http://") || insecure,
            "spec.insecure must be true when spec.type is 'ExternalService' and spec.url starts with 'http://'",
        ),
        (!oci || url.starts_with("oci://"), "spec.url must start with 'oci://' when spec.type is an OCI provider"),
        (
            !oci || url.trim_start_matches("oci://").split_once('/').is_some_and(|(_, path)| !path.is_empty()),
            "spec.url must have a repository path after the registry host when spec.type is an OCI provider",
        ),
        (
            spec.provider_type != T::ExternalArtifact || spec.selectors.as_ref().is_some_and(|s| !s.is_empty()),
            "spec.selectors must not be empty when spec.type is 'ExternalArtifact'",
        ),
    ];
    rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, broken)| Err(broken))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_an_old_schema_let_in_is_refused() {
        for (spec, said) in [
            (json!({"type": "Static"}), None),
            (json!({"type": "ExternalService", "url": "http://a", "insecure": true}), None),
            (json!({"type": "OCIArtifactTag", "url": "oci://a.io/b", "insecure": true}), None),
            (
                json!({"type": "ACRArtifactTag", "url": "oci://a.azurecr.io/b", "insecure": true}),
                Some("spec.insecure can be"),
            ),
            (json!({"type": "ExternalService", "url": "http://a"}), Some("spec.insecure must be")),
            (json!({"type": "ExternalService", "url": "ftp://a"}), Some("spec.url must start with 'http")),
            (json!({"type": "ExternalService"}), Some("spec.url must not be empty")),
            (json!({"type": "OCIArtifactTag", "url": "https://a/b"}), Some("spec.url must start with 'oci")),
            (json!({"type": "OCIArtifactTag", "url": "oci://a.io"}), Some("spec.url must have a repository path")),
            (json!({"type": "ExternalArtifact", "selectors": []}), Some("spec.selectors must not be empty")),
            (json!({"type": "Static", "url": "https://a"}), Some("spec.url must be empty")),
        ] {
            let read: ResourceSetInputProviderSpec = serde_json::from_value(spec.clone()).unwrap();
            match (check(&read), said) {
                (Ok(()), None) => {}
                (Err(found), Some(said)) => assert!(found.starts_with(said), "{spec}: {found}"),
                (found, said) => panic!("{spec}: {found:?} instead of {said:?}"),
            }
        }
    }
}
