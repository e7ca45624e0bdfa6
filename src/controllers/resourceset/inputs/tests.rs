//! Cases of combining inputs (resourceset §11, I1-I12).

use super::*;
use crate::api::resourceset::{InputSource, InputStrategy};

fn sets(values: Value) -> Vec<InputSet> {
    serde_json::from_value(values).unwrap()
}

fn provider(name: &str, inputs: Value) -> Source {
    Source { kind: "ResourceSetInputProvider".into(), namespace: "ns".into(), name: name.into(), inputs: sets(inputs) }
}

fn spec(inputs: Value, strategy: Option<(&str, Option<bool>)>) -> ResourceSetSpec {
    ResourceSetSpec {
        inputs: sets(inputs),
        input_strategy: strategy
            .map(|(name, include_empty_providers)| InputStrategy { name: name.into(), include_empty_providers }),
        inputs_from: Some(vec![InputSource::default()]),
        ..ResourceSetSpec::default()
    }
}

fn combined(name: &str, spec: &ResourceSetSpec, providers: Vec<Source>) -> Value {
    match combine(("ns", name), spec, providers).unwrap() {
        Combined::Once => json!("once"),
        Combined::Sets(sets) => json!(sets),
    }
}

fn block(kind: &str, name: &str) -> Value {
    json!({ "apiVersion": "fluxcd.controlplane.io/v1", "kind": kind, "name": name, "namespace": "ns" })
}

/// I1, I7
#[test]
fn flatten_is_the_default_and_marks_each_set_with_its_source_in_the_order_of_names() {
    let providers = || {
        vec![
            provider("b", json!([{ "id": "1", "k": 1 }])),
            provider("a", json!([{ "id": "2" }, { "id": "0", "provider": "mine" }])),
            provider("a", json!([{ "id": "2" }, { "id": "0", "provider": "mine" }])),
        ]
    };
    let kind = "ResourceSetInputProvider";
    let wanted = json!([
        { "t": "x", "provider": block("ResourceSet", "set") },
        { "id": "2", "provider": block(kind, "a") },
        { "id": "0", "provider": block(kind, "a") },
        { "id": "1", "k": 1, "provider": block(kind, "b") },
    ]);
    assert_eq!(combined("set", &spec(json!([{ "t": "x" }]), None), providers()), wanted);
    assert_eq!(combined("set", &spec(json!([{ "t": "x" }]), Some(("Flatten", None))), providers()), wanted);
}

/// I2
#[test]
fn permute_combines_each_with_each_and_names_the_combinations() {
    let ids = |value: Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|set| set["id"].as_str().unwrap().to_owned()).collect()
    };
    let spec = spec(json!([]), Some(("Permute", None)));
    let two = json!([{ "n": 1 }, { "n": 2 }]);
    let all = combined("set", &spec, vec![provider("provider-1", two.clone()), provider("provider-2", two.clone())]);
    assert_eq!(ids(all.clone()), ["2075461889", "2075527426", "2076379394", "2076444931"]);
    assert_eq!(all[1]["provider_1"]["n"], json!(1));
    assert_eq!(all[1]["provider_2"]["n"], json!(2));
    assert_eq!(all[1]["provider_2"]["provider"]["name"], json!("provider-2"));
    assert_eq!(all[1].as_object().unwrap().len(), 3);

    let own = ResourceSetSpec { inputs: sets(two), ..spec };
    let one = json!([{ "n": 1 }]);
    assert_eq!(ids(combined("rset", &own, vec![provider("rsip", one.clone())])), ["563152006", "563676295"]);
    assert_eq!(ids(combined("tenants", &own, vec![provider("app-0", one)])), ["964888023", "965477848"]);
}

/// I3, I4
#[test]
fn an_empty_source_is_passed_over_unless_it_is_to_count() {
    let providers = || vec![provider("a", json!([{ "n": 1 }])), provider("b", json!([]))];
    let permute = |include| Some(("Permute", include));
    let inputs = || json!([{ "k": 1 }]);
    assert_eq!(combined("s", &spec(inputs(), permute(None)), providers()).as_array().unwrap().len(), 1);
    assert_eq!(combined("s", &spec(inputs(), permute(Some(true))), providers()), json!([]));
    let full = || vec![provider("a", json!([{ "n": 1 }]))];
    assert_eq!(combined("s", &spec(json!([]), permute(Some(true))), full()), json!([]), "the set itself counts");
    assert_eq!(combined("s", &spec(json!([]), permute(None)), vec![provider("b", json!([]))]), json!([]));
}

