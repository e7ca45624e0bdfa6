//! What a process in a pod runs on: its pod, the pod's owners, its account with what gives it rights, and the secrets and
//! config maps that the pod uses. It looks and gives names; that such objects are kept is the plan's.

use std::collections::BTreeSet;

use serde_json::Value;
use tokio::time::Instant;

use crate::cluster::{Cluster, KindInfo, RequestError};
use crate::object::{Gvk, Key, ObjectId};

use super::reads::{Reads, until};

/// A pod's owners are followed so far: ReplicaSet, Deployment, and whatever may own that.
const GENERATIONS: usize = 5;

/// Groups whose kinds have their own name in lower case with an `s` in URLs.
const REGULAR_GROUPS: [&str; 3] = ["", "apps", "batch"];

const RBAC: &str = "rbac.authorization.k8s.io/v1";

impl Reads {
    /// The objects that a process in a pod runs on and must never delete, among them always the namespace and the secret
    /// with its deploy key. What cannot be read, for want of rights or because the pod has another name, is left out.
    pub async fn own_objects(&self, namespace: &str, pod: &str, secret: &str) -> Vec<ObjectId> {
        let mut found = Found { cluster: self.cluster(), namespace, until: until(), ids: BTreeSet::new() };
        found.ids.insert(ObjectId::new(None, "Namespace", namespace));
        found.add("Secret", secret);
        if let Err(error) = found.look(pod).await {
            tracing::debug!(component = "cluster", pod, err = %error, "not all is known of what this process runs on");
        }
        found.ids.into_iter().collect()
    }
}

#[derive(Debug, thiserror::Error)]
enum LookError {
    #[error("there is no such pod in namespace {0}")]
    NoPod(String),
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// What was found so far.
struct Found<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
    until: Instant,
    ids: BTreeSet<ObjectId>,
}

impl Found<'_> {
    fn add(&mut self, kind: &str, name: &str) {
        self.ids.insert(ObjectId::new(Some(self.namespace), kind, name));
    }

    async fn look(&mut self, name: &str) -> Result<(), LookError> {
        let pod = self.get("v1", "Pod", name).await?;
        let pod = pod.ok_or_else(|| LookError::NoPod(self.namespace.to_owned()))?;
        self.add("Pod", name);
        for (kind, name) in uses(&pod["spec"]) {
            self.add(kind, name);
        }
        let account = pod["spec"]["serviceAccountName"].as_str().unwrap_or("default").to_owned();
        // Both are tried whatever becomes of the other.
        let owners = self.owners(pod).await;
        let rights = self.rights(&account).await;
        Ok(owners.and(rights)?)
    }

    async fn get(&self, api_version: &str, kind: &str, name: &str) -> Result<Option<Value>, RequestError> {
        let info = kind_info(api_version, kind, true);
        let namespace = Some(self.namespace.to_owned());
        let key = Key { group: info.gvk.group.clone(), kind: kind.to_owned(), namespace, name: name.to_owned() };
        self.cluster.get(&info, &key, self.until).await
    }

    /// The pod's owner, that one's owner, and so on.
    async fn owners(&mut self, pod: Value) -> Result<(), RequestError> {
        let mut object = pod;
        for _ in 0..GENERATIONS {
            let references = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
            let Some(owner) = references.iter().max_by_key(|r| r["controller"] == true) else { break };
            let text = |field: &str| owner[field].as_str().unwrap_or_default();
            let (api_version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
            self.add(kind, name);
            if !REGULAR_GROUPS.contains(&Gvk::new(api_version, kind).group.as_str()) {
                break;
            }
            let Some(next) = self.get(api_version, kind, name).await? else { break };
            object = next;
        }
        Ok(())
    }

    /// Bindings of the account, and the roles that they give it.
    async fn rights(&mut self, account: &str) -> Result<(), RequestError> {
        for (kind, namespace) in [("RoleBinding", Some(self.namespace)), ("ClusterRoleBinding", None)] {
            let info = kind_info(RBAC, kind, namespace.is_some());
            let bindings = self.cluster.list(&info, namespace, self.until).await?;
            for binding in bindings.iter().filter(|b| is_bound(b, self.namespace, account)) {
                let name = binding["metadata"]["name"].as_str().unwrap_or_default();
                self.ids.insert(ObjectId::new(namespace, kind, name));
                let role = &binding["roleRef"];
                let (kind, name) = (role["kind"].as_str().unwrap_or_default(), role["name"].as_str());
                let place = namespace.filter(|_| kind == "Role");
                self.ids.insert(ObjectId::new(place, kind, name.unwrap_or_default()));
            }
        }
        Ok(())
    }
}

