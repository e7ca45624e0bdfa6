//! Layouts that editors of YAML trip over: only the value's bytes change.

use super::*;

/// A Deployment with `{}` in the place of what stands behind `image:`.
fn deployment(container: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: ns\nspec:\n  template:\n    spec:\n      \
         containers:\n{container}"
    )
}

#[test]
fn only_the_bytes_of_the_value_change() {
    for (container, old, new) in [
        ("      - name: c\n        image: a:1\n", "a:1", "a:2"),
        ("      - image: a:1 # pinned\n        name: c\n", "a:1", "a:2"),
        ("            -   name:   c\n                image:    a:1   \n", "a:1", "a:2"),
        ("      - name: c\n        image: 'a:1'\n", "'a:1'", "'a:2'"),
        ("      - name: c\n        image: \"a:1\"\n", "\"a:1\"", "\"a:2\""),
        ("      - name: c\n        image: \"a\\u003a1\"\n", "\"a\\u003a1\"", "\"a:2\""),
        ("      - name: c\n        image: a:1", "a:1", "a:2"),
        ("      - {name: c, image: a:1}\n", "a:1", "a:2"),
        ("      - {\"name\":\"c\",\"image\":\"a:1\"}\n", "\"a:1\"", "\"a:2\""),
        ("      - {\n          image: 'a:1', # here\n          name: c\n        }\n", "'a:1'", "'a:2'"),
        ("        [{name: c, image: a:1}]\n", "a:1", "a:2"),
        ("      - name: c\n        image: &main a:1\n", "a:1", "a:2"),
        ("      - name: c\n        image: !!str a:1\n", "a:1", "a:2"),
        ("      - name: c\n        image: !!str &x \"a:1\"\n", "\"a:1\"", "\"a:2\""),
        ("      - name: c\n        image:\n          a:1\n", "a:1", "a:2"),
        ("      - name: c\n        image: # the newest\n          'a:1'\n", "'a:1'", "'a:2'"),
        ("      - name: c\n        image: >-\n          a:1\n        tty: true\n", "a:1", "a:2"),
        ("      - name: c\n        image: |-\n          a:1\n\n\n        tty: true\n", "a:1", "a:2"),
        ("      - name: c\n        args:\n        - |\n          image: a:0\n\n        image: a:1\n", "a:1", "a:2"),
        ("      - name: c\n        ? image\n        : a:1\n", "a:1", "a:2"),
        ("      - name: c\n        \"image\": a:1\n", "a:1", "a:2"),
        ("      - name: \u{1F680}\n        image: x\n      - name: c\n        image: a:1 # \u{e9}\n", "a:1", "a:2"),
        ("      - name: c\n        image: a:1\t\n        env:\t\n        - name: a.b/c\n", "a:1", "a:2"),
        ("      - name: c\n        image: a:1\n\n\n   \n", "a:1", "a:2"),
    ] {
        let text = deployment(container);
        for text in [text.clone(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
            assert_release(&text, "ns:deployment/web", "c", (old, new), "a:2");
        }
    }
}

#[test]
fn the_document_of_the_object_is_found_among_others() {
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: ns}\ndata: {image: 'a:0'}\n";
    let web = deployment("      - {name: c, image: a:1}\n");
    for text in [
        format!("---\n{other}---\n{web}---\n{}", web.replace("namespace: ns", "namespace: other")),
        format!("{other}--- # note\n{web}...\n---\n"),
        format!("# head\n%YAML 1.1\n---\n{web}...\n# between\n---\n{other}"),
        format!("---\n---\n# nothing\n---\nplain text\n---\n{web}---"),
        format!("%TAG !e! tag:example.com,2000:\n---\n!e!x {{}}\n---\n{web}"),
    ] {
        assert_release(&text, "ns:deployment/web", "c", ("a:1", "a:2"), "a:2");
    }
    let text = format!("{other}---\n{web}");
    let missing = release(&text.replace("name: web", "name: \"we\\x62\""), "ns:deployment/web", "c", "a:2");
    assert!(missing.unwrap().contains("a:2"), "names may be written with escapes");
    let absent = edited(&text, &[("ns:deployment/api", vec![])]);
    assert_eq!(absent.unwrap_err(), "manifest not found: ns:deployment/api");
}

