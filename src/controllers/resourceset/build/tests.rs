//! Cases of building (resourceset §11, B1-B15): a spec in, objects in build order out.

use serde_json::{Value, json};

use super::*;

fn spec(yaml: &str) -> ResourceSetSpec {
    let documents = yaml::read(yaml.as_bytes(), yaml::Dialect::Kubernetes, &yaml::Limits::default()).unwrap();
    serde_json::from_value(documents[0].value.clone()).unwrap()
}

fn built(yaml: &str) -> Result<Vec<Step>, BuildError> {
    let spec = spec(yaml);
    let inputs = combine(("apps", "set"), &spec, Vec::new()).unwrap();
    build(&spec, &inputs, &mut Cache::default())
}

/// The objects as values, steps one after the other.
#[track_caller]
fn objects(yaml: &str) -> Vec<Value> {
    built(yaml).unwrap().iter().flat_map(|step| step.objects.iter().map(|o| o.value())).collect()
}

fn names(yaml: &str) -> Vec<String> {
    built(yaml).unwrap().iter().flat_map(|step| step.objects.iter().map(|o| display(o))).collect()
}

fn error(yaml: &str) -> String {
    built(yaml).unwrap_err().to_string()
}

/// B1
#[test]
fn each_template_is_rendered_for_each_set_in_turn() {
    let all = objects(
        r#"
inputs:
- { tenant: "Team 1", version: "6.7.x", replicas: 2 }
- { tenant: "team2", version: "1.0", replicas: "3" }
resources:
- apiVersion: source.toolkit.fluxcd.io/v1
  kind: OCIRepository
  metadata: { name: "podinfo-<< inputs.tenant | slugify >>", namespace: apps }
  spec: { ref: { semver: << inputs.version | quote >> } }
- apiVersion: helm.toolkit.fluxcd.io/v2
  kind: HelmRelease
  metadata:
    name: podinfo-<< inputs.tenant | slugify >>
    namespace: apps
    labels: { replicas: << inputs.replicas | quote >> }
  spec: { values: { replicaCount: << inputs.replicas | int >> } }
"#,
    );
    let kinds: Vec<&str> = all.iter().map(|o| o["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["OCIRepository", "OCIRepository", "HelmRelease", "HelmRelease"]);
    assert_eq!(all[0]["metadata"]["name"], "podinfo-team-1");
    assert_eq!(all[1]["spec"]["ref"]["semver"], "1.0");
    assert_eq!(all[2]["spec"]["values"]["replicaCount"], json!(2));
    assert_eq!(all[3]["spec"]["values"]["replicaCount"], json!(3));
    assert_eq!(all[3]["metadata"]["labels"]["replicas"], "3");
}

/// B2
#[test]
fn an_object_that_several_sets_share_is_built_once() {
    let text = r#"
inputs: [{ t: a }, { t: b }]
resources:
- { apiVersion: v1, kind: ConfigMap, metadata: { name: shared, namespace: x }, data: { t: << inputs.t >> } }
- { apiVersion: v1, kind: ConfigMap, metadata: { name: << inputs.t >>, namespace: x } }
resourcesTemplate: |
  apiVersion: v2
  kind: ConfigMap
  metadata: { name: shared, namespace: x }
"#;
    assert_eq!(names(&text.replace("v2", "v1")), ["ConfigMap/x/shared", "ConfigMap/x/a", "ConfigMap/x/b"]);
    assert_eq!(objects(text)[0]["data"]["t"], "a", "the first set wins, and resources over the template");
}

/// B3
#[test]
fn an_object_is_left_out_by_an_annotation_made_of_inputs() {
    let all = objects(
        r#"
inputs: [{ t: team1 }, { t: team2 }]
resources:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata:
    name: << inputs.t >>
    annotations:
      fluxcd.controlplane.io/reconcile: << if eq inputs.t "team1" >>enabled<< else >>disabled<< end >>
"#,
    );
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["metadata"]["annotations"]["fluxcd.controlplane.io/reconcile"], "enabled");
    let excluded = "inputs: [{ a: 1 }]\nresources:\n- { apiVersion: v1, kind: ConfigMap, metadata: { name: a, annotations: { \
                    fluxcd.controlplane.io/reconcile: Disabled } } }";
    assert_eq!(names(excluded).len(), 1, "only the exact word leaves out");
}

/// B4, B15 and the odd rules without inputs
#[test]
fn without_inputs_templates_are_rendered_once_as_they_are() {
    let map = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: a, namespace: x, annotations: { \
               fluxcd.controlplane.io/reconcile: disabled } } }";
    assert_eq!(names(&format!("resources:\n- {map}\n- {map}\nresourcesTemplate: '{map}'")), ["ConfigMap/x/a"; 2]);
    let steps = format!("steps:\n- name: one\n  resources:\n  - {map}\n  - {map}");
    assert_eq!(names(&steps), ["ConfigMap/x/a"; 2]);
    let missing = "resources: [{ apiVersion: v1, kind: ConfigMap, metadata: { name: << inputs.a >> } }]";
    assert!(error(missing).starts_with("failed to build resource: failed to execute template: template: resourceset:"));
}

