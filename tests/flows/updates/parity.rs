//! The original fluxd and ours carry out the same updates on like repositories: messages, notes, authors and what clients
//! are told must be the same. Updaters make the changes, because the original's editor of raw files is another program.

use super::{containers_release, fluxctl, job_status, start};
use crate::rig::{ControlPlane, Fluxd, Repo, eventually};
use serde_json::{Value, json};

const CONFIG: &str = "version: 1
commandUpdated:
  generators:
  - command: cat web.txt
  updaters:
  - containerImage: {command: sh image.sh}
    policy: {command: sh policy.sh}
";
const IMAGE: &str = r#"sed -i "s|image: $FLUX_IMG:.*|image: $FLUX_IMG:$FLUX_TAG|" web.txt"#;
const POLICY: &str = r#"sed -i "/fluxcd.io.$FLUX_POLICY:/d" web.txt
test -z "$FLUX_POLICY_VALUE" || sed -i "s|  annotations:|&\n    fluxcd.io/$FLUX_POLICY: '$FLUX_POLICY_VALUE'|" web.txt
"#;

fn workload(namespace: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: {namespace}\n  annotations:\n    note: x\n\
         spec:\n  replicas: 0\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    \
         spec:\n      containers:\n      - name: main\n        image: example.org/web:1\n"
    )
}

/// One of the two daemons on a repository of its own.
struct Side {
    repo: Repo,
    fluxd: Fluxd,
}

impl Side {
    fn new(plane: &ControlPlane, namespace: &str, original: bool, flags: &[&str]) -> Self {
        let repo = Repo::new();
        repo.write(".flux.yaml", CONFIG).write("image.sh", IMAGE).write("policy.sh", POLICY);
        repo.write("web.txt", &workload(namespace)).push("what the shop runs");
        let builder = Fluxd::against(plane).git(&repo).arg("--manifest-generation");
        let builder = if original { builder.original() } else { builder.arg("--registry-disable-scanning") };
        let side = Self { fluxd: start(builder, flags), repo };
        side.is_synced();
        side
    }

    fn is_synced(&self) {
        eventually("the branch's head is synced", || {
            (self.repo.remote_ref("flux-sync") == self.repo.remote_ref("master")).then_some(())
        });
        // The original moves its tag before its mirror hears of it, and stumbles over the difference in between.
        eventually("the mirror knows the tag", || {
            let reply = self.fluxd.get("/api/flux/v6/sync?ref=master")?;
            (reply.body == "[]").then_some(())
        });
    }

    /// All that a user sees of an update, without what is random.
    fn seen(&self, spec: &Value) -> Value {
        let before = self.repo.remote_ref("master");
        let reply = self.fluxd.post("/api/flux/v9/update-manifests", &spec.to_string()).expect("it answers");
        let Some(job) = reply.json().as_str().map(str::to_owned) else {
            // The bodies of 400 were empty in the original.
            let error = if reply.status == 400 { Value::Null } else { reply.json()["error"].clone() };
            return json!({"status": reply.status, "error": error});
        };
        let mut status = job_status(&self.fluxd, &job);
        let after = self.repo.remote_ref("master");
        let mut seen = json!({"moved": before != after});
        if before != after {
            assert_eq!(status["Result"]["revision"].as_str(), after.as_deref());
            status["Result"]["revision"] = json!("REVISION");
            let log = |format: &str| self.repo.remote_git(&["log", "-1", &format!("--format={format}"), "master"]);
            // In which order the original names several kinds of changes, and sets several policies, is a matter of chance.
            let message = log("%B");
            let mut lines: Vec<&str> = message.lines().collect();
            lines.sort_unstable();
            seen["message"] = json!(lines);
            seen["people"] = json!(log("%an <%ae> %cn <%ce>"));
            seen["note"] = json!(self.repo.remote_git(&["notes", "--ref=flux", "show", "master"]).replace(&job, "JOB"));
            let file = self.repo.remote_file("master", "web.txt");
            let mut lines: Vec<&str> = file.lines().collect();
            lines.sort_unstable();
            seen["file"] = json!(lines);
            self.is_synced();
        }
        if status["StatusString"] == "failed" && spec["type"] != "policy" {
            // Ours tells what it found of each workload; the original told nothing.
            status["Result"].as_object_mut().expect("an object").remove("result");
        }
        seen["status"] = status;
        seen
    }
}

