//! The definitions of our custom resources as the API server takes them, and pieces of schema that no Rust type derives.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::core::CustomResourceExt;
use schemars::{Schema, SchemaGenerator, json_schema};

use super::inputprovider::ResourceSetInputProvider;
use super::resourceset::ResourceSet;

/// The definitions of all our custom resources, sorted by name.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    [ResourceSetInputProvider::crd(), ResourceSet::crd()].into_iter().map(finish).collect()
}

/// Optional fields are absent, not null, as in the API that ours follows: the API server drops nulls by itself, and rules
/// with `has()` mean what they say.
fn finish(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        if let Some(schema) = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut()) {
            drop_nullable(schema);
        }
    }
    definition
}

fn drop_nullable(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.properties.iter_mut().flat_map(|all| all.values_mut()).for_each(drop_nullable);
    match schema.items.as_mut() {
        Some(JSONSchemaPropsOrArray::Schema(items)) => drop_nullable(items),
        Some(JSONSchemaPropsOrArray::Schemas(all)) => all.iter_mut().for_each(drop_nullable),
        None => {}
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = schema.additional_properties.as_mut() {
        drop_nullable(values);
    }
}

/// A list of objects of any form.
pub(super) fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } })
}

/// A map of names to JSON of any type.
pub(super) fn values(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": { "x-kubernetes-preserve-unknown-fields": true } })
}

/// A list of maps of names to JSON of any type.
pub(super) fn value_sets(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": "object", "additionalProperties": { "x-kubernetes-preserve-unknown-fields": true } }
    })
}

/// The `apiVersion` of references to our kinds.
pub(super) fn own_api_version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": [super::API_VERSION] })
}

/// The kind of references to input providers. Both spellings are documented; they mean the same.
pub(super) fn provider_kind(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["ResourceSetInputProvider", "ResourceSetInputsProvider"] })
}

/// A positive duration in Go's notation.
pub(super) fn go_duration(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$" })
}
