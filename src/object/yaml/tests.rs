//! Streams as text against values. What Go's libraries make of them is compared in `tests/yaml_reference.rs`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn one(text: &str) -> Value {
    let mut found = read(text.as_bytes(), Dialect::Kubernetes, &Limits::default()).expect("a valid stream");
    assert_eq!(found.len(), 1, "{text}");
    found.remove(0).value
}

fn refusal(text: &str, limits: Limits) -> String {
    read(text.as_bytes(), Dialect::Kubernetes, &limits).expect_err("a refused stream").to_string()
}

#[test]
fn plain_scalars_mean_what_flux_v1_and_kubectl_take_them_for() {
    for (text, want) in [
        ("yes", json!(true)),
        ("Off", json!(false)),
        ("y", json!(true)),
        ("yEs", json!("yEs")),
        ("~", json!(null)),
        ("", json!(null)),
        ("0777", json!(511)),
        ("0o17", json!(15)),
        ("08", json!(8)),
        ("0x1F", json!(31)),
        ("0b11", json!(3)),
        ("1_000", json!(1000)),
        ("1e3", json!(1000)),
        (".5", json!(0.5)),
        ("1.10", json!(1.1)),
        ("12e4567", json!("12e4567")),
        ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
        ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
        ("1:20", json!("1:20")),
        ("2020-01-01", json!("2020-01-01")),
        ("\"yes\"", json!("yes")),
        ("'0777'", json!("0777")),
        ("!!str yes", json!("yes")),
        ("!!int \"7\"", json!(7)),
        ("!!binary aGk=", json!("hi")),
        ("!custom 7", json!("7")),
        ("!custom {a: 1}", json!({"a": 1})),
    ] {
        assert_eq!(one(&format!("v: {text}\n")), json!({ "v": want }), "{text}");
    }
}

#[test]
fn a_text_that_ends_with_the_stream_gets_no_line_end_that_is_not_there() {
    for (text, want) in [
        ("v: |\n  a\n  b", "a\nb"),
        ("v: |\n  a\n  b\n", "a\nb\n"),
        ("v: |+\n  a", "a"),
        ("v: |-\n  a", "a"),
        ("v: >\n  a\n  b", "a b"),
        ("v: |\n  a\n  ", "a\n"),
        ("v: |\n  a\n     ", "a\n   "),
        ("v: |\n  a\n# b", "a\n"),
        ("v: |\r\n  a\r\n  b", "a\nb"),
    ] {
        assert_eq!(one(text), json!({ "v": want }), "{text:?}");
    }
}

#[test]
fn keys_that_look_like_other_things_become_texts() {
    assert_eq!(one("y: 1\noff: 2\n0777: 3\n1.50: 4\n"), json!({"true": 1, "false": 2, "511": 3, "1.5": 4}));
    assert_eq!(refusal("~: 1\n", Limits::default()), "yaml: line 1: null is no usable mapping key; quote it");
    assert_eq!(
        refusal("a: 1\n? [b]\n: 1\n", Limits::default()),
        "yaml: line 2: invalid map key: only scalars can be keys"
    );
}

#[test]
fn kustomize_knows_two_booleans_and_prefers_explicit_keys() {
    let text = "a: &x {p: 1, q: yes}\nb: {p: 2, <<: *x}\n";
    let found = read(text.as_bytes(), Dialect::Kustomize, &Limits::default()).expect("a valid stream");
    assert_eq!(found[0].value, json!({"a": {"p": 1, "q": "yes"}, "b": {"p": 2, "q": "yes"}}));
    assert_eq!(one(text), json!({"a": {"p": 1, "q": true}, "b": {"p": 1, "q": true}}), "for kubectl position counts");
}

#[test]
fn documents_know_their_lines_and_lists_those_of_their_items() {
    let text =
        "# head\n---\n\na: 1\n---\nkind: PodList\nitems:\n- kind: Pod\n\n- kind: Pod\n---\nkind: Pod\nitems: [1]\n";
    let found = read(text.as_bytes(), Dialect::Kubernetes, &Limits::default()).expect("a valid stream");
    let lines: Vec<_> = found.iter().map(|d| (d.line, d.item_lines.clone())).collect();
    assert_eq!(lines, [(4, vec![]), (6, vec![8, 10]), (12, vec![])]);
}

#[test]
fn errors_name_the_line() {
    for (text, want) in [
        ("a: 1\nb: [1\n", "yaml: line 2: "),
        ("a: 1\nb: *nope\n", "yaml: line 2: "),
        ("a: 1\nb: .inf\n", "yaml: line 2: .inf has no form in JSON"),
        ("a: &x [*x]\n", "yaml: line 1: an anchor's value contains itself"),
        ("a:\n  <<: 1\n", "yaml: line 2: map merge requires map or sequence of maps as the value"),
        ("a: 1\nb: !!int x\n", "yaml: line 2: cannot decode `x` as a !!int"),
    ] {
        let got = refusal(text, Limits::default());
        assert!(got.starts_with(want), "{text:?} gave {got}");
    }
    let invalid = read(b"a: 1\nb: \xff\n", Dialect::Kubernetes, &Limits::default()).expect_err("no UTF-8");
    assert_eq!(invalid.to_string(), "yaml: line 2: invalid UTF-8");
}

