//! v1's fixtures, byte for byte, and the tables of `tests/data/report`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;

fn text(value: &impl serde::Serialize) -> String {
    String::from_utf8(go_json(value).unwrap()).unwrap()
}

fn cases(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/data/report/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn json_is_escaped_as_go_escapes_it_and_ends_without_a_newline() {
    let value = json!({ "b": "<cluster>&<all>\u{2028}\u{2029}\"é\\", "a": [1, null, {}] });
    assert_eq!(text(&value), r#"{"a":[1,null,{}],"b":"\u003ccluster\u003e\u0026\u003call\u003e\u2028\u2029\"é\\"}"#);
}

fn controller() -> ControllerStatus {
    let live = json!({
        "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "shop", "labels": { "app": "web" },
                      "annotations": { "helm.fluxcd.io/antecedent": "shop:helmrelease/web" } },
        "spec": { "replicas": 2, "template": { "spec": { "containers": [{ "name": "web", "image": "example.org/web:2.0" }] } } },
        "status": { "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2 },
    });
    let workload = Workload::from_live(&live).unwrap();
    let container = &workload.containers.as_ref().unwrap()[0];
    ControllerStatus {
        containers: vec![Container {
            name: container.name.clone(),
            current: ImageInfo::named(&container.image),
            latest_filtered: ImageInfo::default(),
        }],
        id: workload.id,
        read_only: ReadOnly::No,
        status: workload.status,
        rollout: workload.rollout,
        sync_error: String::new(),
        antecedent: workload.antecedent,
        labels: Some(workload.labels),
        automated: true,
        locked: false,
        ignore: false,
        policies: [("automated", "true"), ("tag.web", "semver:~2.0")].map(|(k, v)| (k.into(), v.into())).into(),
    }
}

#[test]
fn a_workload_in_a_list_is_written_as_v1_writes_it() {
    assert_eq!(
        text(&controller()),
        r#"{"ID":"shop:deployment/web","Containers":[{"Name":"web","Current":{"ID":"example.org/web:2.0","Labels":{}},"LatestFiltered":{"ID":"","Labels":{}}}],"ReadOnly":"","Status":"ready","Rollout":{"Desired":2,"Updated":2,"Ready":2,"Available":2,"Outdated":0,"Messages":null},"SyncError":"","Antecedent":"shop:helmrelease/web","Labels":{"app":"web"},"Automated":true,"Locked":false,"Ignore":false,"Policies":{"automated":"true","tag.web":"semver:~2.0"}}"#
    );
}

#[test]
fn a_workload_of_which_little_is_known_keeps_every_field() {
    let mut bare = controller();
    (bare.containers, bare.antecedent, bare.labels) = (Vec::new(), None, None);
    (bare.read_only, bare.policies) = (ReadOnly::NotInRepo, BTreeMap::new());
    bare.rollout.messages = vec!["quota".into()];
    assert_eq!(
        text(&bare),
        r#"{"ID":"shop:deployment/web","Containers":[],"ReadOnly":"NotInRepo","Status":"ready","Rollout":{"Desired":2,"Updated":2,"Ready":2,"Available":2,"Outdated":0,"Messages":["quota"]},"SyncError":"","Antecedent":"","Labels":null,"Automated":true,"Locked":false,"Ignore":false,"Policies":{}}"#
    );
}

#[test]
fn live_objects_become_workloads_as_the_table_says() {
    for case in cases("workloads.yaml") {
        let got = Workload::from_live(&case["object"]).map_or(Value::Null, |w| {
            let containers = match w.containers {
                Ok(list) => json!(list.into_iter().map(|c| format!("{}={}", c.name, c.image)).collect::<Vec<_>>()),
                Err(excuse) => json!(excuse),
            };
            json!({ "id": w.id, "containers": containers, "status": w.status, "addOn": is_add_on(&case["object"]) })
        });
        assert_eq!(got, case["want"], "{}", case["name"]);
    }
}

#[test]
fn settings_of_git_are_written_as_v1_writes_them() {
    let print = |hash: &str| Fingerprint { hash: hash.into(), randomart: "+--+".into() };
    let config = GitConfig {
        remote: GitRemote {
            url: "ssh://git@example.org/team/config".into(),
            branch: "main".into(),
            path: "apps,infra".into(),
        },
        public_key: PublicKey {
            key: "ssh-rsa AAAA\n".into(),
            fingerprints: Some([("md5".into(), print("12:34")), ("sha256".into(), print("x"))].into()),
        },
        status: "ready".into(),
        errors: String::new(),
    };
    assert_eq!(
        text(&config),
        r#"{"remote":{"url":"ssh://git@example.org/team/config","branch":"main","path":"apps,infra"},"publicSSHKey":{"key":"ssh-rsa AAAA\n","fingerprints":{"md5":{"hash":"12:34","randomart":"+--+"},"sha256":{"hash":"x","randomart":"+--+"}}},"status":"ready","errors":""}"#
    );
    assert_eq!(text(&PublicKey::default()), r#"{"key":"","fingerprints":null}"#);
}

#[test]
fn a_job_without_result_is_written_as_v1_writes_it() {
    let job = JobStatus { result: JobResult::default(), err: String::new(), state: JobState::Queued };
    assert_eq!(text(&job), r#"{"Result":{},"Err":"","StatusString":"queued"}"#);
}

#[test]
fn errors_tell_whose_fault_they_are_and_quote_the_cause_in_their_help() {
    let missing = ApiError::missing("unknown", "help");
    assert_eq!(text(&missing), r#"{"type":"missing","help":"help","error":"unknown"}"#);
    assert_eq!(text(&ApiError::user("", "help")), r#"{"type":"user","help":"help"}"#);
    let untyped = ApiError::untyped("bad revision '..x'");
    assert!(untyped.help.starts_with("Error: bad revision '..x'\n"), "{}", untyped.help);
    let kinds =
        [missing.status(), untyped.status(), ApiError::server("", "").status(), ApiError::user("", "").status()];
    assert_eq!(kinds, [404, 422, 500, 422]);
    let syntax: ApiError = decode_change(b"{\"Kind\":\n}").unwrap_err().into();
    assert_eq!(syntax.status(), 400);
    assert_eq!(serde_json::from_str::<Value>(&text(&syntax)).unwrap()["Offset"], 10);
}

#[test]
fn changes_are_read_as_go_reads_them() {
    for case in cases("changes.yaml") {
        let got = match decode_change(case["body"].as_str().unwrap().as_bytes()) {
            Ok(change) => text(&change),
            Err(e) => format!("error: {e}"),
        };
        assert_eq!(got, case["want"], "{}", case["name"]);
    }
}

#[test]
fn update_requests_are_read_strictly_and_notes_leniently() {
    for case in cases("updates.yaml") {
        let body = case["body"].as_str().unwrap();
        let strict = first_value(body.as_bytes()).and_then(|v| decode_update(&v));
        let lenient = decode_note(format!(r#"{{"jobID":"j","spec":{body},"result":null}}"#).as_bytes()).map(|n| n.spec);
        for (reader, got) in [("request", strict), ("note", lenient)] {
            let got = got.map_or_else(|e| format!("error: {e}"), |spec| text(&spec));
            let want = case.get(reader).unwrap_or(&case["want"]);
            assert_eq!(got, want.as_str().unwrap_or(body), "{}: {reader}", case["name"]);
        }
    }
}

#[test]
fn a_note_comes_back_as_it_was_written() {
    for case in cases("notes.yaml") {
        let body = case["body"].as_str().unwrap();
        let got = decode_note(body.as_bytes()).map_or_else(|e| format!("error: {e}"), |n| text(&n));
        assert_eq!(got, case["want"].as_str().unwrap_or(body), "{}", case["name"]);
    }
}

fn sync_report(case: &Value) -> SyncReport {
    let commit = |c: &Value| {
        let word = |field: &str| c[field].as_str().unwrap_or_default().to_owned();
        let note = c.get("note").map(|n| decode_note(n.as_str().unwrap().as_bytes()).unwrap());
        (EventCommit { revision: word("revision"), message: word("message") }, note)
    };
    let at = "2024-01-02T03:04:05.6Z".parse().unwrap();
    SyncReport {
        started: at,
        ended: at,
        commits: case["commits"].as_array().unwrap().iter().map(commit).collect(),
        changed: case["changed"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().parse().unwrap()).collect(),
        errors: Vec::new(),
        initial: case["initial"] == true,
    }
}

#[test]
fn a_sync_tells_of_itself_and_of_the_releases_it_brought() {
    for case in cases("syncs.yaml") {
        let events = sync_report(&case).events();
        let lines: Vec<_> = events.iter().map(ToString::to_string).collect();
        assert_eq!(json!(lines), case["lines"], "{}", case["name"]);
        let json: Vec<_> = events.iter().map(|e| serde_json::to_value(e).unwrap()["metadata"].clone()).collect();
        assert_eq!(json!(json), case["metadata"], "{}", case["name"]);
    }
}

#[test]
fn a_sync_event_is_written_as_v1_writes_it() {
    let at = "2024-01-02T03:04:05.6Z".parse().unwrap();
    let id = "shop:deployment/web".parse().unwrap();
    let error = ResourceError {
        id: "shop:service/web".parse().unwrap(),
        path: "apps/web.yaml".into(),
        error: "forbidden".into(),
    };
    let detail = Detail::Sync {
        commits: vec![EventCommit { revision: "9f".into(), message: "Release".into() }],
        includes: Includes { release: true, other: true, ..Includes::default() },
        errors: vec![error],
        initial: true,
    };
    let event = Event { ids: vec![id], started: at, ended: at, detail };
    assert_eq!(
        text(&event),
        r#"{"id":0,"serviceIDs":["shop:deployment/web"],"type":"sync","startedAt":"2024-01-02T03:04:05.6Z","endedAt":"2024-01-02T03:04:05.6Z","logLevel":"info","metadata":{"commits":[{"message":"Release","revision":"9f"}],"errors":[{"Error":"forbidden","ID":"shop:service/web","Path":"apps/web.yaml"}],"includes":{"other":true,"release":true},"initialSync":true}}"#
    );
}

#[test]
fn policy_events_read_as_in_v1() {
    let at = jiff::Timestamp::UNIX_EPOCH;
    let ids = vec!["b:deployment/x".parse().unwrap(), "a:deployment/x".parse().unwrap()];
    let line = |kind| Event { ids: ids.clone(), started: at, ended: at, detail: Detail::Policy(kind) }.to_string();
    let kinds =
        [PolicyEvent::Automate, PolicyEvent::Deautomate, PolicyEvent::Lock, PolicyEvent::Unlock, PolicyEvent::Update];
    let words = ["Automated", "Deautomated", "Locked", "Unlocked", "Updated policies"];
    for (kind, word) in kinds.into_iter().zip(words) {
        assert_eq!(line(kind), format!("{word}: a:deployment/x, b:deployment/x"));
    }
}

mod metrics;
