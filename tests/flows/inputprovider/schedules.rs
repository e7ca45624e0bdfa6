//! When providers may ask (cases P3, P4, P6).

use super::*;
use crate::rig::{Double, Scripted};

/// A schedule whose only window this year is long over, or not yet open.
fn closed() -> Value {
    let month = (jiff::Timestamp::now().strftime("%m").to_string().parse::<u32>().unwrap() + 5) % 12 + 1;
    json!([{"cron": format!("0 9 1 {month} *"), "timeZone": "Europe/Bucharest", "window": "8h"}])
}

fn service() -> Double {
    Double::start(|_| Scripted::json(&json!({"inputs": [{"id": "1"}]})))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_that_is_none_stalls_until_it_is_mended() {
    let running = Running::start().await;
    let spec = |cron: &str| json!({"type": "Static", "defaultValues": {"a": "b"}, "schedule": [{"cron": cron}]});
    running.apply("p", json!({}), spec("0 9 * * * *"));
    let said = "Reconciliation failed terminally due to configuration error: failed to validate schedule[0]: \
                failed to parse cron spec '0 9 * * * *' with timezone 'UTC': expected exactly 5 fields, found 6: [0 9 * * * *]";
    let object = running.refused("p", "InvalidSchedule", said);
    let stalled = condition(&object, "Stalled");
    assert_eq!((stalled["status"].as_str(), stalled["message"].as_str()), (Some("True"), Some(said)));
    assert!(condition(&object, "Reconciling").is_null());
    running.event("p", "Warning", "InvalidSchedule", said);
    running.apply("p", json!({}), spec("0 9 * * *"));
    let object = running.ready("p");
    assert!(condition(&object, "Stalled").is_null());
    let next = &object["status"]["nextSchedule"];
    assert_eq!(
        (next["cron"].as_str(), next["timeZone"].as_str(), next["window"].as_str()),
        (Some("0 9 * * *"), Some("UTC"), Some("0s"))
    );
    assert!(next["when"].as_str().unwrap().ends_with("T09:00:00Z"));
    let short = json!({"type": "Static", "schedule": [{"cron": "@daily", "window": "3m"}]});
    running.apply("p", json!({}), short);
    let said = "a non-zero window (3m0s) must always be at least twice the timeout (2m0s)";
    running.refused("p", "InvalidSchedule", said);
}

#[tokio::test(flavor = "multi_thread")]
async fn outside_of_all_windows_nothing_is_asked_unless_it_is_forced() {
    let running = Running::start().await;
    let double = service();
    let spec = json!({"type": "ExternalService", "url": double.url(), "insecure": true, "schedule": closed()});
    running.apply("p", json!({}), spec);
    let object = running.wait("p", "it is skipped", |o| condition(o, "Ready")["reason"] == "SkippedDueToSchedule");
    let next = object["status"]["nextSchedule"].clone();
    let want = format!("Reconciliation skipped, next scheduled at {}", next["when"].as_str().unwrap());
    let ready = condition(&object, "Ready");
    assert_eq!((ready["status"].as_str(), ready["message"].as_str()), (Some("True"), Some(want.as_str())));
    assert_eq!(next["window"], "8h0m0s");
    assert!(condition(&object, "Reconciling").is_null() && exported(&object).is_null());
    running.event("p", "Normal", "SkippedDueToSchedule", &want);
    running.request("p", "not-forced");
    assert_eq!(double.seen().len(), 0);
    running
        .annotate("p", json!({"reconcile.fluxcd.io/requestedAt": "forced", "reconcile.fluxcd.io/forceAt": "forced"}));
    let object = running.ready("p");
    assert_eq!((exported(&object), double.seen().len()), (json!([{"id": "1"}]), 1));
    assert_eq!(object["status"]["lastHandledForceAt"], "forced");
    assert_eq!(object["status"]["nextSchedule"], next);
    // a request alone does not force, and the success stays
    let object = running.request("p", "later");
    assert_eq!(
        (condition(&object, "Ready")["reason"].as_str(), double.seen().len()),
        (Some("ReconciliationSucceeded"), 1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn within_a_window_the_interval_rules() {
    let running = Running::start().await;
    let double = service();
    let hour = jiff::Timestamp::now().strftime("%H").to_string();
    let spec = json!({"type": "ExternalService", "url": double.url(), "insecure": true,
                      "schedule": [{"cron": format!("0 {} * * *", hour.parse::<u32>().unwrap()), "window": "23h"}]});
    running.apply("p", json!({"fluxcd.controlplane.io/reconcileEvery": "1s"}), spec);
    running.ready("p");
    eventually("it is asked again and again", || (double.seen().len() > 2).then_some(()));
    assert!(running.ready("p")["status"]["nextSchedule"].is_null());
}
