//! The order in which kinds are applied (fluxd-v1 §5.5). Deletion goes the other way.

use super::Object;

/// The rank of a kind (any capitalisation): lower ranks are applied first; order is free within one.
pub fn rank(kind: &str) -> u8 {
    match kind.to_lowercase().as_str() {
        "namespace" => 0,
        "customresourcedefinition" | "serviceaccount" | "clusterrole" | "role" | "persistentvolume" | "service" => 1,
        "resourcequota"
        | "limitrange"
        | "secret"
        | "configmap"
        | "rolebinding"
        | "clusterrolebinding"
        | "persistentvolumeclaim"
        | "ingress" => 2,
        "daemonset" | "deployment" | "replicationcontroller" | "replicaset" | "job" | "cronjob" | "statefulset" => 3,
        _ => 4,
    }
}

/// Sorts by rank, then name, so that plans read the same whatever the order of files.
pub fn sort_for_apply<T: AsRef<Object>>(objects: &mut [T]) {
    objects.sort_by(|a, b| {
        let (a, b) = (a.as_ref(), b.as_ref());
        let key = |o: &Object| (rank(&o.gvk().kind), o.name().to_owned(), o.id());
        key(a).cmp(&key(b))
    });
}
