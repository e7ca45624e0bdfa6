//! Listings by passes: exports and their digests, failures that keep what was exported, credentials.

use std::sync::Arc;
use std::sync::Mutex;

use super::*;
use crate::rig::{DockerRegistry, Double, Image, Scripted};

/// A host whose answer can be changed.
fn changing(answer: Scripted) -> (Double, Arc<Mutex<Scripted>>) {
    let answer = Arc::new(Mutex::new(answer));
    let shared = Arc::clone(&answer);
    (Double::start(move |_| shared.lock().unwrap().clone()), answer)
}

fn pull(number: u64, sha: &str, labels: &[&str]) -> Value {
    let labels: Vec<Value> = labels.iter().map(|name| json!({ "name": name })).collect();
    json!({"number": number, "title": "T", "user": {"login": "ann"}, "head": {"ref": "feat", "sha": sha}, "labels": labels})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_of_gitlab_is_exported_with_the_originals_digest() {
    let running = Running::start().await;
    let tag = json!([{"name": "6.0.4", "commit": {"id": "11cf36d83818e64aaa60d523ab6438258ebb6009"}}]);
    let (double, _) = changing(Scripted::json(&tag));
    let spec = json!({"type": "GitLabTag", "url": format!("{}/group/podinfo", double.url()),
                      "filter": {"semver": "6.0.x", "limit": 1}});
    running.apply("p", json!({}), spec);
    let object = running.ready("p");
    let want =
        json!([{"id": "48955639", "sha": "11cf36d83818e64aaa60d523ab6438258ebb6009", "slug": "6-0-4", "tag": "6.0.4"}]);
    assert_eq!(exported(&object), want);
    let digest = "sha256:8d17289b10914ff4cf5226d649a7266136d071de6ed9be1c2745eb24449f7cf4";
    assert_eq!(object["status"]["lastExportedRevision"], digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_fails_keeps_what_was_exported_and_recovers() {
    let running = Running::start().await;
    let branches = Scripted::json(&json!([{"name": "main", "commit": {"sha": "a"}}]));
    let (double, answer) = changing(branches.clone());
    let url = format!("{}/ann/shop", double.url());
    running.apply("p", json!({}), json!({"type": "GitHubBranch", "url": url}));
    let before = running.ready("p");
    for (wrong, said) in [
        (Scripted::new(404, json!({"message": "Not Found"}).to_string()), "404 Not Found"),
        (Scripted::new(200, "<html>"), "found HTML or XML"),
        (Scripted::new(200, ""), "found nothing"),
    ] {
        *answer.lock().unwrap() = wrong;
        running.annotate("p", json!({"reconcile.fluxcd.io/requestedAt": said}));
        let object = running.refused("p", "ReconciliationFailed", said);
        let message = condition(&object, "Ready")["message"].as_str().unwrap().to_owned();
        assert!(
            message.starts_with("failed to call Git provider: failed to list branches: could not list branches: "),
            "{message}"
        );
        assert_eq!(condition(&object, "Reconciling")["reason"], "ProgressingWithRetry");
        assert_eq!(object["status"]["exportedInputs"], before["status"]["exportedInputs"]);
        assert_eq!(object["status"]["lastExportedRevision"], before["status"]["lastExportedRevision"]);
        running.event("p", "Warning", "ReconciliationFailed", said);
    }
    // a complete answer of none is one
    *answer.lock().unwrap() = Scripted::json(&json!([]));
    let object = running.wait("p", "the empty list is exported", |o| {
        exported(o).is_null() && condition(o, "Ready")["status"] == "True"
    });
    let digest = "sha256:38e0b9de817f645c4bec37c0d4a3e58baecccb040f5718dc069a72c7385a0bed";
    assert_eq!(object["status"]["lastExportedRevision"], digest);
    assert!(condition(&object, "Reconciling").is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_host_is_given_up_after_the_objects_own_time() {
    let running = Running::start().await;
    let (double, _) = changing(Scripted::new(200, "{").dripping());
    let spec = json!({"type": "ExternalService", "url": double.url(), "insecure": true});
    running.apply("p", json!({"fluxcd.controlplane.io/reconcileTimeout": "1s"}), spec);
    running.refused("p", "ReconciliationFailed", "within 1s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_pull_request_keeps_its_commit_and_shows_its_labels() {
    let running = Running::start().await;
    let (double, answer) = changing(Scripted::json(&json!([pull(4, "old", &["deploy"])])));
    let spec = json!({"type": "GitHubPullRequest", "url": format!("{}/ann/shop", double.url()),
                      "filter": {"labels": ["deploy"]}, "skip": {"labels": ["hold"]}, "defaultValues": {"env": "preview"}});
    running.apply("p", json!({}), spec);
    let object = running.ready("p");
    let whole = |sha: &str, labels: Value| {
        json!({"id": "4", "sha": sha, "branch": "feat", "title": "T", "author": "ann",
                                                   "labels": labels, "env": "preview"})
    };
    assert_eq!(exported(&object), json!([whole("old", json!(["deploy"]))]));
    *answer.lock().unwrap() =
        Scripted::json(&json!([pull(5, "x", &["deploy", "hold"]), pull(4, "new", &["deploy", "hold"])]));
    let object = running.request("p", "held");
    assert_eq!(exported(&object), json!([whole("old", json!(["deploy", "hold"]))]));
    *answer.lock().unwrap() = Scripted::json(&json!([pull(4, "new", &["deploy"])]));
    let object = running.request("p", "free");
    assert_eq!(exported(&object), json!([whole("new", json!(["deploy"]))]));
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_read_and_what_they_lack_is_told() {
    let running = Running::start().await;
    let double = Double::start(|seen| match seen.authorization.as_deref() {
        Some("Bearer hunter2") => Scripted::json(&json!([{"name": "main", "commit": {"sha": "a"}}])),
        _ => Scripted::new(401, json!({"message": "Bad credentials"}).to_string()),
    });
    let spec =
        json!({"type": "GitHubBranch", "url": format!("{}/ann/shop", double.url()), "secretRef": {"name": "auth"}});
    running.apply("p", json!({}), spec);
    let reference = format!("{}/auth", running.namespace);
    running.refused("p", "ReconciliationFailed", &format!("failed to read secret '{reference}': "));
    running.secret("auth", json!({"password": "hunter2"}));
    running.refused("p", "ReconciliationFailed", &format!("invalid secret '{reference}': key 'username' is missing"));
    running.secret("auth", json!({"username": "git", "password": "hunter2"}));
    running.ready("p");
    running.secret("auth", json!({"username": "git", "password": "wrong-token"}));
    running.annotate("p", json!({"reconcile.fluxcd.io/requestedAt": "x"}));
    let object = running.refused("p", "ReconciliationFailed", "401 Unauthorized: Bad credentials");
    assert!(!object.to_string().contains("hunter2") && !object.to_string().contains("wrong-token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn oci_tags_are_exported_with_the_originals_shape_and_an_accounts_pull_secret() {
    let running = Running::start().await;
    let registry = DockerRegistry::with_login("ann", "hunter2");
    let digest = registry.push("podinfo", "6.0.4", &Image::oci("2024-01-01T00:00:00Z"));
    let spec = json!({"type": "OCIArtifactTag", "url": format!("oci://{}/podinfo", registry.host()), "insecure": true,
                      "serviceAccountName": "puller", "filter": {"semver": "6.0.x", "limit": 1}});
    running.apply("p", json!({}), spec);
    let account = format!("{}/puller", running.namespace);
    running.refused("p", "ReconciliationFailed", &format!("failed to read service account '{account}': "));
    let config = json!({"auths": {registry.host(): {"username": "ann", "password": "hunter2"}}}).to_string();
    running.secret("pull", json!({ ".dockerconfigjson": config }));
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "puller", "namespace": running.namespace},
                         "imagePullSecrets": [{"name": "pull"}]});
    running.plane.apply(&account.to_string(), &[]);
    let object = running.ready("p");
    assert_eq!(exported(&object), json!([{"id": "48955639", "tag": "6.0.4", "digest": digest}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_of_ones_own_is_followed_as_it_changes() {
    let running = Running::start().await;
    let (double, answer) =
        changing(Scripted::json(&json!({"inputs": [{"id": "1", "a": {"b": [true, null]}}, {"id": ""}]})));
    let spec = json!({"type": "ExternalService", "url": double.url(), "insecure": true, "secretRef": {"name": "auth"},
                      "defaultValues": {"env": "dev"}});
    running.secret("auth", json!({"token": "abc"}));
    running.apply("p", json!({}), spec);
    let object = running.ready("p");
    assert_eq!(
        exported(&object),
        json!([{"id": "1", "a": {"b": [true, null]}, "env": "dev"}, {"id": "", "env": "dev"}])
    );
    assert_eq!(double.seen()[0].authorization.as_deref(), Some("Bearer abc"));
    *answer.lock().unwrap() = Scripted::new(500, "no");
    running.annotate("p", json!({"reconcile.fluxcd.io/requestedAt": "x"}));
    let want =
        format!("failed to call ExternalService provider: external service '{}' returned HTTP 500", double.url());
    let object = running.refused("p", "ReconciliationFailed", &want);
    assert_eq!(exported(&object).as_array().unwrap().len(), 2);
    *answer.lock().unwrap() = Scripted::json(&json!({"inputs": []}));
    running.wait("p", "none are left", |o| exported(o).is_null() && condition(o, "Ready")["status"] == "True");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_status_can_hold_is_told_and_what_was_exported_stays() {
    let running = Running::start().await;
    let inputs = |count: usize| {
        let inputs: Vec<Value> = (0..count).map(|id| json!({"id": id.to_string()})).collect();
        Scripted::json(&json!({ "inputs": inputs }))
    };
    let (double, answer) = changing(inputs(1));
    let spec = json!({"type": "ExternalService", "url": double.url(), "insecure": true,
                      "defaultValues": {"long": "x".repeat(120_000)}});
    running.apply("p", json!({}), spec);
    let revision = running.ready("p")["status"]["lastExportedRevision"].clone();
    for (count, token, said) in [
        (16, "1", "the exported inputs do not fit into the status"),
        (1000, "2", "the exported inputs have more than 3145728 bytes"),
    ] {
        *answer.lock().unwrap() = inputs(count);
        running.request("p", token);
        let object = running.refused("p", "ReconciliationFailed", said);
        assert_eq!(exported(&object).as_array().unwrap().len(), 1, "{said}");
        assert_eq!(object["status"]["lastExportedRevision"], revision);
        assert_eq!(condition(&object, "Reconciling")["reason"], "ProgressingWithRetry");
    }
}