#[test]
fn elements_of_lists_are_found() {
    let item = deployment("      - {name: c, image: a:1}\n");
    let indented = item.replace('\n', "\n  ");
    let other = indented.replace("name: web", "name: api").replace("a:1", "b:1");
    let text = format!("apiVersion: v1\nkind: List\nitems:\n- {other}\n- {indented}\n");
    assert_release(&text, "ns:deployment/web", "c", ("a:1", "a:2"), "a:2");
    let nested = format!(
        "kind: List\napiVersion: v1\nitems:\n- kind: DeploymentList\n  items:\n  - {}\n",
        item.replace('\n', "\n    ")
    );
    assert_release(&nested, "ns:deployment/web", "c", ("a:1", "a:2"), "a:2");
}

#[test]
fn a_value_that_could_be_taken_for_something_else_gets_quotes() {
    let release = "apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata: {name: r, namespace: ns}\nspec:\n  values:\n    \
                   image: a\n    tag: TAG # t\n";
    for (old, new, want) in [
        ("v1", "1.10", "'1.10'"),
        ("1.10.0", "1.11.0", "1.11.0"),
        ("'1.10'", "1.11", "'1.11'"),
        ("\"1.10\"", "v2", "\"v2\""),
        ("v1", "v2", "v2"),
        ("!!str 1.10", "1.11", "!!str 1.11"),
        ("v1", "1e5", "'1e5'"),
        ("v1", "0x1F", "'0x1F'"),
        ("v1", "1_000", "'1_000'"),
        ("v1", "2020-01-01", "'2020-01-01'"),
        ("v1", "null", "'null'"),
        ("v1", "on", "'on'"),
        ("v1", "1.2.3-rc.1", "1.2.3-rc.1"),
    ] {
        let text = release.replace("TAG", old);
        let got = edited(&text, &[("ns:helmrelease/r", vec![set("spec/values/tag", new)])]);
        assert_eq!(got, Ok(release.replace("TAG", want)), "{old} to {new}");
    }
}

#[test]
fn a_block_scalar_that_keeps_its_line_end_becomes_an_ordinary_one() {
    let text = deployment("      - name: c\n        image: | # why\n          a:1\n        tty: true\n");
    let got = edited(&text, &[("ns:deployment/web", vec![set("spec/template/spec/containers/0/image", "a:2")])]);
    assert_eq!(got, Ok(text.replace("| # why\n          a:1\n", "a:2 # why\n")));
}

#[test]
fn a_text_that_is_there_already_changes_nothing() {
    let text = deployment("      - {name: c, image: \"a\\u003a1\"}\n");
    let same = edited(&text, &[("ns:deployment/web", vec![set("spec/template/spec/containers/0/image", "a:1")])]);
    assert_eq!(same.as_ref(), Ok(&text));
}

#[test]
fn what_is_no_scalar_or_not_there_is_refused_with_its_line() {
    let text = format!("# one\n---\n{}", deployment("      - {name: c, image: {x: y}}\n"));
    for (path, want) in [
        (
            "spec/template/spec/containers/0/image",
            "ns:deployment/web, line 12: unable to resolve path spec.template.spec.containers.0.image: it is no scalar",
        ),
        (
            "spec/template/spec/containers/1/image",
            "ns:deployment/web, line 12: unable to resolve path spec.template.spec.containers.1.image: there is no 1",
        ),
        ("spec/nothing", "ns:deployment/web, line 9: unable to resolve path spec.nothing: there is no nothing"),
    ] {
        assert_eq!(edited(&text, &[("ns:deployment/web", vec![set(path, "x")])]).unwrap_err(), want);
    }
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let refused = edit(&utf16, &[], &Limits::default()).unwrap_err();
    assert_eq!(refused.to_string(), "yaml: line 1: files in UTF-16 are not edited; convert it to UTF-8");
}
