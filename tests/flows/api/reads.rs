//! Plans, objects, traces and events of a running daemon; no value of a Secret is in any of them.

use super::News;
use crate::flows::safety::sealed;
use crate::rig::{ControlPlane, Fluxd, Repo, eventually};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

fn files(repo: &Repo, namespace: &str, (secret, note): (&str, &str)) {
    let meta = |name: &str| format!("metadata: {{name: {name}, namespace: {namespace}}}");
    let data = STANDARD.encode(secret);
    repo.write("shop/s.yaml", &format!("apiVersion: v1\nkind: Secret\n{}\ndata: {{key: {data}}}\n", meta("s")));
    repo.write(
        "shop/cm.yaml",
        &format!("---\napiVersion: v1\nkind: ConfigMap\n{}\ndata: {{note: {note}}}\n", meta("c")),
    );
}

fn json(fluxd: &Fluxd, path: &str) -> Value {
    let reply = fluxd.get(path).expect("fluxd answers");
    assert_eq!(reply.status, 200, "{path}: {reply:?}");
    reply.json()
}

/// The step of a plan for one object.
fn step<'a>(plan: &'a Value, name: &str) -> &'a Value {
    let steps = plan["steps"].as_array().expect("a plan has steps");
    steps.iter().find(|step| step["id"].as_str().is_some_and(|id| id.ends_with(name))).unwrap_or(&Value::Null)
}

#[test]
fn what_would_change_where_it_comes_from_and_what_happens_is_told_without_any_secret() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("reads");
    let repo = Repo::new();
    files(&repo, &namespace, ("hunter2-old", "old"));
    let first = repo.push("the shop opens");
    let mut fluxd = Fluxd::against(plane).git(&repo).args(&["--sync-interval=1h", "--git-poll-interval=1h"]).start();
    fluxd.wait_until_up();
    eventually("the commit is synced", || (repo.remote_ref("flux-sync") == repo.remote_ref("master")).then_some(()));
    let mut news = News::open(&fluxd, "/api/fluxd/v1/events", "");
    news.until("text/event-stream");

    let last = json(&fluxd, "/api/fluxd/v1/plan?last=true");
    assert_eq!(step(&last, "configmap/c")["action"], "apply", "{last}");
    assert_eq!(step(&last, "configmap/c")["file"], "shop/cm.yaml", "{last}");
    let trace = json(&fluxd, &format!("/api/fluxd/v1/trace?id={namespace}:secret/s"));
    assert_eq!((&trace["object"]["file"], &trace["live"]), (&"shop/s.yaml".into(), &true.into()), "{trace}");
    assert_eq!(trace["commit"]["message"], "the shop opens", "{trace}");
    let owned = trace["fields"].as_array().expect("fields").iter();
    assert!(owned.into_iter().any(|field| field["path"] == ".data.key" && field["manager"] == "fluxd"), "{trace}");
    let objects = json(&fluxd, "/api/fluxd/v1/objects");
    assert_eq!(objects["revision"], first.trim(), "{objects}");
    assert_eq!(objects["objects"].as_array().map(Vec::len), Some(2), "{objects}");

    assert_eq!(fluxd.post("/api/fluxd/v1/pause", "").map(|reply| reply.status), Some(200));
    files(&repo, &namespace, ("hunter2-new", "new"));
    let second = repo.push("the shop changes");
    fluxd.notify(&repo, &repo.url());
    let plan = eventually("the plan is of the new commit", || {
        let plan = json(&fluxd, "/api/fluxd/v1/plan?diff=true");
        (plan["revision"] == second.trim()).then_some(plan)
    });
    assert_eq!(step(&plan, "secret/s")["diff"][0]["path"], "/data/key", "{plan}");
    assert_eq!(step(&plan, "secret/s")["diff"][0]["after"], "*** (changed)", "{plan}");
    let diff = step(&plan, "configmap/c")["diff"].as_array().expect("a diff").clone();
    let note = diff.iter().find(|field| field["path"] == "/data/note").expect("the note changes");
    assert_eq!((&note["before"], &note["after"]), (&"old".into(), &"new".into()));
    let live = plane.get(&namespace, "configmap", "c").expect("it is live");
    assert_eq!(live["data"]["note"], "old", "a plan changes nothing");

    assert_eq!(fluxd.post("/api/fluxd/v1/resume", "").map(|reply| reply.status), Some(200));
    let told = news.until(&format!("event: sync\ndata: {{\"type\":\"sync\",\"revision\":\"{}\"", second.trim()));
    let told = told + &news.until("event: event\n");
    let reply = fluxd.post("/api/flux/v9/update-manifests", r#"{"type":"sync","cause":{},"spec":{}}"#);
    let job = reply.expect("fluxd answers").json();
    let path = format!("/api/fluxd/v1/jobs/{}/events", job.as_str().expect("a job's name"));
    let ended = News::open(&fluxd, &path, "").rest();
    assert!(ended.contains("\"state\":\"succeeded\""), "{ended}");
    let all = [told, ended, plan.to_string(), last.to_string(), trace.to_string(), objects.to_string()].join("\n");
    for value in ["hunter2-old", "hunter2-new"] {
        assert!(!all.contains(value) && !all.contains(&STANDARD.encode(value)), "{value} is told");
    }
}

#[test]
fn what_an_encrypted_file_would_change_is_told_without_its_values_whatever_the_kind() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("reads");
    let config = |name: &str, note: &str| {
        let meta = format!("metadata:\n  name: {name}\n  namespace: {namespace}\n");
        format!("apiVersion: v1\nkind: ConfigMap\n{meta}data:\n  note: {note}\n")
    };
    let repo = Repo::new();
    repo.write("plain.yaml", &config("plain", "old"));
    repo.push("the shop opens");
    let (encrypted, key) = sealed(&config("sealed", "hunter2-config"));
    let flags = ["--sops", "--sync-interval=1h", "--git-poll-interval=1h"];
    let mut fluxd = Fluxd::against(plane).git(&repo).args(&flags).env("SOPS_AGE_KEY", &key).start();
    fluxd.wait_until_up();
    eventually("the commit is synced", || (repo.remote_ref("flux-sync") == repo.remote_ref("master")).then_some(()));
    assert_eq!(fluxd.post("/api/fluxd/v1/pause", "").map(|reply| reply.status), Some(200));
    repo.write("sealed.yaml", &encrypted);
    let second = repo.push("a sealed file");
    fluxd.notify(&repo, &repo.url());
    let plan = eventually("the plan is of the new commit", || {
        let plan = json(&fluxd, "/api/fluxd/v1/plan?diff=true");
        (plan["revision"] == second.trim()).then_some(plan)
    });
    let whole = &step(&plan, "configmap/sealed")["diff"][0]["after"];
    assert_eq!((&whole["data"]["note"], &whole["metadata"]["name"]), (&"***".into(), &"sealed".into()), "{plan}");
    assert!(!plan.to_string().contains("hunter2"), "{plan}");
}
