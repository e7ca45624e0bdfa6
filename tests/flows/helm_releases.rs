//! fluxd beside helm-operator: images in a HelmRelease's values are updated in git and live, and what helm-operator makes of
//! the HelmRelease is nobody's but its own. helm-operator is played by kubectl, with the annotation that it sets.

use crate::rig::{ControlPlane, DockerRegistry, Fluxd, Image, Repo, eventually, source_root};
use serde_json::{Value, json};

fn release(namespace: &str, registry: &DockerRegistry) -> String {
    format!(
        "apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata:\n  name: web\n  namespace: {namespace}\n  annotations:\n    \
         fluxcd.io/automated: \"true\"\n    fluxcd.io/tag.chart-image: semver:~1\nspec:\n  chart: {{repository: \
         'https://charts.example.org', name: web, version: 1.0.0}} # the chart\n  values:\n    image:\n      repository: \
         {}/shop/web\n      tag: 1.0.0 # moved by fluxd\n    replicas: 2\n",
        registry.host()
    )
}

/// What helm-operator makes of it: an object with its annotation, and with all labels of ours that a chart may copy.
fn made_by_helm_operator(namespace: &str, mark: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-web\n  namespace: {namespace}\n  labels: \
         {{fluxcd.io/sync-gc-mark: '{mark}'}}\n  annotations: {{helm.fluxcd.io/antecedent: \
         '{namespace}:helmrelease/web'}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: \
         {{labels: {{app: web}}}}\n    spec: {{containers: [{{name: web, image: 'example.org/web:1.0.0'}}]}}\n"
    )
}

fn live_release(plane: &ControlPlane, namespace: &str) -> Option<Value> {
    plane.get(namespace, "helmreleases.helm.fluxcd.io", "web")
}

#[test]
fn a_helm_release_is_automated_and_what_helm_operator_made_of_it_is_left_alone() {
    let plane = ControlPlane::shared();
    plane.apply(&std::fs::read_to_string(source_root().join("tests/data/helm/crd.yaml")).unwrap(), &[]);
    plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd/helmreleases.helm.fluxcd.io"]);
    let namespace = plane.namespace("helm");
    let registry = DockerRegistry::start();
    registry.push("shop/web", "1.0.0", &Image::made("2024-01-01T00:00:00Z"));
    let repo = Repo::new();
    repo.write("web.yaml", &release(&namespace, &registry)).push("a release");

    let insecure = format!("--registry-insecure-host={}", registry.host());
    let only = format!("--k8s-allow-namespace={namespace}");
    let args = ["--sync-garbage-collection", "--git-poll-interval=1s", "--automation-interval=1s", &insecure, &only];
    let mut fluxd = Fluxd::against(plane).git(&repo).args(&args).start();
    fluxd.wait_until_up();
    let release = eventually("the release is live", || live_release(plane, &namespace));
    let mark = release["metadata"]["labels"]["fluxcd.io/sync-gc-mark"].as_str().expect("it is marked").to_owned();
    plane.apply(&made_by_helm_operator(&namespace, &mark), &[]);
    let made = plane.get(&namespace, "deployment", "web-web").expect("it was just made");

    registry.push("shop/web", "1.1.0", &Image::made("2024-02-01T00:00:00Z"));
    let change =
        format!(r#"{{"Kind":"image","Source":{{"Name":{{"Domain":"{}","Image":"shop/web"}}}}}}"#, registry.host());
    fluxd.post("/api/flux/v11/notify", &change).expect("it answers");
    eventually("the new tag is live", || {
        (live_release(plane, &namespace)?["spec"]["values"]["image"]["tag"] == "1.1.0").then_some(())
    });
    let before = repo.git(&["show", "HEAD:web.yaml"]);
    let after = repo.remote_file("master", "web.yaml");
    assert_eq!(after, before.replace("tag: 1.0.0", "tag: 1.1.0"), "the tag changed and nothing else");
    assert_eq!(live_release(plane, &namespace).unwrap()["metadata"]["uid"], release["metadata"]["uid"]);

    let listed = fluxd.get(&format!("/api/flux/v11/services?namespace={namespace}")).unwrap().json();
    let find = |id: &str| {
        let found = listed.as_array().unwrap().iter().find(|workload| workload["ID"] == format!("{namespace}:{id}"));
        found.unwrap_or_else(|| panic!("{id} is not in {listed}")).clone()
    };
    assert_eq!(find("helmrelease/web")["Containers"][0]["Name"], "chart-image");
    assert_eq!(find("helmrelease/web")["Automated"], true);
    assert_eq!(find("deployment/web-web")["Antecedent"], format!("{namespace}:helmrelease/web"));
    assert_eq!(find("deployment/web-web")["ReadOnly"], "NotInRepo");

    // Another object leaves git, so that garbage collection has work, and goes past helm-operator's.
    let other = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: other, namespace: {namespace}}}\n");
    repo.git(&["pull", "-q", "--rebase", "origin", "master"]);
    let tag = |head: &str| (repo.remote_ref("refs/tags/flux-sync^{}").as_deref() == Some(head)).then_some(());
    let head = repo.write("other.yaml", &other).push("one more");
    eventually("it is synced", || tag(&head));
    let head = repo.remove("other.yaml").push("one less");
    eventually("it is synced", || tag(&head));
    eventually("what left git is gone", || plane.get(&namespace, "configmap", "other").is_none().then_some(()));
    let kept = plane.get(&namespace, "deployment", "web-web").expect("helm-operator's object stays");
    for field in ["uid", "generation", "labels", "annotations"] {
        let (now, then) = (&kept["metadata"][field], &made["metadata"][field]);
        assert!(now == then || field == "annotations", "{field}: {now} was {then}");
    }
    let managers = kept["metadata"]["managedFields"].to_string();
    assert!(!managers.contains("\"fluxd\""), "fluxd owns nothing of it: {managers}");
}