/// B5
#[test]
fn nested_values_are_written_as_yaml() {
    let all = objects(
        r#"
inputs: [{ layer: { mediaType: "a/b", operation: copy, list: [1, x] } }]
resources:
- apiVersion: v1
  kind: ConfigMap
  metadata: { name: a, namespace: x }
  data: << inputs.layer | toYaml | nindent 4 >>
"#,
    );
    assert_eq!(all[0]["data"], json!({ "mediaType": "a/b", "operation": "copy", "list": [1, "x"] }));
}

/// B6
#[test]
fn a_stream_of_documents_may_repeat_and_leave_out() {
    let text = r#"
inputs:
- { bundle: addons, decryption: false, components: [nginx, cert] }
- { bundle: apps, decryption: true, components: [front, back] }
resourcesTemplate: |
  ---
  apiVersion: source.toolkit.fluxcd.io/v1
  kind: OCIRepository
  metadata:
    name: << inputs.bundle >>
    namespace: flux-system
  <<- range $component := inputs.components >>
  ---
  apiVersion: kustomize.toolkit.fluxcd.io/v1
  kind: Kustomization
  metadata:
    name: << $component >>
    namespace: flux-system
  spec:
    prune: true
  <<- if inputs.decryption >>
    decryption:
      provider: sops
  <<- end >>
    path: ./<< $component >>
  <<- end >>
"#;
    let wanted = [
        "OCIRepository/flux-system/addons",
        "Kustomization/flux-system/nginx",
        "Kustomization/flux-system/cert",
        "OCIRepository/flux-system/apps",
        "Kustomization/flux-system/front",
        "Kustomization/flux-system/back",
    ];
    assert_eq!(names(text), wanted);
    let all = objects(text);
    assert!(all[1]["spec"].get("decryption").is_none());
    assert_eq!(all[4]["spec"], json!({ "prune": true, "decryption": { "provider": "sops" }, "path": "./front" }));
}

/// B7
#[test]
fn a_spec_without_templates_builds_nothing() {
    assert!(names("inputs: [{ a: 1 }]").is_empty());
    assert!(names("wait: true").is_empty());
}

/// B8
#[test]
fn text_that_is_no_yaml_is_named_with_its_place_in_the_list() {
    let text = r#"
inputs: [{ v: ">=1.0.0-rc.0" }]
resources: [{ apiVersion: v1, kind: ConfigMap, metadata: { name: a }, data: { v: << inputs.v >> } }]
"#;
    let error = error(text);
    let wanted = "failed to build resources[0]: failed to read object: error converting YAML to JSON: yaml: line ";
    assert!(error.starts_with(wanted), "{error}");
}

/// B9
#[test]
fn a_key_that_a_set_does_not_have_is_an_error() {
    let text = r#"
inputs: [{ a: x }]
resources:
- { apiVersion: v1, kind: ConfigMap, metadata: { name: a } }
- { apiVersion: v1, kind: ConfigMap, metadata: { name: << inputs.semver >> } }
"#;
    let error = error(text);
    assert!(
        error.starts_with("failed to build resources[1]: failed to execute template: template: resourceset:"),
        "{error}"
    );
    assert!(error.ends_with("map has no entry for key \"semver\""), "{error}");
    let stream = "inputs: [{ a: x }]\nresourcesTemplate: '<< inputs.b >>'";
    let wanted = "failed to build resources: failed to execute multi-doc YAML template: template: resourceset:1:";
    assert!(super::tests::error(stream).starts_with(wanted));
    let parse = "inputs: [{ a: x }]\nresourcesTemplate: '<< nope >>'";
    let wanted = "failed to build resources: failed to parse multi-doc YAML template: template: resourceset:1: function \"nope\" not defined";
    assert_eq!(super::tests::error(parse), wanted);
}