/// Updates in their order; `ID` stands for the workload.
fn updates(id: &str) -> Vec<Value> {
    let cause = json!({"Message": "", "User": "Ann <ann@example.com>"});
    let policy = |cause: &Value, update: Value| json!({"type": "policy", "cause": cause, "spec": {id: update}});
    let said = json!({"Message": "because <I> & you say so", "User": "Ann <ann@example.com>"});
    let image = |kind: &str, image: &str, ids: Value, force: bool| {
        let spec = json!({"ServiceSpecs": ids, "ImageSpec": image, "Kind": kind, "Excludes": null, "Force": force});
        json!({"type": "image", "cause": cause, "spec": spec})
    };
    vec![
        policy(&cause, json!({"add": {"automated": "true"}, "remove": {}})),
        policy(&cause, json!({"add": {"locked": "true", "locked_user": "Ann"}, "remove": {}})),
        containers_release("execute", id, "main", ("example.org/web:1", "example.org/web:2")),
        policy(&said, json!({"add": {}, "remove": {"locked": "", "locked_user": ""}})),
        containers_release("plan", id, "main", ("example.org/web:1", "example.org/web:2")),
        containers_release("execute", id, "main", ("example.org/web:1", "example.org/web:2")),
        containers_release("execute", id, "main", ("example.org/web:1", "example.org/web:3")),
        containers_release("execute", id, "other", ("example.org/web:1", "example.org/web:3")),
        containers_release("perhaps", id, "main", ("example.org/web:2", "example.org/web:3")),
        policy(&cause, json!({"add": {"tag.main": "semver:nonsense"}, "remove": {}})),
        policy(&cause, json!({"add": {"tag.main": "glob:2.*"}, "remove": {"automated": "true"}})),
        image("execute", "example.org/web:4", json!([id]), false),
        image("plan", "example.org/web:4", json!(["<all>"]), true),
        image("execute", "a:b:c", json!([id]), false),
        image("execute", "", json!([id]), false),
        image("execute", "<all latest>", json!(["a b"]), false),
        image("execute", "<all latest>", json!([id]), false),
        json!({"type": "auto", "cause": cause, "spec": {"Changes": []}}),
        policy(&cause, json!({"add": {"tag_all": "glob:3.*", "tag.main": "glob:2.*"}, "remove": null})),
        policy(&cause, json!({"add": {"tag.main": "regexp:("}, "remove": {}})),
        json!({"type": "policy", "cause": cause, "spec": {}}),
        image("plan", "example.org/web", json!([id]), false),
        json!({"type": "image", "cause": cause, "spec": {"ServiceSpecs": [id], "ImageSpec": "<all latest>", "Kind": "plan", "Excludes": ["a b"]}}),
        image("plan", "<all latest>", json!(null), false),
        image("plan", "<all latest>", json!([]), true),
        json!({"type": "containers", "cause": cause, "spec": {"Kind": "execute", "ContainerSpecs": {id: [{"Container": "main", "Current": "", "Target": "x:1"}]}}}),
    ]
}

#[test]
fn every_update_is_carried_out_as_by_the_original() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("alike");
    let id = format!("{namespace}:deployment/web");
    let [theirs, ours] = [true, false].map(|original| {
        let side = Side::new(plane, &namespace, original, &["--git-set-author", "--git-ci-skip"]);
        let seen: Vec<Value> = updates(&id).iter().map(|spec| side.seen(spec)).collect();
        // A workload counts as rolling out until its controller has seen the change, however few replicas it has.
        eventually("the rollout is over", || {
            let web = plane.get(&namespace, "deployment", "web")?;
            (web["metadata"]["generation"] == web["status"]["observedGeneration"]).then_some(())
        });
        let printed = ["list-workloads", "list-images"]
            .map(|verb| fluxctl(plane, &side.fluxd, &side.repo, &[verb, "-n", &namespace]).text);
        (seen, printed)
    });
    let mut differences = String::new();
    for ((spec, ours), theirs) in updates(&id).iter().zip(&ours.0).zip(&theirs.0).filter(|((_, a), b)| a != b) {
        differences += &format!("after {spec}\n  ours:   {ours}\n  theirs: {theirs}\n");
    }
    assert!(differences.is_empty(), "{differences}");
    assert_eq!(ours.1, theirs.1);
}
