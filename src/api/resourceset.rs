//! ResourceSet: a group of objects, generated from templates and a matrix of inputs (resourceset §2.1, §2.2).
#![allow(unreachable_pub, reason = "the derive of schemas repeats each type inside of a function")]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::condition::Condition;
use super::history::Snapshot;
use super::inventory::Inventory;
use super::schema;

/// One set of inputs: names and any JSON.
pub type InputSet = serde_json::Map<String, Value>;

/// Generates a group of Kubernetes objects from templates and input values.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "fluxcd.controlplane.io",
    version = "v1",
    kind = "ResourceSet",
    plural = "resourcesets",
    singular = "resourceset",
    shortname = "rset",
    namespaced,
    status = "ResourceSetStatus",
    derive = "PartialEq",
    category = "all",
    category = "fluxcd",
    category = "fluxcd-appliers",
    doc = "ResourceSet generates a group of Kubernetes objects from templates and input values.",
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Status","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].message"}"#
)]
#[x_kube(
    validation = Rule::new("!has(self.steps) || (!has(self.resources) && !has(self.resourcesTemplate))")
        .message("spec.steps is mutually exclusive with spec.resources and spec.resourcesTemplate"),
    validation = Rule::new("has(self.steps) || has(self.resources) || has(self.resourcesTemplate)")
        .message("at least one of spec.steps, spec.resources or spec.resourcesTemplate must be set")
)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSetSpec {
    /// Labels and annotations set on every generated object, overriding equal keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_metadata: Option<CommonMetadata>,
    /// How the inputs of several sources are combined. Flatten by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_strategy: Option<InputStrategy>,
    /// Inline sets of input values; templates are rendered once for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::value_sets")]
    pub inputs: Vec<InputSet>,
    /// Input providers of the same namespace whose exported inputs are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs_from: Option<Vec<InputSource>>,
    /// Templates of objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::objects")]
    pub resources: Vec<Value>,
    /// A template of a YAML stream of objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resources_template: String,
    /// Groups of templates, applied one after the other, each when the objects of the one before are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 20))]
    #[x_kube(validation = Rule::new("self.all(s, self.exists_one(t, t.name == s.name))")
        .message("step names must be unique"))]
    pub steps: Option<Vec<Step>>,
    /// Objects that must exist, or be ready, first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// The service account in the ResourceSet's namespace that is impersonated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Whether the ResourceSet is ready only when all its objects are.
    #[serde(default, skip_serializing_if = "is_false")]
    pub wait: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Labels and annotations.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommonMetadata {
    /// Labels set on every generated object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations set on every generated object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// How the inputs of several sources are combined.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("self.name == 'Permute' || !has(self.includeEmptyProviders)")
    .message("includeEmptyProviders can only be set when the input strategy is Permute"))]
#[serde(rename_all = "camelCase")]
pub struct InputStrategy {
    /// Flatten concatenates the inputs of all sources, Permute makes every combination of them.
    #[schemars(extend("enum" = ["Flatten", "Permute"]))]
    pub name: String,
    /// Whether a source without inputs leaves nothing to combine, instead of being passed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_empty_providers: Option<bool>,
}

/// Input providers, by name or by labels.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(
    validation = Rule::new("has(self.name) || has(self.selector)")
        .message("at least one of name or selector must be set for input provider references"),
    validation = Rule::new("!has(self.name) || !has(self.selector)")
        .message("cannot set both name and selector for input provider references")
)]
#[serde(rename_all = "camelCase")]
pub struct InputSource {
    /// API version of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::own_api_version")]
    pub api_version: Option<String>,
    /// Kind of the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::provider_kind")]
    pub kind: Option<String>,
    /// Name of a provider in the namespace of the ResourceSet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Labels of providers in the namespace of the ResourceSet; an empty selector selects all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// A group of templates.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("has(self.resources) || has(self.resourcesTemplate)")
    .message("at least one of resources or resourcesTemplate must be set"))]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Name of the step, unique among the steps.
    #[schemars(length(max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Templates of objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::objects")]
    pub resources: Vec<Value>,
    /// A template of a YAML stream of objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resources_template: String,
    /// How long the step's objects may take to become ready. The ResourceSet's timeout by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::go_duration")]
    pub timeout: Option<String>,
}

/// An object that must exist, or be ready.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[x_kube(validation = Rule::new("!has(self.readyExpr) || has(self.ready)")
    .message("ready must be set when readyExpr is set"))]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Namespace of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Whether the object must also be ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// A CEL expression over the object that says whether it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_expr: Option<String>,
}

/// What was seen of a ResourceSet.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSetStatus {
    /// Readiness conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// References to ConfigMaps and Secrets outside of the ResourceSet that checksums are made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_checksum_refs: Vec<String>,
    /// The last outcomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Snapshot>,
    /// References to the objects applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// Checksum of the objects last applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,
    /// Token of the last requested reconciliation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}
