//! The routes that v1 did not have.

use std::sync::Arc;

use crate::object::{Gvk, Key, Origin};
use crate::operator::{Action, Done, Failure, FailureKind, GcSummary, ObjectResult, Step, Target, Why};

use super::*;

fn target(name: &str) -> Arc<Target> {
    let key =
        Key { group: "apps".into(), kind: "Deployment".into(), namespace: Some("shop".into()), name: name.into() };
    let origin = Some(Origin { file: "apps/web.yaml".into(), line: 7, generated: false });
    let class = Target::class_of(&key.group, &key.kind);
    Arc::new(Target { id: key.id(), key, gvk: Gvk::new("apps/v1", "Deployment"), class, origin, want: None })
}

pub(super) fn plan() -> Plan {
    let step = |name, action| Step { target: target(name), action, clash: false, take_over: true };
    Plan {
        revision: "9f".into(),
        steps: vec![step("web", Action::Apply(Why::Changed)), step("db", Action::Keep)],
        gc: GcSummary { managed: 2, off: None },
        ..Plan::default()
    }
}

pub(super) fn object() -> ObjectView {
    ObjectView {
        id: "shop:deployment/web".parse().unwrap(),
        group: "apps".into(),
        kind: "Deployment".into(),
        file: Some("apps/web.yaml".into()),
        line: Some(7),
        generated: false,
        result: "unchanged".into(),
        error: None,
        owner: None,
    }
}

pub(super) fn outcome() -> Outcome {
    let failure = Failure { kind: FailureKind::Denied, message: "shop:deployment/web (apps/web.yaml:7): no".into() };
    let result =
        |name, done| ObjectResult { target: target(name), done, elapsed: Duration::from_millis(5), warnings: vec![] };
    Outcome {
        revision: "9f".into(),
        results: vec![result("web", Done::Failed(failure)), result("db", Done::Unchanged)],
        managed: 2,
        ..Outcome::default()
    }
}

#[tokio::test]
async fn the_plan_is_told_as_json_and_as_text() {
    let rig = Rig::usual().await;
    let plan = rig.get_json("/api/fluxd/v1/plan?last=true").await;
    let step = json!({ "id": "shop:deployment/web", "group": "apps", "kind": "Deployment", "action": "apply",
                       "reason": "changed", "file": "apps/web.yaml", "line": 7, "generated": false, "clash": false,
                       "takeOver": true });
    assert_eq!((&plan["steps"], &plan["kept"]), (&json!([step]), &json!(1)));
    assert_eq!(rig.get_json("/api/fluxd/v1/plan?last=true&all=true").await["steps"].as_array().unwrap().len(), 2);
    assert!(rig.asked().is_empty());
    let text = rig.send(Method::GET, "/api/fluxd/v1/plan", Some("text/plain"), "").await.text().await.unwrap();
    assert!(text.starts_with("apply  shop:deployment/web (changed) [apps/web.yaml:7]\n1 unchanged\n"), "{text}");
}

#[tokio::test]
async fn a_fresh_plan_tells_field_by_field_what_would_change() {
    let rig = Rig::usual().await;
    let plan = rig.get_json("/api/fluxd/v1/plan?diff=true&all=true").await;
    let diff = json!([{ "path": "/spec/replicas", "before": 1, "after": 2 }]);
    assert_eq!((&plan["steps"][0]["diff"], &plan["fresh"]), (&diff, &json!(true)));
    assert_eq!(plan["steps"][1]["diff"], Value::Null, "what is kept does not change");
    assert_eq!(rig.asked(), ["fresh plan", "diff shop:deployment/web"]);
}

#[tokio::test]
async fn objects_and_traces_name_file_and_line() {
    let rig = Rig::usual().await;
    let objects = rig.get_json("/api/fluxd/v1/objects").await;
    assert_eq!((&objects["objects"][0]["file"], &objects["objects"][0]["line"]), (&json!("apps/web.yaml"), &json!(7)));
    let trace = rig.get_json("/api/fluxd/v1/trace?id=shop:deployment/web").await;
    assert_eq!(trace["object"]["id"], "shop:deployment/web");
    assert_eq!(rig.get("/api/fluxd/v1/trace?id=web").await.status(), 400);
    assert_eq!(rig.asked(), ["trace shop:deployment/web"]);
}

#[tokio::test]
async fn the_outcome_names_file_line_and_error_of_each_object() {
    let rig = Rig::usual().await;
    let outcome = rig.get_json("/api/fluxd/v1/outcome").await;
    let object = &outcome["objects"][0];
    assert_eq!(object["error"], json!({ "kind": "denied", "message": "shop:deployment/web (apps/web.yaml:7): no" }));
    assert_eq!(
        (&object["file"], &object["line"], &object["result"]),
        (&json!("apps/web.yaml"), &json!(7), &json!("failed"))
    );
    assert_eq!(outcome["counts"], json!({ "failed": 1, "unchanged": 1 }));
    assert_eq!(outcome["success"], json!(false));
    assert_eq!(rig.get_json("/api/fluxd/v1/outcome?all=true").await["objects"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn held_deletes_are_told_and_approved_by_their_digest() {
    let rig = Rig::usual().await;
    let held = rig.get_json("/api/fluxd/v1/deletes").await;
    assert_eq!(held[0]["digest"], "abc");
    assert_eq!(held[0]["deletes"][0]["reason"], "volume-claim");
    let approve = |digest: &str| format!("/api/fluxd/v1/deletes/{digest}/approve");
    assert_eq!(rig.send(Method::POST, &approve("abc"), None, "").await.status(), 202);
    assert_eq!(rig.send(Method::POST, &approve("xyz"), None, "").await.status(), 404);
    assert_eq!(rig.send(Method::GET, &approve("abc"), None, "").await.status(), 404);
    assert_eq!(rig.asked(), ["approve abc", "approve xyz"]);
}

#[tokio::test]
async fn pause_and_resume_are_seen_in_the_status() {
    let rig = Rig::usual().await;
    rig.send(Method::POST, "/api/fluxd/v1/pause", None, "").await;
    let status = rig.get_json("/api/fluxd/v1/status").await;
    assert_eq!(status["pausedSince"], "1970-01-01T00:00:00Z");
    assert_eq!((&status["heldDeletes"], &status["git"]["status"]), (&json!(1), &json!("ready")));
    rig.send(Method::POST, "/api/fluxd/v1/resume", None, "").await;
    assert_eq!(rig.get_json("/api/fluxd/v1/status").await["pausedSince"], Value::Null);
}

#[tokio::test]
async fn the_document_is_served() {
    let rig = Rig::usual().await;
    assert_eq!(rig.get_json("/api/fluxd/v1/openapi.json").await["info"]["title"], "fluxd");
    assert_eq!(rig.get_json("/api/fluxd/v1/progress").await["stage"], "idle");
}
