//! Results that keep what was exported of them before, by their labels (resourceset §8.9). Functions of data.

use std::collections::HashMap;

use serde_json::Value;

use super::InputSet;

/// Decides of each result by its labels: `label` skips where it is present, `!label` where it is absent. What is skipped
/// is exported as it was before, but for its labels; and left out when it is new.
pub(super) fn skip(results: Vec<InputSet>, rules: &[String], before: &[InputSet]) -> Vec<InputSet> {
    if rules.is_empty() || results.is_empty() {
        return results;
    }
    let known: HashMap<&str, &InputSet> = before.iter().filter_map(|set| Some((id(set)?, set))).collect();
    results
        .into_iter()
        .filter_map(|result| {
            if !is_skipped(&result, rules) {
                return Some(result);
            }
            let mut kept = (*known.get(id(&result)?)?).clone();
            // labels are always the present ones (errata 10)
            kept.remove("labels");
            kept.extend(result.get("labels").map(|labels| ("labels".to_owned(), labels.clone())));
            Some(kept)
        })
        .collect()
}

fn id(set: &InputSet) -> Option<&str> {
    set.get("id").and_then(Value::as_str)
}

fn is_skipped(set: &InputSet, rules: &[String]) -> bool {
    let labels = set.get("labels").and_then(Value::as_array);
    let has = |label: &str| labels.is_some_and(|labels| labels.iter().any(|found| found.as_str() == Some(label)));
    rules.iter().any(|rule| match rule.strip_prefix('!') {
        Some(label) => !has(label),
        None => has(rule),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sets(value: Value) -> Vec<InputSet> {
        value.as_array().unwrap().iter().map(|set| set.as_object().cloned().unwrap()).collect()
    }

    #[test]
    fn what_is_skipped_stays_as_it_was_and_what_is_new_waits() {
        let before = sets(json!([{"id": "1", "sha": "old"}, {"id": "2", "sha": "old", "labels": ["ready"]}]));
        for (rules, results, want) in [
            (json!([]), json!([{"id": "1", "sha": "new"}]), json!([{"id": "1", "sha": "new"}])),
            // present: kept with its present labels
            (
                json!(["hold"]),
                json!([{"id": "1", "sha": "new", "labels": ["hold"]}, {"id": "2", "sha": "new"}]),
                json!([{"id": "1", "sha": "old", "labels": ["hold"]}, {"id": "2", "sha": "new"}]),
            ),
            // new: left out
            (json!(["hold"]), json!([{"id": "3", "sha": "new", "labels": ["hold"]}]), json!([])),
            // absent: kept, and its labels are gone
            (json!(["!ready"]), json!([{"id": "2", "sha": "new"}]), json!([{"id": "2", "sha": "old"}])),
            (
                json!(["!ready"]),
                json!([{"id": "2", "sha": "new", "labels": ["ready"]}]),
                json!([{"id": "2", "sha": "new", "labels": ["ready"]}]),
            ),
            // any rule is enough
            (json!(["!ready", "hold"]), json!([{"id": "9", "labels": ["ready", "hold"]}]), json!([])),
        ] {
            let rules: Vec<String> = serde_json::from_value(rules).unwrap();
            assert_eq!(skip(sets(results), &rules, &before), sets(want), "{rules:?}");
        }
    }
}