#[test]
fn every_bound_is_named_when_it_is_passed() {
    let small = Limits { bytes: 1000, documents: 3, depth: 5, nodes: 50 };
    assert_eq!(
        refusal(&"#".repeat(1001), small),
        "yaml: line 1: the stream has 1001 bytes, more than the limit of 1000"
    );
    assert_eq!(refusal("--- a\n--- b\n--- c\n--- d\n", small), "yaml: line 4: more than 3 documents in one stream");
    assert_eq!(refusal("[[[[[[[1]]]]]]]", small), "yaml: line 1: collections nested deeper than 5");
    assert_eq!(refusal(&"- 1\n".repeat(51), small), "yaml: line 50: more than 50 nodes in one stream");
    assert!(one("[[[[1]]]]").is_array());
}

#[test]
fn nesting_far_beyond_the_bound_is_refused_without_exhausting_the_stack() {
    let no_bound = Limits { depth: usize::MAX - 10, ..Limits::default() };
    for text in ["[".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(100_000)] {
        assert!(refusal(&text, no_bound).starts_with("yaml: line 1: "));
    }
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..20 {
        bomb += &format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 9].join(", "));
    }
    assert!(refusal(&bomb, Limits::default()).ends_with("document contains excessive aliasing"));
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 200].join(", "));
    assert!(refusal(&long, Limits::default()).ends_with("document contains excessive aliasing"), "bytes count too");
}

#[test]
fn a_hundred_thousand_documents_are_read() {
    let text = "kind: A\n---\n".repeat(100_000);
    let found = read(text.as_bytes(), Dialect::Kubernetes, &Limits::default()).expect("a valid stream");
    assert_eq!(found.iter().filter(|d| !d.value.is_null()).count(), 100_000);
}

#[test]
fn encodings_with_a_mark_are_decoded() {
    let text = "a: é\n";
    let utf16 = |mark: [u8; 2], unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.into_iter().chain(text.encode_utf16().flat_map(unit)).collect()
    };
    let marked = ["\u{feff}", text].concat().into_bytes();
    for bytes in [marked, utf16([0xff, 0xfe], u16::to_le_bytes), utf16([0xfe, 0xff], u16::to_be_bytes)] {
        let found = read(&bytes, Dialect::Kubernetes, &Limits::default()).expect("a valid stream");
        assert_eq!(found[0].value, json!({"a": "é"}));
    }
}

#[test]
fn written_documents_have_the_layout_of_flux_v1() {
    let value = json!({
        "metadata": {"name": "x", "annotations": {"a/b": "true", "n": "1", "t": "a: b", "s": "0777"}},
        "kind": "Deployment",
        "spec": {"list": [{"b": 1, "a": [1, 2]}, [], {}], "none": null, "text": "one\ntwo\n", "time": "1:20"},
    });
    let want = "kind: Deployment\nmetadata:\n  annotations:\n    a/b: \"true\"\n    \"n\": \"1\"\n    s: \"0777\"\n    \
                t: 'a: b'\n  name: x\nspec:\n  list:\n  - a:\n    - 1\n    - 2\n    b: 1\n  - []\n  - {}\n  none: null\n  \
                text: |\n    one\n    two\n  time: '1:20'\n";
    assert_eq!(write(&value), want);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ -~\n\t]{0,20}",
        "[-+0-9_.:eExXobyYnN~<>|&*!%@`#,{}\\[\\]'\" \n]{0,8}",
        prop::sample::select(vec![
            "yes",
            "off",
            "null",
            "~",
            "<<",
            "0777",
            "1e3",
            ".inf",
            "---",
            "...",
            "- a",
            "a: b",
            "2020-01-01",
            "1_0",
            "=",
            "\n",
            " \n",
            "a\n\n",
            "\na",
            "\u{85}",
            "\u{2028}",
            "\u{feff}",
            "a\r\nb"
        ])
        .prop_map(Into::into),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("whole numbers come back as integers", |f| f.fract() != 0.0).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_in_both_dialects(value in value()) {
        let written = write(&value);
        for dialect in [Dialect::Kubernetes, Dialect::Kustomize] {
            let found = read(written.as_bytes(), dialect, &Limits::default()).map(|mut d| d.remove(0).value);
            prop_assert_eq!(found.as_ref(), Ok(&value), "{:?}", written);
        }
    }

    #[test]
    fn no_text_makes_the_loader_panic_or_pass_its_bounds(text in "[-a&*x:<>|?!%@`#,{}\\[\\]'\"\\\\ \t\n0-9~.]{0,200}") {
        let limits = Limits { bytes: 400, documents: 10, depth: 8, nodes: 100 };
        if let Ok(found) = read(text.as_bytes(), Dialect::Kubernetes, &limits) {
            prop_assert!(found.len() <= 10);
            prop_assert!(found.iter().map(|d| nodes(&d.value)).sum::<usize>() <= 200);
        }
    }
}

fn nodes(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(nodes).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(nodes).sum::<usize>(),
        _ => 1,
    }
}
