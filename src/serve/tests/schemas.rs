//! The document's schemas against what is really answered.

use crate::report::{
    ApplyView, CommitView, Container, FieldOwner, ImageContainer, ImageInfo, JobResult, ReadOnly, TraceView,
};

use super::super::openapi::schema;
use super::*;

fn described() -> Value {
    serde_json::from_slice(&document("1.2.3").unwrap()).unwrap()
}

/// Complaints about a value that a schema does not describe, fields unknown to it among them.
fn complaints(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let target = document.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("{at}: no {name}"));
        return complaints(document, target, value, at);
    }
    if let Some(all) = schema["allOf"].as_array() {
        // Each part knows some of the fields.
        let mut merged = json!({ "type": "object", "properties": {} });
        for part in all {
            let part = part["$ref"].as_str().map_or(part, |name| document.pointer(&name[1..]).unwrap());
            for (name, field) in part["properties"].as_object().unwrap() {
                merged["properties"][name] = field.clone();
            }
        }
        return complaints(document, &merged, value, at);
    }
    for form in ["oneOf", "anyOf"] {
        if let Some(choices) = schema[form].as_array() {
            let fits = choices.iter().any(|choice| complaints(document, choice, value, at).is_empty());
            return if fits { Vec::new() } else { vec![format!("{at}: {value} fits none")] };
        }
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => return Vec::new(),
    };
    let fits = types.contains(&kind) || (kind == "integer" && types.contains(&"number"));
    if !fits {
        return vec![format!("{at}: {value} is no {types:?}")];
    }
    if let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) {
        return vec![format!("{at}: {value} is none of {words:?}")];
    }
    match value {
        Value::Array(items) => items.iter().flat_map(|item| complaints(document, &schema["items"], item, at)).collect(),
        Value::Object(fields) => {
            let missing = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let missing = missing.filter(|name| !fields.contains_key(*name)).map(|name| format!("{at}: no {name}"));
            let mut found: Vec<String> = missing.collect();
            for (name, field) in fields {
                let known = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
                match known {
                    Some(known) => found.extend(complaints(document, known, field, &format!("{at}.{name}"))),
                    None if schema.get("properties").is_none() => {}
                    None => found.push(format!("{at}: {name} is not described")),
                }
            }
            found
        }
        _ => Vec::new(),
    }
}

fn assert_described(document: &Value, name: &str, value: &Value) {
    let schema = &document["components"]["schemas"][name];
    assert!(schema.is_object(), "no schema {name}");
    let found = complaints(document, schema, value, name);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_schema_that_is_referred_to_is_there() {
    let document = described();
    let text = document.to_string();
    let names = text.split("\"#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap());
    let missing: Vec<&str> = names.filter(|name| document["components"]["schemas"].get(name).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[tokio::test]
async fn answers_are_as_the_document_describes_them() {
    let (rig, document) = (Rig::usual().await, described());
    let rows = [
        ("GET", "/api/flux/v11/version", ""),
        ("GET", "/api/flux/v11/services", ""),
        ("GET", "/api/flux/v10/images?service=", ""),
        ("POST", "/api/flux/v9/update-manifests", r#"{"type":"sync","spec":{}}"#),
        ("GET", "/api/flux/v6/jobs?id=known", ""),
        ("GET", "/api/flux/v6/sync?ref=x", ""),
        ("GET", "/api/flux/v6/export", ""),
        ("POST", "/api/flux/v9/git-repo-config", "false"),
        ("GET", "/api/flux/v6/identity.pub", ""),
        ("GET", "/api/fluxd/v1/status", ""),
        ("GET", "/api/fluxd/v1/plan?all=true&diff=true", ""),
        ("GET", "/api/fluxd/v1/objects", ""),
        ("GET", "/api/fluxd/v1/trace?id=shop:deployment/web", ""),
        ("GET", "/api/fluxd/v1/outcome?all=true", ""),
        ("GET", "/api/fluxd/v1/progress", ""),
        ("GET", "/api/fluxd/v1/deletes", ""),
        ("POST", "/api/fluxd/v1/pause", ""),
    ];
    for (method, target, body) in rows {
        let path = target.split('?').next().unwrap();
        let route = super::super::routes::ROUTES.iter().find(|r| r.path == path && r.method.as_str() == method);
        let answer: Value = rig.send(method.parse().unwrap(), target, None, body).await.json().await.unwrap();
        assert_described(&document, schema(route.unwrap().endpoint).unwrap(), &answer);
    }
    let error: Value = rig.get("/api/flux/v6/jobs?id=x").await.json().await.unwrap();
    assert_described(&document, "Error", &error);
}

#[test]
fn full_values_are_described_too() {
    let document = described();
    let id: ObjectId = "shop:deployment/web".parse().unwrap();
    let info = ImageInfo { created_at: Some(Timestamp::UNIX_EPOCH), ..ImageInfo::named("web:1") };
    let container = Container { name: "web".into(), current: info.clone(), latest_filtered: info.clone() };
    let status = ControllerStatus {
        id: id.clone(),
        containers: vec![container],
        read_only: ReadOnly::NotInRepo,
        status: "ready".into(),
        rollout: Default::default(),
        sync_error: String::new(),
        antecedent: None,
        labels: None,
        automated: true,
        locked: false,
        ignore: false,
        policies: [("automated".to_owned(), "true".to_owned())].into(),
    };
    assert_described(&document, "ControllerStatus", &json!(status));
    let images = ImageContainer { name: "web".into(), available: vec![info], available_count: 1, ..Default::default() };
    assert_described(&document, "ImageStatus", &json!(ImageStatus { id: id.clone(), containers: vec![images] }));
    let body = json!({ "type": "image", "cause": { "User": "Ann" }, "spec":
        { "ServiceSpecs": ["<all>"], "ImageSpec": "<all latest>", "Kind": "execute", "Excludes": null, "Force": true } });
    let spec = decode_update(&body).unwrap();
    assert_described(&document, "UpdateSpec", &json!(spec));
    let result = JobResult { revision: "9f".into(), spec: Some(spec), ..JobResult::default() };
    let job = JobStatus { result, err: String::new(), state: JobState::Running };
    assert_described(&document, "JobStatus", &json!(job));
    let trace = TraceView {
        object: ours::object(),
        commit: Some(CommitView::default()),
        last_apply: Some(ApplyView { ended: Some(Timestamp::UNIX_EPOCH), ..ApplyView::default() }),
        live: true,
        fields: vec![FieldOwner {
            path: ".spec".into(),
            manager: "fluxd".into(),
            operation: "Apply".into(),
            subresource: String::new(),
            time: None,
        }],
    };
    assert_described(&document, "Trace", &json!(trace));
    let change = Change::Image { domain: "d".into(), image: "i".into() };
    assert_described(&document, "Change", &json!(change));
    let news = crate::report::News::Progress { stage: "apply".into(), done: 1, total: 2, failed: 0 };
    assert_described(&document, "News", &json!(news));
}
