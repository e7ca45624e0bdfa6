//! Workloads as people write them: every form, read and written back.

use serde_json::{Value, json};

use super::*;

fn images(object: &Value) -> Vec<(String, String)> {
    let shown = |c: Container| (c.name, c.image.map_or_else(|why| format!("({why})"), |image| image.full()));
    containers(object).into_iter().map(shown).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

/// The object with a container's image changed as [`image_changes`] says.
fn changed(object: &Value, container: &str, image: &str) -> Result<Value, String> {
    let mut object = object.clone();
    for change in image_changes(&object, container, &image.parse().unwrap()).map_err(|e| e.to_string())? {
        let mut at = &mut object;
        for step in &change.path {
            at = match step {
                Step::Key(key) => at.get_mut(key).unwrap_or_else(|| panic!("no {key}")),
                Step::Index(index) => at.get_mut(index).unwrap(),
            };
        }
        *at = change.value.into();
    }
    Ok(object)
}

#[test]
fn pod_templates_give_containers_and_then_init_containers() {
    let pod = json!({
        "initContainers": [{"name": "init", "image": "busybox"}],
        "containers": [{"name": "web", "image": "quay.io/shop/web:1.0"}, null, {"name": "bad", "image": "a:b:c"}, {"name": 5}],
    });
    let malformed = "(expected image name as either <image>:<tag> or just <image>: invalid image ID)";
    let blank = "(parsing \"\": blank image name: invalid image ID)";
    let want = pairs(&[("web", "quay.io/shop/web:1.0"), ("bad", malformed), ("5", blank), ("init", "busybox")]);
    for kind in ["Deployment", "DaemonSet", "StatefulSet", "Job"] {
        let object = json!({"kind": kind, "spec": {"template": {"spec": pod}}});
        assert_eq!(images(&object), want, "{kind}");
        assert_eq!(is_workload(&object), kind != "Job");
        let object = changed(&object, "init", "busybox:2").unwrap();
        assert_eq!(object["spec"]["template"]["spec"]["initContainers"][0]["image"], "busybox:2");
    }
    let cron = json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}});
    assert_eq!(images(&cron), want);
    let cron = changed(&cron, "web", "quay.io/shop/web:1.1@sha256:00").unwrap();
    let web = &cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(web, "quay.io/shop/web:1.1@sha256:00");
    for object in [json!({"kind": "Service"}), json!({"kind": "Deployment", "spec": 5}), json!(null), json!([])] {
        assert_eq!(images(&object), []);
    }
}