/// I5
#[test]
fn an_unknown_strategy_is_an_error() {
    let error = combine(("ns", "s"), &spec(json!([]), Some(("Zip", None))), vec![]).unwrap_err();
    assert_eq!(error.to_string(), "unknown input strategy: 'Zip'");
}

/// I6
#[test]
fn permutations_have_a_bound() {
    let many = vec![InputSet::new(); 100_000];
    let spec = ResourceSetSpec { inputs: many, ..spec(json!([]), Some(("Permute", None))) };
    let error = combine(("ns", "test"), &spec, vec![]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to get inputs from ResourceSet/test: adding provider 'test' with 100000 inputs would exceed the maximum \
         allowed permutations. max: 10000, got: 100000"
    );
}

#[test]
fn permutations_have_a_bound_on_their_size() {
    let large = "x".repeat(400_000);
    let sets = || json!([{ "v": large }, { "v": large }]);
    let providers: Vec<Source> = (0..8).map(|i| provider(&format!("p{i}"), sets())).collect();
    let error = combine(("ns", "s"), &spec(json!([]), Some(("Permute", None))), providers).unwrap_err().to_string();
    let wanted = "failed to get inputs from ResourceSetInputProvider/p5: adding provider 'p5' with 2 inputs would make \
                  permutations of ";
    assert!(error.starts_with(wanted) && error.ends_with("more than the limit of 67108864"), "{error}");
}

/// I9
#[test]
fn a_name_of_which_nothing_is_left_cannot_be_permuted() {
    for name in ["$+<=>^|~", "._-", ""] {
        let providers = vec![provider(name, json!([{}]))];
        let error = combine(("ns", "s"), &spec(json!([]), Some(("Permute", None))), providers).unwrap_err();
        assert!(error.to_string().ends_with(&format!("normalized provider name is empty: '{name}'")), "{error}");
    }
}

/// I10
#[test]
fn names_are_normalized() {
    for (name, wanted) in [
        ("My.ResourceSet", "my_resourceset"),
        ("_a---b_-_", "a_b"),
        ("A0..B", "a0_b"),
        ("__", ""),
        ("", ""),
        ("simple", "simple"),
        ("with space", "with_space"),
        ("tab\tand\nline", "tab_and_line"),
        ("no\u{a0}break", "no_break"),
        ("a$b+c", "abc"),
        ("a(b)[c]", "a_b_c"),
        ("¿que?", "que"),
        ("en–dash", "en_dash"),
        ("ümlaut", "mlaut"),
        ("100%", "100"),
        ("a«b»", "a_b"),
        ("日本-1", "1"),
    ] {
        assert_eq!(normalized(name), wanted, "{name}");
    }
}

/// I11
#[test]
fn identifiers_are_checksums_of_names() {
    for (name, id) in [
        ("", "1"),
        ("foo", "42074437"),
        ("bar", "39649590"),
        ("baz", "40173886"),
        ("6.0.4", "48955639"),
        ("patch-1", "183501423"),
        ("patch-2", "183566960"),
    ] {
        assert_eq!(id_of(name), id, "{name}");
    }
}

/// I12 (numbers; defaults are the provider's)
#[test]
fn numbers_come_through_as_they_were() {
    let inputs = json!([{ "i": 9_007_199_254_740_993_i64, "f": 1.5, "n": { "z": null } }]);
    let all = combined("s", &spec(inputs, None), vec![]);
    assert_eq!(all[0]["i"], json!(9_007_199_254_740_993_i64));
    assert_eq!(all[0]["n"], json!({ "z": null }));
}

#[test]
fn without_inputs_and_sources_templates_are_rendered_once_and_with_empty_sources_never() {
    let none = ResourceSetSpec::default();
    assert_eq!(combined("s", &none, vec![]), json!("once"));
    assert_eq!(combined("s", &spec(json!([]), None), vec![]), json!([]));
}
