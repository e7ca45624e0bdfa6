//! The layout of emitted YAML by examples; `tests/template_reference.rs` compares it with the original's library.

use serde_json::json;

use super::{emit, emit_unfolded};

#[test]
fn lists_stand_at_the_column_of_their_key_and_keys_in_natural_order() {
    let value = json!({"a10": [], "a2": {}, "b_x": [[1, "y"], {"k": null}], "b.z": 1.5, "b-y": "<< inputs.a >>"});
    let text = "a2: {}\na10: []\nb-y: << inputs.a >>\nb.z: 1.5\nb_x:\n- - 1\n  - \"y\"\n- k: null\n";
    assert_eq!(emit(&value), text);
}

#[test]
fn texts_that_mean_something_to_yaml_are_quoted() {
    for (text, written) in [
        ("yes", "\"yes\""),
        ("012", "\"012\""),
        ("12:30:45", "\"12:30:45\""),
        ("2024-01-01", "\"2024-01-01\""),
        ("1.2.3", "1.2.3"),
        (">=1", "'>=1'"),
        ("it's << x >>", "it's << x >>"),
        ("a: 'b'", "'a: ''b'''"),
        ("a\tb", "\"a\\tb\""),
        ("😀 \"<< x >>\"", "\"\\U0001F600 \\\"<< x >>\\\"\""),
        ("", "\"\""),
    ] {
        assert_eq!(emit(&json!(text)), format!("{written}\n"));
    }
}

#[test]
fn texts_of_several_lines_are_literal_unless_a_space_ends_a_line() {
    assert_eq!(emit(&json!({"k": "a\nb"})), "k: |-\n  a\n  b\n");
    assert_eq!(emit(&json!({"k": "a\n\n"})), "k: |+\n  a\n\n");
    assert_eq!(emit(&json!({"k": "  a\nb\n"})), "k: |2\n    a\n  b\n");
    assert_eq!(emit(&json!({"k": "a \nb"})), "k: \"a \\nb\"\n");
}

#[test]
fn a_long_text_is_continued_on_the_next_line_only_where_that_is_asked_for() {
    let text = "word ".repeat(18) + "end";
    let folded = emit(&json!({"k": text.clone()}));
    assert_eq!(folded.lines().count(), 2);
    assert!(folded.lines().nth(1).is_some_and(|line| line.starts_with("  word")));
    assert_eq!(emit_unfolded(&json!({"k": text.clone()})), format!("k: {text}\n"));
}

#[test]
fn numbers_have_the_forms_of_the_original() {
    for (number, written) in
        [("1e3", "1000"), ("1.5", "1.5"), ("1e21", "1e+21"), ("1234567.5", "1.2345675e+06"), ("1e-5", "1e-05")]
    {
        let value: serde_json::Value = serde_json::from_str(number).unwrap();
        assert_eq!(emit(&value), format!("{written}\n"));
    }
}