#[test]
fn a_container_that_is_not_there_is_named_with_those_that_are() {
    let object = json!({"kind": "Deployment", "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}]}}}});
    let refusal = changed(&object, "c", "x:1").unwrap_err();
    assert_eq!(refusal, "no container \"c\" in the object; expected one of: a, b");
}

fn release(values: &Value) -> Value {
    json!({"kind": "HelmRelease", "spec": {"values": values}})
}

/// Each form of an image in values, what is read, and the form after another image was written to it.
fn forms() -> Vec<(Value, &'static str, &'static str, Value)> {
    vec![
        (json!({"image": "repo/img:1"}), "repo/img:1", "repo/img:2", json!({"image": "repo/img:2"})),
        (json!({"image": "repo/img"}), "repo/img", "repo/img:2", json!({"image": "repo/img:2"})),
        (
            json!({"image": "repo/img", "tag": "1"}),
            "repo/img:1",
            "repo/img:2",
            json!({"image": "repo/img", "tag": "2"}),
        ),
        (
            json!({"registry": "reg.io", "image": "a/b/img:1"}),
            "reg.io/a/b/img:1",
            "reg.io/a/b/img:2",
            json!({"registry": "reg.io", "image": "a/b/img:2"}),
        ),
        (
            json!({"registry": "reg.io", "image": "img"}),
            "reg.io/img",
            "reg.io/img:2",
            json!({"registry": "reg.io", "image": "img:2"}),
        ),
        (
            json!({"registry": "reg.io", "image": "a/img", "tag": "1"}),
            "reg.io/a/img:1",
            "reg.io/a/img:2",
            json!({"registry": "reg.io", "image": "a/img", "tag": "2"}),
        ),
        (
            json!({"image": {"repository": "repo/img:1"}}),
            "repo/img:1",
            "repo/img:2",
            json!({"image": {"repository": "repo/img:2"}}),
        ),
        (
            json!({"image": {"repository": "repo/img", "tag": "1", "pullPolicy": "Always"}}),
            "repo/img:1",
            "repo/img:2",
            json!({"image": {"repository": "repo/img", "tag": "2", "pullPolicy": "Always"}}),
        ),
        (
            json!({"image": {"registry": "reg.io", "repository": "a/img:1"}}),
            "reg.io/a/img:1",
            "reg.io/a/img:2",
            json!({"image": {"registry": "reg.io", "repository": "a/img:2"}}),
        ),
        (
            json!({"image": {"registry": "reg.io", "repository": "a/img", "tag": "1"}}),
            "reg.io/a/img:1",
            "reg.io/a/img:2",
            json!({"image": {"registry": "reg.io", "repository": "a/img", "tag": "2"}}),
        ),
    ]
}

/// Forms that v1's list does not have.
fn special_forms() -> Vec<(Value, &'static str, &'static str, Value)> {
    vec![
        // another repository altogether is spread over the same fields
        (
            json!({"registry": "reg.io", "image": "a/img", "tag": "1"}),
            "reg.io/a/img:1",
            "other.io/b:2",
            json!({"registry": "other.io", "image": "b", "tag": "2"}),
        ),
        // the parts that v1 takes for a domain need not be the registry's text
        (
            json!({"registry": "reg.io/mirror", "image": "img", "tag": "1"}),
            "reg.io/mirror/img:1",
            "reg.io/mirror/img:2",
            json!({"registry": "reg.io/mirror", "image": "img", "tag": "2"}),
        ),
        (
            json!({"image": "repo/img", "tag": "1@sha256:00"}),
            "repo/img:1@sha256:00",
            "repo/img:2@sha256:11",
            json!({"image": "repo/img", "tag": "2@sha256:11"}),
        ),
        // a number is not read as a tag, and is replaced all the same
        (json!({"image": "repo/img", "tag": 1.1}), "repo/img", "repo/img:2", json!({"image": "repo/img", "tag": "2"})),
    ]
}

#[test]
fn every_form_of_values_is_read_and_written_back_to_the_same_fields() {
    for (values, read, new, written) in forms().into_iter().chain(special_forms()) {
        let object = release(&values);
        assert_eq!(images(&object), pairs(&[("chart-image", read)]), "{values}");
        assert_eq!(changed(&object, "chart-image", new).unwrap(), release(&written), "{values}");
        assert_eq!(images(&release(&written)), pairs(&[("chart-image", new)]), "{values}");
        let named = release(&json!({"web": values, "replicas": 2}));
        assert_eq!(images(&named), pairs(&[("web", read)]), "{values}");
        assert_eq!(changed(&named, "web", new).unwrap(), release(&json!({"web": written, "replicas": 2})), "{values}");
    }
}

#[test]
fn the_chart_image_comes_first_and_then_the_others_by_name() {
    let object = release(&json!({
        "zeta": {"image": "z:1"},
        "image": {"repository": "top", "tag": "1"},
        "beta": {"image": {"repository": "b"}},
        "alpha": {"image": "a:1", "deeper": {"image": "not-seen"}},
        "broken": {"image": "a:b:c"},
        "empty": {"image": "x", "tag": ""},
        "number": {"image": 5},
    }));
    let want = [("chart-image", "top:1"), ("alpha", "a:1"), ("beta", "b"), ("zeta", "z:1")];
    assert_eq!(images(&object), pairs(&want));
}

fn mapped(annotations: &Value) -> Value {
    let values = json!({
        "app": {"first": {"img": "repo/one", "reg": "reg.io", "ver": "1"}, "port": 80},
        "whole": "repo/two:1",
        "web": {"image": "found:1"},
        "list": [{"image": "x"}],
    });
    json!({"kind": "HelmRelease", "metadata": {"annotations": annotations}, "spec": {"values": values}})
}

#[test]
fn annotations_map_images_wherever_they_are() {
    let (repository, registry, tag) = ("repository.fluxcd.io/app", "registry.fluxcd.io/app", "tag.fluxcd.io/app");
    for (annotations, read, new, fields) in [
        (json!({repository: "whole"}), "repo/two:1", "repo/two:2", vec![("whole", "repo/two:2")]),
        (
            json!({repository: "app.first.img", tag: "app.first.ver"}),
            "repo/one:1",
            "repo/one:2",
            vec![("app.first.ver", "2")],
        ),
        (
            json!({repository: "app.first.img", registry: "app.first.reg"}),
            "reg.io/repo/one",
            "reg.io/repo/one:2",
            vec![("app.first.img", "repo/one:2")],
        ),
        (
            json!({repository: "app.first.img", registry: "app.first.reg", tag: "app.first.ver"}),
            "reg.io/repo/one:1",
            "eu.io/one:2",
            vec![("app.first.reg", "eu.io"), ("app.first.img", "one"), ("app.first.ver", "2")],
        ),
    ] {
        let object = mapped(&annotations);
        assert_eq!(images(&object), pairs(&[("app", read), ("web", "found:1")]), "{annotations}");
        let changes = image_changes(&object, "app", &new.parse().unwrap()).unwrap();
        let shown = |c: FieldChange| {
            let path: Vec<_> = c.path[2..].iter().map(ToString::to_string).collect();
            (path.join("."), c.value)
        };
        assert_eq!(changes.into_iter().map(shown).collect::<Vec<_>>(), pairs(&fields), "{annotations}");
    }
    let overriding = mapped(&json!({"repository.fluxcd.io/web": "whole"}));
    assert_eq!(images(&overriding), pairs(&[("web", "repo/two:1")]));
    for annotations in [
        json!({tag: "app.first.ver"}),
        json!({repository: "app.nothing"}),
        json!({repository: "app"}),
        json!({repository: "app.port"}),
        json!({repository: "list.0.image"}),
        json!({repository: "whole", tag: "app.port"}),
        json!({repository: 5}),
    ] {
        assert_eq!(images(&mapped(&annotations)), pairs(&[("web", "found:1")]), "{annotations}");
    }
}

#[test]
fn any_resource_may_declare_where_its_images_are() {
    let object = json!({
        "kind": "Prometheus",
        "metadata": {"annotations": {
            "images.fluxd.io/server": "spec.image",
            "images.fluxd.io/side": "spec.containers.1.image",
            "images.fluxd.io/apart": "spec.base, spec.version",
            "images.fluxd.io/nowhere": "spec.nothing",
            "images.fluxd.io/number": "spec.replicas",
        }},
        "spec": {"image": "quay.io/p:1", "base": "quay.io/b", "version": "3", "replicas": 2,
                 "containers": [{"image": "x"}, {"image": "y:1"}]},
    });
    assert!(is_workload(&object));
    assert_eq!(images(&object), pairs(&[("apart", "quay.io/b:3"), ("server", "quay.io/p:1"), ("side", "y:1")]));
    assert_eq!(changed(&object, "side", "y:2").unwrap()["spec"]["containers"][1]["image"], "y:2");
    assert_eq!(changed(&object, "apart", "quay.io/b:4").unwrap()["spec"]["version"], "4");
    let refusal = changed(&object, "apart", "quay.io/b@sha256:00").unwrap_err();
    assert!(refusal.ends_with("the tag has a field of its own, and the image has no tag"), "{refusal}");
    assert!(!is_workload(&json!({"kind": "Prometheus", "spec": {"image": "x"}})));
}

fn annotated(annotations: &Value) -> Value {
    let pod =
        json!({"containers": [{"name": "web", "image": "x"}], "initContainers": [{"name": "init", "image": "y"}]});
    json!({"kind": "Deployment", "metadata": {"annotations": annotations}, "spec": {"template": {"spec": pod}}})
}

fn policies(
    annotations: &Value,
    add: &[(&str, &str)],
    remove: &[&str],
) -> Result<Vec<(String, Option<String>)>, String> {
    let add = add.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let remove = remove.iter().map(|k| ((*k).to_owned(), String::new())).collect();
    let changes = policy_changes(&annotated(annotations), &add, &remove).map_err(|e| e.to_string())?;
    Ok(changes.into_iter().map(|change| (change.key, change.value)).collect())
}

#[test]
fn policies_are_written_to_the_annotation_that_carries_them_already() {
    let set = |key: &str, value: &str| (key.to_owned(), Some(value.to_owned()));
    let gone = |key: &str| (key.to_owned(), None);
    let tag = "tag.web";
    for (annotations, add, remove, want) in [
        (json!({}), vec![("automated", "true")], vec![], vec![set("fluxcd.io/automated", "true")]),
        (json!(null), vec![("automated", "true")], vec![], vec![set("fluxcd.io/automated", "true")]),
        (
            json!({"flux.weave.works/automated": "true"}),
            vec![("automated", "false")],
            vec![],
            vec![set("flux.weave.works/automated", "false")],
        ),
        (
            json!({"flux.weave.works/locked": "true", "fluxcd.io/locked": "true"}),
            vec![],
            vec!["locked"],
            vec![gone("fluxcd.io/locked"), gone("flux.weave.works/locked")],
        ),
        (json!({}), vec![], vec!["locked"], vec![]),
        (
            json!({"filter.fluxcd.io/web": "glob:*"}),
            vec![(tag, "semver:~1")],
            vec![],
            vec![set("filter.fluxcd.io/web", "semver:~1")],
        ),
        (json!({}), vec![(tag, "regexp:^a=b$")], vec![], vec![set("fluxcd.io/tag.web", "regexp:^a=b$")]),
        // what is both added and removed is removed
        (json!({"fluxcd.io/locked": "true"}), vec![("locked", "true")], vec!["locked"], vec![gone("fluxcd.io/locked")]),
        (
            json!({}),
            vec![("tag_all", "glob:a*")],
            vec![],
            vec![set("fluxcd.io/tag.init", "glob:a*"), set("fluxcd.io/tag.web", "glob:a*")],
        ),
        // the filter for all wins over one that is named
        (
            json!({}),
            vec![("tag_all", "glob:a*"), (tag, "semver:1")],
            vec![],
            vec![set("fluxcd.io/tag.init", "glob:a*"), set("fluxcd.io/tag.web", "glob:a*")],
        ),
        (
            json!({"fluxcd.io/tag.web": "a", "filter.fluxcd.io/init": "b"}),
            vec![("tag_all", "glob:*")],
            vec![],
            vec![gone("filter.fluxcd.io/init"), gone("fluxcd.io/tag.web")],
        ),
        // v1 knew no such removal
        (json!({"fluxcd.io/tag.web": "a"}), vec![], vec!["tag_all"], vec![]),
        (json!({"fluxcd.io/tag.web": "a"}), vec![("tag.web", ""), ("x", "")], vec![], vec![gone("fluxcd.io/tag.web")]),
        (json!({"fluxd.io/pin": "true"}), vec![("pin", "false")], vec![], vec![set("fluxd.io/pin", "false")]),
    ] {
        assert_eq!(policies(&annotations, &add, &remove), Ok(want), "{annotations} {add:?} {remove:?}");
    }
}

#[test]
fn a_tag_filter_that_cannot_be_read_is_refused() {
    for (policy, value) in [("tag.web", "semver:x.y.z.w"), ("tag.web", "regexp:("), ("tag_all", "semver:!")] {
        let refusal = policies(&json!({}), &[(policy, value)], &[]).unwrap_err();
        assert_eq!(refusal, format!("invalid tag pattern: {value:?}"));
    }
}
