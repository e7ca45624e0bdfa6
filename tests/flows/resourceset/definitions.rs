//! The definitions of our custom resources as the API server takes and enforces them (resourceset §11, R6, R7, S8, P1, P5,
//! P13, P15).

use std::sync::Once;

use fluxd::api::definitions;
use serde_json::{Value, json};

use crate::rig::{ControlPlane, eventually};

/// The shared control plane with our definitions.
pub(super) fn plane() -> &'static ControlPlane {
    static INSTALLED: Once = Once::new();
    let plane = ControlPlane::shared();
    INSTALLED.call_once(|| {
        let all = json!({ "apiVersion": "v1", "kind": "List", "items": definitions() });
        plane.apply(&all.to_string(), &["--server-side", "--force-conflicts"]);
        for plural in ["resourcesets", "resourcesetinputproviders"] {
            eventually("the definition is served", || plane.try_kubectl(&["get", plural, "-A"]).ok());
        }
    });
    plane
}

fn attempt(spec: &Value, kind: &str) -> Result<String, String> {
    let object = json!({ "apiVersion": "fluxcd.controlplane.io/v1", "kind": kind,
        "metadata": { "name": "case", "namespace": "default" }, "spec": spec });
    let plane = plane();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), object.to_string()).unwrap();
    plane.try_kubectl(&["create", "--dry-run=server", "-o", "json", "-f", file.path().to_str().unwrap()])
}

fn accepts(kind: &str, spec: Value) -> Value {
    let made = attempt(&spec, kind).unwrap_or_else(|e| panic!("{spec}: {e}"));
    serde_json::from_str(&made).unwrap()
}

fn refuses(kind: &str, spec: Value, why: &str) {
    let error = attempt(&spec, kind).map(|_| "it was accepted".to_owned()).unwrap_or_else(|e| e);
    assert!(error.contains(why), "{spec}: {error}");
    assert!(!error.contains("no such key"), "{spec}: {error}");
}

const SET: &str = "ResourceSet";
const PROVIDER: &str = "ResourceSetInputProvider";

#[test]
fn a_set_keeps_inputs_of_any_type_and_resources_of_any_form() {
    let spec = json!({
        "inputs": [{ "a": "x", "n": 3, "f": 1.5, "m": { "k": [1, null] }, "l": [], "none": null }],
        "resources": [{ "apiVersion": "v1", "anything": { "<< inputs.a >>": true } }, { "no": "kind" }],
        "inputsFrom": [
            { "apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider", "name": "a" },
            { "kind": "ResourceSetInputsProvider", "selector": {} },
        ],
        "wait": true,
    });
    let made = accepts(SET, spec.clone());
    assert_eq!(made["spec"]["resources"], spec["resources"]);
    let mut inputs = spec["inputs"][0].clone();
    inputs.as_object_mut().unwrap().remove("none");
    assert_eq!(made["spec"]["inputs"][0], inputs, "nulls are dropped at the top of a set only");
}

/// R6
#[test]
fn input_sources_name_a_provider_or_select_some_but_not_both() {
    let spec = |source: Value| json!({ "resourcesTemplate": "a", "inputsFrom": [source] });
    refuses(SET, spec(json!({})), "at least one of name or selector must be set");
    refuses(SET, spec(json!({ "name": "a", "selector": {} })), "cannot set both name and selector");
    refuses(SET, spec(json!({ "name": "a", "kind": "Other" })), "Unsupported value");
}

/// R7
#[test]
fn empty_providers_can_be_included_only_when_permuting() {
    let spec = |name: &str| json!({ "resourcesTemplate": "a", "inputStrategy": { "name": name, "includeEmptyProviders": true } });
    accepts(SET, spec("Permute"));
    refuses(SET, spec("Flatten"), "includeEmptyProviders can only be set when");
    refuses(SET, spec("Other"), "Unsupported value");
}

/// S8
#[test]
fn steps_are_named_bounded_and_stand_alone() {
    let step = |name: &str| json!({ "name": name, "resourcesTemplate": "a" });
    accepts(SET, json!({ "steps": [step("a"), { "name": "b", "resources": [{ "kind": "X" }], "timeout": "1h30m" }] }));
    refuses(SET, json!({ "steps": [step("a"), step("a")] }), "step names must be unique");
    refuses(SET, json!({ "steps": [step("A b")] }), "should match");
    refuses(SET, json!({ "steps": [step(&"a".repeat(64))] }), "may not be more than 63");
    refuses(
        SET,
        json!({ "steps": [{ "name": "a", "resourcesTemplate": "a", "timeout": "5 minutes" }] }),
        "should match",
    );
    refuses(SET, json!({ "steps": [] }), "at least 1 items");
    let many: Vec<Value> = (0..21).map(|i| step(&format!("s{i}"))).collect();
    refuses(SET, json!({ "steps": many }), "at most 20 items");
    refuses(SET, json!({ "steps": [step("a")], "resources": [{}] }), "spec.steps is mutually exclusive");
    refuses(SET, json!({ "steps": [step("a")], "resourcesTemplate": "a" }), "spec.steps is mutually exclusive");
    refuses(SET, json!({ "steps": [{ "name": "a" }] }), "at least one of resources or resourcesTemplate must be set");
    refuses(SET, json!({ "wait": true }), "at least one of spec.steps, spec.resources or spec.resourcesTemplate");
}