/// B10, B11
#[test]
fn steps_are_built_one_by_one_and_empty_ones_stay() {
    let text = r#"
inputs: [{ t: a }, { t: b }]
steps:
- name: one
  timeout: 90s
  resources: [{ apiVersion: v1, kind: ConfigMap, metadata: { name: x }, data: { from: resources } }]
  resourcesTemplate: "{ apiVersion: v1, kind: ConfigMap, metadata: { name: x }, data: { from: template } }"
- name: two
  resources:
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      name: only-<< inputs.t >>
      annotations: { fluxcd.controlplane.io/reconcile: '<< if eq inputs.t "a" >>enabled<< else >>disabled<< end >>' }
- name: three
  resources: [{ apiVersion: v1, kind: ConfigMap, metadata: { name: y, annotations: { fluxcd.controlplane.io/reconcile: disabled } } }]
"#;
    let steps = built(text).unwrap();
    let shape: Vec<(Option<&str>, usize)> = steps.iter().map(|s| (s.name.as_deref(), s.objects.len())).collect();
    assert_eq!(shape, [(Some("one"), 1), (Some("two"), 1), (Some("three"), 0)]);
    assert_eq!(steps[0].timeout, Some(Duration::from_secs(90)));
    assert_eq!(steps[0].objects[0].value()["data"]["from"], "resources");
    let literal = "steps: [{ name: one, resources: [{ apiVersion: v1, kind: ConfigMap, metadata: { name: a } }] }]";
    assert_eq!(names(literal), ["ConfigMap/a"]);
}

/// B12, B13
#[test]
fn two_steps_must_not_have_the_same_object_at_whatever_version() {
    for (first, second) in [("apps/v1", "apps/v1"), ("apps/v1", "apps/v1beta1")] {
        let step = |name: &str, version: &str| {
            format!(
                "- name: {name}\n  resources: [{{ apiVersion: {version}, kind: Deployment, metadata: {{ name: a, namespace: x }} }}]\n"
            )
        };
        let text = format!("inputs: [{{ a: 1 }}]\nsteps:\n{}{}", step("one", first), step("two", second));
        let wanted = "duplicate resource Deployment/x/a in step \"two\", already defined in step \"one\"";
        assert_eq!(error(&text), wanted);
    }
}

/// B14
#[test]
fn wrong_steps_are_found_also_when_nothing_is_rendered() {
    let empty = "inputsFrom: [{ name: a }]\nsteps: [{ name: one, resources: [{}] }, { name: two }]";
    assert_eq!(error(empty), "step \"two\": at least one of resources or resourcesTemplate must be set");
    let both = "inputsFrom: [{ name: a }]\nresources: [{}]\nsteps: [{ name: one, resources: [{}] }]";
    assert_eq!(error(both), "spec.steps is mutually exclusive with spec.resources and spec.resourcesTemplate");
    let inner = "inputs: [{ a: 1 }]\nsteps: [{ name: one, resourcesTemplate: '<< inputs.b >>' }]";
    assert!(
        error(inner)
            .starts_with("step \"one\": failed to build resources: failed to execute multi-doc YAML template: ")
    );
}

#[test]
fn documents_are_taken_as_documented() {
    let item = |item: &str| format!("inputs: [{{ e: '' }}]\nresources: [{item}]");
    let stream = |text: &str| format!("inputs: [{{ e: '' }}]\nresourcesTemplate: {}", json!(text));
    let no_kind = error(&item("{ apiVersion: v1 }"));
    assert_eq!(
        no_kind,
        "failed to build resources[0]: failed to read object: Object 'Kind' is missing in '{\"apiVersion\":\"v1\"}'"
    );
    let no_kind = error(&stream("apiVersion: v1"));
    assert_eq!(
        no_kind,
        "failed to build resources: failed to read objects from multi-doc YAML: Object 'Kind' is missing in '{\"apiVersion\":\"v1\"}'"
    );
    let list = "{ apiVersion: v1, kind: List, items: [{ apiVersion: v1, kind: A, metadata: { name: a } }, { apiVersion: v1, kind: B, metadata: { name: b } }] }";
    assert_eq!(names(&stream(list)), ["A/a", "B/b"]);
    assert!(error(&item(list)).contains("kind List is no resource of its own"));
    assert_eq!(names(&item("{ kind: A }")), ["A/"], "the API server says what is missing");
    let dropped = "---\n# only a comment\n---\nkind: A\nmetadata: { name: x }\n---\napiVersion: v1\nkind: A\n---\n\
                   apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: { name: x }\n---\n\
                   apiVersion: v1\nkind: A\nmetadata: { name: kept }\n";
    assert_eq!(names(&stream(dropped)), ["A/kept"]);
    let numbered = objects(&item("{ apiVersion: v1, kind: ConfigMap, metadata: { name: 12 } }"));
    assert_eq!(numbered[0]["metadata"]["name"], "");
}

