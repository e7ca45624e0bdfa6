//! Strategic merge beside the real kubectl, and its table beside the real API server.

use std::process::Command;

use serde_json::{Value, json};

use fluxd::generate::smp;
use fluxd::object::Gvk;
use fluxd::object::yaml::{Dialect, Limits, read};

use crate::rig::{ControlPlane, run};

struct Case {
    original: Value,
    patch: Value,
    /// Whether it stands among the differences on purpose.
    differs: bool,
}

fn cases() -> Vec<Case> {
    let corpus = read(include_bytes!("../data/strategic-merge.yaml"), Dialect::Kubernetes, &Limits::default());
    let corpus = corpus.unwrap().remove(0).value;
    let base = |name: &str| corpus["bases"][name].clone();
    let pod_spec = corpus["pod-spec"].as_array().unwrap().iter().map(|patch| Case {
        original: base("deployment"),
        patch: json!({"spec": {"template": {"spec": patch}}}),
        differs: false,
    });
    let listed = |key: &str| corpus[key].as_array().unwrap().iter();
    let others = listed("cases").chain(listed("differs")).map(|case| Case {
        original: base(case["base"].as_str().unwrap()),
        patch: case["patch"].clone(),
        differs: case.get("why").is_some(),
    });
    pod_spec.chain(others).collect()
}

fn gvk(object: &Value) -> Gvk {
    Gvk::new(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap())
}

/// What kubectl makes of it; none when it refuses.
fn by_kubectl(kubectl: &str, dir: &std::path::Path, case: &Case) -> Option<Value> {
    let (original, patch) = (dir.join("original.json"), dir.join("patch.json"));
    std::fs::write(&original, case.original.to_string()).unwrap();
    std::fs::write(&patch, case.patch.to_string()).unwrap();
    let mut command = Command::new(kubectl);
    command.args(["patch", "--local", "--type=strategic", "-o", "json", "--kubeconfig=/dev/null", "-f"]).arg(&original);
    let output = command.arg("--patch-file").arg(&patch).output().unwrap();
    output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn strategic_merge_agrees_with_kubectl() {
    let tools = run(Command::new("scripts/tools").arg("kubernetes"));
    let kubectl = format!("{}/kubectl", tools.trim());
    let dir = tempfile::tempdir().unwrap();
    let (mut differing, mut refused) = (Vec::new(), 0);
    let cases = cases();
    assert!(cases.len() >= 60, "{} cases", cases.len());
    for case in &cases {
        let ours = smp::strategic_merge(&gvk(&case.original), &case.original, &case.patch);
        let theirs = by_kubectl(&kubectl, dir.path(), case);
        refused += usize::from(theirs.is_none());
        let agree = match (&ours, &theirs) {
            (Ok(ours), Some(theirs)) => ours == theirs,
            (Err(_), None) => true,
            // kubectl reads its result as an object again, which needs a kind.
            (Ok(ours), None) => ours.get("kind").is_none(),
            (Err(_), Some(_)) => false,
        };
        if agree == case.differs {
            let (kind, patch) = (&case.original["kind"], &case.patch);
            let theirs = theirs.map_or("refused".to_owned(), |t| t.to_string());
            let ours = ours.map_or_else(|e| e.to_string(), |o| o.to_string());
            differing.push(format!("{kind} with {patch}\n  kubectl: {theirs}\n  fluxd:   {ours}"));
        }
    }
    assert!(refused >= 5, "the corpus holds bad patches too");
    assert!(differing.is_empty(), "{} of {}:\n{}", differing.len(), cases.len(), differing.join("\n"));
}

#[test]
fn a_patch_made_from_two_versions_leads_from_one_to_the_other() {
    for case in cases() {
        let gvk = gvk(&case.original);
        let Ok(modified) = smp::strategic_merge(&gvk, &case.original, &case.patch) else { continue };
        for (old, new) in [(&case.original, &modified), (&modified, &case.original)] {
            // Elements with one key twice cannot be told apart: Services may have them.
            if gvk.kind == "Service" {
                continue;
            }
            let patch = smp::create_two_way(&gvk, old, new).unwrap();
            let reached = smp::strategic_merge(&gvk, old, &patch).unwrap();
            assert_eq!(&reached, new, "from {old} by {patch}");
            assert_eq!(patch == json!({}), old == new);
        }
    }
}

#[tokio::test]
async fn the_built_in_table_is_the_api_servers_own() {
    let request = http::Request::get("/openapi/v2").body(Vec::new()).unwrap();
    let text = ControlPlane::shared().client().await.request_text(request).await.unwrap();
    let table = smp::table_text(&serde_json::from_str(&text).unwrap());
    assert!(table.lines().count() > 100, "{table}");
    // The API server is shared: definitions of other tests are in its document too.
    let is_builtin = |line: &&str| {
        let group = line.split([' ', '/']).nth(1).unwrap_or_default();
        !line.starts_with("kind ") || !group.contains('.') || group.ends_with(".k8s.io")
    };
    let unknown: Vec<&str> = smp::Table::unknown_to_builtin(&table).into_iter().filter(is_builtin).collect();
    assert!(unknown.is_empty(), "lines that src/generate/smp/kinds.txt lacks:\n{}", unknown.join("\n"));
}
