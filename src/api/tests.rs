//! Cases of the functions of this room (resourceset §11, T1-T4 and K1), and what the definitions must say.
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::condition::Says;
use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn annotations(pairs: &[(&str, &str)]) -> annotation::Annotations {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

#[test]
fn durations_read_and_print_as_in_go() {
    for (text, printed) in [
        ("30s", "30s"),
        ("8h", "8h0m0s"),
        ("1h2m3.5s", "1h2m3.5s"),
        ("65s", "1m5s"),
        ("300ms", "300ms"),
        (".5s", "500ms"),
        ("1500us", "1.5ms"),
        ("0", "0s"),
        ("2.818583s", "2.818583s"),
        ("+1m", "1m0s"),
    ] {
        let nanos = u64::try_from(duration::parse(text).unwrap()).unwrap();
        assert_eq!(duration::format(Duration::from_nanos(nanos)), printed, "{text}");
    }
    assert_eq!(duration::parse("-5s"), Ok(-5_000_000_000));
    for text in ["10", "", "s", "1d", "1.2.3s", "9999999999h", ".s", "1h "] {
        assert!(duration::parse(text).is_err(), "{text}");
    }
    for (millis, printed) in [(331, "331ms"), (52_400, "52s"), (65_000, "1m5s"), (1_500, "2s"), (0, "0s")] {
        assert_eq!(duration::rounded(Duration::from_millis(millis)), printed);
    }
    assert_eq!(duration::rounded(Duration::from_micros(999_600)), "1s");
}

/// T1
#[test]
fn interval_has_a_default_per_kind_and_annotations_override_it() {
    let every = |pairs: &[(&str, &str)], defaults| annotation::every(&annotations(pairs), defaults);
    assert_eq!(every(&[], annotation::RESOURCE_SET), Some(Duration::from_hours(1)));
    assert_eq!(every(&[], annotation::INPUT_PROVIDER), Some(Duration::from_mins(10)));
    let custom = |value| every(&[(annotation::RECONCILE_EVERY, value)], annotation::RESOURCE_SET);
    assert_eq!(custom("90s"), Some(Duration::from_secs(90)));
    assert_eq!(custom("often"), Some(Duration::from_hours(1)));
    assert_eq!(custom("0"), None);
    assert_eq!(custom("-1m"), None);
    assert_eq!(every(&[(annotation::RECONCILE, "Disabled")], annotation::RESOURCE_SET), None);
}

/// T2
#[test]
fn timeout_has_a_default_per_kind_and_annotations_override_it() {
    let timeout = |pairs: &[(&str, &str)], defaults| annotation::timeout(&annotations(pairs), defaults);
    assert_eq!(timeout(&[], annotation::RESOURCE_SET), Duration::from_mins(5));
    assert_eq!(timeout(&[], annotation::INPUT_PROVIDER), Duration::from_mins(2));
    let custom = |value| timeout(&[(annotation::RECONCILE_TIMEOUT, value)], annotation::RESOURCE_SET);
    assert_eq!(custom("90s"), Duration::from_secs(90));
    assert_eq!(custom("long"), Duration::from_mins(5));
}

/// T3
#[test]
fn only_the_value_disabled_suspends() {
    for (value, disabled) in [("disabled", true), ("DISABLED", true), ("enabled", false), ("false", false), ("", false)]
    {
        assert_eq!(annotation::is_disabled(&annotations(&[(annotation::RECONCILE, value)])), disabled, "{value}");
    }
    assert!(!annotation::is_disabled(&annotations(&[])));
}

/// T4
#[test]
fn history_counts_equal_outcomes_and_keeps_five() {
    let mut all = Vec::new();
    let outcome = |digest: &str, status: &str| history::Outcome {
        digest: digest.to_owned(),
        status: status.to_owned(),
        took: Duration::from_micros(2_818_583),
        metadata: [("inputs".to_owned(), "2".to_owned())].into(),
    };
    assert!(history::latest(&all).is_none());
    history::record(&mut all, outcome("a", "ok"), at(10));
    history::record(&mut all, outcome("a", "failed"), at(20));
    history::record(&mut all, outcome("a", "ok"), at(30));
    assert_eq!(all.len(), 2);
    let latest = serde_json::to_value(history::latest(&all).unwrap()).unwrap();
    assert_eq!(
        latest,
        json!({
            "digest": "a", "firstReconciled": "1970-01-01T00:00:10Z", "lastReconciled": "1970-01-01T00:00:30Z",
            "lastReconciledDuration": "2.818583s", "lastReconciledStatus": "ok", "totalReconciliations": 2,
            "metadata": { "inputs": "2" },
        })
    );
    for digest in ["b", "c", "d", "e", "f"] {
        history::record(&mut all, outcome(digest, "ok"), at(40));
    }
    let digests: Vec<&str> = all.iter().map(|s| s.digest.as_str()).collect();
    assert_eq!(digests, ["f", "e", "d", "c", "b"]);
}

#[test]
fn a_condition_keeps_its_time_until_what_it_says_changes() {
    let mut all = Vec::new();
    condition::set(&mut all, &Says::unknown("Ready", "Progressing", "m"), 1, at(1));
    condition::set(&mut all, &Says::yes("Reconciling", "Progressing", "m"), 1, at(1));
    condition::set(&mut all, &Says::yes("Stalled", "BuildFailed", "m"), 1, at(1));
    condition::set(&mut all, &Says::unknown("Ready", "Progressing", "m"), 2, at(5));
    let kinds: Vec<&str> = all.iter().map(|c| c.type_.as_str()).collect();
    assert_eq!(kinds, ["Stalled", "Reconciling", "Ready"]);
    let ready = condition::get(&all, "Ready").unwrap();
    assert_eq!((ready.observed_generation, ready.last_transition_time.0), (Some(2), at(1)));
    condition::set(&mut all, &Says::unknown("Ready", "Progressing", "other"), 2, at(5));
    assert_eq!(condition::get(&all, "Ready").unwrap().last_transition_time.0, at(5));
    condition::set(&mut all, &Says::no("Ready", "BuildFailed", &"ü".repeat(20_000)), 2, at(6));
    let message = &condition::get(&all, "Ready").unwrap().message;
    assert!(message.len() <= 32_768 && message.ends_with("ü..."));
    condition::remove(&mut all, "Stalled");
    assert!(condition::get(&all, "Stalled").is_none());
}

/// K1
#[test]
fn inventory_entries_name_objects_as_documented() {
    for (id, namespace, name, group, kind) in [
        ("default_podinfo__Service", Some("default"), "podinfo", "", "Service"),
        ("default_podinfo_apps_Deployment", Some("default"), "podinfo", "apps", "Deployment"),
        ("_team1__Namespace", None, "team1", "", "Namespace"),
        (
            "_system__admin_rbac.authorization.k8s.io_ClusterRole",
            None,
            "system:admin",
            "rbac.authorization.k8s.io",
            "ClusterRole",
        ),
    ] {
        let key = inventory::parse(id).unwrap();
        assert_eq!((key.namespace.as_deref(), key.name.as_str()), (namespace, name));
        assert_eq!((key.group.as_str(), key.kind.as_str()), (group, kind));
        assert_eq!(inventory::entry_id(&key), id);
    }
    for id in ["", "a", "a_b", "a_b_c", "a__g_Kind", "a_b_c_"] {
        assert!(inventory::parse(id).is_err(), "{id}");
    }
}

/// K1
#[test]
fn newer_versions_win_in_a_union_and_differences_ignore_versions() {
    let list = |entries: &[(&str, &str)]| inventory::Inventory {
        entries: entries.iter().map(|(id, v)| inventory::Entry { id: (*id).into(), v: (*v).into() }).collect(),
    };
    let (old, new) = (list(&[("c", "v1"), ("a", "v1")]), list(&[("b", "v1"), ("a", "v2")]));
    assert_eq!(old.union(&new), list(&[("a", "v2"), ("b", "v1"), ("c", "v1")]));
    assert_eq!(old.without(&new), list(&[("c", "v1")]).entries);
}

#[test]
fn definitions_carry_the_names_by_which_users_call_the_kinds() {
    let all = definitions();
    let names: Vec<&str> = all.iter().filter_map(|d| d.metadata.name.as_deref()).collect();
    assert_eq!(names, ["resourcesetinputproviders.fluxcd.controlplane.io", "resourcesets.fluxcd.controlplane.io"]);
    let set = serde_json::to_value(&all[1]).unwrap();
    assert_eq!(set["spec"]["names"]["shortNames"], json!(["rset"]));
    assert_eq!(set["spec"]["names"]["categories"], json!(["all", "fluxcd", "fluxcd-appliers"]));
    let version = &set["spec"]["versions"][0];
    let columns: Vec<&str> =
        version["additionalPrinterColumns"].as_array().unwrap().iter().filter_map(|c| c["name"].as_str()).collect();
    assert_eq!(columns, ["Age", "Ready", "Status"]);
    assert!(!serde_json::to_string(&all).unwrap().contains("nullable"));
    let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(
        spec["properties"]["inputs"]["items"]["additionalProperties"],
        json!({ "x-kubernetes-preserve-unknown-fields": true })
    );
    assert_eq!(spec["x-kubernetes-validations"].as_array().unwrap().len(), 2);
    assert_eq!(spec["properties"]["steps"]["maxItems"], json!(20));
}