#[test]
fn one_changed_set_of_many_is_rendered_alone() {
    let spec = |changed: usize| {
        let inputs: Vec<Value> = (0..300).map(|i| json!({ "n": i, "v": i == changed })).collect();
        let resources = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "cm-<< inputs.n >>" },
            "data": { "v": "<< inputs.v | quote >>" } }]);
        serde_json::from_value::<ResourceSetSpec>(json!({ "inputs": inputs, "resources": resources })).unwrap()
    };
    let mut cache = Cache::default();
    let mut run = |spec: &ResourceSetSpec| {
        let inputs = combine(("x", "y"), spec, Vec::new()).unwrap();
        let before = cache.rendered();
        let steps = build(spec, &inputs, &mut cache).unwrap();
        (cache.rendered() - before, steps)
    };
    assert_eq!(run(&spec(1_000)).0, 300);
    assert_eq!(run(&spec(1_000)).0, 0);
    let (rendered, steps) = run(&spec(7));
    assert_eq!(rendered, 1);
    assert_eq!(steps[0].objects[7].value()["data"]["v"], "true");
    assert_eq!(steps[0].objects.len(), 300);
}

#[test]
fn a_template_that_changes_inputs_is_heard_by_the_next_one_each_time() {
    let text = r#"
inputs: [{ a: x }]
resources:
- { apiVersion: v1, kind: ConfigMap, metadata: { name: 'a<< $_ := set inputs "b" "other" >>' } }
- { apiVersion: v1, kind: ConfigMap, metadata: { name: << inputs.b >> } }
"#;
    let spec = spec(text);
    let inputs = combine(("x", "y"), &spec, Vec::new()).unwrap();
    let mut cache = Cache::default();
    for _ in 0..2 {
        let steps = build(&spec, &inputs, &mut cache).unwrap();
        let names: Vec<&str> = steps[0].objects.iter().map(|o| o.name()).collect();
        assert_eq!(names, ["a", "other"]);
    }
}

#[test]
fn a_change_of_inputs_is_seen_also_at_the_start_of_a_line_and_prose_is_none() {
    let spec = |name: &str| -> ResourceSetSpec {
        serde_json::from_value(json!({ "inputs": [{ "a": "x" }], "resources": [
            { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } },
            { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "b<< get inputs \"b\" >>" } },
        ] }))
        .unwrap()
    };
    let run = |spec: &ResourceSetSpec, cache: &mut Cache| -> Vec<String> {
        let inputs = combine(("x", "y"), spec, Vec::new()).unwrap();
        build(spec, &inputs, cache).unwrap()[0].objects.iter().map(|o| o.name().to_owned()).collect()
    };
    let mut cache = Cache::default();
    assert_eq!(run(&spec("a"), &mut cache), ["a", "b"]);
    assert_eq!(run(&spec("a<<\nset inputs \"b\" \"y\" | len | print | trunc 0 >>"), &mut cache), ["a", "by"]);
    let before = cache.rendered();
    for _ in 0..2 {
        assert_eq!(run(&spec("set 3 days ago"), &mut cache), ["set 3 days ago", "b"]);
    }
    assert_eq!(cache.rendered() - before, 2, "words outside of actions change nothing");
}

