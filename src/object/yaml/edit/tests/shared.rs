//! Anchors, aliases and merge keys: a value is edited where it is defined, if that changes nothing else.

use super::*;

/// Two Deployments in a list, with `a` and `b` in the places of their containers, and something before them.
fn list(head: &str, a: &str, b: &str) -> String {
    let item = |name: &str, container: &str| {
        format!(
            "- kind: Deployment\n  metadata: {{name: {name}, namespace: ns}}\n  spec:\n    template:\n      spec:\n        containers:\n{container}"
        )
    };
    format!("apiVersion: v1\nkind: List\n{head}items:\n{}{}", item("a", a), item("b", b))
}

const IMAGE: &str = "spec/template/spec/containers/0/image";

#[test]
fn a_shared_value_is_edited_where_it_is_defined_if_nothing_else_changes() {
    let other = "        - {name: c, image: 'x:1'}\n";
    for text in [
        list("x-image: &image a:1\n", "        - {name: c, image: *image}\n", other),
        list("x-common: &common {image: a:1, tty: true}\n", "        - <<: *common\n          name: c\n", other),
        list("x: &x {image: a:1}\ny: &y {name: c}\n", "        - <<: [*x, *y]\n          tty: true\n", other),
        list("x: &x\n- {name: c, image: a:1}\n", "          *x\n", other),
    ] {
        assert_release(&text, "ns:deployment/a", "c", ("a:1", "a:2"), "a:2");
    }
}

#[test]
fn a_value_that_others_share_is_not_changed_for_one_of_them() {
    let alias = "        - {name: c, image: *image}\n";
    let text = list("", "        - {name: c, image: &image a:1}\n", alias);
    let refused = release(&text, "ns:deployment/b", "c", "a:2").unwrap_err();
    let want = "ns:deployment/b, line 1: refused, because spec.template.spec.containers.0.image of ns:deployment/a would not be \
                as intended: an anchor, an alias or a merge key shares the text; give each place a value of its own";
    assert_eq!(refused, want);
    let both = [("ns:deployment/a", vec![set(IMAGE, "a:2")]), ("ns:deployment/b", vec![set(IMAGE, "a:2")])];
    assert_eq!(edited(&text, &both), Ok(text.replace("a:1", "a:2")), "both at once may change");
    let differing = [("ns:deployment/a", vec![set(IMAGE, "a:2")]), ("ns:deployment/b", vec![set(IMAGE, "a:3")])];
    assert!(edited(&text, &differing).unwrap_err().contains("two changes meet in one place"));
}

#[test]
fn an_overridden_value_is_edited_where_it_takes_effect() {
    // As Kubernetes' readers have it, a merge key overrides what stands above it.
    let head = "x: &x {image: a:1}\n";
    let above = list(head, "        - name: c\n          image: b:1\n          <<: *x\n", "        - {}\n");
    assert_release(&above, "ns:deployment/a", "c", ("a:1", "a:2"), "a:2");
    let below = list(head, "        - name: c\n          <<: *x\n          image: b:1\n", "        - {}\n");
    assert_release(&below, "ns:deployment/a", "c", ("b:1", "b:2"), "b:2");
    let twice = list("", "        - {name: c, image: a:1, image: b:1}\n", "        - {}\n");
    assert_release(&twice, "ns:deployment/a", "c", ("b:1", "b:2"), "b:2");
}

#[test]
fn an_annotation_that_a_merge_key_brings_is_overridden() {
    let text = "kind: Deployment\nmetadata:\n  name: web\n  namespace: ns\n  annotations: &all\n    a: b\nspec:\n  template:\n    \
                metadata:\n      annotations:\n        <<: *all\n";
    let on = annotate("fluxcd.io/automated", Some("true"));
    let refused = edited(text, &[("ns:deployment/web", vec![on])]).unwrap_err();
    assert!(
        refused.contains("spec.template.metadata.annotations.fluxcd.io/automated of ns:deployment/web"),
        "{refused}"
    );
    let text = "kind: List\nx: &all {fluxcd.io/automated: 'false'}\nitems:\n- kind: Deployment\n  metadata:\n    name: web\n    \
                namespace: ns\n    annotations:\n      <<: *all\n";
    let on = annotate("fluxcd.io/automated", Some("true"));
    let got = edited(text, &[("ns:deployment/web", vec![on])]);
    assert_eq!(got, Ok(format!("{text}      fluxcd.io/automated: 'true'\n")));
    let off = annotate("fluxcd.io/automated", None);
    let refused = edited(text, &[("ns:deployment/web", vec![off])]).unwrap_err();
    assert!(
        refused.ends_with("annotation fluxcd.io/automated comes through a merge key; take it out where it is defined")
    );
}