fn kind_info(api_version: &str, kind: &str, namespaced: bool) -> KindInfo {
    let plural = format!("{}s", kind.to_lowercase());
    KindInfo { gvk: Gvk::new(api_version, kind), plural, namespaced, verbs: vec!["get".into(), "list".into()] }
}

fn is_bound(binding: &Value, namespace: &str, account: &str) -> bool {
    let user = format!("system:serviceaccount:{namespace}:{account}");
    list(&binding["subjects"]).any(|subject| match subject["kind"].as_str() {
        Some("ServiceAccount") => subject["namespace"] == namespace && subject["name"] == account,
        Some("User") => subject["name"] == user.as_str(),
        _ => false,
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Kind and name of what a pod needs of its own namespace.
fn uses(spec: &Value) -> Vec<(&'static str, &str)> {
    let mut found = vec![("ServiceAccount", spec["serviceAccountName"].as_str())];
    found.extend(list(&spec["imagePullSecrets"]).map(|secret| ("Secret", secret["name"].as_str())));
    for volume in list(&spec["volumes"]) {
        found.push(("Secret", volume["secret"]["secretName"].as_str()));
        found.push(("ConfigMap", volume["configMap"]["name"].as_str()));
        found.push(("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"].as_str()));
        for source in list(&volume["projected"]["sources"]) {
            found.push(("Secret", source["secret"]["name"].as_str()));
            found.push(("ConfigMap", source["configMap"]["name"].as_str()));
        }
    }
    for container in list(&spec["containers"]).chain(list(&spec["initContainers"])) {
        for variable in list(&container["env"]) {
            found.push(("Secret", variable["valueFrom"]["secretKeyRef"]["name"].as_str()));
            found.push(("ConfigMap", variable["valueFrom"]["configMapKeyRef"]["name"].as_str()));
        }
        for source in list(&container["envFrom"]) {
            found.push(("Secret", source["secretRef"]["name"].as_str()));
            found.push(("ConfigMap", source["configMapRef"]["name"].as_str()));
        }
    }
    found.into_iter().filter_map(|(kind, name)| Some((kind, name?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_that_a_pod_mounts_or_takes_its_environment_from_is_named() {
        let spec = json!({
            "serviceAccountName": "flux",
            "imagePullSecrets": [{ "name": "registry" }],
            "volumes": [
                { "secret": { "secretName": "key" } },
                { "configMap": { "name": "ssh" } },
                { "persistentVolumeClaim": { "claimName": "cache" } },
                { "projected": { "sources": [{ "secret": { "name": "p1" } }, { "configMap": { "name": "p2" } }] } },
                { "emptyDir": {} }
            ],
            "containers": [{
                "env": [
                    { "name": "A", "value": "plain" },
                    { "name": "B", "valueFrom": { "secretKeyRef": { "name": "e1", "key": "k" } } },
                    { "name": "C", "valueFrom": { "configMapKeyRef": { "name": "e2", "key": "k" } } }
                ],
                "envFrom": [{ "secretRef": { "name": "f1" } }]
            }],
            "initContainers": [{ "envFrom": [{ "configMapRef": { "name": "f2" } }] }]
        });
        let names: Vec<String> = uses(&spec).iter().map(|(kind, name)| format!("{kind}/{name}")).collect();
        let all = "ServiceAccount/flux Secret/registry Secret/key ConfigMap/ssh PersistentVolumeClaim/cache Secret/p1 \
                   ConfigMap/p2 Secret/e1 ConfigMap/e2 Secret/f1 ConfigMap/f2";
        assert_eq!(names.join(" "), all);
        assert!(uses(&json!({})).is_empty());
    }

    #[test]
    fn a_binding_is_ours_when_it_names_our_account_in_either_way() {
        let bound = |subject: Value| is_bound(&json!({ "subjects": [subject] }), "flux", "f");
        assert!(bound(json!({ "kind": "ServiceAccount", "namespace": "flux", "name": "f" })));
        assert!(bound(json!({ "kind": "User", "name": "system:serviceaccount:flux:f" })));
        assert!(!bound(json!({ "kind": "ServiceAccount", "namespace": "other", "name": "f" })));
        assert!(!bound(json!({ "kind": "Group", "name": "f" })));
    }
}
