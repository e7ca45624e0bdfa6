//! ResourceSetInputProvider: input values that come from elsewhere (resourceset §2.3, §2.4).
#![allow(unreachable_pub, reason = "the derive of schemas repeats each type inside of a function")]

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelectorRequirement, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::condition::Condition;
use super::resourceset::InputSet;
use super::schema;

/// Results that a filter keeps where it does not say.
pub const DEFAULT_LIMIT: i64 = 100;
/// Results that a filter may keep.
pub const MAX_LIMIT: i64 = 10_000;

/// Exports input values for ResourceSets.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "fluxcd.controlplane.io",
    version = "v1",
    kind = "ResourceSetInputProvider",
    plural = "resourcesetinputproviders",
    singular = "resourcesetinputprovider",
    shortname = "rsip",
    namespaced,
    status = "ResourceSetInputProviderStatus",
    derive = "PartialEq",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-sources",
    doc = "ResourceSetInputProvider exports input values that come from elsewhere to ResourceSets.",
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message"}"#
)]
#[x_kube(
    validation = Rule::new("!(self.type in ['Static', 'ExternalArtifact']) || !has(self.url) || self.url == ''")
        .message("spec.url must be empty when spec.type is 'Static' or 'ExternalArtifact'"),
    validation = Rule::new("self.type in ['Static', 'ExternalArtifact'] || (has(self.url) && self.url != '')")
        .message("spec.url must not be empty when spec.type is not 'Static' or 'ExternalArtifact'"),
    validation = Rule::new("!self.type.startsWith('Git') || !has(self.url) || self.url == '' || self.url.startsWith('http')")
        .message("spec.url must start with 'http://' or 'https://' when spec.type is a Git provider"),
    validation = Rule::new("self.type != 'ExternalService' || !has(self.url) || self.url == '' || self.url.startsWith('http')")
        .message("spec.url must start with 'http://' or 'https://' when spec.type is 'ExternalService'"),
    validation = Rule::new("!self.type.startsWith('AzureDevOps') || !has(self.url) || self.url == '' || \
        self.url.startsWith('http://') || self.url.startsWith('https://')")
        .message("spec.url must start with 'http://' or 'https://' when spec.type is an Azure DevOps provider"),
    validation = Rule::new("!self.type.startsWith('AWSCodeCommit') || !has(self.url) || self.url == '' || \
        self.url.startsWith('https://')")
        .message("spec.url must start with 'https://' when spec.type is an AWS CodeCommit provider"),
    validation = Rule::new("!self.type.endsWith('ArtifactTag') || !has(self.url) || self.url == '' || self.url.startsWith('oci')")
        .message("spec.url must start with 'oci://' when spec.type is an OCI provider"),
    validation = Rule::new("!self.type.endsWith('ArtifactTag') || !has(self.url) || !self.url.startsWith('oci') || \
        self.url.lastIndexOf('/') > 6")
        .message("spec.url must have a repository path after the registry host when spec.type is an OCI provider"),
    validation = Rule::new("self.type != 'ExternalService' || !has(self.url) || !self.url.startsWith('http://') || \
        (has(self.insecure) && self.insecure)")
        .message("spec.insecure must be true when spec.type is 'ExternalService' and spec.url starts with 'http://'"),
    validation = Rule::new("!has(self.insecure) || !self.insecure || self.type in ['ExternalService', 'OCIArtifactTag']")
        .message("spec.insecure can be true only when spec.type is 'ExternalService' or 'OCIArtifactTag'"),
    validation = Rule::new("!has(self.serviceAccountName) || self.type.startsWith('AzureDevOps') || \
        self.type.startsWith('AWSCodeCommit') || self.type.endsWith('ArtifactTag') || self.type == 'ExternalArtifact'")
        .message("spec.serviceAccountName can be set only when spec.type is an Azure DevOps, AWS CodeCommit, OCI or \
            ExternalArtifact provider"),
    validation = Rule::new("!has(self.secretRef) || !(self.type in ['Static', 'ExternalArtifact', 'ACRArtifactTag', \
        'ECRArtifactTag', 'GARArtifactTag'] || self.type.startsWith('AWSCodeCommit'))")
        .message("spec.secretRef cannot be set when spec.type is 'Static', 'ExternalArtifact', 'ACRArtifactTag', \
            'ECRArtifactTag', 'GARArtifactTag' or an AWS CodeCommit provider"),
    validation = Rule::new("!has(self.certSecretRef) || !(self.type in ['Static', 'ExternalArtifact', 'ACRArtifactTag', \
        'ECRArtifactTag', 'GARArtifactTag'] || self.type.startsWith('AWSCodeCommit') || self.type.startsWith('AzureDevOps'))")
        .message("spec.certSecretRef cannot be set when spec.type is 'Static', 'ExternalArtifact', 'ACRArtifactTag', \
            'ECRArtifactTag', 'GARArtifactTag', an AWS CodeCommit or an Azure DevOps provider"),
    validation = Rule::new("self.type != 'ExternalArtifact' || (has(self.selectors) && size(self.selectors) > 0)")
        .message("spec.selectors must not be empty when spec.type is 'ExternalArtifact'"),
    validation = Rule::new("self.type == 'ExternalArtifact' || !has(self.selectors)")
        .message("spec.selectors can be set only when spec.type is 'ExternalArtifact'")
)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSetInputProviderSpec {
    /// What is listed, and where.
    #[serde(rename = "type")]
    pub provider_type: ProviderType,
    /// Address of what is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^((http|https|oci)://.*){0,1}$"))]
    pub url: Option<String>,
    /// Service account in the provider's namespace: for workload identity, pull secrets, or impersonation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Secret in the provider's namespace with credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
    /// Secret in the provider's namespace with a CA (`ca.crt`) or a client certificate (`tls.crt`, `tls.key`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<SecretRef>,
    /// Whether plain HTTP is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
    /// Values of names that the provider does not export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::values")]
    pub default_values: Option<InputSet>,
    /// Which results are exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Which results are not updated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<Skip>,
    /// When the provider runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<Schedule>,
    /// Which ExternalArtifacts are exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selectors: Option<Vec<ArtifactSelector>>,
}

