//! `patchUpdated`: the patch file over generated objects (fluxd-v1 §4.5).

use super::*;

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: ns}\nspec:\n  template:\n    \
                          spec:\n      containers:\n      - {name: side, image: side:1}\n      - {name: web, image: web:1}\n";
const RELEASE: &str = "apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata: {name: r, namespace: ns, annotations: {a: b}}\n\
                       spec: {values: {list: [1, 2], image: old}}\n";

async fn patch(patch: Option<&str>, generated: &[&str]) -> Result<Loaded, Error> {
    let flux = "version: 1\npatchUpdated:\n  generators: [{command: cat all.txt}]\n  patchFile: patches/flux.yaml\n";
    let all = generated.join("---\n");
    let mut files = vec![("app/.flux.yaml", flux), ("app/all.txt", &all), ("app/patches/keep", "")];
    files.extend(patch.map(|p| ("app/patches/flux.yaml", p)));
    load(&["app"], &files).await
}

#[tokio::test]
async fn built_in_kinds_are_merged_by_keys_and_others_as_json() {
    let text = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  annotations: {fluxcd.io/tag.web: 'glob:master-*'}\n  \
                name: web\n  namespace: ns\nspec:\n  template:\n    spec:\n      $setElementOrder/containers:\n      - name: side\n      \
                - name: web\n      containers:\n      - {image: 'web:2', name: web}\n---\napiVersion: helm.fluxcd.io/v1\nkind: \
                HelmRelease\nmetadata: {name: r, namespace: ns, annotations: {a: null}}\nspec: {values: {list: [3]}}\n";
    let other = config_map("other");
    let loaded = patch(Some(text), &[RELEASE, DEPLOYMENT, &other]).await.unwrap();
    assert_eq!(ids(&loaded), ["ns:configmap/other", "ns:deployment/web", "ns:helmrelease/r"], "sorted by identity");
    let web = value(&loaded, "ns:deployment/web");
    let containers = serde_json::json!([{"name": "side", "image": "side:1"}, {"name": "web", "image": "web:2"}]);
    assert_eq!(web["spec"]["template"]["spec"], serde_json::json!({ "containers": containers }));
    assert_eq!(web["metadata"]["annotations"]["fluxcd.io/tag.web"], "glob:master-*");
    let release = value(&loaded, "ns:helmrelease/r");
    assert_eq!(release["spec"]["values"], serde_json::json!({"list": [3], "image": "old"}));
    assert_eq!(release["metadata"]["annotations"], serde_json::json!({}));
    assert_eq!(loaded.objects[1].origin().to_string(), "app/.flux.yaml:7", "the origin is the generator's");
}

#[tokio::test]
async fn a_patch_file_may_be_absent_or_empty_but_its_directory_may_not() {
    for text in [None, Some(""), Some("---\n")] {
        assert_eq!(ids(&patch(text, &[DEPLOYMENT]).await.unwrap()), ["ns:deployment/web"]);
    }
    let flux = "version: 1\npatchUpdated:\n  generators: []\n  patchFile: none/flux.yaml\n";
    let error = load(&["."], &[(".flux.yaml", flux)]).await.unwrap_err().to_string();
    assert_eq!(error, "base directory (\"none\") of patchFile (\"none/flux.yaml\") does not exist");
}

#[tokio::test]
async fn a_patch_for_what_is_not_generated_stops_everything() {
    // Without a namespace it is another identity: they are compared as written.
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n";
    let error = patch(Some(text), &[DEPLOYMENT]).await.unwrap_err().to_string();
    let want = "processing \".flux.yaml\", cannot apply patchFile \"patches/flux.yaml\" to generated resources: patch \
                refers to missing resource (<cluster>:deployment/web), at app/patches/flux.yaml:1";
    assert_eq!(error, want);
}

#[tokio::test]
async fn a_malformed_patch_is_told_with_its_place() {
    let head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: ns}\n";
    let text = format!("{head}spec: {{template: {{spec: {{containers: [{{image: x}}]}}}}}}\n");
    let error = patch(Some(&text), &[DEPLOYMENT]).await.unwrap_err().to_string();
    let want = "field spec.template.spec.containers: an element has no name, by which this list is merged, at \
                app/patches/flux.yaml:1";
    assert!(error.ends_with(want), "{error}");
    let twice = format!("{head}---\n{head}");
    let error = patch(Some(&twice), &[DEPLOYMENT]).await.unwrap_err().to_string();
    assert!(error.contains("duplicate definition of 'ns:deployment/web' (in app/patches/flux.yaml)"), "{error}");
}

#[tokio::test]
async fn a_changed_patch_file_is_seen_although_the_generators_do_not_run() {
    let generator = Generator::new(settings(&[]));
    let flux =
        "version: 1\npatchUpdated: {generators: [{command: cat all.txt}], patchFile: p.yaml}\ninputs: [all.txt]\n";
    let (export, exports) = export();
    for (revision, image) in [("1", "web:2"), ("2", "web:3"), ("3", "web:3")] {
        let patch = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: ns}}\nspec:\n  template:\n    spec:\n      \
             containers: [{{name: web, image: '{image}'}}]\n"
        );
        let tree = tree(revision, &[(".flux.yaml", flux), ("all.txt", DEPLOYMENT), ("p.yaml", &patch)]);
        let loaded = generator.load(&tree, &export, false, &Stop::new()).await.unwrap();
        let containers = &value(&loaded, "ns:deployment/web")["spec"]["template"]["spec"]["containers"];
        assert_eq!(containers[1]["image"], image);
    }
    assert_eq!(exports.load(Ordering::Relaxed), 1);
}
