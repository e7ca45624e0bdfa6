//! Reads of workloads: what runs, with which images, and which secrets their pods pull images with (fluxd-v1 §5.9, §7.1).

use serde_json::Value;

use super::{Reads, core_kind, failed, until};
use crate::cluster::ErrorKind;
use crate::object::{Gvk, Key, ObjectId};
use crate::operator::Error;
use crate::report::{Workload, is_add_on};

/// A live workload, with what its pods pull images by.
#[derive(Clone, Debug)]
pub struct ImageUser {
    /// The workload.
    pub workload: Workload,
    /// Its namespace.
    pub namespace: String,
    /// The service account of its pods; `default` where none is named.
    pub service_account: String,
    /// Names of the secrets that the pod template itself names.
    pub pull_secrets: Vec<String>,
}

impl Reads {
    /// Workloads of a namespace, or of all that we may touch (`None`), add-ons of the cluster left out (fluxd-v1 §5.9).
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn list_workloads(&self, namespace: Option<&str>) -> Result<Vec<Workload>, Error> {
        let objects = self.cluster.workloads(namespace, until()).await.map_err(failed)?;
        Ok(objects.iter().filter(|o| !is_add_on(o)).filter_map(Workload::from_live).collect())
    }

    /// Those of the named workloads that exist and that we may look at, add-ons of the cluster left out.
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn get_workloads(&self, ids: &[ObjectId]) -> Result<Vec<Workload>, Error> {
        let mut found = Vec::new();
        for id in ids {
            let object = self.cluster.workload(id, until()).await.map_err(failed)?;
            found.extend(object.filter(|o| !is_add_on(o)).as_ref().and_then(Workload::from_live));
        }
        Ok(found)
    }

    /// A workload of any kind, which declares where its images are; `None` when it does not exist, declares nothing, is of a
    /// kind that the API server does not have, or when we may not look at it.
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn get_workload_of(&self, kind: &Gvk, id: &ObjectId) -> Result<Option<Workload>, Error> {
        let kinds = self.cluster.recent_kinds(until()).await.map_err(failed)?;
        let Ok(kind) = kinds.resolve(kind) else { return Ok(None) };
        let key = Key {
            group: kind.gvk.group.clone(),
            kind: kind.gvk.kind.clone(),
            namespace: id.namespace().map(str::to_owned),
            name: id.name().to_owned(),
        };
        if !self.cluster.settings().is_allowed(&key) {
            return Ok(None);
        }
        match self.cluster.get(kind, &key, until()).await {
            Ok(object) => Ok(object.as_ref().and_then(Workload::from_live)),
            // One kind that nobody lets us read hides no other workload.
            Err(e) if matches!(e.kind(), ErrorKind::Forbidden | ErrorKind::KindMissing) => Ok(None),
            Err(e) => Err(failed(e)),
        }
    }

    /// All workloads that we may look at, with what their pods pull images by.
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn list_image_users(&self) -> Result<Vec<ImageUser>, Error> {
        let objects = self.cluster.workloads(None, until()).await.map_err(failed)?;
        Ok(objects.iter().filter(|o| !is_add_on(o)).filter_map(image_user).collect())
    }

    /// Looks which kinds the API server has, unless that was looked at a moment ago.
    ///
    /// # Errors
    /// [`Error::Cluster`] when it does not answer and never did.
    pub async fn learn_kinds(&self) -> Result<(), Error> {
        self.cluster.recent_kinds(until()).await.map(drop).map_err(failed)
    }

    /// Whether objects of a kind have no namespace, as far as the last look at the API server's kinds says.
    pub fn is_cluster_scoped(&self, gvk: &Gvk) -> bool {
        self.cluster.kinds().resolve(gvk).is_ok_and(|kind| !kind.namespaced)
    }

    /// Names of the secrets that a service account gives its pods to pull images with; none when it does not exist.
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn get_pull_secrets(&self, namespace: &str, account: &str) -> Result<Vec<String>, Error> {
        let kind = core_kind("ServiceAccount", "serviceaccounts", true);
        let key = Key {
            group: String::new(),
            kind: "ServiceAccount".into(),
            namespace: Some(namespace.into()),
            name: account.into(),
        };
        let object = self.cluster.get(&kind, &key, until()).await.map_err(failed)?;
        Ok(object.map(|o| names(&o["imagePullSecrets"])).unwrap_or_default())
    }
}