/// What a provider lists, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "each is named as its host and what is listed there")]
pub enum ProviderType {
    Static,
    GitHubBranch,
    GitHubTag,
    GitHubPullRequest,
    GitLabBranch,
    GitLabTag,
    GitLabMergeRequest,
    GitLabEnvironment,
    AzureDevOpsBranch,
    AzureDevOpsTag,
    AzureDevOpsPullRequest,
    GiteaBranch,
    GiteaTag,
    GiteaPullRequest,
    AWSCodeCommitBranch,
    AWSCodeCommitTag,
    AWSCodeCommitPullRequest,
    OCIArtifactTag,
    ACRArtifactTag,
    ECRArtifactTag,
    GARArtifactTag,
    ExternalService,
    ExternalArtifact,
}

impl fmt::Display for ProviderType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A Secret in the same namespace.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretRef {
    /// Name of the Secret.
    pub name: String,
}

/// Which results are exported.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Filter {
    /// Regular expression that branches must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_branch: Option<String>,
    /// Regular expression that branches must not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_branch: Option<String>,
    /// Regular expression that tags must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_tag: Option<String>,
    /// Regular expression that tags must not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_tag: Option<String>,
    /// Regular expression that environments must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_environment: Option<String>,
    /// Regular expression that environments must not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_environment: Option<String>,
    /// Labels that change requests must have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// How many results are exported at most.
    #[serde(default = "default_limit")]
    #[schemars(range(max = 10_000))]
    pub limit: i64,
    /// Semver range that tags must satisfy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semver: Option<String>,
}

fn default_limit() -> i64 {
    DEFAULT_LIMIT
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            include_branch: None,
            exclude_branch: None,
            include_tag: None,
            exclude_tag: None,
            include_environment: None,
            exclude_environment: None,
            labels: Vec::new(),
            limit: DEFAULT_LIMIT,
            semver: None,
        }
    }
}

/// Which results are not updated.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// Labels; a result with one of them keeps its last values. `!label` means those without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// When a provider runs.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// Cron expression of five fields.
    pub cron: String,
    /// IANA time zone of the expression.
    #[serde(default = "default_time_zone")]
    pub time_zone: String,
    /// How long after each time the provider may run.
    #[serde(default = "default_window")]
    #[schemars(schema_with = "window")]
    pub window: String,
}

fn window(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mut schema = schema::go_duration(generator);
    schema.insert("default".to_owned(), "0s".into());
    schema
}

fn default_time_zone() -> String {
    "UTC".to_owned()
}

fn default_window() -> String {
    "0s".to_owned()
}

/// Which ExternalArtifacts are exported.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("!has(self.name) || (!has(self.matchLabels) && !has(self.matchExpressions))")
    .message("name cannot be set together with matchLabels or matchExpressions"))]
#[serde(rename_all = "camelCase")]
pub struct ArtifactSelector {
    /// Name of the artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Namespace of the artifact: the provider's by default, `*` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Labels that artifacts must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<BTreeMap<String, String>>,
    /// Requirements that artifacts' labels must satisfy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<LabelSelectorRequirement>>,
}

/// When a provider runs next.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NextSchedule {
    /// Cron expression of the schedule.
    pub cron: String,
    /// Time zone of the schedule.
    pub time_zone: String,
    /// Window of the schedule, as Go prints durations.
    pub window: String,
    /// The time.
    pub when: Time,
}

/// What was seen of an input provider.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSetInputProviderStatus {
    /// Readiness conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The sets of input values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::value_sets")]
    pub exported_inputs: Vec<InputSet>,
    /// Checksum of the exported inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_exported_revision: Option<String>,
    /// Token of the last request that ran outside of the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_force_at: Option<String>,
    /// Token of the last requested reconciliation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
    /// When the provider runs next, where a schedule says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_schedule: Option<NextSchedule>,
}