#[test]
fn a_readiness_expression_needs_the_field_ready() {
    let spec = |dependency: Value| json!({ "resourcesTemplate": "a", "dependsOn": [dependency] });
    let with = |extra: Value| {
        let mut all = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "a" });
        all.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        all
    };
    accepts(SET, spec(with(json!({ "ready": false, "readyExpr": "true" }))));
    refuses(SET, spec(with(json!({ "readyExpr": "true" }))), "ready must be set when readyExpr is set");
    refuses(SET, spec(json!({ "kind": "ConfigMap", "name": "a" })), "apiVersion: Required value");
}

/// P1, P13, P15
#[test]
fn addresses_fit_the_type_of_a_provider() {
    let with = |kind: &str, url: &str| json!({ "type": kind, "url": url });
    let without = |kind: &str| json!({ "type": kind });
    accepts(PROVIDER, without("Static"));
    accepts(PROVIDER, with("Static", ""));
    refuses(PROVIDER, with("Static", "https://a.example/b"), "spec.url must be empty");
    for kind in [
        "GitHubBranch",
        "GitLabTag",
        "GiteaTag",
        "AzureDevOpsTag",
        "AWSCodeCommitTag",
        "OCIArtifactTag",
        "ExternalService",
    ] {
        refuses(PROVIDER, without(kind), "spec.url must not be empty");
        refuses(PROVIDER, with(kind, ""), "spec.url must not be empty");
        refuses(PROVIDER, with(kind, "ftp://a.example/b"), "should match");
    }
    for kind in ["GitHubBranch", "GitLabEnvironment", "GiteaPullRequest", "ExternalService", "AzureDevOpsBranch"] {
        accepts(PROVIDER, with(kind, "https://a.example/b"));
        refuses(PROVIDER, with(kind, "oci://a.example/b"), "spec.url must start with 'http://' or 'https://'");
    }
    refuses(PROVIDER, with("AWSCodeCommitTag", "http://a.example/b"), "spec.url must start with 'https://'");
    for kind in ["OCIArtifactTag", "ACRArtifactTag", "ECRArtifactTag", "GARArtifactTag"] {
        accepts(PROVIDER, with(kind, "oci://a.example/b"));
        refuses(PROVIDER, with(kind, "https://a.example/b"), "spec.url must start with 'oci://'");
        refuses(PROVIDER, with(kind, "oci://a.example"), "must have a repository path");
    }
    refuses(PROVIDER, with("ExternalService", "http://a.example"), "spec.insecure must be true");
    accepts(PROVIDER, json!({ "type": "ExternalService", "url": "http://a.example", "insecure": true }));
    refuses(PROVIDER, with("Other", ""), "Unsupported value");
}

/// P5
#[test]
fn credentials_fit_the_type_of_a_provider() {
    let url = |kind: &str| match kind {
        "Static" | "ExternalArtifact" => None,
        oci if oci.ends_with("ArtifactTag") => Some("oci://a.example/b"),
        _ => Some("https://a.example/b"),
    };
    let cases = [
        ("Static", false, false, false, false),
        ("GitHubTag", false, true, true, false),
        ("GitLabTag", false, true, true, false),
        ("GiteaTag", false, true, true, false),
        ("AzureDevOpsTag", true, true, false, false),
        ("AWSCodeCommitTag", true, false, false, false),
        ("OCIArtifactTag", true, true, true, true),
        ("ACRArtifactTag", true, false, false, false),
        ("ECRArtifactTag", true, false, false, false),
        ("GARArtifactTag", true, false, false, false),
        ("ExternalService", false, true, true, true),
        ("ExternalArtifact", true, false, false, false),
    ];
    for (kind, account, secret, cert, insecure) in cases {
        let fields = [
            ("serviceAccountName", json!("a"), account),
            ("secretRef", json!({ "name": "a" }), secret),
            ("certSecretRef", json!({ "name": "a" }), cert),
            ("insecure", json!(true), insecure),
        ];
        for (field, value, allowed) in fields {
            let mut spec = json!({ "type": kind, field: value });
            if let Some(url) = url(kind) {
                spec["url"] = json!(url);
            }
            if kind == "ExternalArtifact" {
                spec["selectors"] = json!([{}]);
            }
            match allowed {
                true => drop(accepts(PROVIDER, spec)),
                false => refuses(PROVIDER, spec, &format!("spec.{field}")),
            }
        }
    }
}

#[test]
fn selectors_belong_to_external_artifacts_and_schedules_have_defaults() {
    refuses(PROVIDER, json!({ "type": "ExternalArtifact" }), "spec.selectors must not be empty");
    refuses(PROVIDER, json!({ "type": "ExternalArtifact", "selectors": [] }), "spec.selectors must not be empty");
    refuses(PROVIDER, json!({ "type": "Static", "selectors": [{}] }), "spec.selectors can be set only");
    let both = json!({ "type": "ExternalArtifact", "selectors": [{ "name": "a", "matchLabels": {} }] });
    refuses(PROVIDER, both, "name cannot be set together with matchLabels");
    let made = accepts(PROVIDER, json!({ "type": "Static", "schedule": [{ "cron": "@daily" }], "filter": {} }));
    assert_eq!(made["spec"]["schedule"][0], json!({ "cron": "@daily", "timeZone": "UTC", "window": "0s" }));
    assert_eq!(made["spec"]["filter"], json!({ "limit": 100 }));
    let over = json!({ "type": "Static", "filter": { "limit": 10_001 } });
    refuses(PROVIDER, over, "less than or equal to 10000");
}
