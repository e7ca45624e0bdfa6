//! Streams into objects.

use super::*;

fn read(stream: &str) -> Result<Vec<String>, String> {
    let found = read_objects(stream.as_bytes(), &"a.yaml".into(), false, &Limits::default());
    let line = |o: &Arc<Object>| format!("{} {}", o.id(), o.origin());
    found.map(|objects| objects.iter().map(line).collect()).map_err(|e| e.to_string())
}

#[test]
fn documents_without_a_kind_are_dropped() {
    let stream =
        "version: 1\n---\n# nothing\n---\nkind:\na: 1\n---\nkind: ''\n---\nkind: A\nmetadata: {name: x}\n---\n";
    assert_eq!(read(stream), Ok(vec!["<cluster>:a/x a.yaml:10".into()]));
    assert_eq!(read(""), Ok(vec![]));
}

#[test]
fn lists_are_taken_apart_and_items_know_their_lines() {
    let stream = "kind: ServiceList\nitems:\n- kind: Service\n  metadata: {name: a, namespace: demo}\n- kind: List\n  \
                  items: [{kind: Pod, metadata: {name: b}}]\n---\nkind: List\n";
    assert_eq!(read(stream), Ok(vec!["demo:service/a a.yaml:3".into(), "<cluster>:pod/b a.yaml:5".into()]));
}

#[test]
fn a_named_object_whose_kind_ends_in_list_is_an_object() {
    let stream = "kind: AllowList\nmetadata: {name: x}\nspec: {}\n";
    assert_eq!(read(stream), Ok(vec!["<cluster>:allowlist/x a.yaml:1".into()]));
}

#[test]
fn what_is_no_object_is_refused_with_file_and_line() {
    for (stream, want) in [
        (
            "kind: List\nitems:\n- a: 1\n",
            "parsing YAML doc from \"a.yaml\": a.yaml:3: element 0 of items in a List has no kind",
        ),
        (
            "kind: A\n---\nhello\n",
            "parsing YAML doc from \"a.yaml\": a.yaml:3: expected a mapping with apiVersion, kind and metadata, found a string",
        ),
        (
            "kind: A\nmetadata:\n  name: [1]\n",
            "parsing YAML doc from \"a.yaml\": a.yaml:1: expected a string in field metadata.name, found a list",
        ),
        ("kind: A\nb: [\n", "scanning multidoc from \"a.yaml\": yaml: line 2: unclosed bracket '['"),
    ] {
        assert_eq!(read(stream), Err(want.into()), "{stream}");
    }
}