#[test]
fn random_numbers_and_the_time_are_available_and_asked_for_anew() {
    let text = "inputs: [{ a: x }]\nresources: [{ apiVersion: v1, kind: A, metadata: { name: 'n<< randInt 0 1000000000 >>', \
                namespace: 'd<< ago (toDate \"2006-01-02\" \"2020-01-01\") >>' } }]";
    let spec = spec(text);
    let inputs = combine(("x", "y"), &spec, Vec::new()).unwrap();
    let mut cache = Cache::default();
    let mut run = || build(&spec, &inputs, &mut cache).unwrap()[0].objects[0].clone();
    let names: HashSet<String> = (0..8).map(|_| run().name().to_owned()).collect();
    assert!(names.len() > 1, "{names:?}");
    assert!(run().namespace().unwrap().ends_with('s'));
}

#[test]
fn a_long_line_is_not_broken_within_an_action() {
    let words = "word ".repeat(30);
    let text = format!(
        "inputs: [{{ a: x }}]\nresources: [{{ apiVersion: v1, kind: A, metadata: {{ name: a }}, d: '<< print \"{words}\" inputs.a >>' }}]"
    );
    assert_eq!(objects(&text)[0]["d"], format!("{words}x"));
}

#[test]
fn documents_are_separated_by_lines_before_they_are_read() {
    let read = |form: read::Form, text: &str| -> Result<Vec<String>, String> {
        form.read(text, usize::MAX).map(|(objects, _)| objects.iter().map(|o| display(o)).collect())
    };
    let item = |text: &str| read(read::Form::Item { keep_excluded: false }, text);
    let stream = |text: &str| read(read::Form::Stream, text);
    let object = |name: &str| format!("apiVersion: v1\nkind: A\nmetadata: {{ name: {name} }}\n");
    let (a, b) = (object("a"), object("b"));
    assert_eq!(item(&format!("--- # first\n{a}---\n: not: read [")).unwrap(), ["A/a"]);
    let late = item(&format!("{a}x: a\n b: c\n")).unwrap_err();
    assert!(late.starts_with("failed to read object: error converting YAML to JSON: yaml: line "), "{late}");
    let late = item("a\n b: c").unwrap_err();
    assert!(late.starts_with("failed to read object: error converting YAML to JSON: yaml: line "), "{late}");
    assert_eq!(item("").unwrap_err(), "failed to read object: EOF");
    assert_eq!(stream(&format!("---\n---  \n{a}--- # next\r\n{b}---")).unwrap(), ["A/a", "A/b"]);
    assert_eq!(
        stream(&format!("{a}--- x\n{b}")).unwrap_err(),
        "failed to read objects from multi-doc YAML: invalid Yaml document separator: x"
    );
    assert_eq!(stream(&object("12")).unwrap(), [""; 0], "a number is no name");
    assert!(stream("{}").unwrap_err().ends_with("Object 'Kind' is missing in '{}'"));
    let json = |name: &str| json!({ "apiVersion": "v1", "kind": "A", "metadata": { "name": name } }).to_string();
    assert_eq!(stream(&format!("{}\n{}", json("a"), json("b"))).unwrap(), ["A/a", "A/b"]);
    assert_eq!(stream(&json("a")).unwrap(), ["A/a"]);
}

#[test]
fn a_build_has_bounds_over_all_its_templates_and_sets_whatever_is_kept() {
    let text = "inputs: [{ v: 1 }, { v: 2 }, { v: 3 }]\nresourcesTemplate: |\n  apiVersion: v1\n  kind: A\n  metadata: { name: \
                n<< inputs.v >> }\n  data: << range until 50 >>x<< end >>";
    let spec = spec(text);
    let inputs = combine(("x", "y"), &spec, Vec::new()).unwrap();
    let run = |bytes: usize, steps: u64| {
        let mut cache = Cache::with_limit(cost::Cost { bytes, steps });
        let first = build(&spec, &inputs, &mut cache).map(drop).map_err(|e| e.to_string());
        let again = build(&spec, &inputs, &mut cache).map(drop).map_err(|e| e.to_string());
        assert_eq!(first, again);
        first
    };
    assert_eq!(run(1 << 20, 100_000), Ok(()));
    let prefix = "failed to build resources: ";
    let large = run(2_000, 100_000).unwrap_err();
    assert!(large.starts_with(prefix) && large.contains("larger than the limit of "), "{large}");
    let long = run(1 << 20, 300).unwrap_err();
    assert_eq!(long, format!("{prefix}all templates together take more than the limit of 300 steps"));
}