/// The names in a list of references.
pub(super) fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|entry| Some(entry["name"].as_str()?.to_owned())).collect()
}

/// A HelmRelease has no pods of its own: the namespace's default account is asked (fluxd-v1 §7.1).
fn image_user(object: &Value) -> Option<ImageUser> {
    let workload = Workload::from_live(object)?;
    let template = match object["kind"].as_str()? {
        "CronJob" => &object["spec"]["jobTemplate"]["spec"]["template"],
        "HelmRelease" => &Value::Null,
        _ => &object["spec"]["template"],
    };
    let pod = &template["spec"];
    let account = ["serviceAccountName", "serviceAccount"].iter().find_map(|field| pod[*field].as_str());
    Some(ImageUser {
        namespace: workload.id.namespace()?.to_owned(),
        service_account: account.filter(|name| !name.is_empty()).unwrap_or("default").to_owned(),
        pull_secrets: names(&pod["imagePullSecrets"]),
        workload,
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    /// An API server with Deployments, and with HelmReleases and Widgets once `installed`; Widgets may not be read.
    fn api(installed: &Arc<AtomicBool>) -> kube::Client {
        let installed = Arc::clone(installed);
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let group = |name: &str, plural: &str, kind: &str| {
                let resource = json!({"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced",
                                      "verbs": ["get", "list"]});
                let version = json!({"version": "v1", "freshness": "Current", "resources": [resource]});
                json!({"metadata": {"name": name}, "versions": [version]})
            };
            let groups = match installed.load(Ordering::Relaxed) {
                true => vec![
                    group("apps", "deployments", "Deployment"),
                    group("helm.fluxcd.io", "helmreleases", "HelmRelease"),
                    group("example.org", "widgets", "Widget"),
                ],
                false => vec![group("apps", "deployments", "Deployment")],
            };
            let object = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {}});
            let list = json!({"metadata": {"resourceVersion": "1"}, "items": [object]});
            let (status, body) = match request.uri().path() {
                "/api" => (200, json!({"kind": "APIGroupDiscoveryList", "items": []})),
                "/apis" => (200, json!({"kind": "APIGroupDiscoveryList", "items": groups})),
                path if path.contains("/widgets") => {
                    (403, json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"}))
                }
                _ => (200, list),
            };
            let body = axum::body::Body::from(body.to_string());
            let response = http::Response::builder().status(status).body(body).unwrap();
            async move { Ok::<_, Infallible>(response) }
        });
        kube::Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn workloads_of_kinds_that_are_installed_later_are_found_and_forbidden_ones_hide_no_other() {
        let installed = Arc::new(AtomicBool::new(false));
        let reads = Reads::new(api(&installed), Vec::new(), "test");
        let ids = async || {
            let found = reads.list_workloads(None).await.unwrap();
            found.iter().map(|workload| workload.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(ids().await, ["shop:deployment/web"]);
        installed.store(true, Ordering::Relaxed);
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(ids().await, ["shop:deployment/web", "shop:helmrelease/web"]);
        let widget = Gvk { group: "example.org".into(), version: "v1".into(), kind: "Widget".into() };
        let id: ObjectId = "shop:widget/web".parse().unwrap();
        assert!(reads.get_workload_of(&widget, &id).await.unwrap().is_none());
    }

    #[test]
    fn the_account_and_the_secrets_of_the_pods_are_told() {
        let template =
            json!({"spec": {"serviceAccountName": "robot", "imagePullSecrets": [{"name": "a"}, {}, {"name": "b"}]}});
        let meta = json!({"name": "x", "namespace": "shop"});
        for (kind, spec) in [
            ("Deployment", json!({"template": template})),
            ("CronJob", json!({"jobTemplate": {"spec": {"template": template}}})),
        ] {
            let user = image_user(&json!({"kind": kind, "metadata": meta, "spec": spec})).unwrap();
            assert_eq!((user.namespace.as_str(), user.service_account.as_str()), ("shop", "robot"), "{kind}");
            assert_eq!(user.pull_secrets, ["a", "b"], "{kind}");
        }
        let release = image_user(&json!({"kind": "HelmRelease", "metadata": meta, "spec": {"values": {}}})).unwrap();
        assert_eq!((release.service_account.as_str(), release.pull_secrets.len()), ("default", 0));
    }
}
