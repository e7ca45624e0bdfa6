//! What expressions say, how they fail, and that none runs for long (resourceset §6, §11 R3-R5).

use serde_json::json;

use super::*;

fn object() -> Value {
    json!({
        "metadata": { "name": "a", "generation": 3, "labels": { "app": "x" } },
        "spec": { "replicas": 2, "ratio": 2.5, "hosts": ["a", "b", "c"] },
        "status": { "observedGeneration": 3, "conditions": [{ "type": "Ready", "status": "True", "observedGeneration": 3 }] },
        "data": { "gate": "b3BlbmVk" },
    })
}

fn evaluate(text: &str) -> Result<bool, String> {
    Expression::parse(text).map_err(|e| e.to_string())?.evaluate(&object()).map_err(|e| e.to_string())
}

#[test]
fn expressions_have_the_documented_environment() {
    for text in [
        "metadata.generation == status.observedGeneration",
        "spec.replicas == 2 && spec.replicas < 2.5 && spec.ratio > 2",
        "status.conditions.filter(c, c.type == 'Ready').all(c, c.status == 'True')",
        "status.conditions.exists(c, c.type == 'Ready') && status.conditions.exists_one(c, c.type == 'Ready')",
        "string(base64.decode(data.gate)) == 'opened'",
        "base64.encode(b'opened') == data.gate",
        "spec.hosts.map(h, h.upperAscii()).join('-') == 'A-B-C'",
        "has(status.conditions) && !has(status.phase)",
        "status.?phase.orValue('none') == 'none'",
        "optional.of(1).hasValue()",
        "sets.contains(spec.hosts, ['a']) && sets.equivalent(['a', 'a'], ['a']) && !sets.intersects(['z'], spec.hosts)",
        "'a-b'.split('-').size() == 2 && 'abc'.charAt(1) == 'b' && 'abc'.indexOf('c') == 2",
        "'abcabc'.lastIndexOf('c') == 5 && ' a '.trim() == 'a' && 'abc'.substring(1) == 'bc'",
        "'abc'.replace('b', 'x') == 'axc' && 'aXc'.lowerAscii() == 'axc' && 'abc'.reverse() == 'cba'",
        "strings.quote('a') == '\"a\"' && '%s-%d'.format(['a', 1]) == 'a-1'",
        "'abc'.matches('^a.c$') && 'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.contains('b')",
        "timestamp('2024-01-01T00:00:00Z').getHours() == 0 && duration('1h') == duration('60m')",
        "type(spec.replicas) == int && int('7') == 7 && size(spec.hosts) == 3",
        "{'a': 1}['a'] == 1 && 'a' in {'a': 1} && 'b' in spec.hosts",
        "int('7') == 7u && 1 < 1.5 && 1u == 1.0 && !(1 == '1') && null != 0",
        "nothing.at.all == 1 || metadata.name == 'a'",
        "metadata.name == 'a' || nothing == 1",
        "!(spec.replicas == 3 && nothing == 1) && !(nothing == 1 && spec.replicas == 3)",
        "spec.hosts.exists(h, h == 'c' || missing == 1)",
        "[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6] && [3, 1].map(x, x > 1, x) == [3]",
        "{'b': 1, 'a': 2}.map(k, k) == ['a', 'b'] && metadata.labels.all(k, k == 'app')",
        "!has(metadata.name.first) && has(metadata.labels.app) && !has({'a': 1}.b)",
        "metadata.?labels[?'none'].orValue('x') == 'x' && metadata.?labels.app.value() == 'x'",
        "optional.none().or(optional.of(2)).value() == 2 && optional.ofNonZeroValue('').orValue('d') == 'd'",
        "optional.of(2).optMap(x, x + 1).value() == 3 && !optional.none().optFlatMap(x, nothing).hasValue()",
        "[?optional.none(), ?optional.of(1)] == [1] && {?'a': optional.none()} == {}",
        "type(null) == null_type && type(1) != type('1') && type(type(1)) == type && type([]) == list",
        "string(1.0) == '1' && string(1.5) == '1.5' && double('1e3') == 1000.0 && uint(3) == 3u",
        "string(duration('1h30m')) == '5400s' && string(timestamp('2024-01-01T00:00:00Z')) == '2024-01-01T00:00:00Z'",
        "timestamp('2024-03-01T23:30:00Z').getDate('+01:00') == 2 && timestamp(0).getDayOfWeek() == 4",
        "timestamp('2024-03-01T00:00:00Z') - timestamp('2024-02-29T00:00:00Z') == duration('24h')",
        "timestamp('2024-03-01T00:00:00Z').getHours('America/New_York') == 19",
        "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'abc'.split('') == ['a', 'b', 'c'] && 'a'.split('a', 0) == []",
        "'ein Übel'.indexOf('b') == 5 && 'aaa'.indexOf('a', 1) == 1 && 'aaa'.lastIndexOf('a', 1) == 1",
        "'%.2f %e %x %X %o %b'.format([1.125, 1500.0, 255, 'k', 8, 5]) == '1.12 1.500000e+03 ff 6B 10 101'",
        "'%s %%'.format([[1, 'a', null]]) == '[1, a, null] %'",
        "-spec.replicas == -2 && 7 % 4 == 3 && 7 / 2 == 3 && 7.0 / 2.0 == 3.5 && [1] + [2] == [1, 2]",
        "dyn(1) == 1 && bool('True') && bytes('a') == b'a' && size('日本') == 2 && size(b'日本') == 6",
        ".metadata.name == 'a' // a remark",
    ] {
        assert_eq!(evaluate(text), Ok(true), "{text}");
    }
    assert_eq!(evaluate("spec.replicas > 5"), Ok(false));
}

