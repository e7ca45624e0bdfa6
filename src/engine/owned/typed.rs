//! Fields that a built-in kind does not have are dropped in silence (errata 19). Server-side apply refuses them, whatever
//! `fieldValidation` says, so they go before the object is sent: what does not come back from a round trip through the
//! kind's type is unknown. Definitions, custom kinds and rbac rules are left as they are (resourceset §5.6).

use k8s_openapi::Resource;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::autoscaling::{v1::HorizontalPodAutoscaler as OldAutoscaler, v2::HorizontalPodAutoscaler};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Endpoints, LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodTemplate,
    ReplicationController, ResourceQuota, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration};
use k8s_openapi::api::networking::v1::{Ingress, IngressClass, NetworkPolicy};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, StorageClass, VolumeAttachment};
use serde_json::Value;

/// Reads a value as its type, and writes it again.
type RoundTrip = fn(&Value) -> Option<Value>;

fn round_trip<T: serde::Serialize + serde::de::DeserializeOwned>(value: &Value) -> Option<Value> {
    // A value of another shape is left for the API server to name.
    serde_json::to_value(T::deserialize(value).ok()?).ok()
}

macro_rules! table {
    ($($kind:ty),+ $(,)?) => {
        fn find(api_version: &str, kind: &str) -> Option<RoundTrip> {
            $(if kind == <$kind as Resource>::KIND && api_version == <$kind as Resource>::API_VERSION {
                return Some(round_trip::<$kind>);
            })+
            None
        }
    };
}

table! {
    ConfigMap, Secret, Service, ServiceAccount, Namespace, Deployment, StatefulSet, DaemonSet, ReplicaSet, Pod, Job, CronJob,
    RoleBinding, ClusterRoleBinding, Ingress, IngressClass, NetworkPolicy, PersistentVolumeClaim, PersistentVolume,
    ResourceQuota, LimitRange, HorizontalPodAutoscaler, OldAutoscaler, PodDisruptionBudget, PriorityClass, RuntimeClass,
    StorageClass, CSIDriver, CSINode, VolumeAttachment, Lease, Endpoints, EndpointSlice, ControllerRevision, PodTemplate,
    ReplicationController, Node, FlowSchema, PriorityLevelConfiguration, CertificateSigningRequest,
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
}

/// Drops the fields that an object's built-in kind does not have.
pub(super) fn drop_unknown_fields(object: &mut Value) {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let Some(round_trip) = find(text("apiVersion"), text("kind")) else { return };
    if let Some(typed) = round_trip(object) {
        keep_known(object, &typed);
    }
}

/// Keeps what stands in both, with the values of the first.
fn keep_known(value: &mut Value, typed: &Value) {
    match (value, typed) {
        (Value::Object(map), Value::Object(typed)) => {
            map.retain(|key, _| typed.contains_key(key));
            for (key, value) in map {
                keep_known(value, &typed[key]);
            }
        }
        (Value::Array(items), Value::Array(typed)) if items.len() == typed.len() => {
            items.iter_mut().zip(typed).for_each(|(item, typed)| keep_known(item, typed));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known(mut object: Value) -> Value {
        drop_unknown_fields(&mut object);
        object
    }

    #[test]
    fn unknown_fields_of_built_in_kinds_vanish_wherever_they_are() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "extra": 1,
            "metadata": {"name": "a", "labels": {"any": "thing"}, "odd": true},
            "spec": {"replicas": 1, "replica": 2, "template": {"spec": {"containers": [
                {"name": "c", "image": "i", "imagePullPolice": "x", "resources": {"limits": {"cpu": "100m"}},
                    "ports": [{"containerPort": 80, "nme": "x"}], "livenessProbe": {"httpGet": {"port": "web"}}}]}}}});
        let want = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "labels": {"any": "thing"}},
            "spec": {"replicas": 1, "template": {"spec": {"containers": [
                {"name": "c", "image": "i", "resources": {"limits": {"cpu": "100m"}},
                    "ports": [{"containerPort": 80}], "livenessProbe": {"httpGet": {"port": "web"}}}]}}}});
        assert_eq!(known(object), want);
    }

    #[test]
    fn nothing_is_made_up_and_no_value_is_rewritten() {
        for object in [
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}),
            json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "a"},
                "spec": {"hard": {"cpu": "1000m", "pods": "4"}}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {}}),
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "a"},
                "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{}]}}),
        ] {
            assert_eq!(known(object.clone()), object);
        }
    }

    #[test]
    fn custom_kinds_definitions_rules_and_values_of_other_types_are_left_alone() {
        for object in [
            json!({"apiVersion": "example.org/v1", "kind": "Deployment", "odd": 1}),
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "odd": 1}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "odd": 1}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"annotations": {"n": 3}}, "odd": 1}),
        ] {
            assert_eq!(known(object.clone()), object);
        }
    }
}
