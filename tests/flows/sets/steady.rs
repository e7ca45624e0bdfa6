//! Steadiness: what defaulting, status writers, autoscalers and other sets do makes no write of ours, and kinds may come and
//! go.

use fluxd::operator::sets::ChangeAction::{Created, Unchanged};

use super::*;
use crate::rig::{eventually, eventually_async};

/// One object of each kind that the API server or a controller fills in by itself.
fn corpus(fixture: &Fixture) -> Vec<Arc<Object>> {
    let ns = fixture.namespace.as_str();
    let name = fresh_name("corpus");
    let pod = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "example.org/a",
        "ports": [{"containerPort": 80}], "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}, "livenessProbe": {"httpGet": {"port": 80}}}],
        "volumes": [{"name": "v", "configMap": {"name": "a"}}]}});
    let job_pod = json!({"spec": {"restartPolicy": "Never", "nodeSelector": {"none": "x"},
        "containers": [{"name": "c", "image": "example.org/a:1"}]}});
    let selector = json!({"matchLabels": {"app": "a"}});
    let workload = |more: Value| {
        let mut spec = json!({"selector": selector, "template": pod});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let all = [
        ("apps/v1", "Deployment", json!({"spec": workload(json!({}))})),
        ("apps/v1", "StatefulSet", json!({"spec": workload(json!({"serviceName": "a", "replicas": 1}))})),
        ("apps/v1", "DaemonSet", json!({"spec": workload(json!({}))})),
        ("batch/v1", "Job", json!({"spec": {"template": job_pod}})),
        (
            "batch/v1",
            "CronJob",
            json!({"spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": job_pod}}}}),
        ),
        (
            "v1",
            "Service",
            json!({"spec": {"selector": {"app": "a"}, "ports": [{"name": "t", "port": 80}, {"name": "u", "port": 53, "protocol": "UDP"}]}}),
        ),
        ("v1", "ConfigMap", json!({"data": {"a": "1"}, "binaryData": {"b": "eA=="}})),
        ("v1", "Secret", json!({"stringData": {"a": "1"}, "data": {"b": "eA=="}})),
        ("v1", "ServiceAccount", json!({"imagePullSecrets": [{"name": "a"}]})),
        (
            "v1",
            "PersistentVolumeClaim",
            json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}}),
        ),
        ("v1", "LimitRange", json!({"spec": {"limits": [{"type": "Container", "default": {"cpu": "2000m"}}]}})),
        ("v1", "ResourceQuota", json!({"spec": {"hard": {"pods": "100"}}})),
        (
            "networking.k8s.io/v1",
            "Ingress",
            json!({"spec": {"rules": [{"http": {"paths": [{"pathType": "Prefix", "path": "/",
            "backend": {"service": {"name": "a", "port": {"number": 80}}}}]}}]}}),
        ),
        ("networking.k8s.io/v1", "NetworkPolicy", json!({"spec": {"podSelector": {}, "ingress": [{}]}})),
        ("policy/v1", "PodDisruptionBudget", json!({"spec": {"minAvailable": 1, "selector": selector}})),
        (
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({"spec": {"maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]}}),
        ),
        (
            "rbac.authorization.k8s.io/v1",
            "Role",
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
        (
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            json!({"roleRef": {"kind": "Role", "name": name,
            "apiGroup": "rbac.authorization.k8s.io"}, "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": ns}]}),
        ),
        (
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            json!({"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"none": "x"}}]}}),
        ),
        ("v1", "Namespace", json!({})),
        ("scheduling.k8s.io/v1", "PriorityClass", json!({"value": 5})),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition(&format!("{name}.example.org"))),
    ];
    let object = |(api_version, kind, content): (&str, &str, Value)| {
        let name = if kind == "CustomResourceDefinition" { format!("things.{name}.example.org") } else { name.clone() };
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": ns}});
        object.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        fixture.object(object)
    };
    all.into_iter().map(object).collect()
}

fn definition(group: &str) -> Value {
    json!({"spec": {"group": group, "names": {"kind": "Thing", "plural": "things"}, "scope": "Namespaced",
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3}}}}}}}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_applies_of_a_corpus_write_nothing_whatever_controllers_do_to_it() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "steady").await;
    let objects = corpus(&fixture);
    let outcome = fixture.apply(&objects).await;
    assert_eq!(outcome.error, None);
    assert_eq!(outcome.changes.len(), objects.len());
    let name = objects[0].name().to_owned();
    eventually("the deployment is rolled out", || {
        (plane.get(&fixture.namespace, "deployment", &name)?["status"]["availableReplicas"] == 1).then_some(())
    });
    plane.kubectl(&["-n", &fixture.namespace, "scale", "deployment", &name, "--replicas=2"]);
    for round in 0..100 {
        let outcome = fixture.apply(&objects).await;
        assert_eq!(outcome.error, None);
        let changed: Vec<_> = outcome.changes.iter().filter(|c| c.action != Unchanged).collect();
        assert!(changed.is_empty(), "round {round}: {changed:?}");
    }
    // Without any memory, by looks and dry runs.
    for round in 0..3 {
        let mut fresh = Fixture::within(plane, &fixture.namespace, SetSettings::resource_set()).await;
        fresh.owner = fixture.owner.clone();
        let outcome = fresh.apply(&objects).await;
        assert_eq!(outcome.error, None);
        let changed: Vec<_> = outcome.changes.iter().filter(|c| c.action != Unchanged).collect();
        assert!(changed.is_empty(), "round {round} without memory: {changed:?}");
    }
    let pruned = fixture.set().prune(&outcome.inventory, &how()).await;
    assert_eq!((pruned.error, pruned.left.len()), (None, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_removed_under_its_objects_takes_them_along_and_comes_back_with_them() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "removed").await;
    let group = format!("{}.example.org", fresh_name("g"));
    let mut crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")}});
    crd.as_object_mut().unwrap().extend(definition(&group).as_object().unwrap().clone());
    let crd = fixture.object(crd);
    let thing = fixture.object(json!({"apiVersion": format!("{group}/v1"), "kind": "Thing",
        "metadata": {"name": "a", "namespace": fixture.namespace}, "spec": {}}));
    let both = [crd.clone(), thing.clone()];
    assert_eq!(actions(&fixture.apply(&both).await), [Created, Created]);
    assert_eq!(actions(&fixture.apply(&both).await), [Unchanged, Unchanged]);
    plane.kubectl(&["delete", "crd", &format!("things.{group}")]);
    let pruned = fixture.set().prune(&[entry(&thing)], &how()).await;
    assert_eq!((pruned.error, pruned.left.len()), (None, 0), "objects without a kind are gone");
    eventually_async("an object alone is told to have no kind", || async {
        let error = fixture.apply(std::slice::from_ref(&thing)).await.error?;
        let text = format!(
            "Thing/{}/a dry-run failed: no matches for kind \"Thing\" in version \"{group}/v1\"",
            fixture.namespace
        );
        (error == text).then_some(())
    })
    .await;
    eventually_async("both come back in one pass", || async {
        let outcome = fixture.apply(&both).await;
        (outcome.error.is_none() && actions(&outcome).contains(&Created)).then_some(())
    })
    .await;
    assert!(plane.get(&fixture.namespace, &format!("things.{group}"), "a").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sets_share_what_is_known_and_keep_their_requests_bounded() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "many").await;
    fixture.apply(&[fixture.config_map("warm", json!({}))]).await;
    fixture.take_requests();
    let passes = (0..40).map(|n| {
        let owner = Owner { name: format!("{}-{n}", fixture.owner.name), ..fixture.owner.clone() };
        let set = fixture.sets.set(owner, Identity::Own);
        let objects: Vec<_> = (0..4).map(|i| fixture.config_map(&format!("cm-{n}-{i}"), json!({}))).collect();
        async move { set.apply(&objects, &how()).await }
    });
    let outcomes = futures::future::join_all(passes).await;
    assert!(outcomes.iter().all(|o| o.error.is_none() && o.changes.len() == 4));
    let requests = fixture.take_requests();
    assert_eq!(requests.len(), 320, "two per object, and none per set: {:?}", &requests[..5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_being_deleted_refuses_its_objects_in_words() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "dying").await;
    let dying = plane.namespace("dying");
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "namespace": dying,
        "finalizers": ["example.org/hold"]}});
    plane.apply(&held.to_string(), &[]);
    plane.kubectl(&["delete", "namespace", &dying, "--wait=false"]);
    eventually("it is being deleted", || {
        plane.get("", "namespace", &dying)?["metadata"]["deletionTimestamp"].as_str().map(drop)
    });
    let map =
        fixture.object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": dying}}));
    let error = fixture.apply(&[map]).await.error.unwrap();
    plane.kubectl(&[
        "-n",
        &dying,
        "patch",
        "configmap",
        "held",
        "--type=merge",
        "-p",
        "{\"metadata\":{\"finalizers\":null}}",
    ]);
    assert!(error.starts_with(&format!("ConfigMap/{dying}/a dry-run failed (Forbidden): ")), "{error}");
    assert!(error.contains("because it is being terminated"), "{error}");
}