#[test]
fn parts_that_never_change_fail_when_they_are_parsed() {
    for (text, words) in [
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("true || bool('maybe')", "type conversion error from 'string' to 'bool'"),
        ("timestamp('now') == timestamp(0)", "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
        ("x.matches('[') || true", "error parsing regexp: unclosed character class: `[`"),
        ("Pod{} == 1", "unknown type: Pod"),
    ] {
        assert_eq!(evaluate(text).unwrap_err(), format!("failed to create CEL program: {words}"));
    }
    let number = evaluate("spec.replicas").unwrap_err();
    assert_eq!(number, "failed to evaluate CEL expression as boolean: 'spec.replicas'");
}

#[test]
fn evaluations_fail_with_the_words_of_the_original() {
    for (text, words) in [
        ("status.phase == 'x'", "no such key: phase"),
        ("nothing == 1", "no such attribute(s): nothing"),
        ("nothing.at['all'] == 1", "no such attribute(s): nothing.at.all"),
        ("has(nothing.at.all)", "no such attribute(s): nothing.at.all"),
        ("nothing.at[0].all == 1", "no such attribute(s): nothing.at"),
        ("metadata.name.first == 1", "no such key: first"),
        ("spec.hosts[3] == ''", "index out of bounds: 3"),
        ("spec.hosts['a'] == ''", "unsupported index type 'string' in list"),
        ("spec.replicas / 0 == 1", "division by zero"),
        ("spec.replicas % 0 == 1", "modulus by zero"),
        ("9223372036854775807 + spec.replicas == 1", "integer overflow"),
        ("spec.replicas + 'a' == 1", "no such overload"),
        ("spec.replicas < 'a'", "no such overload"),
        ("metadata < metadata", "no such overload: _<_"),
        ("metadata + metadata == 1", "no such overload: _+_"),
        ("!metadata.name", "no such overload: !_"),
        ("metadata.name && true", "no such overload"),
        ("metadata.name ? true : false", "no such overload"),
        ("1 in metadata.name", "no such overload"),
        ("metadata.name.all(c, true)", "got 'types.String', expected iterable type"),
        ("spec.hosts.all(h, h.size() > nothing)", "no such attribute(s): nothing"),
        ("math.greatest(1, 2) == 2", "no such attribute(s): math"),
        ("lists.range(2) == [0, 1]", "no such attribute(s): lists"),
        ("[1].isSorted()", "no such overload: isSorted"),
        ("ip('1.2.3.4') == 1", "no such overload: ip"),
        ("quantity('1') == 1", "no such overload: quantity"),
        ("'a'.find('a') == ''", "no such overload: find"),
        ("'a'.charAt('0') == ''", "no such overload: charAt(string, string)"),
        ("'abc'.charAt(4) == ''", "index out of range: 4"),
        ("'abc'.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"),
        ("int(metadata.name) == 1", "type conversion error from 'string' to 'int'"),
        ("optional.none().value() == 1", "optional.none() dereference"),
    ] {
        let wanted = format!("failed to evaluate the CEL expression '{text}': {words}");
        assert_eq!(evaluate(text).unwrap_err(), wanted);
    }
}

#[test]
fn what_is_no_expression_is_shown_with_the_place_of_the_error() {
    let text = evaluate("metadata.name ==").unwrap_err();
    let start = "failed to parse the CEL expression 'metadata.name ==': ERROR: <input>:1:17: Syntax error: mismatched input \
                 '<EOF>' expecting {";
    assert!(text.starts_with(start), "{text}");
    assert!(text.ends_with("\n | metadata.name ==\n | ................^"), "{text}");
    let text = evaluate("has(metadata)").unwrap_err();
    assert!(
        text.ends_with("ERROR: <input>:1:5: invalid argument to has() macro\n | has(metadata)\n | ....^"),
        "{text}"
    );
    for wrong in ["'abc", "a # b", "a & b", r"'\q'", "x'y'", "`a`", "\"a\nb\"", "a = b", "日本 == 1"] {
        let text = evaluate(wrong).unwrap_err();
        assert!(text.contains("Syntax error: token recognition error at: '"), "{wrong}: {text}");
    }
}

/// R3
#[test]
fn the_last_applied_form_is_hidden_and_other_annotations_are_visible() {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "namespace": "x", "annotations": { LAST_APPLIED: "{}", "other": "seen" } },
        "data": { "a": "b" },
    });
    let seen = visible(object, "own");
    let is = |text: &str| Expression::parse(text).unwrap().evaluate(&seen).unwrap();
    assert!(is("!('kubectl.kubernetes.io/last-applied-configuration' in metadata.annotations)"));
    assert!(is("metadata.annotations.other == 'seen' && data.a == 'b'"));
}