/// Images wherever they are in the values, as people wrote them.
fn forms(namespace: &str, host: &str) -> String {
    format!(
        "apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata:\n  name: forms\n  namespace: {namespace}\n  annotations:\n    \
         repository.fluxcd.io/deep: app.parts.img   # mapped\n    registry.fluxcd.io/deep: app.parts.reg\n    \
         tag.fluxcd.io/deep: app.parts.ver\n    fluxcd.io/tag.deep: semver:~1\nspec:\n  chart: {{repository: \
         'https://charts.example.org', name: web, version: 1.0.0}}\n  values:\n    image: \"{host}/shop/web:1.0.0\" # whole\n    \
         app:\n        parts: {{reg: '{host}', img: shop/web,   ver: \"1.0.0\"}}\n    worker:\n      image: {host}/shop/web\n      \
         tag: 1.0.0   # apart\n"
    )
}

#[test]
fn images_of_a_helm_release_are_released_and_automated_wherever_its_values_have_them() {
    let plane = ControlPlane::shared();
    plane.apply(&std::fs::read_to_string(source_root().join("tests/data/helm/crd.yaml")).unwrap(), &[]);
    plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd/helmreleases.helm.fluxcd.io"]);
    let namespace = plane.namespace("helmforms");
    let registry = DockerRegistry::start();
    registry.push("shop/web", "1.0.0", &Image::made("2024-01-01T00:00:00Z"));
    registry.push("shop/web", "1.1.0", &Image::made("2024-02-01T00:00:00Z"));
    let repo = Repo::new();
    let written = forms(&namespace, &registry.host());
    repo.write("forms.yaml", &written).push("a release");
    let insecure = format!("--registry-insecure-host={}", registry.host());
    let mut fluxd = Fluxd::against(plane).git(&repo).args(&["--git-poll-interval=1s", &insecure]).start();
    fluxd.wait_until_up();
    eventually("the release is live", || plane.get(&namespace, "helmreleases.helm.fluxcd.io", "forms"));

    let update = |spec: serde_json::Value| {
        let reply = fluxd.post("/api/flux/v9/update-manifests", &spec.to_string()).expect("it answers");
        let id = reply.json().as_str().expect("a job").to_owned();
        eventually("the job ends", || {
            let status = fluxd.get(&format!("/api/flux/v6/jobs?id={id}"))?.json();
            matches!(status["StatusString"].as_str(), Some("succeeded" | "failed")).then_some(status)
        })
    };
    let (id, cause) = (format!("{namespace}:helmrelease/forms"), json!({"Message": "", "User": ""}));
    let image = format!("{}/shop/web:1.1.0", registry.host());
    let spec = json!({"ServiceSpecs": [id], "ImageSpec": image, "Kind": "execute", "Excludes": null, "Force": false});
    let status = update(json!({"type": "image", "cause": cause, "spec": spec}));
    assert_eq!(status["StatusString"], "succeeded", "{status}");
    let containers = status["Result"]["result"][&id]["PerContainer"].as_array().map(Vec::len);
    assert_eq!(containers, Some(3), "{status}");
    let moved = |tag: &str| written.replace("1.0.0", tag).replace(&format!("version: {tag}"), "version: 1.0.0");
    assert_eq!(repo.remote_file("master", "forms.yaml"), moved("1.1.0"));

    registry.push("shop/web", "1.2.0", &Image::made("2024-03-01T00:00:00Z"));
    let status =
        update(json!({"type": "policy", "cause": cause, "spec": {&id: {"add": {"automated": "true"}, "remove": {}}}}));
    assert_eq!(status["StatusString"], "succeeded", "{status}");
    let change =
        format!(r#"{{"Kind":"image","Source":{{"Name":{{"Domain":"{}","Image":"shop/web"}}}}}}"#, registry.host());
    fluxd.post("/api/flux/v11/notify", &change).expect("it answers");
    let want = moved("1.2.0").replace("semver:~1\n", "semver:~1\n    fluxcd.io/automated: 'true'\n");
    eventually("all three are automated", || (repo.remote_file("master", "forms.yaml") == want).then_some(()));
}

/// The original lists nothing at all with one such object in the cluster, so this one stands in a cluster of its own.
#[test]
fn a_helm_release_with_a_field_of_the_wrong_type_hides_no_other_workload() {
    let plane = &ControlPlane::start();
    plane.apply(&std::fs::read_to_string(source_root().join("tests/data/helm/crd.yaml")).unwrap(), &[]);
    plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd/helmreleases.helm.fluxcd.io"]);
    let namespace = plane.namespace("oddhelm");
    plane.apply(
        &format!("apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata: {{name: odd, namespace: {namespace}}}\nspec: {{chart: {{name: true}}, values: 7}}\n"),
        &[],
    );
    plane.kubectl(&["-n", &namespace, "create", "deployment", "web", "--image=example.org/web:1"]);
    let repo = Repo::new();
    repo.write("a.yaml", &format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: {namespace}}}\n"))
        .push("one");
    let mut fluxd = Fluxd::against(plane).git(&repo).arg("--registry-disable-scanning").start();
    fluxd.wait_until_up();
    let listed = eventually("workloads are listed", || {
        let reply = fluxd.get(&format!("/api/flux/v6/services?namespace={namespace}"))?;
        (reply.status == 200).then_some(reply.body)
    });
    assert!(listed.contains(&format!("{namespace}:deployment/web")), "{listed}");
}
