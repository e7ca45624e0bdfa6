//! Stages and order of the objects of a set (resourceset §7.4.2-3).

use crate::object::Key;
use crate::plan::Target;

/// Kinds in the order of applying; all others stand before the last two.
const ORDER: [&str; 23] = [
    "CustomResourceDefinition",
    "Namespace",
    "ClusterRole",
    "ClusterClass",
    "RuntimeClass",
    "PriorityClass",
    "StorageClass",
    "VolumeSnapshotClass",
    "IngressClass",
    "GatewayClass",
    "ClusterRoleBinding",
    "ResourceQuota",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ConfigMap",
    "Secret",
    "Service",
    "LimitRange",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
/// Kinds that bear on the writing of others, and so come last.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

const RBAC: &str = "rbac.authorization.k8s.io";

/// The stage of an object, from 0: definitions, namespaces and cluster roles; classes; roles; the rest.
fn stage(group: &str, kind: &str) -> u8 {
    match (group, kind) {
        ("apiextensions.k8s.io", "CustomResourceDefinition") | ("", "Namespace") | (RBAC, "ClusterRole") => 0,
        (_, kind) if kind.ends_with("Class") => 1,
        (RBAC, "Role") => 2,
        _ => 3,
    }
}

/// The class of an object, see [`Target::class`]: its stage, and whether it is no definition.
pub(super) fn class(key: &Key) -> (u8, bool) {
    (stage(&key.group, &key.kind), Target::class_of(&key.group, &key.kind).1)
}

/// Whether the next stage waits for an object.
pub(super) fn waits(target: &Target) -> bool {
    target.class.0 < 2
}

/// Whether an object is written after the others of its stage.
pub(super) fn is_late(target: &Target) -> bool {
    LAST.contains(&target.key.kind.as_str())
}

/// Objects of one wave may be deleted side by side.
pub fn wave(key: &Key) -> u8 {
    if LAST.contains(&key.kind.as_str()) { u8::MAX } else { stage(&key.group, &key.kind) }
}

/// What objects are sorted by: stage, kind, then group, kind, namespace and name.
pub(super) fn order(key: &Key) -> (u8, usize, &Key) {
    let (place, key) = kind_order(key);
    (stage(&key.group, &key.kind), place, key)
}

/// The order within a stage, and the reverse of the order of deleting, which knows no stages (resourceset §7.6).
pub fn kind_order(key: &Key) -> (usize, &Key) {
    let kind = key.kind.as_str();
    let place = ORDER.iter().position(|k| *k == kind);
    let last = || LAST.iter().position(|k| *k == kind).map_or(ORDER.len(), |at| ORDER.len() + 1 + at);
    (place.unwrap_or_else(last), key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(group: &str, kind: &str, name: &str) -> Key {
        Key { group: group.into(), kind: kind.into(), namespace: Some("demo".into()), name: name.into() }
    }

    #[test]
    fn deleting_knows_no_stages() {
        let mut keys = [
            key(RBAC, "Role", "a"),
            key("", "ServiceAccount", "a"),
            key("example.org", "OwnClass", "a"),
            key("", "Secret", "a"),
        ];
        keys.sort_by(|a, b| kind_order(b).cmp(&kind_order(a)));
        assert_eq!(keys.map(|k| k.kind), ["OwnClass", "Secret", "Role", "ServiceAccount"]);
    }

    #[test]
    fn kinds_stand_in_the_order_of_the_table_and_unknown_ones_before_webhooks() {
        let mut keys = [
            key("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "a"),
            key("example.org", "Thing", "a"),
            key("apps", "Deployment", "b"),
            key("apps", "Deployment", "a"),
            key("", "ConfigMap", "a"),
            key(RBAC, "Role", "a"),
            key("networking.k8s.io", "IngressClass", "a"),
            key("example.org", "OwnClass", "a"),
            key(RBAC, "ClusterRole", "a"),
            key("", "Namespace", "a"),
            key("apiextensions.k8s.io", "CustomResourceDefinition", "a"),
            key(RBAC, "ClusterRoleBinding", "a"),
        ];
        keys.sort_by(|a, b| order(a).cmp(&order(b)));
        let sorted: Vec<String> = keys.iter().map(|k| format!("{} {}/{}", order(k).0, k.kind, k.name)).collect();
        assert_eq!(
            sorted,
            [
                "0 CustomResourceDefinition/a",
                "0 Namespace/a",
                "0 ClusterRole/a",
                "1 IngressClass/a",
                "1 OwnClass/a",
                "2 Role/a",
                "3 ClusterRoleBinding/a",
                "3 ConfigMap/a",
                "3 Deployment/a",
                "3 Deployment/b",
                "3 Thing/a",
                "3 ValidatingWebhookConfiguration/a",
            ]
        );
    }
}