/// R4
#[test]
fn data_of_a_secret_is_visible_in_the_own_namespace_only() {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "namespace": "own" }, "data": { "gate": "b3BlbmVk" },
    });
    let open = Expression::parse("string(base64.decode(data.gate)) == 'opened'").unwrap();
    assert_eq!(open.evaluate(&visible(secret.clone(), "own")), Ok(true));
    let error = open.evaluate(&visible(secret, "other")).unwrap_err().to_string();
    assert!(error.ends_with("no such attribute(s): data.gate"), "{error}");
}

#[test]
fn our_own_kinds_are_ready_when_their_ready_conditions_speak_of_the_newest_generation() {
    let ready = |conditions: Value| {
        let object = json!({ "metadata": { "generation": 2 }, "status": { "conditions": conditions } });
        Expression::own_kinds().evaluate(&object)
    };
    let condition = |kind: &str, status: &str, generation: i64| json!({ "type": kind, "status": status, "observedGeneration": generation });
    assert_eq!(ready(json!([])), Ok(true));
    assert_eq!(ready(json!([condition("Ready", "True", 2), condition("Stalled", "False", 1)])), Ok(true));
    assert_eq!(ready(json!([condition("Ready", "True", 1)])), Ok(false));
    assert_eq!(ready(json!([condition("Ready", "Unknown", 2)])), Ok(false));
    let none = Expression::own_kinds().evaluate(&json!({ "metadata": { "generation": 1 } })).unwrap_err();
    assert!(none.to_string().ends_with("no such attribute(s): status.conditions"), "{none}");
}

