//! Annotations put in, replaced and taken out, in every style.

use super::*;

const ON: &str = "fluxcd.io/automated";
const TAG: &str = "fluxcd.io/tag.c";

fn on() -> Op {
    annotate(ON, Some("true"))
}

/// Asserts what the metadata of an object become.
fn assert_metadata(metadata: &str, ops: &[Op], want: &str) {
    let whole = |metadata: &str| {
        format!("apiVersion: apps/v1\nkind: Deployment\nmetadata:{metadata}spec:\n  # s\n  replicas: 1\n")
    };
    for crlf in [false, true] {
        let eols = |text: String| if crlf { text.replace('\n', "\r\n") } else { text };
        let got = edited(&eols(whole(metadata)), &[("ns:deployment/web", ops.to_vec())]);
        assert_eq!(got, Ok(eols(whole(want))), "{metadata}");
    }
    // As the last thing in the stream, without a line end, where that is not a part of the last value.
    if metadata.contains(": |") {
        return;
    }
    let head = "kind: Deployment\nmetadata:";
    let got = edited(&format!("{head}{}", metadata.trim_end()), &[("ns:deployment/web", ops.to_vec())]);
    assert_eq!(got.as_deref().map(str::trim_end), Ok(format!("{head}{want}").trim_end()), "{metadata}");
}

#[test]
fn the_first_annotation_is_added_in_the_style_of_the_metadata() {
    for (metadata, want) in [
        // The first one.
        (
            "\n  name: web\n  namespace: ns\n",
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated: 'true'\n",
        ),
        (
            "\n    name: web\n    namespace: ns # n\n",
            "\n    name: web\n    namespace: ns # n\n    annotations:\n        fluxcd.io/automated: 'true'\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  labels:\n    a: b\n  finalizers:\n  - x\n",
            "\n  name: web\n  namespace: ns\n  labels:\n    a: b\n  finalizers:\n  - x\n  annotations:\n    fluxcd.io/automated: 'true'\n",
        ),
        (" {name: web, namespace: ns}\n", " {name: web, namespace: ns, annotations: {fluxcd.io/automated: 'true'}}\n"),
        (
            " {\"name\": \"web\", \"namespace\": \"ns\"}\n",
            " {\"name\": \"web\", \"namespace\": \"ns\", \"annotations\": {\"fluxcd.io/automated\": \"true\"}}\n",
        ),
        (
            "\n  annotations:\n  name: web\n  namespace: ns\n",
            "\n  annotations:\n    fluxcd.io/automated: 'true'\n  name: web\n  namespace: ns\n",
        ),
        (
            "\n  annotations: # none\n  name: web\n  namespace: ns\n",
            "\n  annotations: # none\n    fluxcd.io/automated: 'true'\n  name: web\n  namespace: ns\n",
        ),
        (
            "\n  annotations: {}\n  name: web\n  namespace: ns\n",
            "\n  annotations: {fluxcd.io/automated: 'true'}\n  name: web\n  namespace: ns\n",
        ),
        (
            "\n  annotations: ~\n  name: web\n  namespace: ns\n",
            "\n  annotations: {fluxcd.io/automated: 'true'}\n  name: web\n  namespace: ns\n",
        ),
        (
            " {annotations: , name: web, namespace: ns}\n",
            " {annotations: {fluxcd.io/automated: 'true'} , name: web, namespace: ns}\n",
        ),
    ] {
        assert_metadata(metadata, &[on()], want);
    }
}

#[test]
fn annotations_are_added_to_others_and_replaced_in_the_style_they_have() {
    for (metadata, want) in [
        // One more.
        (
            "\n  annotations:\n    # why\n    a: b # x\n    # tail\n\n  name: web\n  namespace: ns\n",
            "\n  annotations:\n    # why\n    a: b # x\n    fluxcd.io/automated: 'true'\n    # tail\n\n  name: web\n  namespace: ns\n",
        ),
        (
            "\n  namespace: ns\n  name: web\n  annotations:\n      a: |\n        b\n\n        c\n\n",
            "\n  namespace: ns\n  name: web\n  annotations:\n      a: |\n        b\n\n        c\n      fluxcd.io/automated: 'true'\n\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations: {a: b}\n",
            "\n  name: web\n  namespace: ns\n  annotations: {a: b, fluxcd.io/automated: 'true'}\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations: {\n    \"a\": \"b\"\n  }\n",
            "\n  name: web\n  namespace: ns\n  annotations: {\n    \"a\": \"b\",\n    \"fluxcd.io/automated\": \"true\"\n  }\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations: {\n    a: b, # c\n  }\n",
            "\n  name: web\n  namespace: ns\n  annotations: {\n    a: b, # c\n    fluxcd.io/automated: 'true',\n  }\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations: {\n    a: b # c\n  }\n",
            "\n  name: web\n  namespace: ns\n  annotations: {\n    a: b, # c\n    fluxcd.io/automated: 'true'\n  }\n",
        ),
        // Another value.
        (
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated: \"false\" # x\n    a: b\n",
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated: \"true\" # x\n    a: b\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated: true\n",
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated: 'true'\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated:\n    a: b\n",
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated: 'true'\n    a: b\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated: 'true'\n",
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated: 'true'\n",
        ),
    ] {
        assert_metadata(metadata, &[on()], want);
    }
}

