//! What the schema lets in (cases P1, P5, P13, P15, P16, P17).

use super::*;
use kube::api::PostParams;

/// Tries what the API server would say to a provider.
struct Trial(Api<DynamicObject>);

impl Trial {
    async fn new() -> Self {
        Self(Api::namespaced_with(plane().client().await, "default", &resource()))
    }

    async fn create(&self, spec: &Value) -> Result<(), String> {
        let object = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
                            "metadata": {"name": "p", "namespace": "default"}, "spec": spec});
        let params = PostParams { dry_run: true, ..PostParams::default() };
        let created = self.0.create(&params, &serde_json::from_value(object).unwrap()).await;
        created.map(drop).map_err(|e| e.to_string())
    }
}

/// A type with an address that it takes.
fn valid(kind: &str) -> Value {
    let url = match kind {
        "Static" | "ExternalArtifact" => None,
        kind if kind.starts_with("AzureDevOps") => Some("https://dev.azure.com/o/p/_git/r"),
        kind if kind.starts_with("AWSCodeCommit") => Some("https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/r"),
        kind if kind.ends_with("ArtifactTag") => Some("oci://example.org/a/b"),
        _ => Some("https://example.org/a/b"),
    };
    let mut spec = json!({ "type": kind });
    if let Some(url) = url {
        spec["url"] = json!(url);
    }
    if kind == "ExternalArtifact" {
        spec["selectors"] = json!([{"matchLabels": {"a": "b"}}]);
    }
    spec
}

const TYPES: [&str; 23] = [
    "Static",
    "GitHubBranch",
    "GitHubTag",
    "GitHubPullRequest",
    "GitLabBranch",
    "GitLabTag",
    "GitLabMergeRequest",
    "GitLabEnvironment",
    "AzureDevOpsBranch",
    "AzureDevOpsTag",
    "AzureDevOpsPullRequest",
    "GiteaBranch",
    "GiteaTag",
    "GiteaPullRequest",
    "AWSCodeCommitBranch",
    "AWSCodeCommitTag",
    "AWSCodeCommitPullRequest",
    "OCIArtifactTag",
    "ACRArtifactTag",
    "ECRArtifactTag",
    "GARArtifactTag",
    "ExternalService",
    "ExternalArtifact",
];

#[tokio::test(flavor = "multi_thread")]
async fn each_type_takes_the_credentials_that_it_can_use_and_no_others() {
    let trial = Trial::new().await;
    let cloud_tag = |kind: &str| matches!(kind, "ACRArtifactTag" | "ECRArtifactTag" | "GARArtifactTag");
    for kind in TYPES {
        let (azure, aws) = (kind.starts_with("AzureDevOps"), kind.starts_with("AWSCodeCommit"));
        let local = matches!(kind, "Static" | "ExternalArtifact");
        for (field, value, allowed) in [
            (
                "serviceAccountName",
                json!("x"),
                azure || aws || kind.ends_with("ArtifactTag") || kind == "ExternalArtifact",
            ),
            ("secretRef", json!({"name": "x"}), !(local || aws || cloud_tag(kind))),
            ("certSecretRef", json!({"name": "x"}), !(local || azure || aws || cloud_tag(kind))),
            ("insecure", json!(true), matches!(kind, "ExternalService" | "OCIArtifactTag")),
            ("insecure", json!(false), true),
        ] {
            let mut spec = valid(kind);
            spec[field] = value;
            let created = trial.create(&spec).await;
            assert_eq!(created.is_ok(), allowed, "{spec}: {created:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_fit_their_types() {
    let trial = Trial::new().await;
    for (kind, url, allowed) in [
        ("Static", "https://example.org/a/b", false),
        ("ExternalArtifact", "https://example.org/a/b", false),
        ("GitHubTag", "oci://example.org/a/b", false),
        ("GitHubTag", "http://example.org/a/b", true),
        ("GitHubTag", "ssh://example.org/a/b", false),
        ("AzureDevOpsTag", "oci://dev.azure.com/o/p/_git/r", false),
        ("AWSCodeCommitTag", "http://git-codecommit.eu-west-1.amazonaws.com/v1/repos/r", false),
        ("OCIArtifactTag", "https://example.org/a", false),
        ("OCIArtifactTag", "oci://example.org", false),
        ("ExternalService", "http://example.org", false),
        ("ExternalService", "https://example.org", true),
        ("ExternalService", "oci://example.org/a", false),
    ] {
        let mut spec = valid(kind);
        spec["url"] = json!(url);
        let created = trial.create(&spec).await;
        assert_eq!(created.is_ok(), allowed, "{spec}: {created:?}");
    }
    for kind in TYPES.iter().filter(|kind| !matches!(**kind, "Static" | "ExternalArtifact")) {
        let refusal = trial.create(&json!({ "type": kind })).await.unwrap_err();
        assert!(refusal.contains("spec.url must not be empty") && !refusal.contains("no such key"), "{refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn selectors_belong_to_artifacts_and_name_or_match() {
    let trial = Trial::new().await;
    let artifacts = |selectors: Value| json!({"type": "ExternalArtifact", "selectors": selectors});
    for (spec, allowed) in [
        (artifacts(json!([])), false),
        (json!({"type": "ExternalArtifact"}), false),
        (artifacts(json!([{}])), true),
        (artifacts(json!([{"name": "a", "namespace": "*"}])), true),
        (artifacts(json!([{"name": "a", "matchLabels": {"a": "b"}}])), false),
        (json!({"type": "Static", "selectors": [{"name": "a"}]}), false),
        (json!({"type": "Static", "filter": {"limit": 10_001}}), false),
        (json!({"type": "Static", "filter": {"limit": 10_000}}), true),
    ] {
        let created = trial.create(&spec).await;
        assert_eq!(created.is_ok(), allowed, "{spec}: {created:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_the_schema_cannot_check_are_told_by_the_pass() {
    let running = Running::start().await;
    for (name, kind, url) in [
        ("a", "GitHubBranch", "https://github.com/only"),
        ("b", "GitLabBranch", "https://gitlab.com/only"),
        ("c", "GiteaBranch", "https://gitea.com/a/b/c"),
        ("d", "AzureDevOpsBranch", "https://dev.azure.com/o/p"),
        ("e", "AWSCodeCommitBranch", "https://example.org/v1/repos/r"),
    ] {
        running.apply(name, json!({}), json!({"type": kind, "url": url}));
        let object = running.refused(name, "ReconciliationFailed", "failed to create Git provider: invalid URL");
        assert!(exported(&object).is_null());
    }
    running.apply(
        "f",
        json!({}),
        json!({"type": "GitHubBranch", "url": "https://github.com/a/b", "filter": {"includeBranch": "("}}),
    );
    running.refused("f", "ReconciliationFailed", "invalid includeBranch regex: ");
    running.apply("g", json!({}), json!({"type": "ECRArtifactTag", "url": "oci://ghcr.io/a/b"}));
    running.refused("g", "ReconciliationFailed", "invalid AWS registry");
}