#[test]
fn brackets_in_quotes_do_not_count_and_brackets_after_quotes_do() {
    let many = "(".repeat(400);
    for quoted in [
        format!("'{many}' != ''"),
        format!("'''{many}''' != ''"),
        format!(r"r'{many}\' != ''"),
        format!(r"'\'{many}' != ''"),
        format!(r#"br"{many}\" != b''"#),
        format!("true // {many}"),
    ] {
        assert_eq!(evaluate(&quoted), Ok(true), "{quoted:.40}");
    }
    for hidden in [
        format!("''{many}"),
        format!(r"r'\'{many}'"),
        format!("'''a'''{many}'"),
        format!("// '\n{many}'"),
        format!("// \r'\n{many}'"),
    ] {
        let error = evaluate(&hidden).unwrap_err();
        assert!(error.contains("more than 32 brackets within brackets"), "{hidden:.40}: {error:.200}");
    }
    for unclear in ['\'', '"'] {
        for before in ["a", "1r", "0x", "aar", "&", "=", r"'\q' ", "`"] {
            let text = format!("{before}{unclear} {many} {unclear}");
            assert!(Expression::parse(&text).is_err(), "{text:.40}");
        }
    }
}

#[test]
fn a_loop_over_a_large_object_is_cheap_enough() {
    let items: Vec<Value> = (0..10_000).map(|i| json!({ "name": format!("item-{i}"), "ready": true })).collect();
    let object = json!({ "status": { "items": items } });
    for text in [
        "status.items.all(i, i.ready && i.name.startsWith('item-'))",
        "status.items.filter(i, i.ready).map(i, i.name).size() == 10000",
        "status.items.exists_one(i, i.name == 'item-9999')",
    ] {
        assert_eq!(Expression::parse(text).unwrap().evaluate(&object), Ok(true), "{text}");
    }
}

#[test]
fn no_expression_runs_for_minutes_or_fills_memory() {
    let digits = "[0,1,2,3,4,5,6,7,8,9]";
    let nested = |macro_name: &str, inner: &str| {
        (0..12).fold(inner.to_owned(), |inner, i| format!("{digits}.{macro_name}(x{i}, {inner})"))
    };
    let chain = |step: &str| format!("[{digits}]{}", step.repeat(30));
    let cases = [
        nested("all", "true"),
        nested("exists", "false"),
        nested("exists", "1 / 0 == 1"),
        format!("size({}) == 0", nested("map", "1")),
        format!("size({}) == 0", nested("filter", "true")),
        nested("exists_one", "true"),
        format!("size({}) == 0", chain(".map(x, x + x)")),
        format!("size({}) == 0", chain(".map(x, [x, x])")),
        format!("['ab']{}.size() == 0", ".map(x, x.replace('a', x))".repeat(30)),
        format!("['\"']{}.size() == 0", ".map(x, strings.quote(x))".repeat(30)),
        format!("['ab']{}.size() == 0", ".map(x, [x, x, x].join(x))".repeat(30)),
        format!("['ab']{}.size() == 0", ".map(x, '%s%s%s'.format([x, x, x]))".repeat(30)),
        "1".to_owned() + &" + 1".repeat(4_000),
        "!".repeat(8_000) + "true",
        "[".repeat(8_000),
        "(".repeat(90) + "true" + &")".repeat(90),
        "a".to_owned() + &".a".repeat(7_000),
        "true".to_owned() + &" && true".repeat(2_000),
        "'".to_owned() + &"!".repeat(8_000),
        "1".to_owned() + &"+1".repeat(299) + " == 1",
        "-".repeat(299) + "1 == 1",
        "a".to_owned() + &"?a:a".repeat(140),
        "a".to_owned() + &"[0]".repeat(290),
    ];
    for case in cases {
        let shown: String = case.chars().take(80).collect();
        if let Err(error) = evaluate(&case) {
            assert!(error.len() < 20_000, "{shown}");
        }
    }
    assert!(Expression::parse(&"a".repeat((16 << 10) + 1)).is_err());
}