#[test]
fn values_are_plain_where_they_can_only_be_strings() {
    let metadata = "\n  name: web\n  namespace: ns\n  annotations:\n    a: b\n";
    for (value, want) in [
        ("glob:master-*", "glob:master-*"),
        ("semver:~1.0", "semver:~1.0"),
        ("regexp:^v(.*)$", "regexp:^v(.*)$"),
        ("regexp:a=b", "regexp:a=b"),
        ("regexp:^\\w{7}$", "'regexp:^\\w{7}$'"),
        ("*", "'*'"),
        ("1.0", "'1.0'"),
        ("", "''"),
        ("it's", "'it''s'"),
        ("a: b # c", "'a: b # c'"),
        ("two\nlines", "\"two\\nlines\""),
    ] {
        let want = format!("{metadata}    {TAG}: {want}\n");
        assert_metadata(metadata, &[annotate(TAG, Some(value))], &want);
    }
}

#[test]
fn annotations_are_taken_out_with_their_lines_and_the_last_takes_the_mapping() {
    let off = annotate(ON, None);
    for (metadata, want) in [
        (
            "\n  name: web\n  namespace: ns\n  annotations:\n    a: b\n    fluxcd.io/automated: 'true' # x\n    c: d\n",
            "\n  name: web\n  namespace: ns\n  annotations:\n    a: b\n    c: d\n",
        ),
        (
            "\n  annotations:\n    fluxcd.io/automated: 'true'\n    c: d\n  name: web\n  namespace: ns\n",
            "\n  annotations:\n    c: d\n  name: web\n  namespace: ns\n",
        ),
        (
            "\n  annotations:\n    fluxcd.io/automated: 'true'\n  name: web\n  namespace: ns\n",
            "\n  name: web\n  namespace: ns\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations: {fluxcd.io/automated: 'true'} # x\n",
            "\n  name: web\n  namespace: ns\n",
        ),
        (" {name: web, annotations: {fluxcd.io/automated: 'true'}, namespace: ns}\n", " {name: web, namespace: ns}\n"),
        (
            " {name: web, namespace: ns, annotations: {a: b, fluxcd.io/automated: 'true', c: d}}\n",
            " {name: web, namespace: ns, annotations: {a: b, c: d}}\n",
        ),
        (
            " {name: web, namespace: ns, annotations: {a: b, fluxcd.io/automated: 'true'}}\n",
            " {name: web, namespace: ns, annotations: {a: b}}\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations:\n    a: b\n    ? fluxcd.io/automated\n    : 'true'\n    c: d\n",
            "\n  name: web\n  namespace: ns\n  annotations:\n    a: b\n    c: d\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated: |-\n      first\n\n      last\n    c: d\n",
            "\n  name: web\n  namespace: ns\n  annotations:\n    c: d\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated: first\n\n      last\n    c: d\n",
            "\n  name: web\n  namespace: ns\n  annotations:\n    c: d\n",
        ),
        (
            "\n  name: web\n  namespace: ns\n  annotations:\n    fluxcd.io/automated: |+\n      first\n\n\n    c: d\n",
            "\n  name: web\n  namespace: ns\n  annotations:\n    c: d\n",
        ),
        ("\n  name: web\n  namespace: ns\n  annotations: {}\n", "\n  name: web\n  namespace: ns\n  annotations: {}\n"),
        ("\n  name: web\n  namespace: ns\n  annotations:\n", "\n  name: web\n  namespace: ns\n  annotations:\n"),
        ("\n  name: web\n  namespace: ns\n", "\n  name: web\n  namespace: ns\n"),
    ] {
        assert_metadata(metadata, std::slice::from_ref(&off), want);
    }
}

#[test]
fn several_changes_are_made_at_once() {
    let start = "\n  name: web\n  namespace: ns\n  annotations:\n    a: b\n    fluxcd.io/automated: 'true'\n";
    for (ops, want) in [
        (vec![annotate(ON, None), annotate(TAG, Some("glob:*"))], "    a: b\n    fluxcd.io/tag.c: glob:*\n"),
        (
            vec![annotate(TAG, Some("x")), annotate("z", Some("y"))],
            "    a: b\n    fluxcd.io/automated: 'true'\n    fluxcd.io/tag.c: x\n    z: 'y'\n",
        ),
        (
            vec![annotate("a", None), annotate(ON, None), annotate("z", Some("n")), annotate("x", Some("1"))],
            "    z: 'n'\n    x: '1'\n",
        ),
        (vec![annotate("z", Some("1")), annotate("z", None)], "    a: b\n    fluxcd.io/automated: 'true'\n"),
        (vec![annotate("a", Some("c")), annotate(ON, None)], "    a: c\n"),
    ] {
        let want = format!("\n  name: web\n  namespace: ns\n  annotations:\n{want}");
        assert_metadata(start, &ops, &want);
    }
    let flow = " {name: web, annotations: {a: b, c: d, e: f, g: h}, namespace: ns}\n";
    for (ops, want) in [
        (vec![annotate("c", None), annotate("g", None)], "{a: b, e: f}"),
        (vec![annotate("e", None), annotate("g", None)], "{a: b, c: d}"),
        (vec![annotate("a", None), annotate("c", None), annotate("z", Some("x"))], "{e: f, g: h, z: x}"),
        (vec![annotate("g", None), annotate("z", Some("x"))], "{a: b, c: d, e: f, z: x}"),
    ] {
        assert_metadata(flow, &ops, &flow.replace("{a: b, c: d, e: f, g: h}", want));
    }
    let all = ["a", "c", "e", "g"].map(|key| annotate(key, None));
    assert_metadata(flow, &all, " {name: web, namespace: ns}\n");
}

#[test]
fn a_form_that_cannot_be_changed_line_by_line_is_refused() {
    let text = "kind: Deployment\nmetadata:\n  name: web\n  namespace: ns\n  annotations:\n    ? a\n    : &k b\n    &l fluxcd.io/automated: x\n";
    let refused = edited(text, &[("ns:deployment/web", vec![annotate(ON, None)])]).unwrap_err();
    assert_eq!(
        refused,
        "ns:deployment/web, line 8: the entry shares a line with something else; give it one of its own"
    );
}
