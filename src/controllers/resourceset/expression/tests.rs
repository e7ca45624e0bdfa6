//! What expressions say, how they fail, and that none runs for long.

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
    ] {
        assert_eq!(evaluate(text), Ok(true), "{text}");
    }
    assert_eq!(evaluate("spec.replicas > 5"), Ok(false));
}

#[test]
fn failures_are_worded_as_users_know_them() {
    for (text, words) in [
        ("status.phase == 'x'", "failed to evaluate the CEL expression 'status.phase == 'x'': no such key: phase"),
        ("nothing == 1", "failed to evaluate the CEL expression 'nothing == 1': no such attribute(s): nothing"),
        ("spec.replicas / 0 == 1", "failed to evaluate the CEL expression 'spec.replicas / 0 == 1': division by zero"),
        ("spec.replicas", "failed to evaluate CEL expression as boolean: 'spec.replicas'"),
        ("int('x') == 1", "failed to create CEL program: type conversion error from 'string' to 'int'"),
        ("true || bool('maybe')", "failed to create CEL program: type conversion error from 'string' to 'bool'"),
    ] {
        assert_eq!(evaluate(text).unwrap_err(), words, "{text}");
    }
    let text = evaluate("metadata.name ==").unwrap_err();
    assert!(text.starts_with("failed to parse the CEL expression 'metadata.name ==': ERROR: <input>:1:"), "{text}");
    assert!(text.contains("Syntax error: "), "{text}");
    for absent in [
        "math.greatest(1, 2) == 2",
        "[1].isSorted()",
        "ip('1.2.3.4') == 1",
        "quantity('1') == 1",
        "'a'.find('a') == ''",
    ] {
        assert!(evaluate(absent).unwrap_err().starts_with("failed to evaluate"), "{absent}");
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
        match evaluate(&case) {
            Ok(_) => assert!(case.starts_with("(("), "{shown}"),
            Err(error) => assert!(!error.is_empty(), "{shown}"),
        }
    }
    assert!(Expression::parse(&"a".repeat(MAX_BYTES + 1)).is_err());
}
