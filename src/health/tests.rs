//! The tables of `tests/data/health`: one file for verdicts, one for v1's roll-out numbers.

use serde_json::Value;

use super::{Rules, RunningJob, assess, rollout};

fn cases(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/data/health/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn check_verdict(case: &Value, rules: &Rules) {
    let got = assess(&case["object"], rules);
    let got = (got.verdict.word(), got.reason.as_str(), got.message.as_str());
    let want = |field: &str| case[field].as_str().unwrap_or("");
    let message = case["message"].as_str().unwrap_or(got.2);
    assert_eq!(got, (want("verdict"), want("reason"), message), "{}", case["name"]);
}

#[test]
fn each_kind_gets_the_verdict_of_the_table() {
    let rules = Rules::at("2026-01-01T00:01:00Z".parse().unwrap());
    let all = cases("verdicts.yaml");
    assert!(all.len() > 50, "the table has {} rows", all.len());
    all.iter().for_each(|case| check_verdict(case, &rules));
}

#[test]
fn a_running_job_is_current_where_kstatus_is_asked_for() {
    let rules =
        Rules { now: "2026-01-01T00:01:00Z".parse().unwrap(), running_job: RunningJob::Current, awaited: false };
    cases("running-jobs.yaml").iter().for_each(|case| check_verdict(case, &rules));
}

#[test]
fn rollout_numbers_and_words_are_those_of_v1() {
    for case in cases("rollouts.yaml") {
        let got = rollout(&case["object"]);
        let got = got.map_or(Value::Null, |r| serde_json::json!({ "Status": r.status, "Rollout": r.rollout }));
        assert_eq!(got, case["want"], "{}", case["name"]);
    }
}
